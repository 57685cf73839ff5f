"""Keys change the view: order, filter, selection and what is shown."""

from dataclasses import replace

import pytest

from exporter.io.recent_activity import VERDICTS
from exporter.io.verdict import Verdict
from exporter.top.frame import DriveLine
from exporter.top.screen import parse_keys
from exporter.top.spans import compact, milliseconds
from exporter.top.sparkline import sparkline, verdict_strip
from exporter.top.view import Key, Order, View
from tests.top.frames import BUSY, CACHE, FRAME, REDO


def pressed(*keys: str | Key, view: View | None = None) -> View:
    view = view or View()
    for key in keys:
        view = view.after(key, view.shown(FRAME.drives))
    return view


def names(view: View) -> list[str]:
    return [drive.device for drive in view.shown(FRAME.drives)]


def test_drives_with_a_verdict_come_first() -> None:
    assert ["sda", "nvme1n1", "nvme0n1"] == names(View())


@pytest.mark.parametrize(
    ("presses", "expected"),
    [
        (1, ["sda", "nvme1n1", "nvme0n1"]),  # busy
        (2, ["nvme1n1", "sda", "nvme0n1"]),  # MB/s
        (3, ["nvme1n1", "nvme0n1", "sda"]),  # requests
        (4, ["sda", "nvme1n1", "nvme0n1"]),  # await
        (5, ["sda", "nvme0n1", "nvme1n1"]),  # name
    ],
)
def test_s_changes_the_order(presses: int, expected: list[str]) -> None:
    assert expected == names(pressed(*"s" * presses))


def test_the_order_returns_to_the_first_one() -> None:
    assert View() == pressed(*"s" * len(Order))


def test_names_are_sorted_as_the_kernel_numbers_drives() -> None:
    drives = [DriveLine(name) for name in ("sdaa", "sdb", "nvme10n1", "nvme2n1")]
    shown = View(order=Order.NAME).shown(drives)
    assert ["sdb", "sdaa", "nvme2n1", "nvme10n1"] == [drive.device for drive in shown]


def test_v_shows_only_bottlenecks() -> None:
    assert ["sda", "nvme1n1"] == names(pressed("v"))
    assert 3 == len(names(pressed("v", "v")))


def test_the_filter_is_typed_and_cleared() -> None:
    typing = pressed("/", *"mysqx", Key.BACKSPACE, "l")
    assert ("mysql", True) == (typing.filter, typing.is_typing)
    assert ["nvme1n1"] == names(typing)
    kept = pressed(Key.ENTER, view=typing)
    assert ("mysql", False) == (kept.filter, kept.is_typing)
    assert View() == pressed(Key.ESCAPE, view=kept)
    assert "" == pressed(Key.ESCAPE, view=typing).filter


def test_the_filter_finds_models_and_ends_no_program() -> None:
    assert ["sda"] == names(pressed("/", *"crucial"))
    assert not pressed("/", "q").has_ended
    assert pressed("q").has_ended


def test_the_selection_moves_within_the_shown_drives() -> None:
    assert "nvme1n1" == pressed(Key.DOWN).selected
    assert "nvme0n1" == pressed("j", "j", "j", "j").selected
    assert "sda" == pressed("j", "k", Key.UP).selected
    assert "nvme0n1" == pressed(Key.PAGE_DOWN).selected
    assert "sda" == pressed(Key.PAGE_DOWN, Key.PAGE_UP).selected
    assert "" == pressed("j", view=View(filter="none")).selected


def test_a_selected_drive_keeps_the_selection_when_the_order_changes() -> None:
    view = pressed("j")
    calm = [replace(CACHE, now=replace(CACHE.now, verdict=Verdict.NONE)), BUSY, REDO]
    assert 0 == view.position(view.shown(calm))
    assert "nvme1n1" == view.shown(calm)[0].device


@pytest.mark.parametrize(
    ("key", "flag"),
    [("d", "has_detail"), (Key.ENTER, "has_detail"), ("h", "has_health"), ("?", "has_help")],
)
def test_a_key_shows_and_hides_a_part(key: str | Key, flag: str) -> None:
    assert getattr(pressed(key), flag)
    assert not getattr(pressed(key, key), flag)


def test_p_and_space_pause() -> None:
    assert pressed("p").is_paused
    assert not pressed("p", " ").is_paused


@pytest.mark.parametrize("key", ["x", "\0", "é"])
def test_other_keys_do_nothing(key: str) -> None:
    assert View() == pressed(key)


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("q", ["q"]),
        ("jk", ["j", "k"]),
        ("\x1b[A\x1b[B", [Key.UP, Key.DOWN]),
        ("\x1bOA", [Key.UP]),
        ("\x1b[5~\x1b[6~", [Key.PAGE_UP, Key.PAGE_DOWN]),
        ("\r\n\x7f\b", [Key.ENTER, Key.ENTER, Key.BACKSPACE, Key.BACKSPACE]),
        ("\x1b", [Key.ESCAPE]),
        ("\x1bq", [Key.ESCAPE, "q"]),
        ("\x1b[1;5Cq", ["q"]),
        ("\x1b[", []),
        ("é", ["é"]),
    ],
)
def test_keys_of_a_terminal(text: str, keys: list[str | Key]) -> None:
    assert keys == list(parse_keys(text))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (0, "0"),
        (0.04, "0"),
        (0.3, "0.3"),
        (1, "1"),
        (9.94, "9.9"),
        (9.96, "10"),
        (101.4, "101"),
        (999.6, "1.0k"),
        (6240, "6.2k"),
        (12_345, "12k"),
        (14_000_000, "14M"),
        (5e12, "5000G"),
    ],
)
def test_compact_numbers(value: float | None, text: str) -> None:
    assert text == compact(value)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "-"),
        (0.0, "0.00"),
        (0.00009, "0.09"),
        (0.000999, "1.0"),
        (0.0024, "2.4"),
        (0.25, "250"),
        (12.0, "12s"),
    ],
)
def test_awaits(seconds: float | None, text: str) -> None:
    assert text == milliseconds(seconds)


def test_a_sparkline_shows_peaks() -> None:
    assert "▁█▁" == sparkline([0, 0, 0, 9, 0, 0], 3)
    assert "    ▁█" == sparkline([0, 1], 6)
    assert "▁▁" == sparkline([0, 0], 2)
    assert "  " == sparkline([], 2)


def test_a_strip_shows_bottlenecks() -> None:
    verdicts = [Verdict.NONE] * 4 + [Verdict.DEVICE, Verdict.NONE] + [Verdict.LINK] * 2
    assert "··DL" == verdict_strip(bytes(map(VERDICTS.index, verdicts)), 4)
    assert " ·" == verdict_strip(bytes(1), 2)
