"""Compares the speed of this machine with that of the machine on which the limits were set.

CPU times and durations depend on the machine: those of this project differed by a factor of 1.6 in
2026. Therefore node_exporter, the same program on each of them, is measured in the same run. Limits
of CPU times and durations grow by the factor by which it is slower here. On a faster machine they
stay as they are.
"""

import tempfile
import time
from functools import cache
from pathlib import Path

from bench import programs
from bench.kernel import Kernel
from bench.rows import Row, show_progress

#: CPU time of node_exporter for these scrapes of 24 busy disks on the machine of docs/costs.md, in
#: seconds.
_USUAL_SECONDS = 0.0935
_SCRAPES = 20
_DISKS = 24


@cache
def slowness() -> float:
    """Returns by which factor this machine is slower; 1 for a faster one. Measured once."""
    with tempfile.TemporaryDirectory() as place, Kernel(Path(place), _DISKS, _DISKS) as kernel:
        show_progress("speed of this machine")
        with programs.node_exporter(kernel) as theirs:
            time.sleep(3)
            before = theirs.cpu_seconds()
            for _ in range(_SCRAPES):
                theirs.scrape()
                time.sleep(1)
            return max(1.0, (theirs.cpu_seconds() - before) / _USUAL_SECONDS)


def row() -> Row:
    """Returns the row of the result table with the factor."""
    return "limits of time grow by this factor", slowness(), 0.0, "", "1 on the usual machine", None
