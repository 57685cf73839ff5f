"""Renders the status page: a table of all block devices, and of drives without a block device."""

from collections.abc import Sequence

from exporter import __version__
from exporter.drives.watched_drive import WatchedDrive
from exporter.io.sampler import Sampler
from exporter.linux.topology import Topology
from exporter.metrics import device_collector
from exporter.printable import printable

_HEADING = (
    *("Device", "Model", "Class", "SMART", "Wear", "In flight", "Busiest second (1 min)"),
    "Bottleneck",
)

_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>ssd-exporter</title>
<meta name="viewport" content="width=device-width">
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 56rem }}
table {{ border-collapse: collapse; margin: 1rem 0 }}
th, td {{ border-bottom: 1px solid #ccc; padding: .3rem .8rem .3rem 0; text-align: left }}
</style></head><body>
<h1>ssd-exporter</h1>
<p>Version {version}. {state}</p>
<p><a href="/metrics">Metrics</a> · <a href="/-/healthy">Healthy?</a>
 · <a href="/-/ready">Ready?</a></p>
{table}
</body></html>
"""


def device_rows(
    sampler: Sampler, topology: Topology | None, drives: Sequence[WatchedDrive], now: float
) -> list[tuple[str, ...]]:
    """Returns the table of the status page; the first row is the heading.

    Block devices come first, then drives without a block device and missing drives. Call it inside
    `sampler.flushed()`, so that the values do not change.

    topology: the block devices of the host; None means that they have not been read yet.
    drives: the drives with SMART data.
    now: the monotonic time.
    """
    by_label = {drive.label: drive for drive in drives if not drive.is_missing}
    rows: list[tuple[str, ...]] = [_HEADING]
    disks = sampler.disks or {}
    for name, counters in disks.items():
        activity = sampler.activities[name]
        device = topology.devices.get(name) if topology else None
        is_leaf = activity.drive.leaf
        rows.append(
            (
                name,
                device_collector.model_name(device.identity) if device else "",
                activity.drive.kind.value if is_leaf else "stacked",
                *_smart(by_label.get(name)),
                str(counters.io_now),
                f"{activity.busy_ratio_max.value(now) or 0.0:.0%}",
                activity.verdict.value(now).value if is_leaf else "",
            )
        )
    for drive in drives:
        if drive.is_missing or drive.label not in disks:
            blocks = f" ({', '.join(drive.blocks)})" if drive.blocks else ""
            rows.append(
                (drive.label + blocks, drive.identity.model or "", "", *_smart(drive), "", "", "")
            )
    return rows


def render_page(state: str, table: Sequence[Sequence[str]]) -> str:
    """Returns the status page as HTML.

    state: a sentence about the state of the exporter, as plain text.
    table: the rows of the table, as `device_rows` returns them.
    """
    return _PAGE.format(version=_escaped(__version__), state=_escaped(state), table=_table(table))


def _smart(drive: WatchedDrive | None) -> tuple[str, str]:
    """Returns the cells of the columns SMART and Wear. An empty cell means unknown."""
    if drive is None:
        return "", ""
    if drive.is_missing:
        return "missing", ""
    if not drive.up:
        return "no answer", ""
    health = drive.health
    if health is None or health.unreadable:
        return "no SMART", ""
    wear = "" if health.endurance is None else f"{health.endurance.used_ratio:.0%}"
    if health.healthy is None:
        return health.power_mode or "", wear
    return "passed" if health.healthy else "FAILING", wear


def _table(table: Sequence[Sequence[str]]) -> str:
    heading, *rows = table
    if not rows:
        return "<p>No device is monitored; check --collector.disk.device-include.</p>"
    lines = [_line("th", heading), *(_line("td", row) for row in rows)]
    return f"<table>\n{''.join(lines)}</table>"


def _line(tag: str, cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{_escaped(cell)}</{tag}>' for cell in cells)}</tr>\n"


def _escaped(text: str) -> str:
    # Imported here because html loads its table of 2,200 entities, which the daemon needs only
    # when a person opens this page.
    from html import escape  # noqa: PLC0415

    return escape(printable(text))
