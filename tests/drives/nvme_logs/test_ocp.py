"""The pages of OCP: SMART (C0h) and the latency monitor (C3h)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.drives.nvme_logs.controller import Controller
from exporter.drives.nvme_logs.decode import decode
from exporter.drives.nvme_logs.drive_latency import OPERATIONS, DriveLatency, SlowCommands
from exporter.drives.nvme_logs.log_values import NvmeLogValues
from exporter.runtime.errors import ParseError
from tests.drives.nvme_logs.pages import (
    OCP_LATENCY_GUID,
    OCP_SMART_GUID,
    Part,
    ocp,
    ocp_latency,
    page,
)

DRIVE = Controller()
GB = 10**9


def smart(data: bytes) -> NvmeLogValues:
    values = decode(0xC0, data, DRIVE)
    assert isinstance(values, NvmeLogValues)
    return values


def reason(number: int, data: bytes, controller: Controller = DRIVE) -> str:
    with pytest.raises(ParseError) as raised:
        decode(number, data, controller)
    return str(raised.value)


@pytest.mark.parametrize("number", [0xC0, 0xC3])
def test_each_kind_of_bad_page_has_one_reason(number: int) -> None:
    good = {0xC0: OCP_SMART_GUID, 0xC3: OCP_LATENCY_GUID}
    other = good[0xC0 if number == 0xC3 else 0xC3]
    body = page(((0, 1, 7), (494, 2, 3)), 496)
    assert "truncated: 511 of 512 bytes" in reason(number, (body + good[number])[:511])
    assert "truncated: 0 of 512 bytes" in reason(number, b"")
    assert "all bytes are 00h" in reason(number, bytes(512))
    assert "all bytes are FFh" in reason(number, bytes([0xFF] * 512))
    assert "GUID" in reason(number, body + other)
    assert "GUID" in reason(number, body + good[number][::-1])
    future = page(((494, 2, 7),), 496) + good[number]
    assert "version 7 is newer than" in reason(number, future)


@pytest.mark.parametrize(
    ("name", "part", "since"),
    [
        ("pcie_link_retrainings", (192, 8, 5), 3),
        ("power_state_changes", (200, 8, 5), 3),
        ("media_dies_offline", (220, 2, 5), 5),
        ("erase_count_average", (224, 8, 5), 5),
        ("system_erase_failures", (252, 4, 5), 5),
        ("proactive_die_retirements", (134, 2, 5), 6),
    ],
)
def test_a_field_has_a_value_from_the_version_on_that_defines_it(
    name: str, part: Part, since: int
) -> None:
    """In older versions its bytes are reserved, and 0 there does not mean that there is none."""
    for version in range(7):
        value = getattr(smart(ocp((0, 1, 1), part, version=version)), name)
        assert value == (5 if version >= since else None)


def test_a_capacitor_may_have_more_than_100_percent_and_a_drive_without_one_reports_nothing() -> (
    None
):
    assert 231 == smart(ocp((128, 2, 231))).capacitor_health_percent
    assert 0 == smart(ocp((0, 1, 1), (128, 2, 0))).capacitor_health_percent
    assert smart(ocp((128, 2, 0xFFFF))).capacitor_health_percent is None


def test_the_throttling_counter_stays_at_its_end() -> None:
    assert 255 == smart(ocp((96, 1, 255))).thermal_throttling_events
    assert [0, 3, None, None] == [
        smart(ocp((0, 1, 1), (97, 1, level))).thermal_throttling_level for level in (0, 3, 4, 255)
    ]


@pytest.mark.parametrize(
    ("number", "estimate"),
    [
        (0, None),
        (14_431_091, 14_431_091 * GB),
        (GB, None),
        (10**12 - 1, None),
        (16_896_000_000_000_000, 16_896_000_000_000_000),
    ],
)
def test_the_endurance_estimate_is_in_bytes_or_in_gigabytes(
    number: int, estimate: int | None
) -> None:
    assert estimate == smart(ocp((0, 1, 1), (176, 16, number))).endurance_estimate_bytes


def test_bad_blocks_of_the_whole_drive_are_not_those_of_the_user_area() -> None:
    whole = smart(ocp((32, 6, 9), (38, 2, 97), (40, 8, (1 << 64) - 1)))
    assert (9, 97) == (whole.bad_blocks, whole.bad_blocks_spare_percent)
    assert whole.bad_user_blocks is whole.bad_user_blocks_spare_percent is None
    assert whole.bad_system_blocks is None
    apart = smart(ocp((32, 6, 9), (38, 2, 97), (40, 6, 2), (46, 2, 99)))
    assert (9, 2, None) == (apart.bad_user_blocks, apart.bad_system_blocks, apart.bad_blocks)


def latency(*parts: Part, version: int = 4, status: int = 7) -> DriveLatency:
    decoded = decode(0xC3, ocp_latency(*parts, version=version, status=status), DRIVE)
    assert isinstance(decoded, DriveLatency)
    return decoded


def test_thresholds_and_times_are_in_seconds() -> None:
    monitor = latency()
    assert monitor.enabled
    assert monitor.has_latencies
    assert 900 == monitor.active_seconds
    assert 7 * 86400 == monitor.window_seconds
    bounds = [(0.03, 0.1), (0.1, 0.155), (0.155, 0.235), (0.235, None)]
    for buckets in (monitor.active, monitor.static):
        assert bounds == [(each.min_seconds, each.max_seconds) for each in buckets]
        assert {SlowCommands(0)} == {
            getattr(each, operation) for each in buckets for operation in OPERATIONS
        }


@pytest.mark.parametrize("bucket", range(4))
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize(("kind", "start"), [("active", 32), ("static", 240)])
def test_a_slow_command_is_in_its_bucket(
    bucket: int, operation: str, kind: str, start: int
) -> None:
    """Counters begin with bucket 0, times and latencies with bucket 3; read is always the last."""
    last = {"read": 2, "write": 1, "deallocate": 0}[operation]
    bit = 3 * bucket + {"read": 0, "write": 1, "deallocate": 2}[operation]
    reverse = 3 * (3 - bucket) + last
    monitor = latency(
        (start + 16 * bucket + 4 * (last + 1), 4, 42),
        (start + 64 + 8 * reverse, 8, 1_700_000_000_123 | 1 << 49),
        (start + 160 + 2 * reverse, 2, 260),
        (start + 184, 2, 1 << bit),
    )
    expected = SlowCommands(
        42,
        latency_seconds=0.26,
        is_worst=True,
        at_seconds=pytest.approx(1_700_000_000.123),  # type: ignore[arg-type]
        has_wall_clock=True,
    )
    found = {
        (name, number, each): getattr(one, each)
        for name in ("active", "static")
        for number, one in enumerate(getattr(monitor, name))
        for each in OPERATIONS
    }
    assert expected == found.pop((kind, bucket, operation))
    assert {SlowCommands(0)} == set(found.values())


def test_a_time_without_a_clock_is_the_power_on_time() -> None:
    first = latency((184, 8, 3_600_000), (214, 2, 40), (10, 2, 0)).active[0].read
    assert (3600, False, False) == (first.at_seconds, first.has_wall_clock, first.is_worst)
    without = latency((214, 2, 40)).active[0].read
    assert (0.04, None, False) == (
        without.latency_seconds,
        without.at_seconds,
        without.has_wall_clock,
    )


def test_a_monitor_that_is_off_has_no_buckets() -> None:
    assert latency(status=6) == DriveLatency(enabled=False, has_latencies=True)


def test_without_a_window_nothing_is_moved_to_the_static_buckets() -> None:
    endless = latency((4, 2, 0))
    assert endless.window_seconds is None
    assert ((), 4) == (endless.static, len(endless.active))


def test_thresholds_that_do_not_increase_are_another_page() -> None:
    with pytest.raises(ParseError, match="thresholds do not increase: 0505"):
        latency((7, 1, 5))


@given(st.binary(min_size=496, max_size=496), st.integers(1, 5))
def test_any_bytes_with_the_guid_yield_a_monitor_or_one_reason(data: bytes, version: int) -> None:
    content = data[:494] + bytes([version, 0]) + OCP_LATENCY_GUID
    increases = list(content[6:10]) == sorted(set(content[6:10]))
    if content[0] & 1 and not increases:
        assert "thresholds" in reason(0xC3, content)
    else:
        assert isinstance(decode(0xC3, content, DRIVE), DriveLatency)
