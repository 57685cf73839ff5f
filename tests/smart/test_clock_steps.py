"""Steps and jumps of the clocks between the agent and the daemon: no drive leaves the page.

The agent writes documents of drives that are polled every 15 minutes, and a heartbeat every 15 s.
The daemon reads them every 5 s. Both have the same clocks, as on one host.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exporter.config.settings import SmartSource
from exporter.smart.document_directory import DocumentReader
from exporter.smart.polling.moment import Moment
from exporter.smart.polling.poll_document import (
    Heartbeat,
    PollDocument,
    encoded,
    parse_poll_document,
)
from tests.fakes import FakeClock
from tests.smart.scripted_smartctl import ata
from tests.smart.watching import NVME, SDA, Watching, watching

pytestmark = pytest.mark.usefixtures("usual_mask")

HOUR, DAY, YEAR = 3600.0, 86_400.0, 365 * 86_400.0

#: What happens to the clocks, as a call of a method of FakeClock.
STEPS: dict[str, Callable[[FakeClock], None]] = {
    "leap second": lambda clock: clock.step_wall(-1),
    "NTP, an hour ahead": lambda clock: clock.step_wall(HOUR),
    "NTP, an hour back": lambda clock: clock.step_wall(-HOUR),
    "NTP, two days ahead": lambda clock: clock.step_wall(2 * DAY),
    "NTP, two days back": lambda clock: clock.step_wall(-2 * DAY),
    "from 1970": lambda clock: clock.step_wall(53 * YEAR),
    "to 1970": lambda clock: clock.step_wall(-53 * YEAR),
    "suspended for a minute": lambda clock: clock.suspend(60),
    "suspended for three days": lambda clock: clock.suspend(3 * DAY),
    "paused for a day, then NTP": lambda clock: clock.step_wall(DAY),
}


class TwoUnits:
    """The agent and the daemon."""

    def __init__(self, place: Path) -> None:
        self.daemon = watching(place, SmartSource.DIRECTORY)
        self.clock = self.daemon.clock

    def stamp(self) -> dict[str, Any]:
        now = Moment.now(self.clock)
        return {"monotonic": now.monotonic, "boot_id": now.boot_id}

    def document(self, who: tuple[str, str], **others: Any) -> PollDocument:
        return self.daemon.document(who, **self.stamp() | others)

    def poll(self, *documents: PollDocument) -> None:
        documents = documents or (self.document(SDA), self.document(NVME))
        self.daemon.agent_says(*documents, **self.stamp())

    def live(self) -> None:
        """The agent sends a heartbeat, and polls no drive."""
        self.daemon.agent_says(drives=(SDA, NVME), **self.stamp())

    def shown(self) -> list[tuple[str, bool]]:
        """Returns each drive on the page, and whether its values are shown."""
        return [(drive.label, drive.health is not None) for drive in self.daemon.drives.watched()]


BOTH = [("sda", True), ("nvme0n1", True)]


@pytest.fixture
def units(tmp_path: Path) -> TwoUnits:
    return TwoUnits(tmp_path)


@pytest.mark.parametrize("step", STEPS)
def test_no_drive_leaves_the_page_when_the_clock_steps(units: TwoUnits, step: str) -> None:
    units.poll()
    units.daemon.step()
    assert BOTH == units.shown()
    STEPS[step](units.clock)
    # Requests of the page before the next heartbeat, and until the next poll.
    assert BOTH == units.shown(), "at once"
    for second in range(0, 900, 5):
        if second % 15 == 10:
            units.live()
        units.daemon.step()
        assert (BOTH, "") == (units.shown(), units.daemon.problem), f"after {second} s"
        units.clock.advance(5)
    units.poll()
    units.daemon.step()
    assert BOTH == units.shown()


@pytest.mark.parametrize("step", STEPS)
def test_a_daemon_that_starts_after_a_step_shows_the_drives(tmp_path: Path, step: str) -> None:
    units = TwoUnits(tmp_path)
    units.poll()
    STEPS[step](units.clock)
    units.daemon.step()
    assert (BOTH, "") == (units.shown(), units.daemon.problem)


@pytest.mark.parametrize("step", STEPS)
def test_an_agent_that_stopped_is_noticed_in_spite_of_a_step(units: TwoUnits, step: str) -> None:
    units.poll()
    units.daemon.step()
    units.clock.advance(50)
    STEPS[step](units.clock)
    units.daemon.step()
    assert "" == units.daemon.problem
    units.clock.advance(11)
    units.daemon.step()
    assert "the agent stopped writing; is it running?" in units.daemon.problem


@pytest.mark.parametrize("step", STEPS)
def test_values_that_are_too_old_are_dropped_in_spite_of_a_step(units: TwoUnits, step: str) -> None:
    units.poll()
    units.daemon.step()
    units.clock.advance(1800)
    STEPS[step](units.clock)
    units.live()
    units.daemon.step()
    assert BOTH == units.shown()
    units.clock.advance(1801)
    units.live()
    units.daemon.step()
    assert [("sda", False), ("nvme0n1", False)] == units.shown()


@pytest.mark.parametrize("step", STEPS)
def test_values_of_the_daily_poll_are_kept_over_a_step(units: TwoUnits, step: str) -> None:
    regular = {key: value for key, value in ata("S00001").items() if key != "ata_smart_error_log"}
    units.poll(units.document(SDA, is_daily=True))
    units.daemon.step()
    STEPS[step](units.clock)
    units.clock.advance(900)
    units.poll(units.document(SDA, report=regular))
    units.daemon.step()
    health = units.daemon.drives.watched()[0].health
    assert health is not None
    assert 17 == health.error_log_entries


@pytest.mark.parametrize("step", STEPS)
def test_a_poll_after_a_step_replaces_the_one_before(units: TwoUnits, step: str) -> None:
    units.poll()
    units.daemon.step()
    STEPS[step](units.clock)
    units.clock.advance(900)
    units.poll(units.document(SDA, result="timed_out", message="hangs"), units.document(NVME))
    units.daemon.step()
    answers = [(drive.label, drive.up) for drive in units.daemon.drives.watched()]
    assert [("sda", False), ("nvme0n1", True)] == answers


def test_the_documents_of_an_earlier_boot_are_compared_by_wall_time(units: TwoUnits) -> None:
    """The monotonic clock starts again, so a time of an earlier boot may look recent."""
    stale: dict[str, Any] = {"boot_id": "an earlier boot", "monotonic": units.clock.monotonic()}
    documents = [
        units.document(who, **stale, began_at=units.clock.wall() - DAY) for who in (SDA, NVME)
    ]
    units.daemon.agent_says(*documents)
    units.daemon.agent.write(Heartbeat(units.clock.wall() - DAY, 15.0, 1.0, (SDA, NVME), **stale))
    units.daemon.step()
    assert [] == units.shown()
    assert units.daemon.problem


@pytest.mark.parametrize(("ago", "shown"), [(0, BOTH), (59, BOTH), (3 * HOUR, []), (-3 * HOUR, [])])
def test_documents_of_an_older_agent_are_compared_by_wall_time(
    tmp_path: Path, ago: float, shown: list[tuple[str, bool]]
) -> None:
    daemon: Watching = watching(tmp_path, SmartSource.DIRECTORY)
    daemon.agent_says(daemon.document(SDA), daemon.document(NVME))
    daemon.clock.step_wall(ago)
    daemon.step()
    assert shown == [(drive.label, drive.up) for drive in daemon.drives.watched()]


def test_the_time_of_a_document_is_read_as_it_was_written(units: TwoUnits) -> None:
    document = units.document(SDA)
    assert document == parse_poll_document(encoded(document))
    assert Moment.now(units.clock) == document.began
    units.poll(document)
    (found,) = [text for name, text in DocumentReader(units.daemon.directory).changed()]
    assert isinstance(found, bytes)
    assert document.began == parse_poll_document(found).began
