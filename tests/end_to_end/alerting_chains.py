"""Scenes with several faults: the worst alert is sent, and inhibits the others."""

from collections.abc import Iterator

from tests.end_to_end.alerting_breaking import (
    FULL_AND_SLOW,
    LOG,
    MANY_REQUESTS_SECONDS,
    STALLED,
    fills,
    heats,
)
from tests.end_to_end.alerting_stage import Act, Until


def worse_and_worse(act: Act) -> Iterator[Until]:
    """Slow, saturated, hanging: one notification at a time, for the worst state.

    A page that was sent is also resolved. If its alert ends while a worse one hides it, the message
    follows afterwards, because Prometheus repeats it to Alertmanager for a quarter of an hour.
    """
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
    yield act.is_resolved("SSDDiskSaturatedSevere")


def fails_in_every_way(act: Act) -> Iterator[Until]:
    """A drive predicts its failure, has a media error, and then hangs, which pages again."""
    failing = {
        f"{LOG}critical_warning": 4,
        "smart_status__passed": False,
        "smartctl__exit_status": 8,
    }
    yield act.after(12)
    act.host.drives.says("nvme1", **failing)
    yield act.fires("SSDDriveFailing")
    act.host.drives.says("nvme1", **failing, **{f"{LOG}media_errors": 1})
    yield act.holds_back("SSDDriveFailing", "SSDMediaErrors")
    act.host.counters.loads("nvme1n1", **STALLED)
    yield act.fires("SSDDiskStalled")
    act.host.counters.loads("nvme1n1")
    yield act.is_resolved("SSDDiskStalled")
    yield from act.replaces("nvme1n1", "nvme1")
    yield act.is_resolved("SSDDriveFailing")


def down_with_a_hot_drive(act: Act) -> Iterator[Until]:
    """A host that becomes silent while one of its drives is too hot pages until it answers."""
    heats(act)
    yield act.fires("SSDTemperatureCritical")
    act.daemon.kill()
    yield act.fires("SSDFailingHostSilent")
    yield act.holds_back("SSDFailingHostSilent", "SSDExporterDown")
    yield act.is_resolved("SSDTemperatureCritical")
    act.host.drives.says("nvme1")
    act.daemon = act.again()
    yield act.is_resolved("SSDFailingHostSilent")
