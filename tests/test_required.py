"""Nothing that a test needs may be missing in CI."""

import pytest

from tests.required import lacking


def test_a_missing_requirement_fails_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="required in CI: no fio"):
        lacking("no fio")


def test_a_missing_requirement_skips_the_test_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="no fio"):
        lacking("no fio")
