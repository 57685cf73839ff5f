"""Setting files aside: the numbers, the limit, and that a kept copy is never overwritten."""

import logging
import os
from pathlib import Path

import pytest

from exporter.runtime import kept_copy
from exporter.runtime.kept_copy import (
    FILES,
    MAX_COPIES,
    KeptCopies,
    TooManyCopies,
    copies,
    set_aside,
)
from tests.injected_errors import ERRORS, Failing


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "history.sqlite"


def kept(path: Path) -> dict[str, str]:
    """Returns the contents of all other files in the directory, keyed by the end of the name."""
    return {
        each.name.removeprefix(path.name): each.read_text()
        for each in path.parent.iterdir()
        if each != path
    }


def test_copies_have_numbers_in_their_order_and_none_is_overwritten(path: Path) -> None:
    for number in range(1, MAX_COPIES + 1):
        path.write_text(f"content {number}")
        assert path.with_name(f"{path.name}.kept-{number}") == set_aside(path)
        assert not path.exists()
    numbers = range(1, MAX_COPIES + 1)
    assert {f".kept-{n}": f"content {n}" for n in numbers} == kept(path)
    assert [f"{path.name}.kept-{n}" for n in numbers] == [each.name for each in copies(path)]


@pytest.mark.parametrize("attempts", [1, 2, 20])
def test_beyond_the_limit_the_file_stays(path: Path, attempts: int) -> None:
    for number in range(MAX_COPIES):
        path.write_text(f"content {number}")
        set_aside(path)
    before = kept(path)
    path.write_text("one more")
    for _ in range(attempts):
        with pytest.raises(TooManyCopies, match="there are already 8 copies"):
            set_aside(path)
    assert ("one more", before) == (path.read_text(), kept(path))
    copies(path)[0].unlink()
    assert f"{path.name}.kept-{MAX_COPIES + 1}" == set_aside(path).name


def test_copies_of_earlier_versions_count_and_files_of_other_names_do_not(path: Path) -> None:
    names = ("history.sqlite.kept-20261128T125148Z", "history.sqlite.kept-12")
    others = (
        *("history.sqlite.kept-12-journal", "history.sqlite.kept-", "history.sqlite.kept-x"),
        *("state.json.kept-40", "xhistory.sqlite.kept-50", "history.sqlite2.kept-1"),
    )
    for name in (*names, *others):
        path.with_name(name).write_text(name)
    assert names == tuple(each.name for each in copies(path))
    path.write_text("new")
    assert "history.sqlite.kept-13" == set_aside(path).name


@pytest.mark.parametrize("kind", ["directory", "pipe", "link"])
def test_anything_in_the_place_of_the_file_is_renamed(path: Path, kind: str) -> None:
    if kind == "directory":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/nonexistent")
    mode = path.lstat().st_mode
    assert mode == set_aside(path).lstat().st_mode
    assert not os.path.lexists(path)


def test_a_copy_of_another_process_is_not_overwritten(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It chooses the same number at the same time."""
    taken = path.with_name(f"{path.name}.kept-1")
    path.write_text("mine")
    monkeypatch.setattr(kept_copy, "next_copy", lambda _: taken)
    taken.write_text("theirs")
    with pytest.raises(FileExistsError):
        set_aside(path)
    assert ("mine", "theirs") == (path.read_text(), taken.read_text())


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("call", ["listdir", "link", "unlink"])
@pytest.mark.parametrize("which", ["", "-journal"])
def test_an_error_leaves_the_file_and_its_companions_together(
    path: Path, monkeypatch: pytest.MonkeyPatch, error: str, call: str, which: str
) -> None:
    """A journal without its database, or beside another one, would damage both."""
    whole = {path.name: "rows", f"{path.name}-journal": "changes"}
    for name, text in whole.items():
        path.with_name(name).write_text(text)
    meant = str(path) + which if call != "listdir" else str(path.parent)
    fails = Failing(error, call, is_meant=lambda each, *_, **__: os.fspath(each) == meant)
    with fails.installed(monkeypatch), pytest.raises(OSError, match=os.strerror(fails.number)):
        set_aside(path, ("-journal", "-wal"))
    assert 1 == fails.failed
    found = {each.name: each.read_text() for each in path.parent.iterdir()}
    assert whole == {name: text for name, text in found.items() if "kept" not in name}
    aside = set_aside(path, ("-journal", "-wal"))
    assert "changes" == path.with_name(f"{aside.name}-journal").read_text()
    assert not path.exists()


def test_a_filesystem_without_links_is_supported(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.write_text("rows")
    with Failing("EOPNOTSUPP", "link", times=9).installed(monkeypatch):
        assert "rows" == set_aside(path).read_text()
    path.write_text("more")
    with Failing("EPERM", "link", times=9).installed(monkeypatch):
        assert "more" == set_aside(path).read_text()


def test_copies_are_counted_and_logged_once(
    path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO)
    for _ in range(2):
        path.write_text("rows")
        set_aside(path)
    found = KeptCopies(path.parent)
    assert {} == found.counts
    for _ in range(2):
        found.refresh()
    assert {**dict.fromkeys(FILES, 0), "history.sqlite": 2} == found.counts
    line = f"{path.parent} contains copies of files that were set aside: 2 of history.sqlite; merge"
    (said,) = caplog.messages
    assert line in said
    with Failing("EIO", "listdir").installed(monkeypatch):
        found.refresh()
    assert 2 == found.counts["history.sqlite"]
    for each in copies(path):
        each.unlink()
    found.refresh()
    assert 0 == found.counts["history.sqlite"]


def test_without_a_state_directory_nothing_is_counted() -> None:
    found = KeptCopies(None)
    found.refresh()
    assert {} == found.counts
