"""A smartctl that knows no --json: its text becomes a report of the same shape."""

import dataclasses
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.drives.health import DriveHealth, DriveReport, Protocol
from exporter.drives.smart_report import read
from exporter.errors import CommandError, ParseError
from exporter.programs.command import Completed
from exporter.smart import old_smartctl, smartctl_text
from exporter.smart.smartctl import Address
from tests.fakes import FakeRunner
from tests.smart import smartctl_texts

DISK = Address("/dev/sda", "sat")


class Prints(FakeRunner):
    """A smartctl that prints one text, and remembers how it was called."""

    def __init__(self, text: str, status: int = 0) -> None:
        super().__init__()
        self._completed = Completed(text, status)

    def complete(self, argv: Any, timeout: float) -> Completed:
        self.ran.append(tuple(argv))
        return self._completed


def of(text: str, status: int = 0, address: Address = DISK) -> DriveReport:
    return read(old_smartctl.read(Prints(text, status), "smartctl", address, 30.0))


#: What the text holds and pySMART does not read, or not as finely; and what JSON has no text for.
NOT_READ = {
    "ATA": {"messages"},
    "NVMe": {"messages", "capacity_bytes"},
    "SCSI": {"messages", "power_on_seconds"},
}


@pytest.mark.parametrize("protocol", smartctl_texts.PAIRS)
def test_text_and_json_of_a_drive_mean_the_same(protocol: str) -> None:
    ours, theirs = (
        of(smartctl_texts.PAIRS[protocol][0](version="6.6")),
        read(smartctl_texts.pair(protocol)),
    )
    different = {
        field.name
        for one, other in ((ours.identity, theirs.identity), (ours.health, theirs.health))
        for field in dataclasses.fields(one)
        if getattr(one, field.name) != getattr(other, field.name)
    }
    assert different <= NOT_READ[protocol]
    assert () == ours.faults


def test_it_says_that_it_was_read_by_an_old_smartctl() -> None:
    assert ("smartctl 6.6 is too old for JSON: read as text, in part",) == of(
        smartctl_texts.ata(version="6.6")
    ).health.messages


def test_a_drive_is_asked_by_its_type_and_not_woken() -> None:
    runner = Prints(smartctl_texts.ata())
    old_smartctl.read(runner, "/usr/sbin/smartctl", Address("/dev/bus/0", "megaraid,3"), 30.0)
    assert [
        *("/usr/sbin/smartctl", "-d", "megaraid,3", "-n", "standby", "-i", "-H", "-A", "-c"),
        *("-l", "error", "-l", "selftest", "/dev/bus/0"),
    ] == list(*runner.ran)


@pytest.mark.parametrize("path", ["", "-h", "sda"])
def test_a_path_that_is_none_is_not_asked(path: str) -> None:
    with pytest.raises(CommandError, match="absolute path"):
        old_smartctl.read(Prints(""), "smartctl", Address(path), 1.0)


STANDBY = smartctl_texts.BANNER.format(version="6.6") + "Device is in STANDBY mode, exit(2)\n"
REFUSED = (
    smartctl_texts.BANNER.format(version="6.6")
    + "Smartctl open device: /dev/sda failed: Permission denied\n"
)


def test_a_sleeping_drive_is_in_standby_and_has_no_health() -> None:
    assert DriveHealth(power_mode="standby") == of(STANDBY, 2).health


def test_a_drive_that_may_not_be_opened_is_said_so() -> None:
    report = of(REFUSED, 2)
    assert None is report.identity.protocol
    assert "CAP_SYS_RAWIO" in report.health.unreadable
    assert 2 == report.health.exit_status


def test_smart_that_is_off_or_missing_is_said_so() -> None:
    body, _, _ = smartctl_texts.ata().partition("SMART support is: Enabled")
    off = of(body + "SMART support is: Disabled\n", 4)
    assert "smartctl -s on" in off.health.unreadable
    lacking = body.replace("Available - device has", "Unavailable - device lacks")
    assert "no SMART" in of(lacking, 4).health.unreadable


def test_an_old_age_attribute_below_its_threshold_is_not_the_drives_own_verdict() -> None:
    report = of(smartctl_texts.ata(when_hot="FAILING_NOW"), 16)
    assert True is report.health.healthy
    assert {194: "now"} == {row.id: row.failed for row in report.health.attributes if row.failed}
    assert False is of(smartctl_texts.ata(health="FAILED!"), 8).health.healthy


@pytest.mark.parametrize(
    ("text", "raw"),
    [
        ("7", 7),
        ("31 (Min/Max 20/45)", 31),
        ("0x000100000007", 0x100000007),
        ("12345h+40m+12.345s", 12345),
        ("25.6", None),
        ("-", None),
        ("0x", None),
    ],
)
def test_raw_values_are_numbers_where_the_text_is_one(text: str, raw: int | None) -> None:
    row = old_smartctl.parse(
        smartctl_texts.ata().replace(
            "099   000    Old_age   Always       -       41",
            f"099   000    Old_age   Always       -       {text}",
        ),
        0,
        DISK,
    )["ata_smart_attributes"]["table"]  # type: ignore[index]
    assert raw == next(each for each in row if each["id"] == 12)["raw"]["value"]


@pytest.mark.parametrize(
    ("text", "protocol"),
    [
        (smartctl_texts.ata(), "ATA"),
        (smartctl_texts.nvme(), "NVMe"),
        (smartctl_texts.scsi(), "SCSI"),
        (STANDBY, None),
    ],
)
def test_the_protocol_is_told_from_the_text(text: str, protocol: str | None) -> None:
    assert protocol == smartctl_text.protocol(text.splitlines())


def test_more_lines_than_smartctl_prints_are_dropped() -> None:
    assert 8194 == len(smartctl_text.tidy(["line"] * 10_000))


def test_a_drives_name_does_not_change_its_protocol() -> None:
    text = smartctl_texts.ata().replace("EXAMPLE SSD 480", "NVMe Version: 1.4")
    assert Protocol.ATA is of(text).identity.protocol


@given(st.text(), st.integers(0, 255))
@settings(deadline=None)
def test_any_text_gives_a_report_or_an_error(text: str, status: int) -> None:
    report = old_smartctl.parse(text, status, DISK)
    assert isinstance(read(report), DriveReport)


@given(st.data())
@settings(deadline=None, max_examples=200)
def test_a_broken_line_gives_a_report_or_an_error(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from([one() for one, _ in smartctl_texts.PAIRS.values()]))
    begin = data.draw(st.integers(0, len(text)))
    end = begin + data.draw(st.integers(0, 40))
    broken = text[:begin] + data.draw(st.text(max_size=40)) + text[end:]
    try:
        report = old_smartctl.parse(broken, 0, DISK)
    except ParseError:
        return
    assert isinstance(read(report), DriveReport)
