"""Runs `ssd-exporter latency` beside known requests: ``python3 latency_truth.py DEVICE:COUNT[:w]``.

COUNT blocks of each device are read, one at a time; with ``w`` each is written and flushed too. The
true latency of each request is that of the kernel's single trace events, in a tracing instance of
its own. Prints JSON: "said" is the report, "status" its exit status, "truth" the latencies in
seconds, keyed by device number and then by the flags of the request.
"""

import json
import mmap
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

_INSTANCES = Path("/sys/kernel/tracing/instances")
_TRUTH = _INSTANCES / "lab_truth"
_TRIGGER = _INSTANCES / "ssd_exporter/events/block/block_rq_issue/trigger"
_BLOCK = 4096
_SECONDS = 120.0

#: "dd-321 [000] ..... 551.263804: block_rq_issue: 253,0 RS 4096 () 0 + 8 [dd]", and a completion.
_EVENT = re.compile(
    r" (\d+\.\d+): block_rq_(issue|complete): (\d+),(\d+) ([A-Z]+) (?:\d+ )?\(.*?\) (\d+) \+ (\d+) "
)


def main() -> None:
    jobs = [argument.split(":") for argument in sys.argv[1:]]
    _TRUTH.mkdir()
    try:
        _set("trace_clock", "mono")
        _set("buffer_size_kb", "4096")
        command = ["ssd-exporter", "latency", "--json", "--seconds=600", *(job[0] for job in jobs)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as measuring:
            until = time.monotonic() + _SECONDS
            while not _is_measuring():
                if measuring.poll() is not None or time.monotonic() > until:
                    sys.exit(f"it does not measure: {measuring.returncode}")
                time.sleep(0.1)
            descriptors = [os.open(f"/dev/{job[0]}", os.O_RDWR | os.O_DIRECT) for job in jobs]
            for name in ("issue", "complete"):
                _set(f"events/block/block_rq_{name}/enable", "1")
            threads = [
                threading.Thread(target=_load, args=(descriptor, int(job[1]), len(job) > 2))
                for descriptor, job in zip(descriptors, jobs, strict=True)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            # The devices are closed later: udev reads a device that was open for writing.
            _set("tracing_on", "0")
            measuring.send_signal(signal.SIGINT)
            said, _ = measuring.communicate(timeout=_SECONDS)
            for descriptor in descriptors:
                os.close(descriptor)
        truth = _truth((_TRUTH / "trace").read_text())
        print(
            json.dumps({"said": json.loads(said), "status": measuring.returncode, "truth": truth})
        )
    finally:
        for name in ("issue", "complete"):
            _set(f"events/block/block_rq_{name}/enable", "0")
        _TRUTH.rmdir()


def _is_measuring() -> bool:
    try:
        return "[active]" in _TRIGGER.read_text().partition("\n")[0]
    except OSError:
        return False


def _load(descriptor: int, count: int, writes: bool) -> None:
    buffer = mmap.mmap(-1, _BLOCK)
    for number in range(count):
        os.preadv(descriptor, [buffer], number * _BLOCK)
        if writes:
            os.pwritev(descriptor, [buffer], number * _BLOCK)
            os.fsync(descriptor)


def _set(name: str, value: str) -> None:
    (_TRUTH / name).write_text(value)


def _truth(text: str) -> dict[str, dict[str, list[float]]]:
    issued: dict[tuple[str, ...], float] = {}
    found: dict[str, dict[str, list[float]]] = {}
    for at, what, major, minor, flags, sector, count in _EVENT.findall(text):
        # A flush has another sector in its completion.
        key = (major, minor, *(("F",) if flags.startswith("FF") else (sector, count)))
        if what == "issue":
            issued[key] = float(at)
        elif key in issued and (count != "0" or flags.startswith("FF")):
            device = found.setdefault(f"{major}:{minor}", {})
            device.setdefault(flags, []).append(float(at) - issued.pop(key))
    return found


if __name__ == "__main__":
    main()
