"""The order of the tests, and which of them share a process in a parallel run.

pytest-xdist has groups, too (`xdist_group`), but version 3.8.0 does not see them with pytest 9.2:
it writes them into `_nodeid`, which pytest no longer reads. Its scheduler knows only the names of
the tests, so the groups are files and folders here.
"""

from collections.abc import Iterable

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

#: Folders whose files share an expensive fixture: a booted container or machine, a built package.
FOLDERS = ("tests/packaging/", "tests/systemd/", "rigs/lab/vm/requests/", "rigs/lab/vm/")

#: Files whose tests take seconds each and share nothing. Any process may run any of these tests.
SPLIT = (
    "tests/alerts/test_promtool.py",
    "tests/commands/test_bench.py",
    "tests/commands/test_probe_command.py",
    "tests/commands/test_probe_setup_killed.py",
    "tests/commands/test_slc.py",
    "tests/commands/test_steady_state_command.py",
    "tests/end_to_end/test_agent.py",
    "tests/end_to_end/test_hostile.py",
    "tests/end_to_end/test_kept_state.py",
    "tests/end_to_end/test_memory_ceilings.py",
    "tests/end_to_end/test_probe.py",
    "tests/end_to_end/test_probe_kept.py",
    "tests/end_to_end/test_process.py",
    "tests/end_to_end/test_prometheus.py",
    "tests/end_to_end/test_slc.py",
    "tests/end_to_end/test_slc_daemon.py",
    "tests/end_to_end/test_slow_disk.py",
    "tests/end_to_end/test_smart.py",
    "tests/end_to_end/test_two_units.py",
    "tests/io/test_real_device.py",
    "tests/probe/test_fio.py",
    "tests/probe/test_scheduler_fio_faults.py",
    "tests/programs/test_children.py",
    "rigs/devices/test_slow_disk.py",
    "tests/web/test_bad_clients.py",
)

#: What takes longest starts first, so that no process is left alone with it at the end.
FIRST = (
    "rigs/lab/vm/requests/",
    "rigs/lab/vm/",
    "tests/end_to_end/test_alerting.py",
    "rigs/month/",
    "tests/systemd/",
    "tests/end_to_end/test_memory_ceilings.py",
    "tests/alerts/test_promtool.py",
    "tests/packaging/",
    "tests/end_to_end/test_probe.py",
    "tests/stack/test_demo.py",
    "tests/pages/test_browser.py",
    "tests/end_to_end/",
    "tests/commands/test_bench.py",
    "tests/commands/test_probe_command.py",
    "tests/commands/test_probe_setup_killed.py",
    "rigs/devices/",
    "tests/io/test_real_device.py",
    "tests/stack/",
    "tests/probe/",
    "tests/web/",
    "tests/smart/",
)


def group(name: str) -> str:
    """Returns the group of a test: its folder, its file, or the test itself."""
    file = name.partition("::")[0]
    if file in SPLIT:
        return name
    return next((folder for folder in FOLDERS if file.startswith(folder)), file)


def rank(name: str) -> int:
    """Returns the position of a test in the order of the run; equal for most tests."""
    places = (place for place, start in enumerate(FIRST) if name.startswith(start))
    return next(places, len(FIRST))


def in_order(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """Returns the tests, those that take longest first."""
    return sorted(items, key=lambda item: rank(item.nodeid))


class GroupScheduling(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Gives each process one group after the other."""

    def __init__(self, config: pytest.Config, log: Producer | None = None) -> None:
        config.option.loadscopereorder = False
        super().__init__(config, log)

    def _split_scope(self, nodeid: str) -> str:
        return group(nodeid)
