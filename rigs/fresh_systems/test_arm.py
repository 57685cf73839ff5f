"""The package for ARM on an emulated Debian 12: installation, page, `check`, a probe, purge."""

import json
import platform
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from release.emulation import emulated
from rigs.fresh_systems.systems import ARM
from tests.packaging.debian import built
from tests.systemd.machine import Machine, booted_from
from tests.systemd.units import BOTH

#: Emulated programs take about ten times as long.
_SECONDS = 900.0
_PACKAGE = "/var/tmp/ssd-exporter.deb"
_PROBES = "/var/lib/mysql-probe"


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    package = built(f"ARCH={ARM.machine}")
    disk = tmp_path_factory.mktemp("disk")

    def prepare(layer: Path, _work: Path) -> None:
        place = layer / _PACKAGE.lstrip("/")
        place.parent.mkdir(parents=True)
        place.write_bytes(package.read_bytes())

    options = shlex.join(["--private-network", f"--bind={disk}:{_PROBES}"])
    with emulated(ARM.machine), booted_from(ARM.root(), prepare, options) as made:
        yield made


def do(machine: Machine, *argv: str) -> str:
    """Output of a command; AssertionError with its messages if it fails."""
    done = machine.run(*argv, timeout=_SECONDS)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_package_for_arm_is_installed_serves_a_page_measures_and_is_purged(
    machine: Machine,
) -> None:
    apt = ("env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "--yes", "--quiet")
    do(machine, *apt, "install", _PACKAGE)
    machine.await_("the page", machine.page)
    assert ["active", "active"] == machine.systemctl("is-active", *BOTH).split()
    found = machine.metrics()
    assert found.find("ssd_disk_reads_completed_total"), "this host has a disk"
    assert "aarch64" == do(machine, "uname", "--machine").strip() != platform.machine()
    ((build, _),) = found.find("ssd_exporter_build_info")
    assert build["fio"]

    checked = machine.run("ssd-exporter", "check", "--json", timeout=_SECONDS)
    assert "drives" in json.loads(checked.stdout), checked.stderr
    asked = ("fsync", f"--directory={_PROBES}", "--yes", "--anyway", "--json")
    measured = machine.run("ssd-exporter", "probe", *asked, timeout=_SECONDS)
    assert measured.returncode == 0, measured.stdout + measured.stderr

    do(machine, *apt, "purge", "ssd-exporter")
    assert "" == machine.page()
    left = "/etc/ssd-exporter", "/var/lib/ssd-exporter", "/usr/lib/ssd-exporter"
    assert "" == machine.run("ls", "-d", *left).stdout
