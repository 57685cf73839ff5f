"""A short month: a weekend until Sunday morning, with two of the ten faults."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
import yaml

from exporter.families.disk_families import IO_NOW
from exporter.io.interval import disk_interval
from rigs.month import busy_shop, demand, replay, summary
from rigs.month.demand import DAY, HOUR, IDLE, Demand
from rigs.month.drive import NVME, SATA, ModelDrive
from rigs.month.faults import BY_NAME, FAULTS, Fault
from rigs.month.health_data import healthy
from rigs.month.monitored_drive import Presence
from rigs.month.replay import REPLAYS, Fired, Named, Replay
from rigs.month.run import BUSY, HEALTHY, Month, month
from rigs.month.series import Series
from tests.alerts import rules
from tests.duration import PATIENCE_SECONDS, wait_until
from tests.end_to_end.programs import need

#: Two nights from Saturday, with backups, ALTER, scrub and a reboot.
_DAYS = 1.3
_SHORT = ("wears out", "spends its spare")


#: It takes 15 seconds on two cores.
pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("month")


@pytest.fixture(scope="module")
def short(place: Path) -> Month:
    need("promtool")
    return month(_DAYS, [BY_NAME[name] for name in _SHORT], place, lambda _: None)


@pytest.mark.real
def test_the_healthy_host_has_no_alert_and_faulty_hosts_alert_in_time(
    short: Month,
) -> None:
    assert [] == summary.wrong(short)


@pytest.mark.real
def test_the_replay_detects_events(short: Month) -> None:
    """A replay without any alert would look healthy: the reboot and each lost drive must appear."""
    pending = {each.alert for each in short.fired if each.host == HEALTHY}
    assert "SSDExporterDown" in pending
    for name in _SHORT:
        assert "SSDDriveLost" in {each.alert for each in short.of(BY_NAME[name].host)}


@pytest.mark.real
def test_the_table_has_one_line_per_fault(short: Month) -> None:
    assert len(_SHORT) + 1 == len(summary.table(short).splitlines())


def running(group: int) -> list[int]:
    """Returns the processes of a group. In a container, a zombie may never be collected."""
    found = []
    for process in psutil.process_iter(["status"]):
        with suppress(ProcessLookupError):
            if os.getpgid(process.pid) == group and process.info["status"] != "zombie":
                found.append(process.pid)
    return found


@pytest.mark.real
def test_a_stopped_month_leaves_no_processes() -> None:
    need("promtool")
    with subprocess.Popen(
        [sys.executable, "-m", "rigs.month", "--days=5"],
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as ours:
        assert ours.stdout is not None
        # Its processes simulate other hosts at this point.
        assert ours.stdout.readline()
        ours.terminate()
        assert 128 + signal.SIGTERM == ours.wait(PATIENCE_SECONDS)
    wait_until(lambda: not running(group=ours.pid), "the end of its processes")


def test_every_group_of_rules_is_replayed() -> None:
    known = {
        group["name"]
        for path in rules.RULE_FILES
        for group in yaml.safe_load(path.read_text())["groups"]
    }
    assert known == {name for each in REPLAYS for name in each.groups}


@pytest.mark.parametrize("each", REPLAYS, ids=lambda each: each.name)
def test_each_replay_records_the_series_of_its_alerts(each: Replay) -> None:
    found = [rule for group in replay.groups(each) for rule in group["rules"]]
    recorded = {rule["record"] for rule in found if "record" in rule}
    asked = {name for rule in found for name in rules.recorded(rule["expr"])}
    # Only the rules of a site record overrides.
    overrides = {name for name in asked if name.startswith("ssd:override:")}
    assert set() == asked - recorded - overrides


#: Metrics that rules use and no simulated drive or host reports.
NOT_SIMULATED = {
    # The baseline of the first day needs more observations than the short month has.
    "ssd_disk_await_reference_seconds",
    # Histograms that Prometheus has converted to native ones.
    "ssd_disk_read_await_seconds",
    "ssd_disk_write_await_seconds",
    # The collector latency is off by default.
    *("ssd_disk_request_seconds", "ssd_disk_request_seconds_bucket"),
    "ssd_disk_request_seconds_count",
    "ssd_slc_burst_bytes_per_second",
    "ssd_slc_falloff_ratio",
    "ssd_disk_write_falloff_last_ratio",
    "ssd_smart_firmware_issue",
    "ssd_smart_firmware_issue_left_seconds",
    "ssd_smart_failure_cause",
    "ssd_smart_plp_healthy",
    "ssd_smart_capacitor_health_ratio",
    "ssd_smart_end_to_end_errors_total",
    "ssd_smart_pcie_errors_total",
    "ssd_smart_thermal_throttling_events_total",
    "ssd_smart_thermal_throttling_level",
    "ssd_smart_rejected_values",
    "ssd_smart_self_test_passed",
    "ssd_zfs_pool_state_info",
}


@pytest.mark.real
def test_the_healthy_host_exports_all_metrics_of_the_rules(short: Month, place: Path) -> None:
    lines = [
        line for path in place.glob(f"{HEALTHY}.*.jsonl") for line in path.read_text().splitlines()
    ]
    told = {json.loads(line)["series"].partition("{")[0] for line in lines}
    asked = {name for each in REPLAYS for name in replay.named(each).metrics}
    assert asked - NOT_SIMULATED == told


def test_ten_faults_have_existing_alerts() -> None:
    assert 10 == len(FAULTS) == len({fault.host for fault in FAULTS})
    expected = {alert for fault in FAULTS for alert in (fault.alert, *fault.also)}
    assert set() == expected - {a.name for a in rules.alerts()}


def test_an_expected_further_alert_that_does_not_fire_is_a_failure() -> None:
    slower = BY_NAME["gets slower"]
    probe = Fired(slower.alert, "warning", slower.host, "nvme0n1", DAY, 2 * DAY, DAY)
    trend = Fired(slower.also[0], "warning", slower.host, "nvme0n1", 2 * DAY, 3 * DAY, DAY)
    late = Fired(slower.also[0], "warning", slower.host, "nvme0n1", 29.5 * DAY, 30 * DAY, DAY)
    results = [
        summary.wrong(Month(30 * DAY, (slower,), fired))
        for fired in ((probe, trend), (probe,), (probe, late))
    ]
    assert [0, 1, 1] == [len(each) for each in results]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_starts_with_a_healthy_drive(fault: Fault) -> None:
    """Or as a worn drive; on the first day there is no other fault."""
    well = healthy(fault.kind, 0.0)
    faulty = fault.health_data(well, 0.0)
    assert (well.media_errors, well.reallocated, well.spare, well.celsius) == (
        faulty.media_errors,
        faulty.reallocated,
        faulty.spare,
        faulty.celsius,
    )
    for share in (fault.slowness, fault.cache, fault.link):
        assert share is None or share(0.0) == 1.0


def test_the_busy_shop_contains_a_restore_a_swap_and_two_rebuilds() -> None:
    minutes = range(0, int(30 * DAY), 60)
    assert 180 == sum(not busy_shop.is_serving(at) for at in minutes)
    states = [busy_shop.array(at) for at in minutes]
    rebuilt = sum(state.action == "recover" for state in states)
    assert 2 * 80 == rebuilt
    # A swap and a loose cable: the array is degraded, and nothing is rebuilt yet.
    assert 8 + 4 == sum(state.degraded for state in states) - rebuilt


def test_the_drives_of_the_busy_shop_never_share_a_place() -> None:
    """Its mirror has one member or two, and the first drive that is swapped never returns."""
    before, after = busy_shop.of_predecessor, busy_shop.of_successor
    present = [(before(at), after(at)) for at in range(0, int(30 * DAY), 60)]
    assert (Presence.PRESENT, Presence.PRESENT) not in present
    assert (Presence.UNKNOWN, Presence.MISSING) in present
    assert {Presence.UNKNOWN} == {old for old, _ in present[int(13 * DAY / 60) :]}


@pytest.mark.parametrize(
    ("fired", "failures"),
    [
        ((), 2),
        (("SSDDriveReplaced:warning", "SSDRaidRebuilding:info"), 0),
        (("SSDDriveReplaced:warning", "SSDRaidRebuilding:info", "SSDRaidDegraded:critical"), 1),
        (("SSDDriveReplaced:warning", "SSDRaidRebuilding:info", "A:warning", "B:warning"), 1),
    ],
)
def test_pages_and_more_than_two_tickets_of_the_busy_shop_are_failures(
    fired: tuple[str, ...], failures: int
) -> None:
    alerts = tuple(
        Fired(name, severity, BUSY, "sdb", DAY, 2 * DAY, DAY)
        for name, severity in (each.split(":") for each in fired)
    )
    assert failures == len(summary.wrong(Month(30 * DAY, (), alerts, has_busy_shop=True)))


def _minute(model: ModelDrive, wanted: Demand) -> Iterator[float]:
    before = model.work(wanted, 59, 1)
    for second in range(60):
        after = model.work(wanted, second, 1)
        disk = disk_interval(before, after, 1.0)
        assert disk is not None
        yield disk.busy_ratio
        before = after


def test_the_nvme_drive_is_fully_busy_in_the_afternoon() -> None:
    model = ModelDrive("nvme0n1", NVME, "259:0")
    wanted = demand.of(3 * DAY + 16 * HOUR)[demand.DATA]
    assert 0.95 < sum(_minute(model, wanted)) / 60


def test_counters_of_an_idle_drive_are_constant() -> None:
    assert {0.0} == set(_minute(ModelDrive("sda", SATA, "8:0"), IDLE))


def test_the_two_nights_contain_the_large_jobs() -> None:
    minutes = [60.0 * n for n in range(int(_DAYS * 24 * 60))]
    for job in (demand.is_backup, demand.is_alter, demand.is_scrub):
        assert any(map(job, minutes)), job.__name__


def test_series_are_run_length_encoded_with_gaps_for_failed_scrapes(
    tmp_path: Path,
) -> None:
    series = Series("db1", Named(frozenset({"ssd_disk_io_now", "up"})))
    for value in (3, 3, 3, None, None, 4):
        series.take(None if value is None else [IO_NOW(value, "sda")])
    series.write(tmp_path / "series")
    assert (
        '{"series": "ssd_disk_io_now{instance=\\"db1\\",job=\\"ssd\\",device=\\"sda\\"}", '
        '"values": "3x2 stale _ 4"}' in (tmp_path / "series").read_text().splitlines()
    )
    assert '"values": "1x2 0x1 1"' in (tmp_path / "series").read_text()
