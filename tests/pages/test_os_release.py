"""The name of the operating system in /etc/os-release."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from exporter.pages import os_release

DEBIAN = 'NAME="Debian GNU/Linux"\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nID=debian\n'


def test_the_pretty_name_is_returned(tmp_path: Path) -> None:
    assert os_release.read(tmp_path) == ""
    (tmp_path / "usr/lib").mkdir(parents=True)
    (tmp_path / "usr/lib/os-release").write_text(DEBIAN)
    assert os_release.read(tmp_path) == "Debian GNU/Linux 12 (bookworm)"
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/os-release").write_text("PRETTY_NAME='Rocky Linux 9'\n")
    assert os_release.read(tmp_path) == "Rocky Linux 9"


def test_a_large_or_strange_file_is_harmless(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/os-release").write_text("x" * 100_000)
    assert os_release.read(tmp_path) == ""
    assert os_release.parse("NAME=x\n") == ""
    assert len(os_release.parse(f"PRETTY_NAME={'y' * 900}")) == 60


@given(st.text())
def test_any_text_gives_a_short_name(text: str) -> None:
    assert len(os_release.parse(text)) <= 60
