"""The units as text: what systemd finds in them, and that they agree with the program."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from exporter import state
from exporter.config import Settings
from exporter.probe import host_lock
from exporter.probe_monitor import _LOCK_DIRECTORY
from tests.required import lacking
from tests.systemd.package import PLACES, SYSTEMD

#: The most that `systemd-analyze security` may find exposed, of 10.
MOST_EXPOSED = {"ssd-exporter.service": 1.5, "ssd-smart-agent.service": 2.0}

UNITS = tuple(MOST_EXPOSED)

#: What a unit does rather than what it is kept from.
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
    """What `systemd-analyze verify` prints of a unit among those that systemd has."""
    directory = root / "usr/lib/systemd/system"
    shutil.copytree("/usr/lib/systemd/system", directory, symlinks=True)
    for program in ("ssd-exporter", "kill"):
        path = root / "usr/bin" / program
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o755)
    (root / "bin").symlink_to("usr/bin")
    for each in UNITS:
        (directory / each).write_text((SYSTEMD / each).read_text())
    (directory / unit).write_text(text)
    done = analyze("verify", f"--root={root}", unit)
    return done.stdout + done.stderr


@pytest.mark.parametrize("unit", UNITS)
def test_systemd_finds_nothing_wrong(tmp_path: Path, unit: str) -> None:
    assert "" == verified(tmp_path, unit, (SYSTEMD / unit).read_text())


def test_systemd_would_say_what_is_wrong(tmp_path: Path) -> None:
    """Its exit status would not."""
    text = (SYSTEMD / UNITS[0]).read_text().replace("WatchdogSec=", "WatchdogSecs=")
    assert "Unknown key" in verified(tmp_path, UNITS[0], text)


@pytest.mark.parametrize("unit", UNITS)
def test_little_is_exposed(unit: str) -> None:
    done = analyze("security", "--offline=true", "--no-pager", str(SYSTEMD / unit))
    found = re.search(r"Overall exposure level for \S+: ([\d.]+) ", done.stdout)
    assert found is not None, done.stderr
    assert float(found[1]) <= MOST_EXPOSED[unit], done.stdout


@pytest.mark.parametrize("unit", [*UNITS, "probe.conf"])
def test_each_line_that_keeps_something_out_says_why(unit: str) -> None:
    """A comment right above, or above a line of the same key or the same comment."""
    above = ""
    for line in lines(unit):
        key = line.partition("=")[0]
        if "=" in line and not line.startswith("#") and key not in _PLAIN:
            assert above.startswith("#") or above.partition("=")[0] in (key, *_TOGETHER), line
        above = line


#: The second line of a pair that one comment explains.
_TOGETHER = {"CapabilityBoundingSet", "SystemCallFilter", "TemporaryFileSystem", "BindPaths"}
_TOGETHER |= {"Wants"}


def test_the_units_name_what_the_program_uses() -> None:
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


def test_the_user_and_the_lock_are_those_of_the_program() -> None:
    [user] = [line.split()[1] for line in lines("ssd-exporter.sysusers") if line.startswith("u ")]
    assert [user] == values(UNITS[0], "User")
    made = [line.split() for line in lines("ssd-exporter.tmpfiles") if line[:2] in ("f ", "d ")]
    lock = f"/{_LOCK_DIRECTORY}/{host_lock._NAME}"
    assert ["f", lock, "0644", "root", "root", "-"] in made
    [mode] = values(UNITS[0], "StateDirectoryMode")
    assert ["d", str(state.FALLBACK), mode, user, user, "-"] in made


def test_the_readme_says_where_each_file_goes() -> None:
    readme = (SYSTEMD / "README.md").read_text()
    for path in SYSTEMD.iterdir():
        if path.name != "README.md":
            assert f"`{path.name}`" in readme
    for name, place in PLACES.items():
        assert any(f"`{name}`" in line and f"`/{place}`" in line for line in readme.splitlines())
