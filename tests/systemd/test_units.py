"""The unit files are valid and match the program."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from exporter.config.settings import Settings
from exporter.probe import host_lock
from exporter.probe.probe_monitor import _LOCK_DIRECTORY
from exporter.runtime import state
from tests.required import lacking
from tests.systemd.package import PLACES
from tests.unit_file import SYSTEMD

#: Maximum exposure level of `systemd-analyze security` (0 to 10).
MAX_EXPOSURE = {"ssd-exporter.service": 1.4, "ssd-smart-agent.service": 1.4}

UNITS = tuple(MAX_EXPOSURE)

#: Options that do not restrict a unit.
_PLAIN = {"User", "Group", "EnvironmentFile", "ExecStart", "SyslogIdentifier", "Restart"}
_PLAIN |= {"RestartSec", "StateDirectoryMode", "RuntimeDirectoryMode", "WantedBy", "Description"}
_PLAIN |= {"Documentation", "RuntimeDirectoryPreserve"}


def lines(unit: str) -> list[str]:
    return (SYSTEMD / unit).read_text().splitlines()


def values(unit: str, key: str) -> list[str]:
    return [line.partition("=")[2] for line in lines(unit) if line.startswith(f"{key}=")]


def analyze(*arguments: str) -> "subprocess.CompletedProcess[str]":
    if shutil.which("systemd-analyze") is None:
        lacking("systemd-analyze is not installed")
    argv = ["systemd-analyze", *arguments]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


def verified(root: Path, unit: str, text: str) -> str:
    """Output of `systemd-analyze verify` for a unit."""
    directory = root / "usr/lib/systemd/system"
    shutil.copytree("/usr/lib/systemd/system", directory, symlinks=True)
    for program in ("ssd-exporter", "kill"):
        path = root / "usr/bin" / program
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o755)
    (root / "bin").symlink_to("usr/bin")
    for name in UNITS:
        (directory / name).write_text((SYSTEMD / name).read_text())
    (directory / unit).write_text(text)
    done = analyze("verify", f"--root={root}", unit)
    return done.stdout + done.stderr


@pytest.mark.parametrize("unit", UNITS)
def test_systemd_accepts_the_units(tmp_path: Path, unit: str) -> None:
    assert "" == verified(tmp_path, unit, (SYSTEMD / unit).read_text())


def test_systemd_reports_unknown_keys(tmp_path: Path) -> None:
    """The exit status does not reveal unknown keys."""
    text = (SYSTEMD / UNITS[0]).read_text().replace("WatchdogSec=", "WatchdogSecs=")
    assert "Unknown key" in verified(tmp_path, UNITS[0], text)


@pytest.mark.parametrize("unit", UNITS)
def test_the_exposure_is_low(unit: str) -> None:
    done = analyze("security", "--offline=true", "--no-pager", str(SYSTEMD / unit))
    exposure = re.search(r"Overall exposure level for \S+: ([\d.]+) ", done.stdout)
    assert exposure is not None, done.stderr
    assert float(exposure[1]) <= MAX_EXPOSURE[unit], done.stdout


def test_the_drop_in_of_the_latency_does_not_raise_the_exposure(tmp_path: Path) -> None:
    agent = UNITS[1]
    added = [line for line in lines("latency.conf") if line.startswith("ReadWritePaths=")]
    text = (SYSTEMD / agent).read_text().replace("[Install]", "\n".join([*added, "", "[Install]"]))
    (tmp_path / agent).write_text(text)
    done = analyze("security", "--offline=true", "--no-pager", str(tmp_path / agent))
    exposure = re.search(r"Overall exposure level for \S+: ([\d.]+) ", done.stdout)
    assert exposure is not None, done.stderr
    assert float(exposure[1]) <= MAX_EXPOSURE[agent], done.stdout
    # Everything else of /sys stays read-only.
    assert ["yes"] == values(agent, "ProtectKernelTunables")
    places = "/sys/kernel/tracing/instances", "/sys/kernel/tracing/synthetic_events"
    assert [" ".join(f"-{place}" for place in places)] == values("latency.conf", "ReadWritePaths")


@pytest.mark.parametrize("unit", [*UNITS, "latency.conf", "probe.conf"])
def test_restrictions_have_comments(unit: str) -> None:
    """The comment is directly above, or above a line with the same key or comment."""
    above = ""
    for line in lines(unit):
        key = line.partition("=")[0]
        if "=" in line and not line.startswith("#") and key not in _PLAIN:
            assert above.startswith("#") or above.partition("=")[0] in (key, *_TOGETHER), line
        above = line


#: Options that share a comment with the line above.
_TOGETHER = {"CapabilityBoundingSet", "SystemCallFilter", "TemporaryFileSystem", "BindPaths"}
_TOGETHER |= {"Wants"}


def test_the_units_match_the_program() -> None:
    exporter, agent = UNITS
    directory = Settings().smart.directory
    assert [directory.name] == values(agent, "RuntimeDirectory")
    assert Path("/run") == directory.parent
    assert [state.FALLBACK.name] == values(exporter, "StateDirectory")
    assert values(exporter, "Group") == values(agent, "Group") == values(exporter, "User")
    assert values(exporter, "EnvironmentFile") == values(agent, "EnvironmentFile")
    for unit, command, flags in ((exporter, "", "$ARGS"), (agent, " smart-agent", "$AGENT_ARGS")):
        config = f"--config.file=/{PLACES['config.toml']} {flags}"
        assert [f"/usr/bin/ssd-exporter{command} {config}"] == values(unit, "ExecStart")
        check = f"/usr/bin/ssd-exporter{command} --config.check {config}"
        assert [check, "/bin/kill -HUP $MAINPID"] == values(unit, "ExecReload")
        assert [f"-/{PLACES['ssd-exporter.default']}"] == values(unit, "EnvironmentFile")
        assert f'{flags.removeprefix("$")}=""' in lines("ssd-exporter.default")


def test_user_and_lock_match_the_program() -> None:
    [user] = [line.split()[1] for line in lines("ssd-exporter.sysusers") if line.startswith("u ")]
    assert [user] == values(UNITS[0], "User")
    made = [line.split() for line in lines("ssd-exporter.tmpfiles") if line[:2] in ("f ", "d ")]
    lock = f"/{_LOCK_DIRECTORY}/{host_lock._LOCK_FILE}"
    # Only root and the exporter may hold the lock, so that no other user can prevent all probes.
    assert ["f", lock, f"{host_lock._LOCK_MODE:04o}", "root", user, "-"] in made
    [mode] = values(UNITS[0], "StateDirectoryMode")
    assert ["d", str(state.FALLBACK), mode, user, user, "-"] in made


def test_the_readme_lists_the_destination_of_each_file() -> None:
    readme = (SYSTEMD / "README.md").read_text()
    for path in SYSTEMD.iterdir():
        if path.name != "README.md":
            assert f"`{path.name}`" in readme
    for name, place in PLACES.items():
        assert any(f"`{name}`" in line and f"`/{place}`" in line for line in readme.splitlines())
