"""Signed repositories, from which apt and dnf install the packages of one or more releases."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timezone
from pathlib import Path

from release.artefacts import KEY
from release.programs import ReleaseError, run
from release.signing import Key

#: The name of the distribution in the line of apt: one package fits all supported systems.
SUITE = "stable"

_ARCHITECTURES = ("amd64", "arm64")


def apt(releases: Sequence[Path], out: Path, key: str) -> None:
    """Makes or replaces a repository for apt with the Debian packages of directories.

    The line of apt is `deb [signed-by=KEY] ADDRESS stable main`.

    Raises:
        ReleaseError: there are no packages, or a program fails. The old repository stays.
    """
    _replaced(out, key, lambda new, signer: _apt(new, _packages(releases, "*.deb"), signer))


def rpm(releases: Sequence[Path], out: Path, key: str) -> None:
    """Makes or replaces a repository for dnf and zypper with the rpms of directories.

    The copies of the packages there are signed.

    Raises:
        ReleaseError: there are no packages, or a program fails. The old repository stays.
    """
    _replaced(out, key, lambda new, signer: _rpm(new, _packages(releases, "*.rpm"), signer))


def _apt(new: Path, packages: Iterable[Path], key: Key) -> None:
    pool = new / "pool"
    pool.mkdir()
    for package in packages:
        shutil.copy2(package, pool)
    suite = new / "dists" / SUITE
    for architecture in _ARCHITECTURES:
        index = suite / "main" / f"binary-{architecture}" / "Packages"
        index.parent.mkdir(parents=True)
        command = ("apt-ftparchive", "--arch", architecture, "packages", "pool")
        index.write_text(run(*command, cwd=new))
        run("gzip", "--keep", "-9n", index)
    fields = {
        "Origin": "ssd-exporter",
        "Label": "ssd-exporter",
        "Suite": SUITE,
        "Codename": SUITE,
        "Components": "main",
        "Architectures": " ".join(_ARCHITECTURES),
    }
    options = [f"-oAPT::FTPArchive::Release::{name}={value}" for name, value in fields.items()]
    release = suite / "Release"
    # Not in the directory: apt-ftparchive would list the file that it writes.
    text = run("apt-ftparchive", *options, "release", suite)
    release.write_text(text)
    key.inline(release, suite / "InRelease")
    key.detached(release).rename(suite / "Release.gpg")


def _rpm(new: Path, packages: Iterable[Path], key: Key) -> None:
    for package in packages:
        copy = Path(shutil.copy2(package, new))
        built = run("rpm", "--query", "--package", "--queryformat=%{BUILDTIME}", copy)
        # Its time is that of the build: equal packages stay equal.
        Key(key.name, int(built)).rpm(copy)
    run("createrepo_c", "--quiet", new)
    key.detached(new / "repodata" / "repomd.xml")


def _packages(releases: Sequence[Path], pattern: str) -> list[Path]:
    found = [path for release in releases for path in sorted(release.glob(pattern))]
    if not found:
        raise ReleaseError(f"no {pattern} in {' '.join(map(str, releases))}; run: make release")
    return found


def _replaced(out: Path, key: str, fill: Callable[[Path, Key], None]) -> None:
    """Makes a directory beside the old one, and replaces the old one when it is complete."""
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=".repository-") as name:
        new = Path(name) / "new"
        new.mkdir()
        signer = Key(key, int(datetime.now(timezone.utc).timestamp()))
        fill(new, signer)
        signer.public(new / KEY)
        if os.path.lexists(out):
            out.rename(Path(name) / "old")
        new.rename(out)
