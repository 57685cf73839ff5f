"""When a survey searches for MySQL servers: the end of a server, and how often a user causes it."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from exporter.config.settings import Paths, Settings
from exporter.io.survey import TopologySurvey
from exporter.runtime.collector_status import CollectorStatus
from tests.fakes import FakeClock
from tests.linux import trees
from tests.linux.trees import Sys

HOST = trees.mount_line("8:1", "/")
UNIT, SESSION = "/system.slice/mysql.service", "/user.slice/user-1000.slice/session-3.scope"
#: Time between two surveys, in seconds.
INTERVAL = 35.0

#: Returns the process IDs of the known servers after a number of surveys.
Surveys = Callable[[int], list[int]]


@pytest.fixture
def surveys(tmp_path: Path) -> Surveys:
    clock = FakeClock()
    settings = Settings(path=Paths(tmp_path / "proc", tmp_path / "sys", tmp_path))
    survey = TopologySurvey(settings, clock, CollectorStatus(clock), lambda _drives: None)
    trees.process(tmp_path / "proc", 1, ["init"], HOST)

    def known(count: int) -> list[int]:
        for _ in range(count):
            clock.advance(INTERVAL)
            survey.refresh()
        assert survey.topology is not None
        return [server.pid for server in survey.topology.servers]

    return known


def start(tmp_path: Path, pid: int, cgroup: str) -> None:
    trees.process(tmp_path / "proc", pid, ["mysqld", "--no-defaults"], HOST, cgroup=f"0::{cgroup}")


def test_a_server_that_was_restarted_is_found_within_two_surveys(
    tmp_path: Path, surveys: Surveys
) -> None:
    start(tmp_path, 10, UNIT)
    assert [10] == surveys(1)
    shutil.rmtree(tmp_path / "proc/10")
    start(tmp_path, 11, UNIT)
    assert [11] == surveys(2)


def test_a_user_who_ends_his_server_causes_no_search(tmp_path: Path, surveys: Surveys) -> None:
    start(tmp_path, 10, UNIT)
    start(tmp_path, 20, SESSION)
    assert [10, 20] == surveys(1)
    shutil.rmtree(tmp_path / "proc/20")
    start(tmp_path, 21, SESSION)
    assert [10, 20] == surveys(8), "the next search is after 300 s"
    assert [10, 21] == surveys(1)


def test_a_unit_that_restarts_all_the_time_causes_a_search_at_every_second_survey(
    tmp_path: Path, surveys: Surveys
) -> None:
    start(tmp_path, 10, UNIT)
    found = [surveys(1)]
    for pid in range(10, 16):
        shutil.rmtree(tmp_path / f"proc/{pid}")
        start(tmp_path, pid + 1, UNIT)
        found.append(surveys(1))
    assert [[10], [10], [12], [12], [14], [14], [16]] == found


#: The WWN of all drives that `trees.sata` creates, as in some batches of real drives.
WWN = "naa.5002538f00000001"


def identities(tmp_path: Path) -> TopologySurvey:
    clock = FakeClock()
    settings = Settings(path=Paths(tmp_path / "proc", tmp_path / "sys", tmp_path))
    trees.process(tmp_path / "proc", 1, ["init"], HOST)
    return TopologySurvey(settings, clock, CollectorStatus(clock), lambda _drives: None)


def test_two_drives_with_one_wwn_have_a_baseline_and_a_budget_each(tmp_path: Path) -> None:
    sys = Sys(tmp_path / "sys")
    trees.sata(sys, "sda", 1)
    trees.sata(sys, "sdb", 2)
    survey = identities(tmp_path)
    survey.refresh()
    assert {"sda": f"{WWN} S00001", "sdb": f"{WWN} S00002"} == survey.identities()


def test_a_drive_keeps_its_baseline_when_another_one_with_its_wwn_is_added(tmp_path: Path) -> None:
    sys = Sys(tmp_path / "sys")
    trees.sata(sys, "sda", 1)
    survey = identities(tmp_path)
    survey.refresh()
    assert {"sda": WWN} == survey.identities()
    trees.sata(sys, "sdb", 2)
    survey.refresh()
    assert {"sda": WWN, "sdb": f"{WWN} S00002"} == survey.identities()
