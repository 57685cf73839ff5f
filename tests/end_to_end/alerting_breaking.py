"""The ways in which the drives of the scenes fail, and how long each failure lasts."""

from collections.abc import Iterator

from tests.end_to_end.alerting_stage import Act, Until

#: Milliseconds of a second in which a device is busy: one that is always so, and then some, for
#: what is written 25 times a second is late by up to so much.
_BUSY = 1080

#: Full and waited for: 8 writes a second of a second each, too few to be a latency. None is in
#: flight when somebody looks, for a test that waits for its CPU would be a drive that hangs.
FULL = {"writes": 8, "write_sectors": 256, "write_ms": 8000, "io_ms": _BUSY}

#: As full, with 40 writes a second of 0.2 s each.
FULL_AND_SLOW = {"writes": 40, "write_sectors": 1280, "write_ms": 8000, "io_ms": _BUSY}

#: Requests in flight, and none comes back.
STALLED = {"in_flight": 31, "io_ms": _BUSY}

#: A writer that takes all there is, with the cache and without: a fifth of the speed.
WITH_CACHE = {"writes": 4120, "write_sectors": 1_054_720, "write_ms": 8000, "io_ms": _BUSY}
WITHOUT_CACHE = {"writes": 856, "write_sectors": 219_136, "write_ms": 8000, "io_ms": _BUSY}

#: In which Alertmanager has looked at a group again: five minutes by the factor.
GROUP_SECONDS = 6.0

#: After which the slow requests to come are not the hundredth of an hour's: SSDLatencySpikes.
MANY_REQUESTS_SECONDS = 20.0

#: The part of an NVMe drive's report.
LOG = "nvme_smart_health_information_log__"


def fills(act: Act) -> Iterator[Until]:
    """Fills an idle drive. On a busy drive the mean of five minutes would hide the latency at
    first, and SSDDiskSaturated would fire before the severe alert.
    """
    act.host.counters.loads("nvme1n1", io_ms=0)
    yield act.after(GROUP_SECONDS)
    act.host.counters.loads("nvme1n1", **FULL)
    act.host.counters.waits(some=700_000)
    yield act.fires("SSDDiskSaturatedSevere")


def heats(act: Act) -> None:
    heated = {
        "temperature__current": 90,
        f"{LOG}temperature": 90,
        f"{LOG}critical_warning": 2,
        "smart_status__passed": False,
        "smartctl__exit_status": 8,
    }
    act.host.drives.says("nvme1", **heated)
