"""The data of `make fleet` is complete and valid."""

import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

from rigs.fleet import history, page
from rigs.fleet.targets import Target
from rigs.fleet.tsdb_block import Flat, crc32c, write
from tests.alerts import rules
from tests.alerts.catalogue import CATALOGUE
from tests.end_to_end.programs import need

DAY = 86_400_000
BEGIN = 1_795_000_000_000

#: Metrics of SATA drives, arrays, pools and failing drives, which four healthy NVMe drives do not
#: have, the reference of a drive, which needs a day, and histograms converted to native ones.
ELSEWHERE = {
    "ssd_disk_await_reference_seconds",
    *("ssd_disk_read_await_seconds", "ssd_disk_write_await_seconds"),
    *("ssd_md_degraded_disks", "ssd_md_sync_action_info", "ssd_zfs_pool_state_info"),
    *("ssd_smart_pending_sectors", "up"),
    *("ssd_smart_firmware_issue", "ssd_smart_firmware_issue_left_seconds"),
    *("ssd_smart_failure_cause", "ssd_smart_rejected_values"),
    *("ssd_smart_capacitor_health_ratio", "ssd_smart_end_to_end_errors_total"),
    *("ssd_smart_pcie_errors_total", "ssd_smart_thermal_throttling_events_total"),
    "ssd_smart_thermal_throttling_level",
    *("ssd_disk_request_seconds", "ssd_disk_request_seconds_bucket"),
    "ssd_disk_request_seconds_count",
}


def names() -> set[str]:
    return {dict(page.labels(line.series))["__name__"] for line in page.lines()}


def test_the_page_has_every_metric_that_rules_use_for_nvme_drives() -> None:
    expressions = [rule.expr for rule in rules.alerts()]
    expressions += [rule.expr for rule in rules.recordings()]
    read = {metric for expr in expressions for metric in rules.metrics(expr)}
    assert ELSEWHERE == read - names()


def test_the_page_has_only_metrics_of_the_exporter() -> None:
    assert set() == names() - set(CATALOGUE)


def test_every_host_has_the_same_number_of_series_for_each_drive() -> None:
    found = [dict(page.labels(line.series)).get("device") for line in page.lines()]
    assert 1 == len({found.count(drive) for drive in page.DRIVES})


def test_work_counters_increase_and_fault_counters_do_not() -> None:
    rates = {line.series: line.rate for line in page.lines()}
    assert rates['ssd_disk_reads_completed_total{device="nvme0n1"}'] > 0
    assert 0 == rates['ssd_disk_saturated_seconds_total{device="nvme0n1"}']
    assert 0 == rates['ssd_smart_power_cycles_total{device="nvme0n1",serial="FLEETHOSTnvme0n1"}']


def test_the_checksum_is_that_of_rfc_3720() -> None:
    assert 0xE3069283 == crc32c(b"123456789")
    assert crc32c(b"123456789") == crc32c(b"6789", crc32c(b"12345"))


def dumped(directory: Path) -> list[str]:
    (directory / "wal").mkdir()
    argv = ["promtool", "tsdb", "dump", str(directory)]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.mark.real
def test_prometheus_reads_the_written_samples(tmp_path: Path) -> None:
    need("promtool")
    written = [
        Flat((("__name__", name), ("instance", host)), value, step)
        for name, value, step in (("a", 1.5, 15_000), ("b", 0.0, 15_000), ("c", 7.0, 240_000))
        for host in ("db2", "db1")
    ]
    write(tmp_path, 1, BEGIN, BEGIN + DAY, written)
    expected = [
        f'{{__name__="{each.labels[0][1]}", instance="{each.labels[1][1]}"}} {each.value:g} {time}'
        for each in sorted(written)
        for time in range(BEGIN, BEGIN + DAY, each.step)
    ]
    assert expected == dumped(tmp_path)


@pytest.mark.real
def test_the_history_has_thirty_days_without_gaps(tmp_path: Path) -> None:
    need("promtool")
    history.write(tmp_path, [Target("shop", "db1")], page.lines())
    (tmp_path / "wal").mkdir()
    argv = ["promtool", "tsdb", "dump", '--match={__name__="ssd_smart_spare_ratio"}', str(tmp_path)]
    lines = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.splitlines()
    times = [int(line.rpartition(" ")[2]) for line in lines if "nvme2n1" in line]
    assert 30 * DAY // 15_000 == len(times)
    assert {15_000} == {b - a for a, b in pairwise(times)}
