"""A release is refused unless its commit, tag, version and changelog belong together."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from release import source
from release.__main__ import main
from release.artefacts import build
from release.programs import ReleaseError

CHANGELOG = """\
# Changelog

## 2.0.0 (unreleased)

- Not yet.

## 1.2.3 (2026-12-01)

- [FEATURE] Something new.

## 1.2.2 (2026-11-01)
"""


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A repository with a commit that is ready for the release 1.2.3."""
    top = tmp_path / "source"
    (top / "exporter").mkdir(parents=True)
    (top / "exporter" / "__init__.py").write_text('__version__ = "1.2.3"\n')
    (top / "CHANGELOG.md").write_text(CHANGELOG)
    git(top, "init", "--quiet")
    git(top, "add", ".")
    git(top, "commit", "--quiet", "--message=Release")
    git(top, "tag", "v1.2.3")
    return top


def git(top: Path, *arguments: str) -> None:
    who = ("-c", "user.name=test", "-c", "user.email=test@example.org")
    subprocess.run(["git", *who, *arguments], cwd=top, check=True, capture_output=True)


def test_a_tagged_commit_is_a_source(top: Path) -> None:
    found = source.checked(top, "1.2.3")
    assert len(found.commit) == 40
    assert found.notes.startswith(
        "# ssd-exporter 1.2.3 (2026-12-01)\n\n- [FEATURE] Something new.\n\n## Verify"
    )


def changed(top: Path) -> None:
    (top / "CHANGELOG.md").write_text("")


def untagged(top: Path) -> None:
    git(top, "tag", "--delete", "v1.2.3")


def tagged_twice(top: Path) -> None:
    git(top, "tag", "v1.2.2")


def tagged_unreleased(top: Path) -> None:
    init = top / "exporter" / "__init__.py"
    init.write_text('__version__ = "2.0.0"\n')
    git(top, "commit", "--quiet", "--all", "--message=Version")
    git(top, "tag", "v2.0.0")


@pytest.mark.parametrize(
    ("version", "change", "said"),
    [
        ("1.2", untagged, "three numbers"),
        ("1.2.3; id", untagged, "three numbers"),
        ("1.2.3", changed, "not committed"),
        ("1.2.3", untagged, "git tag --sign v1.2.3"),
        ("1.2.2", tagged_twice, "names another version than 1.2.2"),
        ("2.0.0", tagged_unreleased, "no section '## 2.0.0 (YEAR-MONTH-DAY)'"),
    ],
)
def test_everything_else_is_refused(
    top: Path, version: str, change: Callable[[Path], None], said: str
) -> None:
    change(top)
    with pytest.raises(ReleaseError) as refused:
        source.checked(top, version)
    assert said in str(refused.value)


def test_an_empty_section_is_refused() -> None:
    with pytest.raises(ReleaseError, match="is empty"):
        source.release_notes(CHANGELOG, "1.2.2")


def test_an_existing_directory_is_not_touched(top: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    with pytest.raises(ReleaseError, match="exists"):
        build(source.checked(top, "1.2.3"), out, "https://example.org", None)
    assert [] == list(out.iterdir())


def test_a_build_that_fails_leaves_nothing(top: Path, tmp_path: Path) -> None:
    """The repository of this test has no packaging/stage.sh."""
    out = tmp_path / "releases" / "out"
    with pytest.raises(ReleaseError, match=r"stage\.sh"):
        build(source.checked(top, "1.2.3"), out, "https://example.org", None, has_image=False)
    assert [] == list(out.parent.iterdir())


def test_a_refusal_is_one_line_and_exit_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build", "--version=x", "--out=/nowhere"]) == 2
    assert main(["apt-repo", "--out=/nowhere", "/nowhere"]) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert first == "release: VERSION=x: three numbers are required, such as 1.0.0"
    assert second.startswith("release: apt-repo requires KEY=FINGERPRINT")
