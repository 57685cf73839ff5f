"""What the monitor of a host does when one of its parts fails."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from exporter.config import Paths, Settings
from exporter.metrics.exposition import render
from exporter.monitor import Monitor
from tests.fakes import FakeChildren, FakeClock


class BrokenRunner:
    """Raises an exception that no code expects, until `works`."""

    def __init__(self) -> None:
        self.works = False

    def run(self, argv: Sequence[str], timeout: float) -> str:
        if not self.works:
            raise KeyError(argv[0])
        return "fio-3.33\n" if argv[0] == "fio" else "smartctl 7.3 2022-02-28 r5338\n"


@pytest.fixture
def runner() -> BrokenRunner:
    return BrokenRunner()


@pytest.fixture
def monitor(tmp_path: Path, runner: BrokenRunner) -> Monitor:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/mountinfo").write_text("")
    (tmp_path / "proc/diskstats").write_text("8 0 sda 1 0 8 1 1 0 8 1 0 1 1 0 0 0 0 0 0\n")
    (tmp_path / "sys/block").mkdir(parents=True)
    return Monitor(
        Settings(path=Paths(tmp_path / "proc", tmp_path / "sys", tmp_path)),
        FakeClock(),
        runner,
        {},
        children=lambda: FakeChildren(lambda _argv: None),
    )


def page(monitor: Monitor) -> str:
    return render(monitor.samples(), openmetrics=False).decode()


def test_the_first_survey_runs_although_the_versions_of_the_programs_cannot_be_read(
    monitor: Monitor, runner: BrokenRunner, caplog: pytest.LogCaptureFixture
) -> None:
    monitor.refresh_host()
    assert monitor.survey.topology is not None
    assert 'ssd_collector_errors_total{collector="page",reason="bug"} 1' in page(monitor)
    assert 1 == sum(record.exc_info is not None for record in caplog.records)
    runner.works = True
    monitor.refresh_host()
    assert 'smartctl="7.3",fio="3.33"' in page(monitor), "the next survey reads the versions again"
    assert 'ssd_collector_success{collector="page"} 1' in page(monitor)


def test_the_page_says_since_when_no_survey_has_succeeded(monitor: Monitor) -> None:
    """Otherwise no alert could tell that the first survey never ended."""
    assert "ssd_survey_start_timestamp_seconds 1" in page(monitor)
    assert "\nssd_survey_last_success_timestamp_seconds" not in page(monitor)
    monitor.refresh_host()
    assert "\nssd_survey_last_success_timestamp_seconds" in page(monitor)
