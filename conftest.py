"""Settings and fixtures of all tests."""

import logging
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer

import exporter.agent  # noqa: F401 - see below
from exporter.commands.registry import COMMANDS
from exporter.runtime.logs import BoundedHandler
from tests import workers
from tests.fuzz import IS_RANDOM, examples
from tests.linux.trees import Sys

# The duration of an example depends on the load of the machine, not on the code: no deadline.
_EVERYWHERE = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile(
    "test", _EVERYWHERE, max_examples=examples(100), derandomize=True, database=None
)
settings.register_profile("fuzz", _EVERYWHERE, max_examples=examples(100), print_blob=True)
settings.load_profile("fuzz" if IS_RANDOM else "test")

# Hypothesis takes some values from the constants of the loaded modules. Commands are loaded when
# they run, so the examples of a process would depend on its earlier tests.
for _command in COMMANDS.values():
    _command.load()

# The programs of the tests are on this host: no proxy is asked for them.
os.environ["NO_PROXY"] = os.environ["no_proxy"] = "*"

# Pages and reports show local times. The tests expect those of UTC.
os.environ["TZ"] = "UTC"
time.tzset()

# nohup ignores SIGHUP, and a shell that starts tests in the background ignores the other two.
# Child processes inherit ignored signals.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items[:] = workers.in_order(items)
    for item in items:
        if "[200-disks" in item.name:
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(
    config: pytest.Config, log: Producer
) -> workers.GroupScheduling | None:
    """Replaces the scheduler of `--dist loadgroup`."""
    by_group = config.getvalue("dist") == "loadgroup"
    return workers.GroupScheduling(config, log) if by_group else None


#: The default state directory of the host. Files that a test leaves there would affect other tests.
_OWN_STATE = "/var/lib/ssd-exporter"


@pytest.fixture(autouse=True)
def no_test_writes_the_state_directory_of_the_host() -> Iterator[None]:
    was_there = os.path.lexists(_OWN_STATE)
    yield
    assert was_there or not os.path.lexists(_OWN_STATE), (
        "the test created the host's state directory"
    )


@pytest.fixture(autouse=True)
def no_log_of_a_test_affects_another_one() -> Iterator[None]:
    """A test that calls `main` sets the log of the process, whose stream ends with the test."""
    level = logging.root.level
    yield
    for handler in logging.root.handlers[:]:
        if isinstance(handler, BoundedHandler):
            logging.root.removeHandler(handler)
    logging.root.setLevel(level)


@pytest.fixture
def sys(tmp_path: Path) -> Sys:
    """A simulated /sys without devices."""
    return Sys(tmp_path / "sys")
