"""Annotations and expressions on drives that several dashboards share."""

from dashboards import promql as q
from dashboards.frame import Annotation

_UP = q.of_drive("ssd_device_up")

#: Drives of the day before. A drive counts as replaced if its serial number answers now and did not
#: answer within that day, although another drive answered under the same device name. The offset is
#: the length of the mark. In a range of 60 days Grafana asks for a value every one to two hours; a
#: shorter mark would lie between two of them.
_SEEN_BEFORE = f"last_over_time({_UP}[1d] offset 3h)"

REPLACED = Annotation(
    "Drive replaced",
    f"({_UP} == 1)\n  unless {q.ON_SERIAL} {_SEEN_BEFORE}\n  and {q.ON_DRIVE} {_SEEN_BEFORE}",
    title="Drive replaced in {{device}}",
    text="The new serial number is {{serial}}.",
    colour="blue",
)

PROBE_RUNS = Annotation(
    "Probe runs",
    f"{q.of_drive('ssd_probe_running')} == 1",
    title="Probe of ssd-exporter on {{device}}",
    text="Part of this I/O belongs to the probe.",
    colour="purple",
    # A probe runs every few minutes: in a range of a week the marks cover the panels.
    is_shown=False,
)


def by_serial(expression: str) -> str:
    """Adds the serial number that the block device had at the time.

    The kernel's counters continue under the same device name after a replacement; the serial number
    separates the old drive from the new one.
    """
    return f"({expression}) * {q.ON_DRIVE} group_left (serial) ({_UP} == 1)"
