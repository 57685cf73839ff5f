"""All scenes: the host, its fault, and the expected notifications."""

import shutil

from tests.end_to_end import alerting_chains as chains
from tests.end_to_end import alerting_faults as faults
from tests.end_to_end.alerting_host import NVME, SATA, Host, another_disk
from tests.end_to_end.alerting_stage import Event, Scene

#: Disables the gate: the machine may be busy with other work, and its disk may be full.
_PROBE = """
[probe]
directory = "{directory}"
profiles = ["fsync"]
first_delay_seconds = 3
[probe.profile.fsync]
size_bytes = 1048576
number_ios = 20
interval_seconds = 60
[probe.gate]
host_uptime_seconds = 0
busy_ratio = 1
pressure_ratio = 1
cgroup_pressure_ratio = 1
free_bytes = 0
free_ratio = 0
guard_queue = 100000
guard_pressure_ratio = 1
"""


def _once(receiver: str, alert: str, device: str) -> tuple[Event, ...]:
    """Returns the two events of an alert that fires once and is resolved once."""
    return tuple(Event(receiver, alert, device, status) for status in ("firing", "resolved"))


def _probed(host: Host) -> str:
    """Creates a probe directory on the file system of the data, and a stand-in fio.

    The directory is in memory. The exporter takes it for one on nvme1n1, and the latency of a disk
    that other tests use fires alerts, too.

    Returns the settings of the probe.
    """
    directory = host.memory / "probes"
    directory.mkdir()
    (host.place / "rootfs/run/lock").mkdir(parents=True)
    (host.place / "proc/self").mkdir()
    mount = f"40 24 259:4 / {directory} rw,noatime shared:1 - ext4 /dev/nvme1n1p1 rw\n"
    mounts = (host.place / "proc/1/mountinfo").read_text()
    (host.place / "proc/self/mountinfo").write_text(mounts + mount)
    fio = host.place / "fio"
    fio.write_text(
        f'#!/bin/sh\n[ -e {host.place}/fio.broken ] && exit 1\nexec {shutil.which("fio")} "$@"\n'
    )
    fio.chmod(0o755)
    return _PROBE.format(directory=directory / "ours")


SCENES: tuple[Scene, ...] = (
    Scene("saturated", NVME, faults.saturated, _once("pager", "SSDDiskSaturatedSevere", "nvme1n1")),
    Scene("stalled", NVME, faults.stalled, _once("pager", "SSDDiskStalled", "nvme1n1")),
    Scene(
        "softirq",
        NVME,
        faults.softirq,
        _once("ticket", "SSDCPUSoftirqBottleneck", ""),
        "The CPU limits I/O on: nvme1n1",
    ),
    Scene("wear", NVME, faults.wear, _once("ticket", "SSDWearCritical", "nvme1n1")),
    Scene("lost", NVME, faults.lost, _once("pager", "SSDDriveLost", "nvme1n1")),
    Scene("hung", NVME, faults.hung, _once("ticket", "SSDDriveNotAnswering", "nvme1n1")),
    Scene("media", NVME, faults.media, _once("ticket", "SSDMediaErrors", "nvme1n1")),
    Scene(
        "reallocated",
        SATA,
        faults.reallocated,
        _once("ticket", "SSDReallocatedGrowing", "sda"),
        prepared=another_disk,
    ),
    Scene("heat", NVME, faults.heat, _once("pager", "SSDTemperatureCritical", "nvme1n1")),
    Scene("link", NVME, faults.link, _once("ticket", "SSDLinkDegraded", "nvme1n1")),
    Scene("cliff", NVME, faults.cliff, _once("ticket", "SSDWriteCacheFalloff", "nvme1n1")),
    Scene(
        "readonly",
        NVME,
        faults.readonly,
        _once("pager", "SSDFilesystemReadonly", ""),
        "The filesystem /var/lib/mysql on readonly accepts no writes. After an I/O error ext4 and "
        "btrfs become read-only, and XFS shuts down. If it holds the data of a database, fail "
        "over. Then find the first error: `journalctl -k --since -1h`. Drives: nvme1n1 "
        "(Flashworks F900 1.92TB, serial FW9B00000077)",
    ),
    Scene(
        "probe",
        NVME,
        faults.probe,
        # The exporter probes at most once a minute, so it fails once per (shortened) hour.
        tuple(
            Event("ticket", alert, device, status)
            for status in ("firing", "resolved")
            for alert, device in (("SSDProbeStale", "nvme1n1"), ("SSDCollectorFailed", ""))
        ),
        prepared=_probed,
        flags=lambda host: (f"--fio.path={host.place / 'fio'}",),
        is_ordered=False,
    ),
    Scene("down", NVME, faults.down, _once("ticket", "SSDExporterDown", "")),
    Scene(
        "worse-and-worse",
        NVME,
        chains.worse_and_worse,
        (
            Event("pager", "SSDDiskSaturatedSevere", "nvme1n1", "firing"),
            *_once("pager", "SSDDiskStalled", "nvme1n1"),
            Event("pager", "SSDDiskSaturatedSevere", "nvme1n1", "resolved"),
        ),
    ),
    Scene(
        "failing",
        NVME,
        chains.fails_in_every_way,
        (
            Event("pager", "SSDDriveFailing", "nvme1n1", "firing"),
            *_once("pager", "SSDDiskStalled", "nvme1n1"),
            Event("pager", "SSDDriveFailing", "nvme1n1", "resolved"),
        ),
    ),
    Scene(
        "down-and-hot",
        NVME,
        chains.down_with_a_hot_drive,
        (
            Event("pager", "SSDTemperatureCritical", "nvme1n1", "firing"),
            Event("pager", "SSDFailingHostSilent", "", "firing"),
            Event("pager", "SSDTemperatureCritical", "nvme1n1", "resolved"),
            Event("pager", "SSDFailingHostSilent", "", "resolved"),
        ),
    ),
)
