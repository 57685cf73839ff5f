"""The screens that are compared with the files in `golden`; docs/top.md shows two of them."""

from dataclasses import replace
from pathlib import Path

from exporter.top import layout
from exporter.top.spans import Line, as_text
from exporter.top.view import View
from tests.top.frames import FRAME

FOLDER = Path(__file__).parent / "golden"


def _screen(view: View, width: int, height: int) -> list[Line]:
    return layout.screen(FRAME, view, width, height)


def _screens() -> dict[str, tuple[list[Line], int]]:
    detail = View(has_detail=True, selected="nvme1n1")
    return {
        "80": (_screen(View(), 80, 14), 80),
        "80-detail": (_screen(detail, 80, 20), 80),
        "80-health": (_screen(View(has_health=True), 80, 10), 80),
        "80-help": (_screen(View(has_help=True), 80, 24), 80),
        "80-filter": (_screen(View(is_typing=True, filter="mysql"), 80, 10), 80),
        "100": (_screen(View(), 100, 10), 100),
        "120": (_screen(View(), 120, 10), 120),
        "160": (_screen(View(), 160, 12), 160),
        "160-detail": (_screen(detail, 160, 20), 160),
        "200": (_screen(View(), 200, 10), 200),
        "once-80": (layout.report(replace(FRAME, notes=("a note",)), 80), 80),
        "once-200": (layout.report(FRAME, 200), 200),
    }


def texts() -> dict[str, str]:
    """Returns the text of each golden file, keyed by its name without the suffix."""
    return {
        name: "\n".join(as_text(lines, width)) + "\n" for name, (lines, width) in _screens().items()
    }
