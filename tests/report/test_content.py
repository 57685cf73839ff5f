"""The JSON of a report."""

import json
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from hypothesis import given

from exporter.report import content
from exporter.report.content import Report
from tests.report import examples, reports


class Result(str, Enum):
    CLIFF = "cliff"


@dataclass(frozen=True)
class Phase:
    begin_bytes: int
    bytes_per_second: float | None


def test_what_was_found_stands_under_data_in_base_units() -> None:
    found = json.loads(content.json_text(examples.write_cache()))
    assert 38_000_000_000 == found["data"]["cache_bytes"]
    assert found["is_good"] is False
    assert "/var/lib/mysql-probe" == found["facts"]["Directory"]
    assert found["verdict"].startswith("The write cache ends after 38 GB")


def test_records_and_enumerations_are_written_by_what_they_hold() -> None:
    value = {"result": Result.CLIFF, "phases": (Phase(0, 2e9), Phase(38, None)), "at": Path("/x")}
    expected = {
        "result": "cliff",
        "phases": [
            {"begin_bytes": 0, "bytes_per_second": 2e9},
            {"begin_bytes": 38, "bytes_per_second": None},
        ],
        "at": "/x",
    }
    assert expected == content.plain(value)


def test_what_is_no_number_is_null() -> None:
    assert [None, None, 1.5] == content.plain([float("nan"), float("inf"), 1.5])


@given(reports.reports)
def test_any_report_is_json_of_ascii(report: Report) -> None:
    text = content.json_text(report)
    assert text.isascii()
    assert report.title == json.loads(text)["title"]
