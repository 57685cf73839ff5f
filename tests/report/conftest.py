"""Gives every test the same terminal settings."""

import pytest


@pytest.fixture(autouse=True)
def _terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LINES", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "PYTHONUTF8"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
