"""Hosts with one malformed or missing file: only its collector fails, the page remains."""

import pytest
from prometheus_client.samples import Sample

from tests.hosts.page import Pages


@pytest.mark.parametrize(
    ("name", "collector"),
    [
        ("cgroup-garbage", "cgroup"),
        ("diskstats-empty", "disk"),
        ("diskstats-one-garbage-line", "disk"),
        ("diskstats-truncated", "disk"),
        ("mountinfo-one-garbage-line", "device"),
        ("psi-garbage", "pressure"),
        ("softirqs-garbage", "softirqs"),
        ("softnet-truncated", "softnet"),
        ("stat-garbage", "cpu"),
        ("sysfs-garbage", "device"),
        ("emmc-worn-out", "device"),
    ],
)
def test_only_the_collector_of_the_malformed_file_fails(
    page: Pages, name: str, collector: str
) -> None:
    failed = page(name).failed()
    assert {collector} == failed.keys()
    assert failed[collector] >= 1


@pytest.mark.parametrize(
    "name",
    [
        "cpu-offline",
        "diskstats-future-columns",
        "mountinfo-missing",
        "psi-off",
        "stat-old-columns",
        "two-nvme",
    ],
)
def test_absent_and_additional_features_are_not_failures(page: Pages, name: str) -> None:
    assert {} == page(name).failed()


@pytest.mark.parametrize(
    ("name", "device"),
    [("diskstats-truncated", "nvme0n1"), ("diskstats-one-garbage-line", "nvme1n1")],
)
def test_malformed_diskstats_line_affects_only_its_device(
    page: Pages, name: str, device: str
) -> None:
    broken = page(name)
    assert {device} == broken.devices("ssd_disk_") == broken.devices("ssd_io_")
    assert 5 == broken.value("ssd_disk_busy_ratio_count", device=device)
    assert {"nvme0n1", "nvme1n1"} == broken.devices("ssd_device_info")


@pytest.mark.parametrize("name", ["diskstats-empty", "diskstats-missing"])
def test_other_metrics_remain_without_diskstats(page: Pages, name: str) -> None:
    broken = page(name)
    assert set() == broken.devices("ssd_disk_") | broken.devices("ssd_io_")
    assert {"nvme0n1", "nvme1n1"} == broken.devices("ssd_device_info")
    assert 6 == broken.value("ssd_sampler_samples_total")
    assert broken.value("ssd_cpu_seconds_total", mode="user") is not None


def test_additional_columns_are_ignored(page: Pages) -> None:
    def disks(name: str) -> list[Sample]:
        return [s for s in page(name).samples if s.name.startswith(("ssd_disk_", "ssd_io_"))]

    assert disks("two-nvme") == disks("diskstats-future-columns") != []


def test_malformed_stat_affects_only_cpu_metrics(page: Pages) -> None:
    broken = page("stat-garbage")
    assert set() == broken.names("ssd_cpu_")
    assert 5 == broken.value("ssd_disk_busy_ratio_count", device="nvme1n1")
    assert broken.value("ssd_softirqs_total", vector="BLOCK") is not None


def test_stat_with_seven_columns(page: Pages) -> None:
    assert 0.03 == pytest.approx(
        page("stat-old-columns").value("ssd_cpu_softirq_max_ratio", window="1m")
    )


def test_malformed_vector_affects_only_itself(page: Pages) -> None:
    assert {("TIMER",)} == page("softirqs-garbage").rows("ssd_softirqs_total", "vector")


def test_unreadable_pressure_is_omitted_and_not_zero(page: Pages) -> None:
    broken = page("psi-garbage")
    expected = {
        "ssd_pressure_cpu_waiting_seconds_total",
        "ssd_pressure_cpu_stalled_seconds_total",
        "ssd_pressure_irq_stalled_seconds_total",
    }
    assert expected == broken.names("ssd_pressure_")
    assert set() == page("psi-off").names("ssd_pressure_")


def test_without_sys_only_drive_names_are_known(page: Pages) -> None:
    broken = page("sysfs-missing")
    assert {"nvme0n1", "nvme1n1"} == broken.devices("ssd_disk_") == broken.devices("ssd_io_")
    assert set() == broken.devices("ssd_device_") | broken.devices("ssd_mount_")
    # The minimum baseline of the drive class NVMe.
    assert 0.001 == broken.value("ssd_disk_await_baseline_seconds", device="nvme0n1", op="read")


def test_without_host_mounts_roles_come_from_the_servers_mounts(page: Pages) -> None:
    broken = page("mountinfo-missing")
    assert set() == broken.devices("ssd_mount_info")
    assert {"nvme0n1", "nvme1n1"} == broken.devices("ssd_device_info")
    assert ("nvme1n1", "mysql-data") in broken.rows("ssd_device_role_info", "device", "role")


def test_malformed_mount_affects_only_itself(page: Pages) -> None:
    broken = page("mountinfo-one-garbage-line")
    mounts = {("nvme0n1", "/"), ("nvme1n1", "/var/lib/mysql")}
    assert mounts == broken.rows("ssd_mount_info", "device", "mountpoint")
    assert ("nvme1n1", "mysql-data") in broken.rows("ssd_device_role_info", "device", "role")


def test_truncated_softnet_stat_has_the_sum_of_complete_lines(page: Pages) -> None:
    """3 drops on the first CPU; 42 and 1 squeezes."""
    broken = page("softnet-truncated")
    assert 3 == broken.value("ssd_softnet_dropped_total")
    assert 43 == broken.value("ssd_softnet_times_squeezed_total")


def test_returning_cpu_has_no_ratio_above_one(page: Pages) -> None:
    hot = page("cpu-offline")
    assert 0.03 == pytest.approx(hot.value("ssd_cpu_softirq_max_ratio", window="1m"))
    assert 0 == hot.value("ssd_cpu_iowait_max_ratio", window="1m")


def test_softirqs_are_summed_over_the_cpus_in_the_header(page: Pages) -> None:
    """The file has three columns, for the CPUs 0, 1 and 3."""
    expected = 5120331 + 5098712 + 5101120
    assert expected == page("cpu-offline").value("ssd_softirqs_total", vector="BLOCK")


def test_malformed_sysfs_attributes_affect_only_themselves(page: Pages) -> None:
    broken = page("sysfs-garbage")
    expected = {
        ("nvme0n1", "Flashworks F900 480GB", "", ""),
        ("nvme1n1", "Flashworks F900 1.92TB", "FW9B00000022", "0"),
    }
    assert expected == broken.rows("ssd_device_info", "device", "model", "serial", "rotational")
    assert broken.value("ssd_device_capacity_bytes", device="nvme0n1") is None
    assert broken.value("ssd_link_speed_bytes_per_second", device="nvme0n1") is None
    assert {"nvme1n1"} == broken.devices("ssd_partition_misaligned")
    labels = {"device": "nvme0n1", "severity": "correctable"}
    assert broken.value("ssd_pcie_errors_total", **labels) is None
    labels["severity"] = "fatal"
    assert 0 == broken.value("ssd_pcie_errors_total", **labels)


def test_malformed_io_stat_line_affects_only_its_device(page: Pages) -> None:
    broken = page("cgroup-garbage")
    assert {("nvme1n1",)} == broken.rows("ssd_cgroup_io_written_bytes_total", "device")
    assert set() == broken.names("ssd_cgroup_pressure_")
