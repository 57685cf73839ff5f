"""Standing back: drives can wait where a database wants the CPU."""

import contextlib
import os

#: Of every thread of ours that asks drives, and of the programs that it starts.
NICE = 10


def stand_back() -> None:
    """Make the calling thread nice, and what it starts from now on; never less than it was.

    On Linux niceness is each thread's own (setpriority(2), NOTES). Nothing is lost where it is not
    allowed, as by the filter of a unit that has set it already.
    """
    with contextlib.suppress(OSError):
        now = os.getpriority(os.PRIO_PROCESS, 0)
        os.setpriority(os.PRIO_PROCESS, 0, max(NICE, now))
