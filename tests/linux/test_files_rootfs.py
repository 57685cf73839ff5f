"""Paths below another root."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.linux import files


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "data/mysql/log").mkdir(parents=True)
    (tmp_path / "var/lib").mkdir(parents=True)
    (tmp_path / "var/lib/mysql").symlink_to("/data/mysql")
    (tmp_path / "data/mysql/undo").symlink_to("../../var/./undo")
    (tmp_path / "out").symlink_to("../../../../../etc")
    (tmp_path / "ring").symlink_to("gnir")
    (tmp_path / "gnir").symlink_to("ring")
    return tmp_path


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/var/lib/mysql", "/data/mysql"),
        ("/var/lib/mysql/log/", "/data/mysql/log"),
        ("/var/lib/mysql/undo/x", "/var/undo/x"),
        ("/var/lib/../lib/./nothing", "/var/lib/nothing"),
        ("/out/passwd", "/etc/passwd"),
        ("/..", "/"),
        ("/a\0b", "/a\0b"),
    ],
)
def test_resolve(root: Path, path: str, expected: str) -> None:
    """Links are followed as the host would, absolute ones from its root, and never out of it."""
    assert expected == files.resolve_symlinks(root, path)


def test_ring(root: Path) -> None:
    """Links that lead to each other are given up."""
    assert files.resolve_symlinks(root, "/ring/a").endswith("/a")


@given(st.text())
def test_any_path(path: str) -> None:
    """Any path comes back absolute and without dots."""
    found = files.resolve_symlinks(Path("/nonexistent"), path)
    assert found.startswith("/")
    assert not {"..", "."} & set(found.split("/"))


def test_a_path_longer_than_the_kernel_takes_is_left_as_it_is(tmp_path: Path) -> None:
    """Any user may give a process called mysqld a command line of 65,000 parts."""
    (tmp_path / "a").symlink_to("b")
    long = "/a" * 65_000
    assert long == files.resolve_symlinks(tmp_path, long)
