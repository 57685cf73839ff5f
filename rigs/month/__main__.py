"""Runs the simulated month and prints its result (`make month`)."""

import argparse
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

from rigs.month import busy_shop, summary
from rigs.month.faults import DAYS, FAULTS
from rigs.month.run import month

_RIGHT = (
    "No page and no ticket of the healthy host. No page and at most"
    f" {busy_shop.MAX_TICKETS} tickets of the busy shop. Every alert in time."
)


def main() -> int:
    """Returns 1 if an alert is false or missing."""
    parser = argparse.ArgumentParser(prog="make month", description=__doc__)
    parser.add_argument("--days", type=float, default=DAYS, help="length of the month, 2 or more")
    parser.add_argument("--keep", type=Path, help="a directory for the samples and rules")
    asked = parser.parse_args()
    if shutil.which("promtool") is None:
        sys.stderr.write("make month: promtool is not installed (package prometheus)\n")
        return 2
    # Like Ctrl-C: also stops child processes.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    began = time.monotonic()

    def say(what: str) -> None:
        print(f"{time.monotonic() - began:5.0f} s  {what}", flush=True)

    with tempfile.TemporaryDirectory(prefix="ssd-month-") as directory:
        place = asked.keep or Path(directory)
        found = month(asked.days, FAULTS, place, say, with_busy_shop=True)
    wrong = summary.wrong(found)
    print(f"\n{summary.table(found)}\n\nAll that fired:\n{summary.told(found)}\n")
    print("\n".join(wrong) or _RIGHT)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
