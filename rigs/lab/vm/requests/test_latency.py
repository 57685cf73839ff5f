"""`ssd-exporter latency` on devices with known latencies, beside single events of the kernel."""

import bisect
import json
import math
import time
from collections.abc import Iterator
from typing import Any

import pytest

from exporter.latency.trace_histogram import operation
from rigs.lab.vm import drives
from rigs.lab.vm.host import Host, device, up

#: The delays of the devices, and how many of their blocks are read.
_NULL_SECONDS, _NULL_READS = 0.002, 300
_SCSI_SECONDS, _SCSI_READS = 0.004, 100
#: One in so many reads of the NVMe drive takes so much longer.
_SLOW_EVERY, _SLOW_SECONDS, _NVME_READS = 20, 0.4, 240

#: The trace events have a resolution of 1 µs, and the two instances read the clock one after the
#: other.
_CLOCK_SECONDS = 20e-6
#: Between these two, the host may take the CPU from the machine, for any time. This share of the
#: requests may differ by that.
_FEW_SHARE = 0.02

_INSTANCES = "/sys/kernel/tracing/instances"

#: Starts a measurement and kills it while it runs: $1 is "both" or "one" of it and its guard.
_KILL = f"""
ssd-exporter latency --once --seconds=600 >/dev/null 2>&1 &
measuring=$!
until grep -q active {_INSTANCES}/ssd_exporter/events/block/block_rq_issue/trigger 2>/dev/null
do sleep 0.2; done
guard=$(cat /proc/$measuring/task/$measuring/children)
[ "$1" = both ] && kill -9 $guard
kill -9 $measuring
wait $measuring
# The guard ends when it has removed everything.
while kill -0 $guard 2>/dev/null; do sleep 0.1; done
ls {_INSTANCES}; cat /sys/kernel/tracing/synthetic_events
"""


#: Serial number of the disk of scsi_debug.
_SCSI_SERIAL = "20000"


@pytest.fixture(autouse=True, scope="module")
def _tracefs(host: Host) -> Iterator[None]:
    run = host.machine.run
    run("mount", "-t", "tracefs", "tracefs", "/sys/kernel/tracing")
    null = f"completion_nsec={round(_NULL_SECONDS * 1e9)}"
    host.machine.output(
        *("modprobe", "null_blk", "nr_devices=1", "irqmode=2", "memory_backed=1", "gb=1", null)
    )
    scsi = f"ndelay={round(_SCSI_SECONDS * 1e9)}"
    host.machine.output("modprobe", "scsi_debug", "dev_size_mb=16", "delay=0", scsi)
    host.machine.output("udevadm", "settle")
    yield
    run("modprobe", "-r", "null_blk", "scsi_debug")
    run("umount", "/sys/kernel/tracing")
    # Otherwise it counts as missing in later tests. The daemon refuses until it has noticed.
    for _ in range(30):
        if run("ssd-exporter", "forget", _SCSI_SERIAL).status == 0:
            break
        time.sleep(1)


def _scsi_debug(host: Host) -> str:
    found = host.machine.output(
        "sh", "-c", "ls /sys/bus/pseudo/drivers/scsi_debug/adapter0/host*/target*/*/block"
    )
    return found.strip()


def _exact(latencies: list[float], share: float) -> float:
    rank = math.ceil(share * len(latencies) - 1e-9)
    return sorted(latencies)[min(max(rank, 1), len(latencies)) - 1]


def _check(measured: dict[str, Any], latencies: list[float], least_seconds: float) -> None:
    """Compares a histogram with the true latencies, but for the few of `_FEW_SHARE`."""
    count, ordered = len(latencies), sorted(latencies)
    assert count == measured["count"]
    low, *_ = measured["buckets"][0]
    assert low > least_seconds * 0.95
    few = max(2, math.ceil(_FEW_SHARE * count))
    below = 0
    for _, high, number in measured["buckets"]:
        below += number
        width = high / 8 + _CLOCK_SECONDS
        ranks = [bisect.bisect_right(ordered, high + error) for error in (-width, width)]
        assert ranks[0] - few <= below <= ranks[1] + few, (high, below, ranks)
    _, highest, _ = measured["buckets"][-1]
    for name, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99)):
        found = measured[f"{name}_seconds"]
        if found is None:
            assert count * (1 - share) < 1
            continue
        least, most = (_exact(latencies, share + error) for error in (-few / count, few / count))
        if share + few / count >= 1:
            most = max(most, highest)
        assert least * 7 / 8 - _CLOCK_SECONDS <= found <= most * 9 / 8 + _CLOCK_SECONDS, (
            *(name, found),
            *(least, most),
        )


def test_percentiles_are_those_of_the_single_requests_of_three_devices_at_once(host: Host) -> None:
    host.set(drives.SOFT_SLOW, slow_read_every=_SLOW_EVERY, slow_read_seconds=_SLOW_SECONDS)
    page = host.await_page(lambda page: up(page).get(drives.SOFT_SLOW) == 1)
    scsi, nvme = _scsi_debug(host), device(page, drives.SOFT_SLOW)
    jobs = f"nullb0:{_NULL_READS}", f"{scsi}:{_SCSI_READS}:w", f"{nvme}:{_NVME_READS}"
    done = json.loads(
        host.machine.output("python3", "/opt/lab/latency_truth.py", *jobs, seconds=300)
    )
    host.set(drives.SOFT_SLOW, slow_read_every=0)
    # Ctrl-C ended it.
    assert 130 == done["status"]
    data = done["said"]["data"]["devices"]
    truth: dict[str, dict[str, list[float]]] = {}
    for name in ("nullb0", scsi, nvme):
        assert (0, 0) == (data[name]["lost"], data[name]["unfinished"])
        of_device = truth[name] = {}
        for flags, latencies in done["truth"][data[name]["number"]].items():
            of_device.setdefault(operation(flags), []).extend(latencies)
        assert set(of_device) == set(data[name]["operations"])
    delays = {"nullb0": _NULL_SECONDS, scsi: _SCSI_SECONDS, nvme: 0.0}
    for name, of_device in truth.items():
        for kind, latencies in of_device.items():
            # A flush of scsi_debug has a delay of its own.
            least = 0.0 if kind == "flush" else delays[name]
            _check(data[name]["operations"][kind]["device"], latencies, least)
    reads = data[nvme]["operations"]["read"]["device"]["buckets"]
    slow = [(low, count) for low, _, count in reads if low >= _SLOW_SECONDS * 0.875]
    true = sum(latency >= slow[0][0] for latency in truth[nvme]["read"])
    assert true == sum(count for _, count in slow)
    # A busy host may make another one slow.
    assert true >= _NVME_READS // _SLOW_EVERY
    assert {"read", "sync_write", "flush"} == set(truth[scsi])
    # The flush of each fsync. The kernel may add none.
    assert _SCSI_READS == len(truth[scsi]["flush"])


def test_what_a_killed_measurement_leaves_is_removed_and_nothing_else(host: Host) -> None:
    host.machine.output("mkdir", f"{_INSTANCES}/of_others")
    one = host.machine.output("sh", "-c", _KILL, "sh", "one", seconds=120)
    assert ["of_others"] == one.split()
    both = host.machine.output("sh", "-c", _KILL, "sh", "both", seconds=120)
    assert {"of_others", "ssd_exporter", "ssd_exporter_request"} <= set(both.split())
    host.machine.output("ssd-exporter", "latency", "--once", "--seconds=1", seconds=120)
    assert "of_others" == host.machine.output("ls", _INSTANCES).strip()
    assert "" == host.machine.output("cat", "/sys/kernel/tracing/synthetic_events")
    host.machine.output("rmdir", f"{_INSTANCES}/of_others")


def test_without_tracefs_the_command_exits_with_one_line(host: Host) -> None:
    # In a mount namespace of its own, as in a container.
    for change, words in (
        ("umount /sys/kernel/tracing", "tracefs is not mounted"),
        ("mount -o remount,ro,bind /sys/kernel/tracing", "is read-only"),
    ):
        script = f"{change} && exec ssd-exporter latency --once"
        done = host.machine.run("unshare", "--mount", "sh", "-c", script)
        assert (2, "") == (done.status, done.output), done
        assert 1 == done.errors.count("\n")
        assert words in done.errors
