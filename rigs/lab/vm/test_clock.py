"""Steps of the wall clock and a sleep of the machine: no drive disappears from the page."""

from collections.abc import Iterator

import pytest

from rigs.lab.vm import drives
from rigs.lab.vm.host import Host, up
from tests.end_to_end.page import Page

_HOUR, _DAY = 3600, 86_400

#: The page is read at least this many times after each step.
_PAGES = 8


def clock(host: Host) -> int:
    return int(host.machine.output("date", "+%s"))


@pytest.fixture
def _right_again(host: Host) -> Iterator[None]:
    """Sets the clock back, so that later tests see no step."""
    before, uptime = clock(host), host.machine.output("cat", "/proc/uptime").split()[0]
    yield
    passed = float(host.machine.output("cat", "/proc/uptime").split()[0]) - float(uptime)
    host.machine.output("date", "--set", f"@{before + round(passed)}")


@pytest.mark.usefixtures("_right_again")
@pytest.mark.parametrize("seconds", [_HOUR, -2 * _DAY], ids=["an hour ahead", "two days back"])
def test_no_drive_disappears_when_the_clock_steps(host: Host, seconds: int) -> None:
    present = up(host.await_page(lambda page: up(page).get(drives.SOFT_HOT) == 1))
    host.machine.output("date", "--set", f"@{clock(host) + seconds}")
    seen = []

    def goes_on(page: Page) -> bool:
        seen.append(up(page))
        return len(seen) >= _PAGES and abs(polled(page) - clock(host)) < _HOUR / 2

    # Polls go on, and their times are those of the new clock.
    host.await_page(goes_on)
    assert [present] * len(seen) == seen


def polled(page: Page) -> float:
    """Time of the last poll of an NVMe drive, in seconds since 1970."""
    return page.value("ssd_smart_last_success_timestamp_seconds", serial=drives.SOFT_HOT)
