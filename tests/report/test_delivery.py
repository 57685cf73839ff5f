"""Printing a report and writing its HTML file."""

import io
import json
import os
import resource
import stat
from pathlib import Path

import pytest

from exporter.report import delivery
from exporter.report.delivery import deliver
from exporter.runtime.errors import ConfigError
from tests.report import examples

REPORT = examples.write_cache()


def test_the_html_file_is_written_and_its_path_printed(tmp_path: Path) -> None:
    out, file = io.StringIO(), tmp_path / "report.html"
    deliver(REPORT, out, as_json=False, html=file)
    assert file.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert out.getvalue().endswith(f"\nHTML report: {file}\n")
    assert ["report.html"] == os.listdir(tmp_path)


def test_json_stays_alone(tmp_path: Path) -> None:
    out = io.StringIO()
    deliver(REPORT, out, as_json=True, html=tmp_path / "report.html")
    assert "cliff" == json.loads(out.getvalue())["data"]["result"]


def test_without_a_page_nothing_is_written_but_the_report() -> None:
    out = io.StringIO()
    deliver(REPORT, out, as_json=False, html=None)
    assert "The page" not in out.getvalue()


def test_a_page_before_is_replaced_whole(tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text("x" * 1_000_000)
    other = tmp_path / "second name"
    os.link(file, other)
    deliver(REPORT, io.StringIO(), as_json=False, html=file)
    assert file.read_text(encoding="utf-8").endswith("</html>\n")
    assert 1_000_000 == other.stat().st_size


def test_the_page_has_the_rights_of_any_new_file(tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    before = os.umask(0o027)
    try:
        deliver(REPORT, io.StringIO(), as_json=False, html=file)
    finally:
        os.umask(before)
    assert 0o640 == stat.S_IMODE(file.stat().st_mode)


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "report.html"
    target.write_text("kept")
    link.symlink_to(target)
    with pytest.raises(
        ConfigError, match="a symbolic link, not a regular file; use another file for --html"
    ):
        deliver(REPORT, io.StringIO(), as_json=False, html=link)
    assert "kept" == target.read_text()
    assert link.is_symlink()


@pytest.mark.parametrize("kind", ["directory", "pipe", "device"])
def test_what_is_no_ordinary_file_is_not_written_over(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "report.html"
    if kind == "directory":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path = Path("/dev/null")
    with pytest.raises(ConfigError, match="not a regular file"):
        delivery.check(path)
    with pytest.raises(ConfigError, match="not a regular file"):
        deliver(REPORT, io.StringIO(), as_json=False, html=path)


@pytest.mark.parametrize(
    ("why", "name"),
    [
        ("No such file or directory", "not there/report.html"),
        ("Not a directory", "a file/report.html"),
        ("File name too long", f"{'x' * 300}.html"),
        ("embedded null (byte|character)", "a\0b"),
    ],
)
def test_a_page_that_cannot_be_written_is_said_in_one_line(
    tmp_path: Path, why: str, name: str
) -> None:
    (tmp_path / "a file").write_text("")
    out = io.StringIO()
    with pytest.raises(ConfigError, match=why) as refused:
        deliver(REPORT, out, as_json=False, html=tmp_path / name)
    assert str(refused.value).isprintable()
    assert "Write cache of nvme0n1" in out.getvalue(), (
        "the result must be printed without the page, too"
    )
    with pytest.raises(ConfigError, match=why):
        delivery.check(tmp_path / name)


def test_a_disk_that_takes_no_more_leaves_the_page_before_and_nothing_half_written(
    tmp_path: Path,
) -> None:
    file = tmp_path / "report.html"
    file.write_text("the page before")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(ConfigError, match="cannot be written"):
            deliver(REPORT, io.StringIO(), as_json=False, html=file)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert "the page before" == file.read_text()
    assert ["report.html"] == os.listdir(tmp_path)


def test_the_check_leaves_nothing_behind(tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    delivery.check(file)
    delivery.check(None)
    assert [] == os.listdir(tmp_path)
