"""The comparison itself, with fictitious drives: it must detect every difference."""

from dataclasses import replace

import pytest

from exporter.drives.health import (
    DriveHealth,
    DriveIdentity,
    DriveReport,
    Endurance,
    EnduranceSource,
    Protocol,
    SelfTest,
    UnitSource,
    WrittenBytes,
)
from rigs.corpus.disagreements import drive_disagreements, error_disagreements, impossible_zeros
from rigs.corpus.documents import without_standard_log
from rigs.corpus.expected import PROTOCOLS, Expected, alternatives, complete_line, drives, table

_FILE = "nvme/made-up.json"
_REPORT = DriveReport(
    DriveIdentity(protocol=Protocol.NVME, rotational=False),
    DriveHealth(
        healthy=True,
        endurance=Endurance(0.34, EnduranceSource.NVME_LOG),
        temperatures={"drive": 40.0, "1": 41.0},
        critical_warnings={"spare": False, "read_only": True},
        host_written=WrittenBytes(512_000_000, 512_000, UnitSource.STANDARD),
        power_on_seconds=7260.0,
        self_test=SelfTest(passed=True, completed_power_on_seconds=3600.0),
        link_bytes_per_second=300e6,
        link_max_bytes_per_second=600e6,
        messages=("it complains",),
    ),
)


#: The values of the report above.
_VALUES = {
    "ssd": True,
    "wear": 34,
    "tolerance": 0,
    "source": "nvme_log",
    "healthy": True,
    "temp": 40,
    "warnings": 8,
    "seconds": 7260,
    "written": 512_000_000,
    "self_test": "passed at 1 h",
    "link": "3.0/6.0",
    "unreadable": False,
    "exit": 0,
}


def _expected(**line: object) -> Expected:
    """The values of the report above, with changes. Every other field is absent."""
    (some, *_) = drives().values()
    stated = {**dict.fromkeys(some, "absent"), **_VALUES, **line}
    return {**{field: alternatives(value) for field, value in stated.items()}, "sensors": ((41,),)}


def _fields(expected: Expected, report: DriveReport = _REPORT) -> list[str]:
    return [each.field for each in drive_disagreements(_FILE, expected, report)]


def test_a_report_as_expected_has_no_disagreement() -> None:
    assert [] == _fields(_expected())


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        ("ssd", False),
        ("ssd", "unknown"),
        ("wear", 35),
        ("wear", "absent: said to be so"),
        ("source", "scsi_log"),
        ("healthy", False),
        ("healthy", "absent"),
        ("temp", 41),
        ("warnings", 0),
        ("seconds", 7200),
        ("seconds", 7261),
        ("written", 524_288_000),
        ("media", 0),
        ("reallocated", [0, 1]),
        ("self_test", "failed at 1 h"),
        ("link", "-/6.0"),
        ("exit", 4),
        ("unreadable", True),
        ("spare", 100),
    ],
)
def test_a_different_field_is_a_disagreement(field: str, wrong: object) -> None:
    assert [field] == _fields(_expected(**{field: wrong}))


@pytest.mark.parametrize(
    ("field", "right"),
    [
        ("ssd", "any"),
        ("wear", [33, 34]),
        ("written", 512_500_000),
        ("seconds", 7205),
        ("temp", ["absent", 40]),
        ("threshold", "any"),
    ],
)
def test_every_alternative_of_the_table_agrees(field: str, right: object) -> None:
    assert [] == _fields(_expected(**{field: right}))


def test_a_wear_level_agrees_within_its_tolerance() -> None:
    assert [] == _fields(_expected(wear=35, tolerance=1))
    assert ["wear"] == _fields(_expected(wear=36, tolerance=1))


def test_an_absent_wear_level_has_no_source() -> None:
    report = replace(_REPORT, health=replace(_REPORT.health, endurance=None))
    assert [] == _fields(_expected(wear=["absent", 1], source="name_guess"), report)
    assert ["wear", "source"] == _fields(_expected(), report)


def test_another_protocol_is_a_disagreement() -> None:
    report = replace(_REPORT, identity=replace(_REPORT.identity, protocol=Protocol.ATA))
    assert ["protocol"] == _fields(_expected(), report)


def test_an_unknown_warning_is_a_disagreement() -> None:
    health = replace(_REPORT.health, critical_warnings={"mood": True})
    assert ["warnings"] == _fields(_expected(), replace(_REPORT, health=health))


def test_an_impossible_zero_is_a_disagreement() -> None:
    health = replace(_REPORT.health, temperatures={"drive": 0.0}, link_bytes_per_second=0.0)
    report = DriveReport(replace(_REPORT.identity, capacity_bytes=0), health)
    assert ["capacity_bytes", "link_bytes_per_second", "temperatures[drive]"] == list(
        impossible_zeros(report)
    )


def test_a_failed_run_must_not_yield_values() -> None:
    line = {"exit": 2}
    complaint = DriveHealth(exit_status=2, messages=("no such device",), unreadable="it is gone")
    nothing = DriveReport(DriveIdentity(), complaint)
    assert [] == list(error_disagreements(_FILE, line, nothing))
    known = replace(nothing, health=replace(complaint, healthy=True, exit_status=0, messages=()))
    fields = [each.field for each in error_disagreements(_FILE, line, known)]
    assert ["healthy", "exit", "messages"] == fields
    assert ["identity"] == [
        each.field
        for each in error_disagreements(_FILE, line, replace(nothing, identity=_REPORT.identity))
    ]


def test_hours_of_the_table_are_converted_to_seconds() -> None:
    of = drives()
    assert (42454 * 3600,) == of["ata/hgst-hitachi-HUS726040ALE614-1.json"]["seconds"]
    assert (37054 * 3600 + 12 * 60,) == of["ata/seagate-ST2000NM0008-2F3100-1.json"]["seconds"]


def test_every_ssd_of_the_table_has_wear_or_a_reason() -> None:
    sections = table()
    silent = [
        name
        for protocol in PROTOCOLS
        for name, line in sections[protocol].items()
        if line["ssd"] is True and "wear" not in line
    ]
    assert [] == silent


def test_a_line_with_an_unknown_field_is_an_error() -> None:
    with pytest.raises(ValueError, match="unknown field: temperature"):
        complete_line({"ssd": True, "temperature": 40})


def test_hiding_the_standard_log_changes_only_a_copy() -> None:
    pages = [{"number": 1}, {"number": 7}]
    report = {"model_name": "made up", "ata_device_statistics": {"pages": pages}}
    hidden = {"model_name": "made up", "ata_device_statistics": {"pages": [{"number": 1}]}}
    assert hidden == without_standard_log(report)
    assert [{"number": 1}, {"number": 7}] == pages
    assert without_standard_log(hidden) is None
    assert without_standard_log({}) is None
