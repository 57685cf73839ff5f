"""Compares `check` of the emulated drives of `make lab` under several versions of smartctl."""

import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rigs.lab.vm import drives
from rigs.lab.vm.host import Host, newest_package
from rigs.lab.vm.machine import Machine

_PACKAGE = "ssd-exporter.deb"
_CONFIG = "/etc/ssd-exporter/versions.toml"
#: Fields that differ in every run, and the power mode, which smartctl prints since 7.5.
_DIFFERENT = {"last_success_timestamp_seconds", "power_mode"}
_CHECK_SECONDS = 200.0


def checks(programs: Mapping[str, Path]) -> dict[str, dict[str, Any]]:
    """Boots a machine with the package of `make deb`, and polls its drives with each program.

    Returns what `check --json` says of each drive, keyed by version and by serial number.
    """
    with tempfile.TemporaryDirectory() as place:
        share = Path(place) / "share"
        share.mkdir()
        shutil.copyfile(newest_package(), share / _PACKAGE)
        for version, program in programs.items():
            shutil.copy(program, share / f"smartctl-{version}")
        with Machine(Path(place) / "vm", share) as machine:
            host = Host(machine)
            for serial in drives.SOFT:
                host.set(serial)
            machine.output("systemctl", "start", "lab-nvme.service")
            host.install(_PACKAGE)
            machine.output("systemctl", "stop", "ssd-exporter.service", "ssd-smart-agent.service")
            machine.write(_CONFIG, '[smart]\nsource = "exec"\n')
            return {version: _checked(machine, version) for version in programs}


def _checked(machine: Machine, version: str) -> dict[str, Any]:
    program = f"/root/smartctl-{version}"
    machine.output("install", "--mode=755", f"/mnt/host/smartctl-{version}", program)
    argv = ("ssd-exporter", "check", "--json", f"--config.file={_CONFIG}")
    done = machine.run(*argv, f"--smartctl.path={program}", seconds=_CHECK_SECONDS)
    return {row["serial"] or row["device"]: row for row in json.loads(done.output)["drives"]}


def differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[str]:
    """Yields each field of a drive that two versions report differently, as text."""
    for serial in sorted(one.keys() | other.keys()):
        before, after = one.get(serial, {}), other.get(serial, {})
        for name in sorted((before.keys() | after.keys()) - _DIFFERENT):
            if before.get(name) != after.get(name):
                yield f"{serial}: {name}: {before.get(name)!r} -> {after.get(name)!r}"
