"""What the monitor of a host does when one of its parts fails."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from exporter.config.settings import COLLECTORS, Paths, Settings
from exporter.drives.nvme_logs.latency_growth import LatencyGrowth
from exporter.drives.nvme_logs.log_document import ParsedLogs
from exporter.drives.nvme_logs.ocp import ocp_latency
from exporter.drives.watched_drive import WatchedDrive
from exporter.metrics.exposition import render
from exporter.monitor import Monitor
from tests.drives.nvme_logs import pages
from tests.fakes import FakeChildren, FakeClock
from tests.linux import trees
from tests.pages import examples


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
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def monitor(tmp_path: Path, runner: BrokenRunner, clock: FakeClock) -> Monitor:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/mountinfo").write_text("")
    (tmp_path / "proc/diskstats").write_text("8 0 sda 1 0 8 1 1 0 8 1 0 1 1 0 0 0 0 0 0\n")
    (tmp_path / "sys/block").mkdir(parents=True)
    return Monitor(
        Settings(path=Paths(tmp_path / "proc", tmp_path / "sys", tmp_path)),
        clock,
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


PRESSURE = "".join(
    f"{kind} avg10=0.00 avg60=0.00 avg300=0.00 total=9\n" for kind in ("some", "full")
)


def user_servers(root: Path, generation: int, cgroup: str, login: int) -> None:
    """63 processes of a user. Each generation has other process IDs, ports and control groups."""
    for pid in range(1000 * generation, 1000 * generation + 63):
        group = cgroup.format(pid)
        directory = root / "sys/fs/cgroup" / group
        directory.mkdir(parents=True, exist_ok=True)
        for each in (directory, *directory.parents[: group.count("/")]):
            (each / "io.pressure").write_text(PRESSURE)
            (each / "io.stat").write_text("259:1 rbytes=1 wbytes=1 rios=1 wios=1\n")
        argv = ["mysqld", "--no-defaults", f"--datadir=/home/bob/{pid}", f"--port={pid}"]
        mounts = trees.mount_line("259:1", "/")
        trees.process(root / "proc", pid, argv, mounts, cgroup=f"0::/{group}", login=login)


@pytest.mark.parametrize(
    ("cgroup", "login"),
    [
        ("user.slice/user-1000.slice/user@1000.service/app.slice/{}.service", (1 << 32) - 1),
        ("system.slice/cron.service", 1000),
    ],
    ids=["user services", "cron jobs"],
)
def test_a_user_who_starts_other_servers_all_the_time_makes_no_new_series(
    tmp_path: Path, monitor: Monitor, clock: FakeClock, cgroup: str, login: int
) -> None:
    trees.nvme(trees.Sys(tmp_path / "sys"))
    argv = ["mysqld", "--no-defaults", "--port=3307"]
    trees.process(tmp_path / "proc", 9, argv, trees.mount_line("259:1", "/"))
    series: list[set[str]] = []
    for generation in (1, 2, 3):
        user_servers(tmp_path, generation, cgroup, login)
        monitor.survey.refresh()
        series.append({line.rpartition(" ")[0] for line in page(monitor).splitlines()})
        for pid in range(1000 * generation, 1000 * generation + 63):
            shutil.rmtree(tmp_path / f"proc/{pid}")
        clock.advance(301)
    of_servers = {line for line in series[0] if "ssd_device_role_server_info{" in line}
    assert of_servers
    assert all('port="3307"' in line for line in of_servers)
    group = cgroup.partition("/user@")[0]
    assert f'ssd_cgroup_pressure_io_waiting_seconds_total{{cgroup="/{group}"}}' in series[0]
    assert [set(), set()] == [later - series[0] for later in series[1:]]


def test_a_reached_limit_is_counted_on_the_page(tmp_path: Path, monitor: Monitor) -> None:
    for pid in range(10, 75):
        trees.process(tmp_path / "proc", pid, ["mysqld"], trees.mount_line("8:1", "/"))
    monitor.survey.refresh()
    assert 'ssd_collector_errors_total{collector="device",reason="limit"} 1' in page(monitor)


def test_the_page_has_the_order_of_the_collectors_and_not_of_the_configuration_file(
    tmp_path: Path, monitor: Monitor
) -> None:
    settings = Settings(
        path=Paths(tmp_path / "proc", tmp_path / "sys", tmp_path),
        collector=dict(reversed([*COLLECTORS.items()])),
    )
    other = Monitor(
        settings, FakeClock(), BrokenRunner(), {}, children=lambda: FakeChildren(lambda _argv: None)
    )
    for each in (monitor, other):
        each.sampler.tick()
    orders = [
        [line.split()[2] for line in page(each).splitlines() if line.startswith("# TYPE")]
        for each in (monitor, other)
    ]
    assert "ssd_disk_io_now" in orders[0]
    assert orders[0] == orders[1]


def test_slow_seconds_of_the_host_are_compared_with_what_the_drive_counted(
    tmp_path: Path, monitor: Monitor, clock: FakeClock
) -> None:
    """90 ms for the host in one second, and no request of 30 ms and more inside the drive."""
    begin = clock.wall()
    latency = ocp_latency(pages.slow_reads(0, 60))

    def watched(growth: LatencyGrowth | None) -> list[WatchedDrive]:
        logs = ParsedLogs(latency=latency, latency_at=clock.wall(), growth=growth)
        return [examples.drive("sda", examples.health(logs=logs))]

    monitor.sampler.tick()
    reads, milliseconds = 1, 1
    for second in range(1, 901):
        clock.advance(1)
        reads += 10
        milliseconds += 900 if second == 300 else 1
        (tmp_path / "proc/diskstats").write_text(
            f"8 0 sda {reads} 0 8 {milliseconds} 1 0 8 1 0 1 1 0 0 0 0 0 0\n"
        )
        monitor.sampler.tick()
        if not second % 30:
            monitor.compare_latencies(watched(None))
    assert "ssd_disk_slow_inside_drive" not in page(monitor)
    growth = LatencyGrowth(begin, clock.wall(), 0.03, 0, 0)
    monitor.compare_latencies(watched(growth))
    assert 'ssd_disk_slow_inside_drive{device="sda",op="read"} 0' in page(monitor)
    (found,) = monitor.slow_places["sda"].requests
    assert 0.09 == found.await_seconds
    monitor.compare_latencies([])
    assert "ssd_disk_slow_inside_drive" not in page(monitor)
