"""Releases of this checkout with test versions."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from rigs.lab.vm.cache import PROJECT

#: Test versions, which no release has: larger than every one, so that both install.
OLD, NEW = "900.1.0", "900.2.0"

_GIT = ("git", "-c", "user.name=test", "-c", "user.email=test@example.org")


@dataclass(frozen=True, slots=True)
class Releases:
    """work: a directory for repositories. files: the directory of each version."""

    work: Path
    files: dict[str, Path]

    def repository(self, kind: str, key: str, *versions: str) -> Path:
        """A repository of versions; `kind` is apt or rpm."""
        out = self.work / f"{kind}-{'-'.join(versions)}"
        found = [self.files[version] for version in versions]
        release(f"{kind}-repo", "--key", key, "--out", out, *found)
        return out


def made(version: str, work: Path, key: str) -> Path:
    """Builds a release from a clone of the last commit; returns the directory of its files.

    Only the old version has a container image, which takes most of the time.
    """
    source, out = work / "source", work / "files"
    tagged(version, source)
    without = () if version == OLD else ("--without-image",)
    release("build", "--version", version, "--out", out, "--key", key, *without, top=source)
    return out


def tagged(version: str, source: Path) -> None:
    """Clones the last commit of this checkout, and commits and tags a version there."""
    subprocess.run(["git", "clone", "--quiet", PROJECT, source], check=True)
    for path, pattern, text in (
        ("exporter/__init__.py", r'^__version__ = ".*"$', f'__version__ = "{version}"'),
        ("CHANGELOG.md", r"^## .*$", f"## {version} (2026-01-01)"),
    ):
        file = source / path
        file.write_text(re.sub(pattern, text, file.read_text(), count=1, flags=re.MULTILINE))
    # The time of the commit of this checkout: the release depends on it.
    when = git(source, "log", "-1", "--format=%cI")
    dates = {"GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when}
    git(source, "commit", "--quiet", "--all", f"--message=Release {version}", **dates)
    git(source, "tag", f"v{version}")


def git(where: Path, *arguments: str, **environment: str) -> str:
    return subprocess.run(
        [*_GIT, *arguments],
        cwd=where,
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    ).stdout.strip()


def release(*arguments: str | Path, top: Path = PROJECT) -> None:
    """Runs the command of the release; AssertionError with its messages if it fails."""
    argv = [sys.executable, "-m", "release", *map(str, arguments)]
    done = subprocess.run(argv, cwd=top, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
