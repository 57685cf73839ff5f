"""Logs that are no logs: ones, zeros, patterns, random bytes. No value of them is used."""

import struct
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.drives.health import DriveHealth, Protocol, RejectionKind
from exporter.drives.smart_report import parse_report
from tests.drives.reports import Report, ata, attribute, nvme, scsi, with_value, without

LOG = "nvme_smart_health_information_log"

#: The 128-bit counters of the NVMe log, in its order, and their offsets.
COUNTERS = (
    *("data_units_read", "data_units_written", "host_reads", "host_writes"),
    *("controller_busy_time", "power_cycles", "power_on_hours", "unsafe_shutdowns"),
    *("media_errors", "num_err_log_entries"),
)


def printed(log: bytes) -> Report:
    """What smartctl prints of the 512 bytes of an NVMe log."""
    kelvin = struct.unpack_from("<H", log, 1)[0]
    counters = {
        name: int.from_bytes(log[32 + 16 * index : 48 + 16 * index], "little")
        for index, name in enumerate(COUNTERS)
    }
    sensors = [each - 273 if each else None for each in struct.unpack_from("<8H", log, 200)]
    report = {
        **nvme(),
        "smart_status": {"passed": log[0] == 0, "nvme": {"value": log[0]}},
        LOG: {
            "critical_warning": log[0],
            **({"temperature": kelvin - 273} if kelvin else {}),
            "available_spare": log[3],
            "available_spare_threshold": log[4],
            "percentage_used": log[5],
            **counters,
            **dict(zip(TIMES, struct.unpack_from("<2I", log, 192), strict=True)),
            "temperature_sensors": sensors,
        },
        "power_cycle_count": counters["power_cycles"],
        "power_on_time": {"hours": counters["power_on_hours"]},
        "temperature": {"current": kelvin - 273} if kelvin else {},
    }
    report["smartctl"]["exit_status"] = 8 if log[0] else 0
    return report


TIMES = ("warning_temp_time", "critical_comp_time")

#: What a report keeps if no value of the log is used: these are not from the log.
KEPT = {
    *("exit_status", "messages", "unreadable", "rejected", "power_mode"),
    *("link_bytes_per_second", "link_max_bytes_per_second"),
}


def is_unused(health: DriveHealth) -> bool:
    """True if the health has a statement that the log is invalid, and no value."""
    empty = DriveHealth()
    values = {
        name
        for name in DriveHealth.__dataclass_fields__
        if getattr(health, name) != getattr(empty, name) and name not in KEPT
    }
    assert set() == values or not health.invalid_log
    return health.unreadable.startswith("the SMART log is invalid: ") and not values


@pytest.mark.parametrize("byte", [0xFF, 0xAA, 0x55, 0x5A, 0x80, 0x01, 0x20, 0xDE])
def test_a_log_of_one_byte_is_invalid(byte: int) -> None:
    assert is_unused(parse_report(printed(bytes([byte]) * 512)).health)


@pytest.mark.parametrize("word", [b"\xde\xad\xbe\xef", b"\x00\xff", b"\xff\x00\x00\x00", b"NVMe"])
def test_a_log_of_one_word_is_invalid(word: bytes) -> None:
    assert is_unused(parse_report(printed(word * (512 // len(word)))).health)


def test_a_log_of_zeros_is_invalid() -> None:
    report = parse_report(printed(bytes(512)))
    assert is_unused(report.health)
    assert "all its fields are 0" in report.health.unreadable


@pytest.mark.parametrize("celsius", [0, -273, None])
def test_a_log_of_zeros_is_invalid_however_its_temperature_is_printed(celsius: int | None) -> None:
    report = with_value(printed(bytes(512)), (LOG, "temperature"), celsius)
    assert is_unused(parse_report(report).health)


@pytest.mark.parametrize(
    "model", ["QEMU NVMe Ctrl", "Amazon Elastic Block Store", "VMware Virtual NVMe Disk"]
)
def test_a_device_without_flash_may_report_zeros(model: str) -> None:
    health = parse_report({**printed(bytes(512)), "model_name": model}).health
    assert (True, "") == (health.healthy, health.unreadable)


def test_an_emulated_drive_reports_only_a_temperature() -> None:
    log = {**printed(bytes(512))[LOG], "temperature": 50, "host_reads": 51, "data_units_read": 3}
    report = {**nvme(), "model_name": "An emulated drive", "temperature": {"current": 50}, LOG: log}
    health = parse_report(report).health
    assert ({"drive": 50.0}, "") == (health.temperatures, health.unreadable)


@given(st.binary(min_size=512, max_size=512), st.randoms(use_true_random=False))
def test_a_log_of_random_bytes_is_invalid(seed: bytes, random: Any) -> None:
    # Hypothesis prefers short and simple values, so the bytes are mixed with random ones.
    log = bytes(a ^ b for a, b in zip(seed, random.randbytes(512), strict=True))
    assert is_unused(parse_report(printed(log)).health)


@given(st.sampled_from([0xFF, 0xAA, 0x55]), st.integers(32, 64))
def test_a_log_that_ends_in_a_pattern_is_invalid(byte: int, end: int) -> None:
    good = bytearray(512)
    good[1:6] = struct.pack("<H3B", 311, 100, 10, 3)
    for index, number in enumerate((10**6, 10**6, 10**7, 10**7, 600, 30, 8760, 7, 0, 9)):
        good[32 + 16 * index : 48 + 16 * index] = number.to_bytes(16, "little")
    assert not parse_report(printed(bytes(good))).health.rejected
    good[end:] = bytes([byte]) * (512 - end)
    assert is_unused(parse_report(printed(bytes(good))).health)


@pytest.mark.parametrize("number", [65_535, 4_294_967_295, (1 << 64) - 1])
def test_counters_that_are_all_equal_are_a_pattern(number: int) -> None:
    log = {**nvme()[LOG], **dict.fromkeys(COUNTERS, number)}
    assert is_unused(parse_report({**nvme(), LOG: log}).health)


#: A single impossible field, and the metrics that are then absent.
ALONE: list[tuple[str, Any, Callable[[DriveHealth], object]]] = [
    ("available_spare", 255, lambda health: health.spare_ratio),
    ("available_spare_threshold", 200, lambda health: health.spare_threshold_ratio),
    ("temperature", 65_262, lambda health: health.temperatures.get("drive")),
    ("data_units_read", 1 << 70, lambda health: health.host_read),
    ("data_units_written", 1 << 127, lambda health: health.host_written),
    ("controller_busy_time", 1 << 40, lambda health: health.controller_busy_seconds),
    ("power_cycles", 1 << 40, lambda health: health.power_cycles),
    ("power_on_hours", 300_000, lambda health: health.power_on_seconds),
    ("unsafe_shutdowns", 1 << 50, lambda health: health.unsafe_shutdowns),
    ("media_errors", 1 << 64, lambda health: health.media_errors),
    ("num_err_log_entries", 1 << 64, lambda health: health.error_log_entries),
    ("warning_temp_time", (1 << 32) - 1, lambda health: health.over_temperature_warning_seconds),
    ("critical_comp_time", (1 << 32) - 1, lambda h: h.over_temperature_critical_seconds),
]


@pytest.mark.parametrize(("field", "number", "read"), ALONE, ids=[row[0] for row in ALONE])
def test_a_single_impossible_field_is_rejected_alone(
    field: str, number: int, read: Callable[[DriveHealth], object]
) -> None:
    good, bad = parse_report(nvme()), parse_report(with_value(nvme(), (LOG, field), number))
    assert read(good.health) is not None
    assert read(bad.health) is None
    assert [RejectionKind.IMPOSSIBLE] == [each.kind for each in bad.health.rejected]
    assert (True, "") == (bad.health.healthy, bad.health.unreadable)
    lost = {
        name
        for name in DriveHealth.__dataclass_fields__
        if getattr(bad.health, name) != getattr(good.health, name)
    }
    assert len(lost - {"rejected"}) == 1, lost


def test_two_impossible_fields_make_the_log_invalid() -> None:
    log = {**nvme()[LOG], "available_spare": 255, "media_errors": 1 << 100}
    report = parse_report({**nvme(), LOG: log})
    assert is_unused(report.health)
    assert "available_spare is 255, media_errors is 1.268e+30" in report.health.unreadable


def test_an_invalid_log_is_one_statement_and_no_fault() -> None:
    report = parse_report(printed(b"\xff" * 512))
    (rejected,) = report.health.rejected
    assert (RejectionKind.LOG_INVALID, report.health.unreadable) == (rejected.kind, rejected.reason)
    assert () == report.faults


def table(*raws: int, value: int = 100) -> Report:
    rows = [
        attribute(number, f"Attribute_{number}", raw, value=value)
        for number, raw in enumerate(raws, 1)
    ]
    return {**ata(), "ata_smart_attributes": {"revision": 1, "table": rows}}


@given(st.lists(st.integers(1 << 40, (1 << 48) - 1), min_size=10, max_size=30))
def test_an_attribute_table_of_random_bytes_is_invalid(raws: list[int]) -> None:
    health = parse_report(table(*raws)).health
    assert "the SMART log is invalid" in health.invalid_log
    assert ((), None, {}) == (health.attributes, health.power_on_seconds, health.temperatures)


@pytest.mark.parametrize("raw", [(1 << 48) - 1, 0x5555_5555_5555, 0xAAAA_AAAA_AAAA])
def test_an_attribute_table_of_one_pattern_is_invalid(raw: int) -> None:
    assert "have the same raw value" in parse_report(table(*[raw] * 30)).health.invalid_log


def test_an_attribute_table_of_zeros_is_invalid() -> None:
    assert "all its attributes are 0" in parse_report(table(*[0] * 20, value=0)).health.invalid_log
    assert not parse_report(table(*[0] * 20)).health.invalid_log


def test_some_attributes_with_packed_numbers_are_valid() -> None:
    assert not parse_report(table(1 << 47, 5, 6, 7, 8, 9, 10)).health.invalid_log


def test_the_device_statistics_remain_if_only_the_table_is_invalid() -> None:
    statistics = {"pages": [{"number": 7, "table": [row(8, 12)]}]}
    report = {**table(*[(1 << 48) - 1] * 30), "ata_device_statistics": statistics}
    health = parse_report(report).health
    assert health.endurance is not None
    assert ("", True) == (health.unreadable, bool(health.invalid_log))


def row(offset: int, value: int) -> Report:
    return {"offset": offset, "name": "X", "value": value, "flags": {"valid": True}}


def test_device_statistics_of_ones_are_invalid() -> None:
    ones = [row(8, (1 << 32) - 1), row(16, (1 << 32) - 1), row(24, (1 << 48) - 1)]
    report = {**ata(), "ata_device_statistics": {"pages": [{"number": 1, "table": ones}]}}
    health = parse_report(report).health
    assert "3 of its fields are all ones" in health.invalid_log
    assert (True, 3) == (health.healthy, len(health.attributes))


def test_error_counters_of_ones_are_invalid() -> None:
    counters = dict.fromkeys(("errors_corrected_by_eccfast", "total_uncorrected_errors"), 2**64 - 1)
    report = {**scsi(), "scsi_error_counter_log": {"read": counters, "write": counters}}
    health = parse_report(report).health
    assert "4 of the error counters are all ones" in health.invalid_log
    assert (None, {}, None) == (health.media_errors, health.corrected_errors, health.host_read)


@pytest.mark.parametrize("report", [nvme(), ata(), scsi()])
def test_a_good_report_has_nothing_rejected(report: Report) -> None:
    assert () == parse_report(report).health.rejected


@pytest.mark.parametrize("key", [LOG, "ata_smart_attributes", "scsi_error_counter_log"])
def test_a_report_without_a_log_is_not_invalid(key: str) -> None:
    for report in (nvme(), ata(), scsi()):
        assert "" == parse_report(without(report, key)).health.invalid_log


def test_a_protocol_without_logs_is_not_judged() -> None:
    assert {Protocol.NVME, Protocol.ATA, Protocol.SCSI} == set(Protocol)
    assert "" == parse_report({LOG: {"critical_warning": 255}}).health.invalid_log
