"""Runs the soak test and prints a table of slopes (`make soak HOURS=8`).

All measurements are in var/soak.csv, which shows when a value grew.
"""

import argparse
import csv
import signal
import sys
import tempfile
import time
from pathlib import Path

from rigs.soak.run import Result, Soak
from rigs.soak.slope import minima, slope

_KILOBYTE, _MEGABYTE = 1 << 10, 1 << 20

#: Maximum growth of the resident memory, and of the part that the process has allocated, in bytes
#: per hour: 3 MB in a day, of the 34 MB that the daemon and of the 20 MB that the agent may use.
MAX_MEMORY_PER_HOUR = 128 * _KILOBYTE

#: Maximum growth of the number of descriptors and of threads per hour. One per day is accepted.
MAX_DESCRIPTORS_PER_HOUR = MAX_THREADS_PER_HOUR = 0.05

#: Maximum log in bytes per hour. Each minute has two reloads and a drive that stops answering or
#: answers again: four lines of up to 250 bytes. Probes and restarts add more.
MAX_LOG_PER_HOUR = 256 * _KILOBYTE

#: Maximum growth of the state directory in bytes per hour: rows of wear history for 24 drives, and
#: the results of probes, which are bounded.
MAX_STATE_PER_HOUR = 256 * _KILOBYTE

#: Maximum growth of the documents in bytes per hour. There is one per drive, of constant size. A
#: hanging drive has a document without a report, which is 20 KB shorter.
MAX_DOCUMENTS_PER_HOUR = 64 * _KILOBYTE

#: Maximum growth of the probe directory in bytes per hour: its files have fixed sizes.
MAX_PROBE_FILES_PER_HOUR = 64 * _KILOBYTE

#: Maximum growth of the number of series per hour. A drive adds a series per result of its polls.
MAX_SERIES_PER_HOUR = 100.0

#: The slope of a count is that of its minimum in each window of this many seconds. Descriptors and
#: threads are also used for moments: for a program that runs, a connection, a step of a probe.
_WINDOW_SECONDS = 300.0
_COUNTS = ("descriptors", "threads")

_NOTE = """\
The verdict compares the slope with its bound, with a margin of three standard errors. Undecided: a
longer run is required, for example because memory grew in one step. Growth is too steep only if it
lasts for half an hour without a restart. The exit status is 1 if such a slope is above its bound,
even if the verdict is undecided."""

#: Bound by the end of a measurement's name, and the unit in which the table shows it.
BOUNDS: dict[str, tuple[float, float, str]] = {
    "resident memory": (MAX_MEMORY_PER_HOUR, _KILOBYTE, "KiB"),
    "anonymous memory": (MAX_MEMORY_PER_HOUR, _KILOBYTE, "KiB"),
    "descriptors": (MAX_DESCRIPTORS_PER_HOUR, 1, ""),
    "threads": (MAX_THREADS_PER_HOUR, 1, ""),
    "log": (MAX_LOG_PER_HOUR, _KILOBYTE, "KiB"),
    "state directory": (MAX_STATE_PER_HOUR, _KILOBYTE, "KiB"),
    "poll documents": (MAX_DOCUMENTS_PER_HOUR, _KILOBYTE, "KiB"),
    "probe directory": (MAX_PROBE_FILES_PER_HOUR, _KILOBYTE, "KiB"),
    "series on the page": (MAX_SERIES_PER_HOUR, 1, ""),
}

#: Where the measurements of the last run are written.
_MEASUREMENTS = Path("var/soak.csv")

_ROW = "{:26} {:>12} {:>12} {:>14} {:>12} {:>10}  {}"


def main() -> int:
    """Returns 1 if a slope is above its bound or a problem occurred."""
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__)
    parser.add_argument("--hours", type=float, default=1.0, help="duration; default: 1")
    asked = parser.parse_args()
    # Like Ctrl-C: also stops child processes.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    began = time.monotonic()

    def say(what: str) -> None:
        print(f"{time.monotonic() - began:5.0f} s  {what}", flush=True)

    # Every user can enter this directory. It is on a disk, which probes require.
    with tempfile.TemporaryDirectory(prefix="ssd-soak-", dir="/var/tmp") as directory:
        soak = Soak(Path(directory), asked.hours * 3600, say)
        try:
            soak.run()
        finally:
            # After Ctrl-C too: hours of measurements must not be lost.
            write_measurements(soak.result, _MEASUREMENTS)
    lines, is_good = table(soak.result)
    print("\n".join([*lines, "", _NOTE, ""]))
    print(", ".join(f"{count} {event}" for event, count in soak.result.events.items()))
    print(f"All measurements: {_MEASUREMENTS}")
    print("\n".join(soak.result.problems) or "No unit ended, and the drives answered.")
    return int(bool(soak.result.problems) or not is_good)


def write_measurements(result: Result, path: Path) -> None:
    """Writes a row for each measurement: its name, the run of the process, the time, the value.

    The time is in seconds since the start of the soak test.
    """
    path.parent.mkdir(exist_ok=True)
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(("name", "run", "seconds", "value"))
        for name, runs in sorted(result.runs.items()):
            for number, run in enumerate(runs, start=1):
                rows.writerows((name, number, round(at), value) for at, value in run)


def table(result: Result) -> tuple[list[str], bool]:
    """Returns the lines of the table, and False if a slope is above its bound."""
    lines = [_ROW.format("", "first", "last", "slope per h", "+- error", "bound", "verdict")]
    is_good = True
    for name, runs in sorted(result.runs.items()):
        bound, unit, shown = next(row for end, row in BOUNDS.items() if name.endswith(end))
        values = [value / unit for run in runs for _, value in run]
        is_count = name.endswith(_COUNTS)
        found = slope([minima(run, _WINDOW_SECONDS) if is_count else run for run in runs])
        if found is None:
            lines.append(f"{name:26} too few measurements")
            continue
        verdict = found.verdict(bound)
        is_good = is_good and not found.is_above(bound)
        numbers = (found.per_hour / unit, found.error_per_hour / unit, bound / unit)
        cells = [f"{each:.1f} {shown}".strip() for each in (values[0], values[-1])]
        cells += [f"{each:.2f} {shown}".strip() for each in numbers]
        lines.append(_ROW.format(name, *cells, verdict.value))
    return lines, is_good


if __name__ == "__main__":
    sys.exit(main())
