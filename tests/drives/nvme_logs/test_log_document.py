"""Log pages in a report: what the agent writes is decoded, and nothing is raised for bad input."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.drives.nvme_logs.controller import Controller
from exporter.drives.nvme_logs.drive_latency import DriveLatency
from exporter.drives.nvme_logs.log_document import ParsedLogs, parse_controller, parse_logs
from exporter.drives.nvme_logs.log_encoding import LOGS_KEY, encode_logs
from exporter.drives.nvme_logs.log_values import NvmeLogValues
from tests.drives.nvme_logs import pages
from tests.drives.nvme_logs.pages import OCP_LATENCY_GUID, ocp, page
from tests.drives.reports import JSON

LATENCY = page(((0, 1, 6), (494, 2, 4)), 496) + OCP_LATENCY_GUID


def parsed(logs: Any) -> ParsedLogs:
    report: Any = json.loads(json.dumps({LOGS_KEY: logs}))
    return parse_logs(report)


def test_what_the_agent_writes_is_decoded() -> None:
    written = encode_logs(
        pages.KIOXIA,
        {
            0xC0: (1_700_000_000.5, ocp((0, 16, 10**15))),
            0xC3: (1_700_000_001.0, LATENCY),
            0x09: (1_700_000_002.0, page(((80, 16, 1100), (64, 16, 900)))),
            0x02: (1_700_000_003.0, page(((216, 4, 3), (224, 4, 60)))),
        },
        {0xCA: "refused: Invalid Log Page"},
    )
    logs = parsed(written)
    assert 10**15 == logs.values.nand_written_bytes
    assert 1100 * 10**9 == logs.values.group_media_written_bytes
    assert (3, 60.0) == (
        logs.values.thermal_management_1_transitions,
        logs.values.thermal_management_1_seconds,
    )
    assert DriveLatency(enabled=False, has_latencies=True) == logs.latency
    assert {0xCA: "refused: Invalid Log Page"} == logs.missing
    assert 1_700_000_000.5 == logs.at


@pytest.mark.parametrize("controller", [pages.INTEL, pages.KIOXIA, pages.SEAGATE, Controller()])
def test_a_controller_is_written_and_read(controller: Controller) -> None:
    written = json.loads(json.dumps(encode_logs(controller, {}, {})))
    assert controller == parse_controller(written["controller"])


def test_a_bad_page_is_a_reason_and_costs_no_other_page() -> None:
    written = encode_logs(
        pages.KIOXIA, {0xC0: (1.0, bytes(512)), 0x02: (2.0, page(((216, 4, 3),)))}, {}
    )
    logs = parsed(written)
    assert 3 == logs.values.thermal_management_1_transitions
    assert {0xC0: "OCP SMART log (C0h): empty: all bytes are 00h"} == logs.missing
    assert 2.0 == logs.at


def test_ocp_is_preferred_to_pages_of_vendors_and_these_to_standard_pages() -> None:
    vendor = page(((12, 4, 9), (96, 8, 4)), 256)
    group = page(((32, 16, 7),))
    written = encode_logs(
        pages.MICRON_7450,
        {
            0xE1: (1.0, vendor),
            0x09: (1.0, group),
            0xC0: (1.0, ocp((0, 1, 1), (176, 16, 5_000_000), (56, 8, 2))),
        },
        {},
    )
    values = parsed(written).values
    assert 5_000_000 * 10**9 == values.endurance_estimate_bytes
    assert (2, 4, 9) == (values.uncorrectable_reads, values.erase_failures, values.bad_blocks)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "no valid content"),
        ({}, "no valid content"),
        ({"hex": 5}, "no valid content"),
        ({"hex": "0" * 40_000}, "no valid content"),
        ({"hex": "xy"}, "not hexadecimal"),
        ({"hex": "00"}, "truncated: 1 of 512 bytes"),
    ],
)
def test_a_page_without_valid_content_is_a_reason(content: object, reason: str) -> None:
    logs = parsed({"controller": {}, "pages": {"192": content}})
    assert reason in logs.missing[0xC0]
    assert NvmeLogValues() == logs.values


@pytest.mark.parametrize("at", [None, "now", True, 10**400, float("nan"), float("inf")])
def test_a_time_that_is_not_one_is_unknown(at: object) -> None:
    content = {"at": at, "hex": ocp((0, 1, 5)).hex()}
    logs = parse_logs({LOGS_KEY: {"pages": {"192": content}}})
    assert (5, None) == (logs.values.nand_written_bytes, logs.at)


def test_keys_that_are_no_page_numbers_are_ignored_and_their_number_is_limited() -> None:
    contents = {str(number): {"hex": "00"} for number in range(300)}
    assert 32 == len(parsed({"pages": contents}).missing)
    others: dict[str, object] = {"-1": {}, "": {}, "0xc0": {}, "256": {}, "²": {}, "9999": {}}
    assert {} == parsed({"pages": others}).missing


def test_a_report_without_log_pages_has_none() -> None:
    assert ParsedLogs() == parse_logs({})
    assert ParsedLogs() == parse_logs({LOGS_KEY: []})


def test_smartctl_after_7_5_has_the_counters_of_the_thermal_management_itself() -> None:
    names = ("1_transition_count", "2_transition_count", "1_total_time", "2_total_time")
    log = {f"thermal_mgmt_temperature_{name}": number for number, name in enumerate(names, 1)}
    values = parse_logs({"nvme_smart_health_information_log": log}).values
    assert (1, 2, 3.0, 4.0) == (
        values.thermal_management_1_transitions,
        values.thermal_management_2_transitions,
        values.thermal_management_1_seconds,
        values.thermal_management_2_seconds,
    )


@given(JSON, JSON)
def test_any_json_yields_logs(logs: Any, health: Any) -> None:
    found = parse_logs({LOGS_KEY: logs, "nvme_smart_health_information_log": health})
    assert isinstance(found, ParsedLogs)


@given(st.dictionaries(st.integers(0, 300).map(str), JSON), JSON)
def test_any_pages_yield_values_or_a_reason_for_each(contents: Any, controller: Any) -> None:
    found = parse_logs({LOGS_KEY: {"pages": contents, "controller": controller}})
    assert len(found.missing) <= 32


ages = st.integers(0, 0xFFFF)
counts = st.integers(0, 0xFFFF_FFFF)
times = st.floats(0, 1e15)


@given(st.tuples(ages, counts, times), st.tuples(ages, counts, times), ages)
def test_any_two_readings_yield_a_plausible_growth_or_none(
    first: tuple[int, int, float], second: tuple[int, int, float], window: int
) -> None:
    logs = None
    for age, count, at in (first, second):
        content = pages.ocp_latency((2, 2, age), (4, 2, window), (44, 4, count))
        written = encode_logs(Controller(), {0xC3: (at, content)}, {})
        logs = parse_logs({LOGS_KEY: json.loads(json.dumps(written))}, logs)
    assert logs is not None
    if logs.growth is not None:
        assert 0 <= logs.growth.reads == second[1] - first[1]
        assert first[2] == logs.growth.from_at < logs.growth.until_at == second[2]
        # An age of the window is at most 2^16 times five minutes.
        assert logs.growth.until_at - logs.growth.from_at < 0x10000 * 300 + 600
