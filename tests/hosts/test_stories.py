"""What the page of each recorded host must show, independent of its expected.prom.

Hosts with malformed files are in test_broken.py.
"""

import pytest

from tests.hosts.page import Pages


def test_mysql_host_has_roles_and_cgroup_io(page: Pages) -> None:
    nvme = page("mysql-nvme-6.1")
    expected = {
        ("nvme0n1", "mysql-redo"),
        ("nvme0n1", "mysql-binlog"),
        ("nvme1n1", "mysql-data"),
        ("nvme1n1", "mysql-undo"),
        ("nvme1n1", "mysql-doublewrite"),
    }
    assert expected == nvme.rows("ssd_device_role_info", "device", "role")
    assert {
        ("/system.slice/mysql.service", "nvme0n1"),
        ("/system.slice/mysql.service", "nvme1n1"),
    } == (nvme.rows("ssd_cgroup_io_written_bytes_total", "cgroup", "device"))


def test_ordinary_load_has_no_bottleneck(page: Pages) -> None:
    nvme = page("mysql-nvme-6.1")
    assert ["none", "none"] == [nvme.verdict(device) for device in ("nvme0n1", "nvme1n1")]
    # 3,200 reads of 90 µs and 2,100 writes of 24 µs per second.
    assert 0.338 == nvme.value("ssd_disk_queue_depth_max", device="nvme1n1")
    assert 0.338 == nvme.value("ssd_disk_busy_ratio_max", device="nvme1n1")
    assert 12 * 420 == nvme.value("ssd_disk_flush_await_seconds_count", device="nvme0n1")


def test_slower_slot_limits_the_maximum_link_speed(page: Pages) -> None:
    nvme = page("mysql-nvme-6.1")
    speed = nvme.value("ssd_link_speed_bytes_per_second", device="nvme1n1")
    assert speed == nvme.value("ssd_link_speed_max_bytes_per_second", device="nvme1n1")
    assert 4 * 8e9 * 128 / 130 / 8 == pytest.approx(speed)


def test_old_kernel_omits_families_that_it_does_not_count(page: Pages) -> None:
    sata = page("mysql-sata-3.10")
    missing = {n for n in sata.names("ssd_") if "discard" in n or "flush" in n or "pressure" in n}
    assert set() == missing
    assert {} == sata.failed()


def test_slow_sata_link_and_its_maximum(page: Pages) -> None:
    sata = page("mysql-sata-3.10")
    speeds = [sata.value("ssd_link_speed_bytes_per_second", device=d) for d in ("sda", "sdb")]
    best = [sata.value("ssd_link_speed_max_bytes_per_second", device=d) for d in ("sda", "sdb")]
    assert [600e6, 150e6] == speeds
    assert [600e6, 600e6] == best


def test_await_on_an_edge_is_in_the_lower_bucket(page: Pages) -> None:
    """80 writes in 40 ms are 0.5 ms each, in each of twelve seconds."""
    sata = page("mysql-sata-3.10")
    below = [
        sata.below("ssd_disk_write_await_seconds", edge, device="sda")
        for edge in ("0.0002", "0.0005")
    ]
    assert [0, 12 * 80] == below


def test_utilisation_of_100_percent_alone_is_not_a_bottleneck(page: Pages) -> None:
    sata = page("mysql-sata-5.15")
    busy = [sata.below("ssd_disk_busy_ratio", edge, device="sda") for edge in ("0.1", "0.25")]
    assert [0, 15] == busy
    assert "none" == sata.verdict("sda")


def test_degraded_mirror_on_array_and_drive(page: Pages) -> None:
    raid = page("lvm-on-md-raid1")
    assert 1 == raid.value("ssd_md_degraded_disks", device="md0")
    assert 1 == raid.value("ssd_device_state_ok", device="sda")
    assert 0 == raid.value("ssd_device_state_ok", device="sdb")
    assert raid.value("ssd_link_speed_bytes_per_second", device="sdb") is None


def test_mounts_and_roles_resolve_to_the_drive(page: Pages) -> None:
    raid = page("lvm-on-md-raid1")
    mounts = raid.rows("ssd_mount_info", "device", "mountpoint")
    assert {("sda", "/"), ("sda", "/boot/efi"), ("sda", "/var/lib/mysql")} == mounts
    assert {("sda",)} == raid.rows("ssd_device_role_info", "device")


def test_only_drives_have_verdicts(page: Pages) -> None:
    raid = page("lvm-on-md-raid1")
    devices = ("sda", "sdb", "md0", "dm-0", "dm-1")
    assert ["device", "none", None, None, None] == [raid.verdict(device) for device in devices]
    assert set(devices) == raid.devices("ssd_disk_queue_depth")


def test_lost_path_is_reported_on_each_namespace(page: Pages) -> None:
    nvme = page("nvme-multipath")
    names = {("nvme0n1", "nvme0,nvme1"), ("nvme0n2", "nvme0,nvme1")}
    assert names == nvme.rows("ssd_device_info", "device", "controller")
    states = [nvme.value("ssd_device_state_ok", device=device) for device in ("nvme0n1", "nvme0n2")]
    assert [0, 0] == states


def test_drive_with_two_links_has_the_slower_speed(page: Pages) -> None:
    """2.5 GT/s, two lanes, 8b/10b."""
    nvme = page("nvme-multipath")
    speeds = {
        nvme.value("ssd_link_speed_bytes_per_second", device=device)
        for device in ("nvme0n1", "nvme0n2")
    }
    assert {500e6} == speeds


def test_values_of_controllers_are_reported_once(page: Pages) -> None:
    """The controllers have 3 and 41 correctable errors, and 0 and 2 nonfatal ones."""
    nvme = page("nvme-multipath")
    errors = {("nvme0n1", "correctable"), ("nvme0n1", "nonfatal")}
    assert errors == nvme.rows("ssd_pcie_errors_total", "device", "severity")
    assert 44 == nvme.value("ssd_pcie_errors_total", device="nvme0n1", severity="correctable")
    assert 2 == nvme.value("ssd_pcie_errors_total", device="nvme0n1", severity="nonfatal")


def test_hidden_paths_have_no_verdict(page: Pages) -> None:
    nvme = page("nvme-multipath")
    assert {"nvme0n1", "nvme0n2"} == nvme.devices("ssd_io_bottleneck")
    assert {"nvme0n1", "nvme0n2"} == nvme.devices("ssd_device_")


def test_disk_at_100_percent_since_boot_is_the_bottleneck(page: Pages) -> None:
    """Without idle time no baseline is learned, so the minimum of the drive class applies."""
    raid = page("raid-controller-100-percent-since-boot")
    assert "device" == raid.verdict("sda")
    assert 30 == raid.value("ssd_disk_saturated_seconds_total", device="sda")
    assert 0 == raid.below("ssd_disk_busy_ratio", "0.99", device="sda")
    assert {("read", "floor"), ("write", "floor")} == raid.rows(
        "ssd_disk_await_baseline_info", "op", "source"
    )
    assert 0.01 == raid.value("ssd_disk_await_baseline_seconds", device="sda", op="write")
    assert set() == raid.names("ssd_pressure_")


def test_cpu_saturated_by_softirqs_is_the_bottleneck(page: Pages) -> None:
    pi = page("usb-pi-softirq")
    assert "cpu_softirq" == pi.verdict("sda")
    assert 0.62 == pi.value("ssd_cpu_softirq_max_ratio", window="1m")
    assert 0 == pi.value("ssd_cpu_softirq_hottest_cpu")
    assert 20 == pi.value("ssd_cpu_softirq_saturated_seconds_total")
    assert 0 == pi.value("ssd_disk_saturated_seconds_total", device="sda")


def test_queue_depth_comes_from_the_time_sums(page: Pages) -> None:
    """The time sums yield 6.43 requests; the kernel's weighted time yields 0.035."""
    pi = page("usb-pi-softirq")
    assert 6.429 == pi.value("ssd_disk_queue_depth_max", device="sda")


def test_device_with_54_in_flight_is_the_bottleneck(page: Pages) -> None:
    pi = page("usb-pi-sequential")
    assert "device" == pi.verdict("sda")
    assert 20 == pi.value("ssd_disk_saturated_seconds_total", device="sda")
    assert 0 == pi.value("ssd_cpu_softirq_saturated_seconds_total")


@pytest.mark.parametrize("name", ["hanging-nvme", "hanging-nvme-io-time-stands-still"])
def test_hanging_drive_is_stalled_and_the_bottleneck(page: Pages, name: str) -> None:
    nvme = page(name)
    # Four whole seconds, and a part of the second in which the hang began.
    stalled = nvme.value("ssd_disk_stalled_seconds_total", device="nvme0n1")
    assert stalled is not None
    assert 4 <= stalled < 5
    assert "device" == nvme.verdict("nvme0n1")
    busy = [nvme.below("ssd_disk_busy_ratio", edge, device="nvme0n1") for edge in ("0.25", "0.99")]
    assert [4, 4] == busy


def test_hanging_drive_has_queue_depth_and_no_await(page: Pages) -> None:
    nvme = page("hanging-nvme")
    assert 12 == nvme.value("ssd_disk_queue_depth_max", device="nvme0n1")
    assert 4 * 2_000 == nvme.value("ssd_disk_read_await_seconds_count", device="nvme0n1")


def test_busy_ratio_after_a_hang_is_at_most_one(page: Pages) -> None:
    nvme = page("hanging-nvme-io-time-stands-still")
    assert 1 == nvme.value("ssd_disk_busy_ratio_max", device="nvme0n1")
    assert 9 == nvme.value("ssd_disk_busy_ratio_count", device="nvme0n1")


def test_baseline_is_learned_per_drive(page: Pages) -> None:
    """Both reach 4 ms: slow with a baseline of 0.2 ms, but not with one of 1.6 ms."""
    sata = page("learned-baseline")
    learned = {("sda", "write"), ("sdb", "write")}
    assert learned == {
        (device, op)
        for device, op, source in sata.rows(
            "ssd_disk_await_baseline_info", "device", "op", "source"
        )
        if source == "learned"
    }
    baselines = [
        sata.value("ssd_disk_await_baseline_seconds", device=device, op="write")
        for device in ("sda", "sdb")
    ]
    assert [pytest.approx(0.0002, rel=0.1), pytest.approx(0.0016, rel=0.1)] == baselines
    assert ["device", "none"] == [sata.verdict(device) for device in ("sda", "sdb")]


def test_200_disks_have_equal_series_and_one_is_the_bottleneck(page: Pages) -> None:
    many = page("200-disks")
    assert 200 == len(many.devices("ssd_disk_"))
    assert 200 == len(many.devices("ssd_device_info"))
    assert ["none", "none", "device"] == [many.verdict(d) for d in ("sda", "sdb", "sdgr")]
    counts = {
        sum(1 for s in many.samples if s.labels.get("device") == device)
        for device in ("sdb", "sdz", "sdaa", "sdgq")
    }
    assert 1 == len(counts)


def test_partition_alignment_ignores_the_optimal_io_size(page: Pages) -> None:
    sizes = page("partition-alignment")
    misaligned = {("sda1",), ("sdb1",), ("sdc1",), ("sdd1",)}
    assert misaligned == sizes.rows("ssd_partition_misaligned", "partition")
    aligned = [
        sizes.value("ssd_partition_misaligned", partition=partition)
        for partition in ("sdb2", "sdd2")
    ]
    assert [0, 0] == aligned


def test_names_with_special_characters(page: Pages) -> None:
    odd = page("names-with-quotes-and-newlines")
    mounts = {
        ("nvme0n1", '/mnt/a "quoted"\nnew\\line\\tand tab'),
        ("nvme0n1", "/mnt/größe 100%"),
        ("cciss/c0d0", '/mnt/latin1-\\xe9-{le="1"}'),
    }
    assert mounts == odd.rows("ssd_mount_info", "device", "mountpoint")
    models = {
        ("nvme0n1", 'Flash "Pro" \\ 1TB \\xb5\\xff', 'S\n2\\t{x="1"}', "1%s%d{}"),
        ("cciss/c0d0", "", "", ""),
    }
    assert models == odd.rows("ssd_device_info", "device", "model", "serial", "firmware")
    assert {('/system.slice/my"sql\\x2dprod.service',)} == odd.rows(
        "ssd_cgroup_pressure_io_waiting_seconds_total", "cgroup"
    )


def test_role_below_a_mountpoint_with_special_characters(page: Pages) -> None:
    odd = page("names-with-quotes-and-newlines")
    assert ("nvme0n1", "mysql-data") in odd.rows("ssd_device_role_info", "device", "role")


def test_wrapped_counters_yield_correct_samples(
    page: Pages,
) -> None:
    nvme = page("counters-wrap")
    assert 1.16 == nvme.value("ssd_disk_read_time_seconds_total", device="nvme0n1")
    assert 0.39 == nvme.value("ssd_disk_queue_depth_max", device="nvme0n1")
    assert 0.39 == nvme.value("ssd_disk_busy_ratio_max", device="nvme0n1")
    assert 6 * 0.39 == pytest.approx(nvme.value("ssd_disk_busy_ratio_sum", device="nvme0n1"))
    assert 6 * 0.36 == pytest.approx(
        nvme.value("ssd_disk_read_await_seconds_sum", device="nvme0n1")
    )
    assert 6 * 0.03 == pytest.approx(
        nvme.value("ssd_disk_write_await_seconds_sum", device="nvme0n1")
    )
    assert 6 * 0.003 == pytest.approx(
        nvme.value("ssd_disk_flush_await_seconds_sum", device="nvme0n1")
    )


def test_new_drive_with_an_old_name_has_its_own_history(page: Pages) -> None:
    sata = page("device-recreated")
    serials = {("sda", "S5E480000051"), ("sdb", "S5E960000077")}
    assert serials == sata.rows("ssd_device_info", "device", "serial")
    assert 1500 == sata.value("ssd_disk_writes_completed_total", device="sdb")
    assert 9 == sata.value("ssd_disk_busy_ratio_count", device="sda")
    seconds = sata.value("ssd_disk_busy_ratio_count", device="sdb")
    assert seconds is not None
    assert 2 <= seconds <= 3
    assert 500 * seconds == sata.value("ssd_disk_write_await_seconds_count", device="sdb")


def test_a_backup_beside_mysqld_is_named(page: Pages) -> None:
    host = page("busy-services")

    def services(name: str, device: str) -> dict[str, float]:
        family = f"ssd_service_io_{name}_bytes_total"
        found = (s for s in host.samples if s.name == family and s.labels["device"] == device)
        return {sample.labels["service"]: sample.value for sample in found}

    read = services("read", "nvme1n1")
    assert (1410e6, 900e6) == (read["mysql.service"], read["xtrabackup.service"])
    written = services("written", "nvme1n1")
    assert 7 == len(written), "mysqld, the five busiest services and the others"
    # 200 MB of mysqld and 84 MB of the small services in each interval, 5 MB of a short-lived one.
    assert 2 * (200e6 + 84e6) + 5e6 == sum(written.values())
    assert {
        "mysql.service": 2e6,
        "systemd-journald.service": 8e6,
        "other": 10e6,
    } == services("written", "nvme0n1")
