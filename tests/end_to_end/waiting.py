"""Waiting for what a page is to say of drives."""

import time
from collections.abc import Callable

from tests.end_to_end.daemon import Daemon
from tests.end_to_end.page import Page

#: Asking 24 drives and reading what they say takes half a second, a look at the agent's directory
#: comes every two; the cores may be at something else.
SOON = 10.0


def up(page: Page) -> dict[str, float]:
    """Whether each drive answers, by its name."""
    return {labels["device"]: value for labels, value in page.find("ssd_device_up")}


def await_page(daemon: Daemon, is_there: Callable[[Page], bool], seconds: float = SOON) -> Page:
    """The first page of which that is true; AssertionError where there is none in time."""
    until = time.monotonic() + seconds
    while not is_there(page := daemon.page()):
        assert time.monotonic() < until, (up(page), daemon.log)
        time.sleep(0.05)
    return page
