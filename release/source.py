"""What a release is made from: a clean checkout of a tag, with a section in CHANGELOG.md."""

import re
from dataclasses import dataclass
from pathlib import Path

from release.programs import ReleaseError, run

_VERSION = re.compile(r"\d+\.\d+\.\d+")

_VERIFY = """
## Verify the files

```console
$ gpg --import ssd-exporter-key.asc
$ gpg --verify SHA256SUMS.asc SHA256SUMS
$ sha256sum --check --ignore-missing SHA256SUMS
```
"""


@dataclass(frozen=True, slots=True)
class Source:
    """A checkout from which a release is made.

    top: its directory. version: such as 1.0.0. commit: its full hash. when: the time of the commit,
    in seconds since 1970. notes: the release notes, in Markdown.
    """

    top: Path
    version: str
    commit: str
    when: int
    notes: str


def checked(top: Path, version: str) -> Source:
    """Returns the source of a release.

    Raises:
        ReleaseError: it is not what the tag contains, or its parts name different versions.
    """
    if not _VERSION.fullmatch(version):
        raise ReleaseError(f"VERSION={version}: three numbers are required, such as 1.0.0")
    changes = run("git", "status", "--porcelain", cwd=top)
    if changes:
        raise ReleaseError(f"{top} has changes that are not committed:\n{changes.rstrip()}")
    tag = f"v{version}"
    if tag not in run("git", "tag", "--points-at", "HEAD", cwd=top).split():
        raise ReleaseError(f"the commit has no tag {tag}; run: git tag --sign {tag}")
    written = top / "exporter" / "__init__.py"
    if f'__version__ = "{version}"' not in written.read_text().splitlines():
        raise ReleaseError(f"{written} names another version than {version}")
    commit, when = run("git", "log", "-1", "--format=%H %ct", cwd=top).split()
    notes = release_notes((top / "CHANGELOG.md").read_text(), version)
    return Source(top, version, commit, int(when), notes)


def committed_at(top: Path) -> int:
    """Returns the time of the last commit of a checkout, in seconds since 1970."""
    return int(run("git", "log", "-1", "--format=%ct", cwd=top))


def address(top: Path) -> str:
    """Returns the address of the project, from pyproject.toml."""
    (found,) = re.findall(
        r'^Homepage = "(.+)"$', (top / "pyproject.toml").read_text(), re.MULTILINE
    )
    return str(found)


def release_notes(changelog: str, version: str) -> str:
    """Returns the section of a version in CHANGELOG.md, and how to verify the files.

    Raises:
        ReleaseError: there is no section with a date, or it is empty.
    """
    heading = rf"^## {re.escape(version)} \((\d{{4}}-\d\d-\d\d)\)$"
    start = re.search(heading, changelog, re.MULTILINE)
    if start is None:
        raise ReleaseError(f"CHANGELOG.md has no section '## {version} (YEAR-MONTH-DAY)'")
    end = re.search(r"^## ", changelog[start.end() :], re.MULTILINE)
    section = changelog[start.end() :][: end.start() if end else None].strip()
    if not section:
        raise ReleaseError(f"the section of {version} in CHANGELOG.md is empty")
    return f"# ssd-exporter {version} ({start[1]})\n\n{section}\n{_VERIFY}"
