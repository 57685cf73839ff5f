"""What more than one dashboard says of a drive."""

from dashboards import promql as q
from dashboards.frame import Annotation

_UP = q.of_drive("ssd_device_up")

#: In a slot that has had a drive, one answers that had not answered there within a day.
_SEEN_BEFORE = f"last_over_time({_UP}[1d] offset 15m)"

REPLACED = Annotation(
    "Drive replaced",
    f"({_UP} == 1)\n  unless {q.ON_SERIAL} {_SEEN_BEFORE}\n  and {q.ON_DRIVE} {_SEEN_BEFORE}",
    title="Drive replaced in {{instance}} {{device}}",
    text="The new serial number is {{serial}}.",
    colour="blue",
)

PROBE_RUNS = Annotation(
    "Probe runs",
    f"{q.of_drive('ssd_probe_running')} == 1",
    title="Our own probe runs on {{instance}} {{device}}",
    text="Some of this I/O is the probe's.",
    colour="purple",
)


def by_serial(expression: str) -> str:
    """The same of a drive's block device, with the serial number that stood there at the time.

    The kernel's counters go on over a replacement, under the same name; this tells the two apart.
    """
    return f"({expression}) * {q.ON_DRIVE} group_left (serial) ({_UP} == 1)"
