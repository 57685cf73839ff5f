"""The ways in which the drives of the scenes fail, and how long each failure lasts."""

from collections.abc import Iterator

from tests.end_to_end.alerting_stage import Act, Until

#: Busy time of an always busy device, in milliseconds per second. It exceeds 1000 because the
#: counters are written 25 times a second, and each write may be late.
_BUSY = 1080

#: A saturated device: 8 writes per second of 1 s each, too few for a latency alert. No request is
#: in flight in a sample. Otherwise a test that waits for a CPU would look like a hanging drive.
FULL = {"writes": 8, "write_sectors": 256, "write_ms": 8000, "io_ms": _BUSY}

#: Equally saturated, with 40 writes per second of 0.2 s each.
FULL_AND_SLOW = {"writes": 40, "write_sectors": 1280, "write_ms": 8000, "io_ms": _BUSY}

#: Requests are in flight, and none completes.
STALLED = {"in_flight": 31, "io_ms": _BUSY}

#: A writer that saturates the drive, with the write cache and without it (a fifth of the speed).
WITH_CACHE = {"writes": 4120, "write_sectors": 1_054_720, "write_ms": 8000, "io_ms": _BUSY}
WITHOUT_CACHE = {"writes": 856, "write_sectors": 219_136, "write_ms": 8000, "io_ms": _BUSY}

#: Alertmanager processes a group again within this time: `group_interval` (five minutes) divided
#: by `FACTOR`, and a margin.
GROUP_SECONDS = 6.0

#: After this time, the slow requests of a scene are less than 1 % of the requests of a (shortened)
#: hour, so SSDLatencySpikes does not fire.
MANY_REQUESTS_SECONDS = 20.0

#: Prefix of the keys of the health log in the report of an NVMe drive.
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
