"""``ssd-exporter probe --acknowledge``: probes are enabled again after a reboot during one."""

import io
from pathlib import Path

import pytest

from exporter.commands import probe_command
from exporter.probe.budget import ProbeBudget
from exporter.runtime.errors import ConfigError
from tests.fakes import FakeClock


def said(place: Path, clock: FakeClock, boot_id: str = "boot-2") -> str:
    out = io.StringIO()
    assert probe_command.acknowledge_reboot(place, place, clock, boot_id, out) == 0
    return out.getvalue()


def test_a_running_daemon_reads_the_acknowledgement(tmp_path: Path) -> None:
    clock = FakeClock()
    ProbeBudget(tmp_path, clock, "boot-1").reserve("sda", "fsync", 1000)
    daemons = ProbeBudget(tmp_path, clock, "boot-2")
    daemons.recover()
    assert daemons.unacknowledged is not None
    said(tmp_path, clock)
    daemons.refresh()
    assert daemons.unacknowledged is None


def test_without_a_reboot_there_is_nothing_to_acknowledge(tmp_path: Path) -> None:
    assert "nothing to acknowledge" in said(tmp_path, FakeClock())


def test_a_missing_state_directory_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is not writable"):
        probe_command.acknowledge_reboot(
            tmp_path / "none", tmp_path, FakeClock(), "boot", io.StringIO()
        )
