"""`ssd-exporter read` reads the JSON of nvme-cli as it reads that of smartctl.

The keys and forms are those of the sources of nvme-cli: nvme-print.c of 1.0, 1.9 and 1.16, and
nvme-print-json.c of 2.4, 2.13, 2.16 and 3.0-rc1.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.drives.assessment.failure_cause import predicts_failure
from exporter.drives.health import DriveReport, SelfTest
from exporter.drives.smart_report import parse_report
from exporter.reading import nvme_cli
from exporter.reading.read_input import InputLimits
from tests.commands.test_read import found, read
from tests.drives import reports
from tests.drives.reports import JSON, Report

Counter: TypeAlias = Callable[[int], Any]

COUNTERS = {
    "data_units_read": "data_units_read",
    "data_units_written": "data_units_written",
    "host_read_commands": "host_reads",
    "host_write_commands": "host_writes",
    "controller_busy_time": "controller_busy_time",
    "power_cycles": "power_cycles",
    "power_on_hours": "power_on_hours",
    "unsafe_shutdowns": "unsafe_shutdowns",
    "media_errors": "media_errors",
    "num_err_log_entries": "num_err_log_entries",
}

#: How the versions print a counter and the critical warning.
GENERATIONS: dict[str, tuple[Counter, bool]] = {
    "1.9": (int, False),
    "1.16 -v": (int, True),
    "2.3": (str, False),
    "2.13": (int, False),
    "2.16 -v": (int, True),
}


def smart_log(counter: Counter = int, *, verbose: bool = False, **changed: Any) -> Report:
    """`nvme smart-log -o json` of the drive of `reports.nvme`."""
    log = reports.nvme()["nvme_smart_health_information_log"]
    warning = log["critical_warning"]
    sensors = enumerate(log["temperature_sensors"], start=1)
    return {
        "critical_warning": {"value": warning, "available_spare": warning & 1, "ro": 0}
        if verbose
        else warning,
        "temperature": reports.nvme()["temperature"]["current"] + 273,
        "avail_spare": log["available_spare"],
        "spare_thresh": log["available_spare_threshold"],
        "percent_used": log["percentage_used"],
        "endurance_grp_critical_warning_summary": 0,
        **{key: counter(log[name]) for key, name in COUNTERS.items()},
        "warning_temp_time": log["warning_temp_time"],
        "critical_comp_time": log["critical_comp_time"],
        **{f"temperature_sensor_{n}": celsius + 273 for n, celsius in sensors if celsius},
        "thm_temp1_trans_count": 3,
        "thm_temp1_total_time": 60,
    } | changed


def id_ctrl(counter: Counter = int, **changed: Any) -> Report:
    """`nvme id-ctrl -o json` of the same drive. The texts are padded with blanks."""
    report = reports.nvme()
    limits = report["nvme_composite_temperature_threshold"]
    return {
        "vid": 0x1B36,
        "ssvid": 0x1AF4,
        "sn": f"{report['serial_number']:<20}",
        "mn": f"{report['model_name']:<40}",
        "fr": f"{report['firmware_version']:<8}",
        "ver": 0x10400,
        "wctemp": limits["warning"] + 273,
        "cctemp": limits["critical"] + 273,
        "tnvmcap": counter(report["nvme_total_capacity"]),
        "unvmcap": counter(0),
        "psds": [{"max_power": 825, "flags": 0}],
    } | changed


def text(*parts: Report, separator: str = "\n") -> str:
    """The documents as nvme-cli 2 prints them."""
    return separator.join(json.dumps(document, indent=2) for document in parts) + "\n"


def judged(content: str) -> list[DriveReport]:
    documents = found(content)
    assert all(each.report is not None for each in documents), [each.error for each in documents]
    return [parse_report(each.report or {}) for each in documents]


@pytest.mark.parametrize("generation", GENERATIONS)
@pytest.mark.parametrize("is_reversed", [False, True])
def test_both_documents_of_a_drive_mean_what_smartctl_reports(
    generation: str, is_reversed: bool
) -> None:
    counter, verbose = GENERATIONS[generation]
    documents = [id_ctrl(counter), smart_log(counter, verbose=verbose)]
    (drive,) = judged(text(*(documents[::-1] if is_reversed else documents)))
    report = reports.nvme()
    for key in ("smart_status", "nvme_self_test_log", "smartctl", "nvme_namespaces"):
        report.pop(key, None)
    report.pop("logical_block_size", None)
    report.pop("user_capacity", None)
    expected = parse_report(report)
    # nvme-cli prints the counters of the thermal management too; smartctl does after 7.5.
    assert expected.health == replace(drive.health, logs=None)
    assert expected.identity == drive.identity
    assert () == drive.faults


@pytest.mark.parametrize("counter", [int, str])
@pytest.mark.parametrize("number", [(1 << 63) + 7, (1 << 64) - 1, 10**20, (1 << 127) + 1])
def test_a_counter_above_63_bits_is_exact(counter: Counter, number: int) -> None:
    (drive,) = judged(text(smart_log(num_err_log_entries=counter(number))))
    (rejected,) = drive.health.rejected
    assert ("error_log_entries_total", float(number)) == (rejected.metric, rejected.value)


def test_a_temperature_of_zero_kelvin_is_absent() -> None:
    (drive,) = judged(text(id_ctrl(wctemp=0, cctemp=0), smart_log(temperature=0)))
    assert "drive" not in drive.health.temperatures
    assert drive.health.temperature_warning_celsius is None
    assert drive.health.temperature_critical_celsius is None
    assert () == drive.faults


@pytest.mark.parametrize(
    "kelvin", [1, 20, 65_535, -1, "warm", "38.5", 3.5, True, [310], {"value": 310}]
)
def test_a_temperature_that_is_none_is_a_fault_or_rejected(kelvin: Any) -> None:
    (drive,) = judged(text(smart_log(temperature=kelvin)))
    assert "drive" not in drive.health.temperatures
    said = [*drive.faults, *(each.metric for each in drive.health.rejected)]
    assert ["temperature" in text for text in said] == [True]


def test_a_capacity_of_zero_is_absent() -> None:
    for zero in (0, "0"):
        (drive,) = judged(text(id_ctrl(tnvmcap=zero), smart_log()))
        assert drive.identity.capacity_bytes is None


@pytest.mark.parametrize("verbose", [False, True])
def test_a_critical_warning_is_a_failure(verbose: bool) -> None:
    warning = {"value": 4, "reliability_degraded": 1} if verbose else 4
    (drive,) = judged(text(smart_log(critical_warning=warning)))
    assert predicts_failure(drive.health)
    assert ["reliability"] == [name for name, bit in drive.health.critical_warnings.items() if bit]


def names(*documents: Report) -> list[tuple[str | None, int | None]]:
    """The serial number and the power cycles of each drive in a file with these documents."""
    return [(each.identity.serial, each.health.power_cycles) for each in judged(text(*documents))]


def test_documents_of_several_drives_in_the_same_order_are_joined() -> None:
    ids = [id_ctrl(sn=f"S{n}") for n in range(3)]
    logs = [smart_log(power_cycles=n) for n in range(3)]
    pairs = [("S0", 0), ("S1", 1), ("S2", 2)]
    assert pairs == names(*(each for pair in zip(ids, logs, strict=True) for each in pair))
    assert pairs == names(*(each for pair in zip(logs, ids, strict=True) for each in pair))


def test_a_log_is_never_joined_with_the_identity_of_another_drive() -> None:
    """Sorted by command, or with a drive that did not answer one of the commands."""
    a, b, c = (id_ctrl(sn=name) for name in "ABC")
    one, two, three = (smart_log(power_cycles=number) for number in (1, 2, 3))
    assert [("A", None), ("B", None), (None, 1), (None, 2)] == names(a, b, one, two)
    assert [(None, 1), (None, 2), ("A", None), ("B", None)] == names(one, two, a, b)
    assert [("A", 1), (None, 2), ("C", 3)] == names(a, one, two, c, three)
    assert [("A", 1), ("B", None), ("C", None), (None, 3)] == names(a, one, b, c, three)
    assert [("A", None), ("EXS480B0002", 55), (None, 1)] == names(a, reports.ata(), one)


def test_the_documents_may_be_on_one_line_each_or_without_a_line_end() -> None:
    for content in (
        f"{json.dumps(id_ctrl())}\n{json.dumps(smart_log())}\n",
        json.dumps(id_ctrl()) + json.dumps(smart_log()),
        text(id_ctrl(), smart_log(), separator=""),
    ):
        (drive,) = judged(content)
        assert "Example Datacenter NVMe 960" == drive.identity.model


@pytest.mark.parametrize("hours", ["Power on hours", "Power on hours (POH)"])
def test_the_self_test_log_is_read_and_validated(hours: str) -> None:
    def log(*rows: tuple[int, int, int]) -> Report:
        table = [
            {"Self test result": result, "Self test code": code, "Segment number": 0, hours: time}
            for code, result, time in rows
        ]
        return {
            "Current Device Self-Test Operation": 0,
            "Current Device Self-Test Completion": 0,
            "List of Valid Reports": [*table, {"Self test result": 15}],
        }

    (drive,) = judged(text(id_ctrl(), smart_log(), log((2, 7, 8000), (1, 0, 7000))))
    assert (
        SelfTest(passed=False, completed_power_on_seconds=8000 * 3600.0) == drive.health.self_test
    )
    (drive,) = judged(text(id_ctrl(), smart_log(), log((3, 7, 0x5555555555555555))))
    assert drive.health.self_test is None
    assert ["self_test_passed"] == [each.metric for each in drive.health.rejected]


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"Devices": [{"DevicePath": "/dev/nvme0n1", "ModelNumber": "X"}]}, "`nvme list`"),
        ({"Devices": []}, "`nvme list`"),
        ({"Subsystems": []}, "`nvme list`"),
        ({"error": "Permission denied"}, "not the output of"),
        ({"nsze": 1, "ncap": 1, "nuse": 1}, "not the output of"),
        ({"percent_used": 3, "avl_spare": 100}, "not the output of"),
        ([smart_log()], "a JSON array"),
    ],
)
def test_other_output_is_one_clear_error(document: Any, words: str) -> None:
    (only,) = found(json.dumps(document))
    assert (None, True) == (only.report, words in only.error), only.error


def test_the_source_is_named() -> None:
    content = text(id_ctrl(), smart_log())
    assert "firmware EXF1.0, NVMe, JSON of nvme-cli\n" in read(content).replace(
        reports.nvme()["firmware_version"], "EXF1.0"
    )
    shown = json.loads(read(content, as_json=True))
    assert "nvme-cli" == shown["input"]["format"]
    assert "smartctl_version" not in shown["device"]


def test_a_drive_before_the_end_of_a_damaged_input_is_kept() -> None:
    content = text(id_ctrl(), smart_log(), {"other": "x" * 400})
    limits = InputLimits(input_bytes=len(content) - 100)
    first, *others = found(content, limits)
    assert first.report is not None
    assert all(each.error for each in others)


@given(st.dictionaries(st.sampled_from([*smart_log(), *id_ctrl(), "List of Valid Reports"]), JSON))
def test_any_values_are_a_report_or_an_error(changed: dict[str, Any]) -> None:
    for document in ({**smart_log(), **changed}, {**id_ctrl(), **changed}):
        for each in found(json.dumps(document)):
            if each.report is not None:
                assert isinstance(parse_report(each.report), DriveReport)
            else:
                assert each.error
    assert not nvme_cli.is_nvme_cli({"device": {}})
