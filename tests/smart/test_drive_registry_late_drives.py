"""A drive that keeps its poller waiting is asked ever less often, and is not forgotten for it."""

from pathlib import Path

import pytest

from exporter.drives.watched_drive import WatchedDrive
from exporter.smart.drive_registry import DriveRegistry, HostContext
from exporter.smart.inventory import Inventory
from exporter.smart.poll_document import Heartbeat, PollDocument
from tests.fakes import FakeClock

PATH, KIND = "/dev/nvme0", "nvme"


class Host:
    """One drive whose documents a test makes."""

    def __init__(self, tmp_path: Path) -> None:
        self.clock = FakeClock()
        around = HostContext(dict, lambda _: None)
        self.drives = DriveRegistry(
            self.clock,
            tmp_path / "sys",
            tmp_path,
            around,
            inventory=Inventory(),
            wear=None,
            max_age_intervals=4.0,
        )

    def poll(self, result: str) -> None:
        asked = PollDocument(PATH, KIND, result, self.clock.wall(), 1.0, 60.0, counts={result: 1})
        self.drives.record(asked)

    def call(self, *, stuck: bool = False) -> None:
        there = ((PATH, KIND),)
        now = self.clock.wall()
        self.drives.update(Heartbeat(now, 15.0, now, there, there if stuck else ()))

    def call_without_a_look(self) -> None:
        """As a poller does that has just begun."""
        self.drives.update(Heartbeat(self.clock.wall(), 15.0))

    def seen(self) -> WatchedDrive | None:
        return next(iter(self.drives.watched()), None)


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


@pytest.mark.parametrize(("result", "stuck"), [("timed_out", False), ("stuck", True)])
def test_a_drive_that_hangs_stays_on_the_page_until_it_is_asked_again(
    host: Host, result: str, stuck: bool
) -> None:
    """That may take an hour; one whose process cannot be ended is never asked again."""
    host.poll(result)
    host.call(stuck=stuck)
    for _ in range(240):
        host.clock.advance(15.0)
        host.call(stuck=stuck)
        seen = host.seen()
        assert seen is not None
        assert not seen.up


def test_without_a_poller_a_drive_is_shown_until_its_last_poll_is_too_old(host: Host) -> None:
    host.poll("success")
    host.call()
    host.clock.advance(239.0)
    assert host.seen() is not None
    host.clock.advance(2.0)
    assert host.seen() is None


def test_a_poller_that_is_started_again_leaves_what_is_there_on_the_page(host: Host) -> None:
    """A drive that hangs may hold the first look up for half a minute."""
    host.poll("success")
    host.call()
    host.clock.advance(1.0)
    host.call_without_a_look()
    assert host.seen() is not None
    host.call()
    assert host.seen() is not None
    host.clock.advance(1.0)
    host.drives.update(Heartbeat(host.clock.wall(), 15.0, host.clock.wall()))
    assert host.seen() is None


def test_a_poller_that_never_finds_a_drive_again_does_not_keep_it_on_the_page(host: Host) -> None:
    host.poll("success")
    host.call()
    for _ in range(17):
        host.clock.advance(15.0)
        host.call_without_a_look()
    assert host.seen() is None
