"""Faults that start and end, each of one kind; `alerting_scenes` lists the expected alerts."""

import time
from collections.abc import Iterator

from tests.end_to_end.alerting_breaking import (
    LOG,
    MANY_REQUESTS_SECONDS,
    STALLED,
    WITH_CACHE,
    WITHOUT_CACHE,
    fills,
    heats,
)
from tests.end_to_end.alerting_stage import Act, Until

_SLOT = "devices/pci0000:00/0000:00:02.1"


def saturated(act: Act) -> Iterator[Until]:
    yield act.after(MANY_REQUESTS_SECONDS)
    yield from fills(act)
    # The job has ended, and the drive is idle.
    act.host.counters.loads("nvme1n1", io_ms=0)
    act.host.counters.waits()
    yield act.is_resolved("SSDDiskSaturatedSevere")
    act.host.counters.loads("nvme1n1")


def stalled(act: Act) -> Iterator[Until]:
    act.host.counters.loads("nvme1n1", **STALLED)
    yield act.fires("SSDDiskStalled")
    act.host.counters.loads("nvme1n1")
    yield act.is_resolved("SSDDiskStalled")


def softirq(act: Act) -> Iterator[Until]:
    act.host.counters.computes(cpu0={"user": 5, "system": 5, "softirq": 90})
    act.host.counters.completes(CPU0=20_000)
    yield act.fires("SSDCPUSoftirqBottleneck")
    act.host.counters.computes()
    act.host.counters.completes()
    yield act.is_resolved("SSDCPUSoftirqBottleneck")


def wear(act: Act) -> Iterator[Until]:
    act.host.drives.says("nvme1", **{f"{LOG}percentage_used": 91})
    yield act.fires("SSDWearCritical")
    yield from act.replaces("nvme1n1", "nvme1")
    yield act.is_resolved("SSDWearCritical")


def lost(act: Act) -> Iterator[Until]:
    yield act.after(12)
    act.host.unmounts("nvme1n1")
    act.host.drives.pull("nvme1n1", "nvme1")
    yield act.fires("SSDDriveLost")
    act.host.drives.plug("nvme1n1", "nvme1")
    act.host.mounts_again()
    yield act.is_resolved("SSDDriveLost")


def hung(act: Act) -> Iterator[Until]:
    act.host.drives.hangs("nvme1")
    yield act.fires("SSDDriveNotAnswering")
    act.host.drives.says("nvme1")
    yield act.is_resolved("SSDDriveNotAnswering")


def media(act: Act) -> Iterator[Until]:
    # The rule compares with the value at a full ten seconds (ten minutes divided by `FACTOR`).
    yield act.after(12)
    act.host.drives.says("nvme1", **{f"{LOG}media_errors": 3})
    yield act.fires("SSDMediaErrors")
    yield from act.replaces("nvme1n1", "nvme1")
    yield act.is_resolved("SSDMediaErrors")


def reallocated(act: Act) -> Iterator[Until]:
    # This rule compares with the value at a full minute (an hour divided by `FACTOR`).
    minute = time.time() // 60
    yield Until("a full minute", lambda: time.time() > 60 * (minute + 1) + 1)
    act.host.drives.counts("sda", attribute=5, more=8)
    yield act.fires("SSDReallocatedGrowing")
    yield from act.replaces("sda", "sda")
    yield act.is_resolved("SSDReallocatedGrowing")


def heat(act: Act) -> Iterator[Until]:
    heats(act)
    yield act.fires("SSDTemperatureCritical")
    act.host.drives.says("nvme1")
    yield act.is_resolved("SSDTemperatureCritical")


def link(act: Act) -> Iterator[Until]:
    for place in (_SLOT, f"{_SLOT}/0000:02:00.0"):
        act.host.attribute(f"{place}/current_link_speed", "2.5 GT/s PCIe")
    yield act.fires("SSDLinkDegraded")
    for place in (_SLOT, f"{_SLOT}/0000:02:00.0"):
        act.host.attribute(f"{place}/current_link_speed", "8.0 GT/s PCIe")
    yield act.is_resolved("SSDLinkDegraded")


def cliff(act: Act) -> Iterator[Until]:
    act.host.counters.loads("nvme1n1", **WITH_CACHE)
    yield act.after(6)
    act.host.counters.loads("nvme1n1", **WITHOUT_CACHE)
    yield act.fires("SSDWriteCacheFalloff")
    act.host.counters.loads("nvme1n1")
    yield act.is_resolved("SSDWriteCacheFalloff")


def readonly(act: Act) -> Iterator[Until]:
    act.host.mounts("/var/lib/mysql", "ro,noatime")
    yield act.fires("SSDFilesystemReadonly")
    act.host.mounts("/var/lib/mysql", "rw,noatime")
    yield act.is_resolved("SSDFilesystemReadonly")


def probe(act: Act) -> Iterator[Until]:
    broken = act.host.place / "fio.broken"
    yield Until("the first probe", lambda: "success" in _results(act))
    broken.touch()
    yield act.fires("SSDProbeStale")
    broken.unlink()
    yield act.is_resolved("SSDProbeStale")
    yield act.is_resolved("SSDCollectorFailed")


def down(act: Act) -> Iterator[Until]:
    act.daemon.kill()
    yield act.fires("SSDExporterDown")
    act.daemon = act.again()
    yield act.is_resolved("SSDExporterDown")


def _results(act: Act) -> set[str]:
    found = act.daemon.page().find("ssd_probe_runs_total")
    return {labels["result"] for labels, value in found if value}
