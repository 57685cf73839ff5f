"""apt installs, upgrades, rolls back and removes the package on booted systems."""

import json
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from rigs.fresh_systems.conftest import new_key
from rigs.fresh_systems.releases import NEW, OLD, Releases
from rigs.fresh_systems.systems import SYSTEMS, System
from tests.systemd.machine import Machine, booted_from
from tests.systemd.units import BOTH

#: Where the machine sees the repositories of this host.
_OLD, _BOTH, _FOREIGN, _DAMAGED = "/mnt/old", "/mnt/both", "/mnt/foreign", "/mnt/damaged"
_LIST = "/etc/apt/sources.list.d/ssd-exporter.list"
_KEY = "/etc/apt/keyrings/ssd-exporter.asc"
_CONFIG = "/etc/ssd-exporter/config.toml"
_MINE = "[log]\nformat = 'json'\n"

#: Asked by no one, and the settings of the administrator are kept.
_APT = (
    *("env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "--yes", "--quiet"),
    *("-oDpkg::Options::=--force-confold", "-oAPT::Sandbox::User=root"),
)
_SECONDS = 300.0

#: Keeps a disk full.
_FILLER = """#!/bin/sh
while :; do
  cat /dev/zero >> {place}/filler
  sleep 0.01
done 2> /dev/null
"""

#: Fills a disk when postinst has begun. The brackets keep grep from finding itself.
_LATE_FILLER = """#!/bin/sh
until grep -qs 'info/ssd-exporter[.]postinst' /proc/[0-9]*/cmdline; do :; done
cat /dev/zero > {place}/filler
"""

#: Room for two versions of the modules.
_SMALL = "40m"

#: Kills dpkg and postinst when postinst has begun, as at a loss of power.
_KILLER = """#!/bin/sh
while :; do
  for process in /proc/[0-9]*; do
    read -r name < $process/comm || continue
    [ "$name" = ssd-exporter.po ] && grep -q postinst $process/cmdline || continue
    for other in /proc/[0-9]*; do
      read -r name < $other/comm || continue
      case $name in dpkg | ssd-exporter.po | py3compile) kill -KILL ${other#/proc/} ;; esac
    done
    exit
  done
done 2> /dev/null
"""


@pytest.fixture(scope="module")
def repositories(releases: Releases, key: str) -> dict[str, Path]:
    """Repositories by the path that the machines see."""
    made = {
        _OLD: releases.repository("apt", key, OLD),
        _BOTH: releases.repository("apt", key, OLD, NEW),
        _FOREIGN: releases.work / "foreign",
        _DAMAGED: releases.work / "damaged",
    }
    foreign = new_key("someone else <else@example.org>")
    releases.repository("apt", foreign, NEW).rename(made[_FOREIGN])
    shutil.copytree(made[_BOTH], made[_DAMAGED])
    for package in (made[_DAMAGED] / "pool").glob(f"*_{NEW}_amd64.deb"):
        content = bytearray(package.read_bytes())
        content[len(content) // 2] ^= 1
        package.write_bytes(content)
    return made


@pytest.fixture(scope="module", params=SYSTEMS, ids=lambda system: system.name)
def machine(request: pytest.FixtureRequest, repositories: dict[str, Path]) -> Iterator[Machine]:
    """A booted system that trusts the key, with the repository of the old version."""
    system: System = request.param

    def prepare(layer: Path, _work: Path) -> None:
        for path in repositories:
            (layer / path.lstrip("/")).mkdir(parents=True)
        key = layer / _KEY.lstrip("/")
        key.parent.mkdir(parents=True)
        key.write_text((repositories[_OLD] / "ssd-exporter-key.asc").read_text())
        (layer / "etc/apt/sources.list.d").mkdir(parents=True)
        use = layer / _LIST.lstrip("/")
        use.write_text(line(_OLD))
        # Without a network, apt cannot ask the mirrors.
        (layer / "etc/apt/sources.list").write_text("")
        policy = layer / "usr/sbin/policy-rc.d"
        assert not policy.exists()

    binds = [f"--bind-ro={path}:{inside}" for inside, path in repositories.items()]
    with booted_from(system.root(), prepare, shlex.join(["--private-network", *binds])) as made:
        made.run("apt-get", "--quiet", "update", timeout=_SECONDS)
        yield made


def line(repository: str) -> str:
    return f"deb [signed-by={_KEY}] file:{repository} stable main\n"


def apt(machine: Machine, *arguments: str) -> str:
    """Output of apt-get; AssertionError if it fails."""
    done = machine.run(*_APT, *arguments, timeout=_SECONDS)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def update_fails(machine: Machine, repository: str) -> str:
    """What apt says about a repository that it does not trust."""
    machine.write(_LIST, line(repository))
    done = machine.run(*_APT, "update", "-oAPT::Update::Error-Mode=any", timeout=_SECONDS)
    assert done.returncode != 0
    return done.stdout + done.stderr


def version(machine: Machine) -> str:
    return machine.run("ssd-exporter", "--version").stdout.split()[-1]


def await_page(machine: Machine, expected: str) -> None:
    """Waits until the page is that of a version."""
    build = f'ssd_exporter_build_info{{version="{expected}"'
    machine.await_(f"page of {expected}", lambda: build in machine.page())


def test_the_package_is_installed_upgraded_rolled_back_and_purged(machine: Machine) -> None:
    apt(machine, "install", "ssd-exporter")
    await_page(machine, OLD)
    assert ["active", "active"] == machine.systemctl("is-active", *BOTH).split()
    found = json.loads(machine.run("ssd-exporter", "check", "--json").stdout)
    assert "drives" in found

    machine.write(_CONFIG, _MINE)
    state = "/var/lib/ssd-exporter"
    kept = set(machine.run("ls", state).stdout.split())
    assert kept, "the daemon has written its state"

    said = update_fails(machine, _FOREIGN)
    assert "is not signed" in said, said
    machine.write(_LIST, line(_DAMAGED))
    apt(machine, "update")
    done = machine.run(*_APT, "install", "ssd-exporter", timeout=_SECONDS)
    assert done.returncode != 0, "the file of the package has other bytes than its index says"
    await_page(machine, OLD)

    machine.write(_LIST, line(_BOTH))
    apt(machine, "update")
    apt(machine, "install", "ssd-exporter")
    await_page(machine, NEW)
    assert machine.run("cat", _CONFIG).stdout == _MINE
    assert kept <= set(machine.run("ls", state).stdout.split())

    apt(machine, "install", "--allow-downgrades", f"ssd-exporter={OLD}")
    await_page(machine, OLD)
    assert machine.run("cat", _CONFIG).stdout == _MINE
    assert kept <= set(machine.run("ls", state).stdout.split())

    apt(machine, "purge", "ssd-exporter")
    assert machine.page() == ""
    left = "/etc/ssd-exporter", state, "/usr/lib/ssd-exporter", "/usr/bin/ssd-exporter"
    assert machine.run("ls", "-d", *left).stdout == ""


def test_an_upgrade_that_is_killed_can_be_continued(machine: Machine) -> None:
    machine.write(_LIST, line(_BOTH))
    apt(machine, "update")
    apt(machine, "install", f"ssd-exporter={OLD}")
    machine.write("/root/killer", _KILLER, 0o755)
    machine.run("systemd-run", "--unit=killer", "/root/killer")
    machine.run(*_APT, "install", "ssd-exporter", timeout=_SECONDS)
    machine.run("systemctl", "stop", "killer")
    state = machine.run("dpkg-query", "--show", "--showformat=${Status}", "ssd-exporter").stdout
    assert state.endswith("half-configured"), state
    machine.run("dpkg", "--configure", "--pending", timeout=_SECONDS)
    await_page(machine, NEW)
    apt(machine, "purge", "ssd-exporter")


@pytest.fixture
def small(machine: Machine) -> Iterator[str]:
    """The directory of the modules, on a small file system."""
    place = "/usr/lib/ssd-exporter"
    machine.run("mkdir", "--parents", place)
    machine.run("mount", "-t", "tmpfs", "-o", f"size={_SMALL},mode=755", "tmpfs", place)
    try:
        yield place
    finally:
        machine.run("umount", place)


def install_old(machine: Machine) -> None:
    machine.write(_LIST, line(_BOTH))
    apt(machine, "update")
    apt(machine, "install", f"ssd-exporter={OLD}")
    await_page(machine, OLD)


def test_a_disk_that_stays_full_stops_the_upgrade_and_the_old_version_runs_on(
    machine: Machine, small: str
) -> None:
    install_old(machine)
    state = machine.run("ls", "/var/lib/ssd-exporter").stdout.split()

    # Another program writes all the time: it also takes the room of the compiled modules, which
    # an upgrade removes first.
    machine.write("/root/filler", _FILLER.format(place=small), 0o755)
    machine.run("systemd-run", "--unit=filler", "/root/filler")
    machine.await_("a full disk", lambda: machine.run("cp", "/bin/sh", f"{small}/x").returncode)
    done = machine.run(*_APT, "install", "ssd-exporter", timeout=_SECONDS)
    assert done.returncode != 0
    assert "No space left on device" in done.stdout + done.stderr
    await_page(machine, OLD)
    machine.systemctl("restart", *BOTH)
    await_page(machine, OLD)

    machine.run("systemctl", "stop", "filler")
    machine.run("rm", f"{small}/filler", f"{small}/x")
    apt(machine, "install", "ssd-exporter")
    await_page(machine, NEW)
    assert {*state} <= {*machine.run("ls", "/var/lib/ssd-exporter").stdout.split()}
    apt(machine, "purge", "ssd-exporter")


def test_a_disk_that_is_full_in_postinst_is_reported_once_and_the_upgrade_can_be_continued(
    machine: Machine, small: str
) -> None:
    install_old(machine)
    machine.write("/root/late-filler", _LATE_FILLER.format(place=small), 0o755)
    machine.run("systemd-run", "--unit=late-filler", "/root/late-filler")
    done = machine.run(*_APT, "install", "ssd-exporter", timeout=_SECONDS)
    assert done.returncode != 0
    said = (done.stdout + done.stderr).splitlines()
    ours = [each for each in said if each.startswith("ssd-exporter: ")]
    assert 1 == len(ours), said
    assert "no space is left on its file system; solve this, then run: dpkg" in ours[0]
    await_page(machine, OLD)

    machine.run("systemctl", "stop", "late-filler")
    machine.run("rm", f"{small}/filler")
    machine.run("dpkg", "--configure", "--pending", timeout=_SECONDS)
    await_page(machine, NEW)
    apt(machine, "purge", "ssd-exporter")
