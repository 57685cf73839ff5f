"""The screens of `top` at all widths, compared with golden texts, and their limits."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.io.services import ServiceRate
from exporter.report.formatting import columns
from exporter.top import layout
from exporter.top.frame import DriveLine, Frame
from exporter.top.spans import as_text
from exporter.top.view import Order, View
from tests.top.frames import BUSY, FRAME
from tests.top.golden_screens import FOLDER, texts

DOCUMENT = Path(__file__).parents[2] / "docs" / "top.md"


@pytest.mark.parametrize("name", texts())
def test_a_screen_equals_the_golden_text(name: str) -> None:
    """`python -m tests.top` rewrites the golden texts."""
    assert (FOLDER / f"{name}.txt").read_text(encoding="utf-8") == texts()[name]


def test_there_are_no_other_golden_texts() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == texts().keys()


@pytest.mark.parametrize("name", ["80", "160-detail", "80-help", "once-80"])
def test_the_document_shows_the_screen(name: str) -> None:
    assert texts()[name].rstrip("\n") in DOCUMENT.read_text(encoding="utf-8")


VIEWS = st.builds(
    View,
    order=st.sampled_from(Order),
    only_verdicts=st.booleans(),
    filter=st.sampled_from(["", "mysql", "zzz"]),
    is_typing=st.booleans(),
    selected=st.sampled_from(["", "sda", "nvme1n1", "gone"]),
    has_detail=st.booleans(),
    has_health=st.booleans(),
    has_help=st.booleans(),
    is_paused=st.booleans(),
)


@given(VIEWS, st.integers(1, 220), st.integers(1, 60), st.integers(0, 40), st.booleans())
def test_a_screen_never_exceeds_the_terminal(
    view: View, width: int, height: int, drives: int, has_notes: bool
) -> None:
    lines = tuple(replace(BUSY, device=f"nvme{n}n1") for n in range(drives))
    frame = replace(FRAME, drives=lines, notes=("a long note " * 20,) if has_notes else ())
    shown = as_text(layout.screen(frame, view, width, height), width)
    assert len(shown) <= height
    assert max(map(columns, shown)) <= width


@given(st.text(min_size=1), st.integers(1, 220))
def test_no_name_acts_on_the_terminal(name: str, width: int) -> None:
    """`top` moves the cursor, so it writes to the terminal without the filter of other commands."""
    rates = (ServiceRate(name, 1e6, 1e6, 1.0, 1.0),)
    drive = replace(BUSY, device=name, model=name, roles=(name,), mountpoints=(name,))
    frame = replace(FRAME, host=name, drives=(replace(drive, services=rates),), notes=(name,))
    for view in (View(), View(selected=name, has_detail=True), View(filter=name, is_typing=True)):
        assert all(
            text.isprintable() for text in as_text(layout.screen(frame, view, width, 40), width)
        )


@pytest.mark.parametrize("width", range(80, 201))
def test_headings_stand_above_their_values(width: int) -> None:
    heading, row = as_text(layout.screen(FRAME, View(), width, 20), width)[1:3]
    assert row[: heading.index("BUSY") + 4].endswith("100%")


def test_all_values_may_be_unknown() -> None:
    frame = Frame("db1", "10:00:00", 0.0, 1.0, drives=(DriveLine("sda"),))
    for view in (View(), View(has_detail=True), View(has_health=True)):
        text = "\n".join(as_text(layout.screen(frame, view, 80, 24), 80))
        assert "None" not in text
        assert "nan" not in text


def test_a_host_without_drives_says_so() -> None:
    text = "\n".join(as_text(layout.screen(replace(FRAME, drives=()), View(), 80, 24), 80))
    assert "no drive" in text


def test_the_selected_drive_is_always_visible() -> None:
    drives = tuple(replace(BUSY, device=f"sd{n}") for n in range(200))
    frame = replace(FRAME, drives=drives)
    for selected in ("sd0", "sd57", "sd199"):
        shown = as_text(layout.screen(frame, View(selected=selected), 80, 24), 80)
        assert [line for line in shown if line.startswith("›")] == [
            line for line in shown if line.startswith(f"›{selected} ")
        ]


def test_colours_do_not_change_the_text() -> None:
    lines = layout.screen(FRAME, View(), 160, 24)
    plain, coloured = (as_text(lines, 160, colour=colour) for colour in (False, True))
    assert plain != coloured
    without = []
    for text in coloured:
        parts = text.split("\x1b[")
        without.append("".join([parts[0], *(part.split("m", 1)[1] for part in parts[1:])]))
    assert plain == [text.rstrip() for text in without]


def test_a_terminal_without_utf_8_gets_ascii() -> None:
    text = "\n".join(
        as_text(layout.screen(FRAME, View(has_detail=True), 160, 24), 160, unicode=False)
    )
    assert text.isascii()


def test_the_document_lists_all_widths() -> None:
    """The limits of the table stand in the document too."""
    text = DOCUMENT.read_text(encoding="utf-8")
    assert all(f"{width}" in text for width in (80, 96, 110, 140, 200))
