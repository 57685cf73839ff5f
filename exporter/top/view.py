"""Defines the choices of the user: order, filter, selected drive, and shown parts. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from exporter.io.verdict import Verdict
from exporter.top.frame import DriveLine

#: The longest filter text, in characters.
_MAX_FILTER = 40


class Key(Enum):
    """Keys that are not characters."""

    UP = "up"
    DOWN = "down"
    PAGE_UP = "page up"
    PAGE_DOWN = "page down"
    ENTER = "enter"
    ESCAPE = "escape"
    BACKSPACE = "backspace"


class Order(Enum):
    """The order of the drives. Drives with equal values are sorted by name."""

    VERDICT = "verdict"
    BUSY = "busy"
    BYTES = "MB/s"
    REQUESTS = "requests"
    AWAIT = "await"
    NAME = "name"


_VALUES: dict[Order, Callable[[DriveLine], float]] = {
    Order.VERDICT: lambda d: d.now.verdict is not Verdict.NONE,
    Order.BUSY: lambda d: d.now.busy_ratio,
    Order.BYTES: lambda d: d.now.read_bytes + d.now.written_bytes,
    Order.REQUESTS: lambda d: d.now.reads + d.now.writes,
    Order.AWAIT: lambda d: max(d.now.read_await or 0.0, d.now.write_await or 0.0),
    Order.NAME: lambda _: 0.0,
}


#: The flag of the view that each key changes.
_FLAGS: Mapping["str | Key", str] = {
    "q": "has_ended",
    "v": "only_verdicts",
    "d": "has_detail",
    Key.ENTER: "has_detail",
    "h": "has_health",
    "p": "is_paused",
    " ": "is_paused",
    "?": "has_help",
    "/": "is_typing",
}

#: The number of rows by which each key moves the selection.
_MOVES: Mapping["str | Key", int] = {
    "k": -1,
    Key.UP: -1,
    "j": 1,
    Key.DOWN: 1,
    Key.PAGE_UP: -10,
    Key.PAGE_DOWN: 10,
}


@dataclass(frozen=True, slots=True)
class View:
    """The choices of the user.

    order: the order of the drives.
    only_verdicts: True shows only drives with a bottleneck.
    filter: only drives whose name, role or model contains this text are shown.
    is_typing: True while the user types the filter.
    selected: the name of the selected drive; empty means the first one.
    has_detail, has_health, has_help: True if the part is shown.
    is_paused: True if the numbers are not updated.
    has_ended: True after the user has pressed q.
    """

    order: Order = Order.VERDICT
    only_verdicts: bool = False
    filter: str = ""
    is_typing: bool = False
    selected: str = ""
    has_detail: bool = False
    has_health: bool = False
    has_help: bool = False
    is_paused: bool = False
    has_ended: bool = False

    def shown(self, drives: Sequence[DriveLine]) -> list[DriveLine]:
        """Returns the drives that are shown, in the chosen order."""
        wanted = self.filter.lower()
        value = _VALUES[self.order]
        return sorted(
            (
                drive
                for drive in drives
                if (not self.only_verdicts or drive.now.verdict is not Verdict.NONE)
                and wanted in " ".join((drive.device, *drive.roles, drive.model or "")).lower()
            ),
            key=lambda drive: (-value(drive), natural(drive.device)),
        )

    def position(self, shown: Sequence[DriveLine]) -> int:
        """Returns the index of the selected drive; 0 if it is not shown."""
        names = [drive.device for drive in shown]
        return names.index(self.selected) if self.selected in names else 0

    def after(self, key: "str | Key", shown: Sequence[DriveLine]) -> "View":
        """Returns the view after a key was pressed.

        key: a character, or a member of `Key`.
        shown: the drives that are shown now.
        """
        if self.is_typing:
            return self._typed(key)
        if key in _FLAGS:
            name = _FLAGS[key]
            changes: dict[str, Any] = {"has_help": False, name: not getattr(self, name)}
            return replace(self, **changes)
        if key in _MOVES:
            return self._moved(_MOVES[key], shown)
        if key == "s":
            orders = list(Order)
            return replace(self, order=orders[(orders.index(self.order) + 1) % len(orders)])
        if key is Key.ESCAPE:
            return View(order=self.order, selected=self.selected, is_paused=self.is_paused)
        return self

    def _typed(self, key: "str | Key") -> "View":
        match key:
            case Key.ENTER:
                return replace(self, is_typing=False)
            case Key.ESCAPE:
                return replace(self, is_typing=False, filter="")
            case Key.BACKSPACE:
                return replace(self, filter=self.filter[:-1])
            case str() if key.isprintable():
                return replace(self, filter=(self.filter + key)[:_MAX_FILTER])
        return self

    def _moved(self, rows: int, shown: Sequence[DriveLine]) -> "View":
        if not shown:
            return self
        position = min(max(self.position(shown) + rows, 0), len(shown) - 1)
        return replace(self, selected=shown[position].device)


def natural(name: str) -> tuple[int, str]:
    """Returns a key that sorts sdb before sdaa, as the kernel numbers drives."""
    return len(name), name
