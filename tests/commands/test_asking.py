"""All drives asked once, for a command that somebody waits for."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from exporter.background.documents import DocumentWriter
from exporter.clock import SystemClock
from exporter.commands.asking import Asked
from exporter.config import Settings, SmartSource
from exporter.drives.watched import WatchedDrive
from exporter.errors import ConfigError
from exporter.tools.children import SystemChildren
from exporter.tools.command import SystemRunner
from exporter.tools.document import PollDocument, Roll
from tests.linux import trees
from tests.linux.trees import Sys
from tests.stand_ins.smartctl import StandIn
from tests.tools import texts

SCAN = '{"devices":[{"name":"/dev/sda","type":"sat","protocol":"ATA"}]}'


class Host:
    """A host of one SATA drive, and of a virtual disk if asked for."""

    def __init__(self, place: Path) -> None:
        os.umask(0o022)
        self.sys = Sys(place / "sys")
        trees.sata(self.sys)
        (place / "proc" / "1").mkdir(parents=True)
        (place / "proc" / "1" / "mountinfo").touch()
        (place / "root" / "dev").mkdir(parents=True)
        (place / "root" / "dev" / "sda").touch()
        self.stand_in = StandIn(place / "bin")
        self.stand_in.says("--scan-open", SCAN)
        usual = Settings()
        self.settings = replace(
            usual,
            path=replace(
                usual.path,
                procfs=place / "proc",
                sysfs=self.sys.root,
                rootfs=place / "root",
                smartctl=self.stand_in.program,
            ),
            smart=replace(
                usual.smart,
                source=SmartSource.EXEC,
                directory=place / "agent",
                timeout_seconds=1.0,
            ),
        )

    def ask(self, source: SmartSource = SmartSource.EXEC) -> list[WatchedDrive]:
        clock = SystemClock()
        chosen = replace(self.settings, smart=replace(self.settings.smart, source=source))
        asked = Asked(
            chosen,
            clock,
            lambda: SystemChildren(clock, grace_seconds=0.2, abandon_seconds=0.2),
            SystemRunner(),
            kept={},
            history=None,
            progress=lambda _answered: None,
        )
        self.outputs = asked.outputs
        return asked.ask()


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def test_a_drive_is_asked_and_known_by_its_block_device(host: Host) -> None:
    host.stand_in.says("sda", GOOD)
    (drive,) = host.ask()
    assert ("sda", True, "Flashworks S500") == (drive.label, drive.up, drive.identity.model)
    assert drive.health is not None
    assert {"drive": 31.0} == drive.health.temperatures


def test_what_smartctl_said_is_kept_for_a_capture(host: Host) -> None:
    host.stand_in.says("sda", GOOD)
    host.ask()
    assert ["scan", "sda sat"] == list(host.outputs())


def test_a_drive_that_hangs_does_not_keep_anybody_waiting_for_ever(host: Host) -> None:
    host.stand_in.hangs("sda")
    (drive,) = host.ask()
    assert not drive.up
    assert "took longer than 1 s" in drive.message


def test_a_virtual_disk_is_said_to_have_no_smart(host: Host) -> None:
    trees.virtio(host.sys)
    host.stand_in.says("sda", GOOD)
    _, virtual = host.ask()
    assert ("vda", None) == (virtual.label, virtual.health)
    assert "it has no SMART" in virtual.message


def test_a_smartctl_too_old_for_json_is_read_as_text(host: Host) -> None:
    old = texts.ata().replace("smartctl 7.4", "smartctl 6.6")
    host.stand_in.does(
        "sda",
        'case "$*" in *--json*)\n'
        'echo "smartctl 6.6 2017-11-05 r4594 [x86_64-linux] (local build)"\n'
        'echo "=======> UNRECOGNIZED OPTION: json=c"; exit 1 ;;\nesac\n'
        f"cat <<'TEXT'\n{old}\nTEXT\n",
    )
    (drive,) = host.ask()
    assert drive.up
    assert drive.health is not None
    assert drive.health.temperatures
    assert any("too old for JSON" in each for each in drive.health.messages)


def test_a_fresh_agent_is_believed_and_the_drive_left_alone(host: Host) -> None:
    now = SystemClock().wall()
    writer = DocumentWriter(host.settings.smart.directory)
    report = {
        "device": {"protocol": "ATA"},
        "model_name": "Flashworks S500",
        "serial_number": "S1",
        "temperature": {"current": 44},
    }
    writer.write(PollDocument("/dev/sda", "sat", "success", now, 0.1, 900.0, 0, report=report))
    writer.write(Roll(now, 15.0, now, (("/dev/sda", "sat"),)))
    (drive,) = host.ask(SmartSource.AUTO)
    assert drive.health is not None
    assert {"drive": 44.0} == drive.health.temperatures
    assert [] == host.stand_in.calls()


def test_an_agent_that_is_wanted_and_silent_is_an_error_with_the_remedy(host: Host) -> None:
    with pytest.raises(ConfigError, match="start ssd-smart-agent"):
        host.ask(SmartSource.DIRECTORY)


GOOD = (
    '{"smartctl":{"version":[7,3],"exit_status":0},'
    '"device":{"name":"/dev/sda","type":"sat","protocol":"ATA"},'
    '"model_name":"Flashworks S500","serial_number":"S1","rotation_rate":0,'
    '"smart_status":{"passed":true},"temperature":{"current":31}}'
)
