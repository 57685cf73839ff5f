"""Settings and fixtures of all tests."""

import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings

# The duration of an example depends on the load of the machine, not on the code.
settings.register_profile("without deadline", deadline=None)
settings.load_profile("without deadline")

# nohup ignores SIGHUP, and a shell that starts tests in the background ignores the other two.
# Child processes inherit ignored signals.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Groups tests for parallel runs: a process per file, and one for all that load a disk.

    The latter share a process because load on a disk changes the host's pressure, and so their
    results. They come first because together they take longest.
    """
    items.sort(key=lambda item: item.get_closest_marker("xdist_group") is None)
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(item.path.name))


#: The default state directory of the host. Files that a test leaves there would affect other tests.
_OWN_STATE = "/var/lib/ssd-exporter"


@pytest.fixture(autouse=True)
def no_test_writes_the_state_directory_of_the_host() -> Iterator[None]:
    was_there = os.path.lexists(_OWN_STATE)
    yield
    assert was_there or not os.path.lexists(_OWN_STATE), (
        "the test created the host's state directory"
    )
