"""The table of drives that need attention: which drive, why, and what to do now.

Reasons and urgencies are those of the alerts, in the words of the command `check`. They are
computed from the exporter's metrics, so the table needs no alert rules, and it shows a reason at
once, without the waiting time of the alert.
"""

from dashboards.builders import promql as q
from dashboards.builders import words
from dashboards.builders.panel_parts import Panel, Size
from dashboards.builders.tables import Column, Label, Rows, grid
from dashboards.reasons import REASONS, Reason

_REASON_PIXELS, _ACTION_PIXELS = 385, 375


def _series(reason: Reason) -> str:
    """Series of a reason: the value is the urgency, the labels contain reason and action."""
    expression = f"({reason.expression})"
    if not reason.has_serial and reason.is_of_drive:
        present = f"topk {q.BY_DRIVE} (1, {q.of_drive('ssd_device_info')})"
        expression = f"max {q.BY_DRIVE} ({expression}) * {q.ON_DRIVE} group_left (serial) {present}"
    expression = f"max {q.BY_SERIAL} ({expression}) * 0 + {reason.urgency}"
    for label, text in (("reason", reason.text), ("action", reason.action)):
        expression = f'label_replace({expression}, "{label}", "{text}", "", "")'
    return expression


def expression(*, is_of_one_drive: bool = False) -> str:
    """All reasons of the selected drives, and those of their hosts unless `is_of_one_drive`."""
    of_drives = "\nor ".join(_series(reason) for reason in REASONS if reason.is_of_drive)
    others = "\nor ".join(_series(reason) for reason in REASONS if not reason.is_of_drive)
    # A drive whose model is not known must not be missing in the table.
    known = f"({q.identity()} or {q.ON_SERIAL} {q.of_drive('ssd_device_up')} * 0 + 1)"
    named = f"(\n{of_drives}\n) * {q.ON_SERIAL} group_left (model) ({known} * 0 + 1)"
    return named if is_of_one_drive else f"{named}\nor {others}"


def attention(title: str, size: Size, nothing: str, *, is_of_one_drive: bool = False) -> Panel:
    """Table of the drives that need attention, the most urgent first."""
    place = (
        (Label("serial", 190),)
        if is_of_one_drive
        else (Label("device", 115), Label("host", 130), Label("model", 195))
    )
    return grid(
        title,
        "One row per drive and reason, the most urgent first. MISSING: the drive has disappeared. "
        "Critical: act now. Warning: plan it. Growth is that of the last hour, 24 h, a day, 7 days "
        "or 30 days, load that of the last 2 minutes or 5 minutes, without probes that ran for a "
        "large part of the last 10 minutes. Click a drive to see the evidence.",
        Rows(
            expression(is_of_one_drive=is_of_one_drive),
            nothing,
            is_partly_of_hosts=not is_of_one_drive,
        ),
        Column("urgency", 95, words=words.URGENCY),
        *place,
        Label("reason", _REASON_PIXELS),
        Label("action", _ACTION_PIXELS, title="what to do", is_flexible=True),
        size=size,
        sort_by="urgency",
    )
