"""For all tests."""

import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings

# How long an example takes says how busy the machine is, and nothing of the code.
settings.register_profile("without deadline", deadline=None)
settings.load_profile("without deadline")

# nohup ignores the one, a shell that starts us in the background the other two; and what is
# ignored is so in all that the tests start.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where tests run side by side: one process for a file, and one for all that load a disk.

    Those come first, for together they take longest: another's load on a disk of this host shows
    in its pressure, and would decide what they judge.
    """
    items.sort(key=lambda item: item.get_closest_marker("xdist_group") is None)
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(item.path.name))


#: Of the host itself: what a test leaves there, the next one finds, and so would a daemon.
_OWN_STATE = "/var/lib/ssd-exporter"


@pytest.fixture(autouse=True)
def nothing_is_left_in_the_state_directory_of_this_host() -> Iterator[None]:
    was_there = os.path.lexists(_OWN_STATE)
    yield
    assert was_there or not os.path.lexists(_OWN_STATE), "a test has begun the host's own state"
