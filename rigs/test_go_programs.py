"""Programs that are built from their Go modules."""

import shutil
from pathlib import Path

import pytest

from rigs import go_programs
from stack.programs import StackError


def test_a_missing_go_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(StackError, match=r"promtool cannot be built: .*Install Go"):
        go_programs.go("promtool")


def test_a_program_is_built_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(shutil, "which", lambda _: "/bin/false")
    program = tmp_path / "ssd-exporter" / "tool-v1.0.0" / "tool"
    program.parent.mkdir(parents=True)
    program.touch()
    assert program == go_programs.installed("example.test/module/cmd/tool", "v1.0.0")


def test_a_failed_build_names_the_program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(shutil, "which", lambda _: "/bin/false")
    with pytest.raises(StackError, match="tool cannot be built: no output"):
        go_programs.installed("example.test/module/cmd/tool", "v1.0.0")
