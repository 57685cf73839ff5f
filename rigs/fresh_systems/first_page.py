"""Time from `apt-get install` on a fresh Debian 12 to the first page, beside Debian's exporter.

The other side is prometheus-node-exporter and prometheus of Debian, until both answer. All
packages are in the cache of apt before, so the network does not count. Recommended packages are
installed, as by default. Pairs alternate which side begins. Prints the seconds of each run, and the
quotient of the medians.
"""

import argparse
import shlex
import shutil
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from rigs.fresh_systems.systems import FRESH
from rigs.lab.vm import cache
from tests.packaging.debian import built
from tests.systemd.machine import Machine, booted_from

_REPOSITORY = "/mnt/repository"
_LIST = "/etc/apt/sources.list.d/ssd-exporter.list"
_ARCHIVES = "var/cache/apt/archives"
_APT = (
    *("env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "--yes", "--quiet"),
    # mmdebstrap has written the opposite into the configuration of apt.
    "-oAPT::Install-Recommends=true",
)
_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Side:
    """What is installed, and the addresses that answer when it runs."""

    name: str
    packages: tuple[str, ...]
    pages: tuple[str, ...]


SIDES = (
    Side("ssd-exporter", ("ssd-exporter",), ("127.0.0.1:10177/metrics",)),
    Side(
        "node_exporter and Prometheus",
        ("prometheus-node-exporter", "prometheus"),
        ("127.0.0.1:9100/metrics", "127.0.0.1:9090/-/ready"),
    ),
)


def main(arguments: list[str] | None = None) -> int:
    """Returns the exit status: 0 if ours takes at most as long, else 1."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=3)
    pairs: int = parser.parse_args(arguments).pairs
    seconds: dict[str, list[float]] = {side.name: [] for side in SIDES}
    with TemporaryDirectory(prefix="first-page-") as name:
        work = Path(name)
        _repository(work / "repository")
        _download(work)
        for pair in range(pairs):
            for side in SIDES if pair % 2 == 0 else reversed(SIDES):
                took = _run(side, work)
                seconds[side.name].append(took)
                sys.stdout.write(f"{took:6.1f} s  {side.name}\n")
                sys.stdout.flush()
    ours, theirs = (statistics.median(seconds[side.name]) for side in SIDES)
    sys.stdout.write(f"{ours / theirs:6.2f} times\n")
    return int(ours > theirs)


def _repository(place: Path) -> None:
    """A repository with our package, without a signature."""
    place.mkdir()
    shutil.copy2(built(), place)
    (place / "Packages").write_text(cache.run("apt-ftparchive", "packages", ".", cwd=place))


def _download(work: Path) -> None:
    """Fills the cache of apt for all sides."""
    archives = work / "archives"
    archives.mkdir()
    for side in SIDES:
        with _machine(work, "--resolv-conf=copy-host") as machine:
            _apt(machine, "--download-only", "install", *side.packages)
            for package in Path(f"/proc/{machine.leader}/root/{_ARCHIVES}").glob("*.deb"):
                shutil.copy2(package, archives)


def _run(side: Side, work: Path) -> float:
    """Seconds from the start of apt to the last first page."""
    with _machine(work, "--private-network") as machine:
        began = time.monotonic()
        _apt(machine, "install", *side.packages)
        for page in side.pages:
            while machine.run(
                "curl", "--silent", "--fail", "--output", "/dev/null", page
            ).returncode:
                time.sleep(0.1)
        return time.monotonic() - began


@contextmanager
def _machine(work: Path, network: str) -> Iterator[Machine]:
    """A fresh system that knows our repository and has the downloaded packages."""

    def prepare(layer: Path, _work: Path) -> None:
        (layer / _REPOSITORY.lstrip("/")).mkdir(parents=True)
        shutil.copytree(work / "archives", layer / _ARCHIVES)

    options = shlex.join([network, f"--bind-ro={work / 'repository'}:{_REPOSITORY}"])
    with booted_from(FRESH.root(), prepare, options) as machine:
        machine.write(_LIST, f"deb [trusted=yes] file:{_REPOSITORY} ./\n")
        only_ours = (f"-oDir::Etc::sourcelist={_LIST}", "-oDir::Etc::sourceparts=-")
        _apt(machine, *only_ours, "-oAPT::Get::List-Cleanup=false", "update")
        yield machine


def _apt(machine: Machine, *arguments: str) -> None:
    done = machine.run(*_APT, *arguments, timeout=_SECONDS)
    if done.returncode:
        raise RuntimeError(f"apt-get {' '.join(arguments)}: {done.stdout}{done.stderr}")


if __name__ == "__main__":
    sys.exit(main())
