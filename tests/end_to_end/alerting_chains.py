"""Scenes with several faults: the worst alert is sent, and inhibits the others."""

from collections.abc import Iterator

from tests.end_to_end.alerting_breaking import (
    FULL_AND_SLOW,
    GROUP_SECONDS,
    LOG,
    MANY_REQUESTS_SECONDS,
    STALLED,
    fills,
    heats,
)
from tests.end_to_end.alerting_stage import Act, Until


def worse_and_worse(act: Act) -> Iterator[Until]:
    """Slow, saturated, hanging: one notification at a time, for the worst state."""
    yield act.after(MANY_REQUESTS_SECONDS)
    yield from fills(act)
    act.host.counters.loads("nvme1n1", **FULL_AND_SLOW)
    act.host.counters.waits(some=700_000, full=500_000)
    yield act.holds_back("SSDDiskSaturatedSevere", "SSDDiskSaturated", "SSDWriteLatencyHigh")
    yield act.holds_back("SSDDiskSaturatedSevere", "SSDIOPressureHigh")
    act.host.counters.loads("nvme1n1", **STALLED)
    yield act.holds_back("SSDDiskStalled", "SSDDiskSaturatedSevere", "SSDDiskSaturated")
    yield act.is_over("SSDDiskSaturatedSevere", "SSDDiskSaturated", "SSDWriteLatencyHigh")
    act.host.counters.loads("nvme1n1")
    act.host.counters.waits()
    yield act.is_resolved("SSDDiskStalled")


def fails_in_every_way(act: Act) -> Iterator[Until]:
    """A drive predicts its failure and then fails: hot, worn, unreadable, hanging."""
    failing = {
        f"{LOG}critical_warning": 4,
        "smart_status__passed": False,
        "smartctl__exit_status": 8,
    }
    yield act.after(12)
    act.host.drives.says("nvme1", **failing)
    yield act.fires("SSDDriveFailing")
    act.host.drives.says(
        "nvme1",
        **failing,
        **{f"{LOG}media_errors": 50, f"{LOG}available_spare": 5, "temperature__current": 90},
    )
    act.host.counters.loads("nvme1n1", **STALLED)
    yield act.holds_back(
        "SSDDriveFailing",
        "SSDDiskStalled",
        "SSDMediaErrors",
        "SSDMediaErrorsRepeated",
        "SSDSpareExhausted",
        "SSDTemperatureCritical",
    )
    # Alerts that end before the drive is replaced send no notification.
    act.host.counters.loads("nvme1n1")
    act.host.drives.says("nvme1", **failing)
    yield act.is_over("SSDDiskStalled", "SSDTemperatureCritical", "SSDSpareExhausted")
    yield act.after(GROUP_SECONDS)
    yield from act.replaces("nvme1n1", "nvme1")
    yield act.is_resolved("SSDDriveFailing")


def down_with_a_hot_drive(act: Act) -> Iterator[Until]:
    """A host that is down inhibits its other alerts. The end of an alert during that time is
    reported afterwards, because Prometheus repeats it to Alertmanager for a quarter of an hour.
    """
    heats(act)
    yield act.fires("SSDTemperatureCritical")
    act.daemon.kill()
    yield act.fires("SSDExporterDown")
    yield act.holds_back("SSDExporterDown", "SSDTemperatureCritical")
    yield act.is_over("SSDTemperatureCritical")
    yield act.after(GROUP_SECONDS)
    act.host.drives.says("nvme1")
    act.daemon = act.again()
    yield act.is_resolved("SSDExporterDown")
    yield act.is_resolved("SSDTemperatureCritical")
