"""Builds fio's JSON report as its HOWTO describes it. Times are nanoseconds."""

import json
from collections.abc import Mapping
from typing import Any

NOTHING = {"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0}


def latency(bins: Mapping[int, int], **more: Any) -> dict[str, Any]:
    """Returns the object of one kind of latency. bins: operations by time."""
    times = sorted(time for time, count in bins.items() for _ in range(count))
    if not times:
        return dict(NOTHING)
    picked = {p: times[min(len(times) - 1, int(len(times) * p / 100))] for p in (50, 95, 99, 99.9)}
    return {
        "min": times[0],
        "max": times[-1],
        "mean": sum(times) / len(times),
        "stddev": 0.0,
        "N": len(times),
        "percentile": {f"{p:.6f}": value for p, value in picked.items()},
        "bins": {str(time): count for time, count in bins.items()},
        **more,
    }


def direction(bins: Mapping[int, int], block: int = 4096, **more: Any) -> dict[str, Any]:
    """Returns a job's object for reads or writes; without bins, no operation was made."""
    count = sum(bins.values())
    return {
        "io_bytes": count * block,
        "io_kbytes": count * block // 1024,
        "bw_bytes": count * block * 10,
        "bw": count * block * 10 // 1024,
        "iops": count * 10.0,
        "runtime": 100,
        "total_ios": count,
        # fio reports short reads of a job that only writes.
        "short_ios": 0 if count else 150,
        "drop_ios": 0,
        "slat_ns": dict(NOTHING),
        "clat_ns": latency(bins),
        "lat_ns": latency({time + 100: n for time, n in bins.items()}),
        **more,
    }


def job(name: str, **more: Any) -> dict[str, Any]:
    return {
        "jobname": name,
        "groupid": 0,
        "error": 0,
        "eta": 0,
        "elapsed": 1,
        "job options": {"name": name, "rw": "write"},
        "read": direction({}),
        "write": direction({}),
        "trim": direction({}),
        "sync": {"total_ios": 0, "lat_ns": latency({})},
        "job_runtime": 100,
        "usr_cpu": 1.0,
        "sys_cpu": 1.0,
        **more,
    }


def report(*jobs: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "fio version": "fio-3.33",
        "timestamp": 1_700_000_000,
        "time": "Tue Nov 14 22:13:20 2023",
        "global options": {"name": "global"},
        "jobs": list(jobs),
        **more,
    }


def printed(*jobs: Mapping[str, Any], **more: Any) -> bytes:
    """Returns the report as fio prints it: indented, with braces on their own lines."""
    return json.dumps(report(*jobs, **more), indent=2).encode() + b"\n"


#: A redo log: 200 writes into memory, and 199 syncs, for the last one is never synced.
FSYNC = job(
    "fsync",
    write=direction({2_000: 150, 3_000: 50}),
    sync={"total_ios": 0, "lat_ns": latency({80_000: 198, 3_784_704: 1})},
)
PAGE_READ = job("page_read", read=direction({90_000: 511, 10_000_000: 1}, 16_384))
