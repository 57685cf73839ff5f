"""Waits for a state of the drives on the page."""

import time
from collections.abc import Callable

from tests.duration import PATIENCE_SECONDS
from tests.end_to_end.daemon import Daemon
from tests.end_to_end.page import Page

#: Timeout in seconds of most waits. Polling 24 drives takes half a second, and the daemon reads the
#: agent's directory every two seconds. The rest is margin for a busy machine.
SOON = PATIENCE_SECONDS

#: Interval between two pages, in seconds. To parse a page takes the CPU time that others need.
_CHECK_SECONDS = 0.2


def up(page: Page) -> dict[str, float]:
    """Returns for each drive whether it answers, by name."""
    return {labels["device"]: value for labels, value in page.find("ssd_device_up")}


def await_page(daemon: Daemon, is_there: Callable[[Page], bool], seconds: float = SOON) -> Page:
    """Returns the first page that meets the condition; raises AssertionError on a timeout."""
    until = time.monotonic() + seconds
    while not is_there(page := daemon.page()):
        assert time.monotonic() < until, (up(page), daemon.log)
        time.sleep(_CHECK_SECONDS)
    return page
