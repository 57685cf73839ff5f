"""Command line of `make release`, `make chart`, `make apt-repo` and `make rpm-repo`."""

import argparse
import sys
from pathlib import Path

from exporter import __version__
from release import artefacts, chart, repositories, source
from release.programs import ReleaseError

TOP = Path(__file__).resolve().parents[1]


def main(arguments: list[str] | None = None) -> int:
    """Returns the exit status: 0, or 2 with a reason on standard error."""
    parser = argparse.ArgumentParser(prog="python -m release", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    build = commands.add_parser("build", help="build all files of a release")
    build.add_argument("--version", required=True, help="such as 1.0.0; the commit has its tag")
    build.add_argument("--key", default="", help="fingerprint of the GnuPG key for signatures")
    build.add_argument("--out", type=Path, required=True, help="new directory for the files")
    build.add_argument("--without-image", action="store_true", help="no container image")
    packed = commands.add_parser("chart", help="pack the Helm chart of this checkout")
    packed.add_argument("--out", type=Path, required=True, help="directory for the archive")
    for name, system in (("apt-repo", "apt"), ("rpm-repo", "dnf and zypper")):
        command = commands.add_parser(name, help=f"make a signed repository for {system}")
        command.add_argument("--key", default="", help="fingerprint of the GnuPG key")
        command.add_argument("--out", type=Path, required=True, help="directory of the repository")
        command.add_argument("releases", type=Path, nargs="+", help="directories of releases")
    asked = parser.parse_args(arguments)
    try:
        if asked.command == "build":
            _build(asked.version, asked.out, asked.key or None, has_image=not asked.without_image)
        elif asked.command == "chart":
            _chart(asked.out)
        else:
            _repository(asked.command, asked.releases, asked.out, asked.key)
    except ReleaseError as e:
        sys.stderr.write(f"release: {e}\n")
        return 2
    return 0


def _build(version: str, out: Path, key: str | None, *, has_image: bool) -> None:
    checked = source.checked(TOP, version)
    url = source.address(TOP)
    for path in artefacts.build(checked, out.resolve(), url, key, has_image=has_image):
        sys.stdout.write(f"{path.stat().st_size:>10,}  {path.name}\n")
    if key is None:
        sys.stderr.write("release: nothing is signed: KEY=FINGERPRINT selects a key\n")


def _chart(out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    path = chart.archive(TOP, __version__, source.committed_at(TOP), out)
    sys.stdout.write(f"{path}\n")


def _repository(kind: str, releases: list[Path], out: Path, key: str) -> None:
    if not key:
        raise ReleaseError(f"{kind} requires KEY=FINGERPRINT; see gpg --list-secret-keys")
    make = repositories.apt if kind == "apt-repo" else repositories.rpm
    make(releases, out.resolve(), key)


if __name__ == "__main__":
    sys.exit(main())
