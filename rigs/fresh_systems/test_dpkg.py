"""dpkg on systems that lack what the package needs: the messages say what is missing."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from rigs.fresh_systems.systems import BARE, System
from tests.packaging.debian import built
from tests.packaging.root import Root, layered

_FORCED = "--force-depends"


@pytest.fixture(scope="module")
def package() -> Path:
    return built()


@pytest.fixture(params=BARE, ids=lambda system: f"{system.name} with {system.more[0]}")
def system(request: pytest.FixtureRequest) -> System:
    found: System = request.param
    return found


@pytest.fixture
def root(system: System, package: Path) -> Iterator[Root]:
    """A bare system with the package in /var/tmp."""
    with layered(base=system.root()) as made:
        place = made.layer / "var" / "tmp"
        place.mkdir(parents=True)
        (place / "ssd-exporter.deb").write_bytes(package.read_bytes())
        yield made


def install(root: Root, *options: str) -> "subprocess.CompletedProcess[str]":
    done = root.run("dpkg", *options, "--install", "/var/tmp/ssd-exporter.deb")
    assert "Traceback" not in done.stdout + done.stderr
    return done


def test_dpkg_names_the_missing_packages(root: Root) -> None:
    done = install(root)
    assert done.returncode != 0
    for name in ("systemd", "python3"):
        assert f"Package {name} is not installed" in done.stderr, done.stderr


def test_a_forced_installation_stops_with_one_line_about_what_is_missing(root: Root) -> None:
    done = install(root, _FORCED)
    assert done.returncode != 0
    ours = [line for line in done.stderr.splitlines() if line.startswith("ssd-exporter: ")]
    assert 1 == len(ours), done.stderr
    assert "run: apt-get --fix-broken install" in ours[0]


def test_the_command_of_the_unfinished_installation_names_the_next_step(
    root: Root, system: System
) -> None:
    install(root)
    # Not --version: it needs no module that the python3-minimal of Debian 13 lacks.
    done = root.run("ssd-exporter", "check")
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    if "python3-minimal" in system.more:
        assert 1 == done.stderr.count("\n"), done.stderr
        assert "run: apt-get install python3" in done.stderr


def test_the_unfinished_installation_can_be_removed(root: Root) -> None:
    install(root, _FORCED)
    root.do("dpkg", "--purge", "ssd-exporter")
    left = root.run("ls", "/usr/lib/ssd-exporter", "/etc/ssd-exporter")
    assert "" == left.stdout
    assert "not found" not in root.run("dpkg", "--audit").stdout
