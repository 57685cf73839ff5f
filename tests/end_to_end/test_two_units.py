"""Failing drives in the deployment that the package installs: agent and daemon as two processes."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.end_to_end.agent import Agent
from tests.end_to_end.daemon import Daemon
from tests.end_to_end.made_up import MadeUpDrives
from tests.end_to_end.waiting import SOON, await_page, up
from tests.rig import smart_reports

#: A poll every 10 s with a timeout of 1 s, SIGTERM and SIGKILL after it, and the daemon's look into
#: the agent's directory every 2 s; the rest is margin for a busy machine.
NEXT_POLL_SECONDS = 45.0

Fault = Callable[[MadeUpDrives, str], object]


def hangs(drives: MadeUpDrives, name: str) -> None:
    """Smartctl ignores SIGTERM and must be killed."""
    drives.hangs(name)


def hangs_until_sigterm(drives: MadeUpDrives, name: str) -> None:
    """Smartctl ends at SIGTERM."""
    drives.stand_in.does(name, "exec sleep 300\n")


def crashes(drives: MadeUpDrives, name: str) -> None:
    drives.stand_in.does(name, "kill -SEGV $$\nsleep 300\n")


def prints_garbage(drives: MadeUpDrives, name: str) -> None:
    drives.stand_in.does(name, "head -c 100000 /dev/urandom\nexit 4\n")


def prints_half_a_report(drives: MadeUpDrives, name: str) -> None:
    drives.stand_in.does(name, 'printf \'{"smartctl": {"exit_status": 0}, "dev\'\n')


FAULTS = {
    fault.__name__: fault
    for fault in (hangs, hangs_until_sigterm, crashes, prints_garbage, prints_half_a_report)
}


@pytest.fixture
def drives(tmp_path: Path) -> MadeUpDrives:
    return MadeUpDrives(tmp_path / "drives", 6)


def agent_of(drives: MadeUpDrives, directory: Path) -> Agent:
    return Agent(directory, drives.directory, *drives.flags, config=drives.config())


def daemon_of(drives: MadeUpDrives, directory: Path) -> Daemon:
    return Daemon(directory, *drives.flags, config=drives.config("directory"))


@pytest.mark.parametrize("fault", FAULTS)
def test_a_drive_that_fails_after_its_first_answer_is_down_until_it_answers_again(
    tmp_path: Path, drives: MadeUpDrives, fault: str
) -> None:
    with (
        agent_of(drives, tmp_path / "agent") as agent,
        daemon_of(drives, tmp_path / "daemon") as daemon,
    ):
        agent.settled(6)
        await_page(daemon, lambda page: 6 == sum(up(page).values()))
        FAULTS[fault](drives, "rig3")
        others = dict.fromkeys(drives.names, 1.0) | {"rig3": 0.0}
        page = await_page(daemon, lambda page: others == up(page), NEXT_POLL_SECONDS)
        assert 1 == page.value("ssd_collector_success", collector="smart")

        drives.says("rig3", smart_reports.of(3))
        await_page(daemon, lambda page: 6 == sum(up(page).values()), NEXT_POLL_SECONDS)
    assert [] == daemon.complaints


@pytest.mark.parametrize("fault", FAULTS)
def test_a_drive_that_never_answered_is_on_the_page_as_down(
    tmp_path: Path, drives: MadeUpDrives, fault: str
) -> None:
    FAULTS[fault](drives, "rig3")
    others = dict.fromkeys(drives.names, 1.0) | {"rig3": 0.0}
    with (
        agent_of(drives, tmp_path / "agent"),
        daemon_of(drives, tmp_path / "daemon") as daemon,
    ):
        await_page(daemon, lambda page: others == up(page), NEXT_POLL_SECONDS)


def test_all_faults_at_once_cost_only_their_own_drives(
    tmp_path: Path, drives: MadeUpDrives
) -> None:
    for number, fault in enumerate(FAULTS.values()):
        fault(drives, f"rig{number}")
    with (
        agent_of(drives, tmp_path / "agent"),
        daemon_of(drives, tmp_path / "daemon") as daemon,
    ):
        begun = time.monotonic()
        expected = dict.fromkeys(drives.names, 0.0) | {"rig5": 1.0}
        await_page(daemon, lambda page: expected == up(page), NEXT_POLL_SECONDS)
        assert 200 == daemon.get("/metrics").status
        assert time.monotonic() - begun < SOON + NEXT_POLL_SECONDS
