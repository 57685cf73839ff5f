"""Reading the SMART data of all drives once: by polling, or from the agent's documents."""

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from exporter.commands import check, smart_reader
from exporter.commands.smart_reader import PollProgress, SmartReader, system_reader
from exporter.config.settings import (
    DeviceSettings,
    Settings,
    SmartDrive,
    SmartSource,
    StateSettings,
)
from exporter.drives.health import DriveIdentity
from exporter.drives.watched_drive import WatchedDrive
from exporter.programs.child import End, Finished
from exporter.programs.children import SystemChildren
from exporter.runtime.clock import SystemClock
from exporter.runtime.errors import ConfigError
from exporter.smart.document_directory import DocumentWriter
from exporter.smart.drive_problems import Answers, CheckThresholds, Status, problems
from exporter.smart.inventory import Inventory, Sighting
from exporter.smart.polling.poll_document import Heartbeat, PollDocument
from exporter.smart.smartctl import Address
from tests.drives import reports
from tests.duration import PATIENCE_SECONDS, wait_until
from tests.fakes import FakeClock
from tests.linux import node_trees, trees
from tests.linux.trees import Sys
from tests.smart.scripted_smartctl import Smartctl, printed
from tests.stand_ins.children import FakeChildren
from tests.stand_ins.smartctl import StandIn

SCAN = '{"devices":[{"name":"/dev/sda","type":"sat","protocol":"ATA"}]}'


class Host:
    """A host with one SATA drive, and optionally a virtual disk."""

    def __init__(self, place: Path) -> None:
        os.umask(0o022)
        self.sys = Sys(place / "sys")
        self.shown: list[smart_reader.PollProgress] = []
        trees.sata(self.sys)
        (place / "proc" / "1").mkdir(parents=True)
        (place / "proc" / "1" / "mountinfo").touch()
        (place / "root" / "dev").mkdir(parents=True)
        (place / "root" / "dev" / "sda").touch()
        self.stand_in = StandIn(place / "bin")
        self.stand_in.says("--scan-open", SCAN)
        self.stand_in.says("sda", GOOD)
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
                timeout_seconds=PATIENCE_SECONDS,
            ),
        )

    def ask(
        self,
        source: SmartSource = SmartSource.EXEC,
        kept: Mapping[str, object] | None = None,
        **smart: Any,
    ) -> list[WatchedDrive]:
        clock = SystemClock()
        smart = {"source": source, **smart}
        chosen = replace(self.settings, smart=replace(self.settings.smart, **smart))
        asked = SmartReader(
            chosen,
            clock,
            lambda: SystemChildren(clock, grace_seconds=0.2, abandon_seconds=PATIENCE_SECONDS),
            kept=kept or {},
            history=None,
            progress=self.shown.append,
        )
        self.outputs = asked.outputs
        self.answers = asked.read()
        return list(self.answers.drives)


def lost(host: Host) -> frozenset[str]:
    """The labels of the drives that are lost."""
    return frozenset(drive.label for drive in host.answers.drives if drive.is_lost)


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def test_a_drive_is_polled_and_named_by_its_block_device(host: Host) -> None:
    (drive,) = host.ask()
    assert ("sda", True, "Flashworks S500") == (drive.label, drive.up, drive.identity.model)
    assert drive.health is not None
    assert {"drive": 31.0} == drive.health.temperatures


def test_the_output_of_smartctl_is_available_for_a_capture(host: Host) -> None:
    host.ask()
    assert ["scan", "sda sat"] == list(host.outputs())


@pytest.mark.slow
def test_a_hanging_drive_does_not_block_the_command(host: Host) -> None:
    host.stand_in.hangs("sda")
    (drive,) = host.ask(timeout_seconds=1.0)
    assert not drive.up
    assert "ran longer than 1 s" in drive.message


@pytest.mark.real
def test_ctrl_c_names_the_drive_that_has_not_answered(host: Host, tmp_path: Path) -> None:
    host.stand_in.does("sda", f"touch {tmp_path}/asked; exec sleep 60\n")
    config = tmp_path / "config.toml"
    config.write_text('[smart]\nsource = "exec"\n')
    (tmp_path / "none").mkdir()
    path = host.settings.path
    flags = [f"--config.file={config}", f"--state.directory={tmp_path / 'none'}"]
    flags += [f"--path.procfs={path.procfs}", f"--path.sysfs={path.sysfs}"]
    flags += [f"--path.rootfs={path.rootfs}", f"--smartctl.path={path.smartctl}"]
    argv = [sys.executable, "-m", "exporter", "check", *flags]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        wait_until((tmp_path / "asked").exists)
        process.send_signal(signal.SIGINT)
        out, messages = process.communicate(timeout=PATIENCE_SECONDS)
    assert (130, b"") == (process.returncode, out)
    assert b"ssd-exporter: stopped while waiting for sda\n" == messages


def test_a_state_directory_that_does_not_exist_is_named(
    host: Host, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    missing = tmp_path / "missing"
    system_reader(replace(host.settings, state=StateSettings(directory=missing)))
    assert f"the state directory {missing} does not exist" in caplog.text
    caplog.clear()
    system_reader(host.settings)
    assert "" == caplog.text


@pytest.mark.slow
def test_the_progress_has_the_total_and_the_drives_without_answer(host: Host) -> None:
    host.stand_in.hangs("sda")
    host.ask(timeout_seconds=1.0)
    assert PollProgress(0, ("sda",)) == host.shown[-1]
    assert "Reading SMART: 0 of 1 drive, waiting for sda" == host.shown[-1].words(80)


def test_the_progress_fits_the_terminal() -> None:
    progress = PollProgress(4, ("sda", "nvme0n1", "bus/0:megaraid,12"))
    assert "Reading SMART: 4 of 7 drives, waiting for sda, nvme0n1, bus/0:megaraid,12" == (
        progress.words(80)
    )
    assert "Reading SMART: 4 of 7 drives, wait..." == progress.words(37)
    assert "Reading SMART: looking for drives" == PollProgress(0, ()).words(80)


def test_a_drive_has_its_mountpoints_and_the_reason_for_a_missing_estimate(host: Host) -> None:
    number = (host.sys.root / "block" / "sda" / "dev").read_text().strip()
    mounts = "".join(
        f"{identity} 1 {number} {root} {place} rw - ext4 /dev/sda rw\n"
        for identity, root, place in ((30, "/", "/srv/db"), (31, "/sub", "/mnt/of-a-directory"))
    )
    (host.settings.path.procfs / "1" / "mountinfo").write_text(mounts)
    (drive,) = host.ask()
    assert ("/srv/db",) == drive.mountpoints
    assert "the drive does not report its wear" == drive.wearout_missing
    used = {"offset": 8, "value": 3, "flags": {"valid": True}}
    pages = {"ata_device_statistics": {"pages": [{"number": 7, "table": [used]}]}}
    host.stand_in.says("sda", json.dumps({**json.loads(GOOD), **pages}))
    (drive,) = host.ask()
    assert "no wear history; the running daemon records it" == drive.wearout_missing


def test_a_virtual_disk_is_reported_without_smart(host: Host) -> None:
    trees.virtio(host.sys)
    _, virtual = host.ask()
    assert ("vda", None) == (virtual.label, virtual.health)
    assert "has no SMART data" in virtual.message


@pytest.mark.parametrize("name", ["loop0", "zram0", "nbd0", "zd16", "drbd0", "md_home"])
def test_a_device_that_the_kernel_lists_as_virtual_is_no_drive(host: Host, name: str) -> None:
    host.sys.disk(f"devices/virtual/block/{name}")
    assert ["sda"] == [drive.label for drive in host.ask()]


def test_an_emmc_is_checked_without_a_poll(host: Host) -> None:
    trees.mmc(host.sys, "0x09 0x01", "0x01")
    _, emmc = host.ask()
    assert ("mmcblk0", True, "/dev/mmcblk0") == (emmc.label, emmc.up, emmc.address)
    text = "80-90 % of its rated endurance is used"
    assert [(Status.WARNING, text)] == [
        (problem.status, problem.text) for problem in problems(emmc, CheckThresholds())
    ]
    assert "steps of 10 %" in emmc.wearout_missing
    out = io.StringIO()
    assert Status.WARNING == check.run(host.answers, as_json=False, out=out)
    assert f"SSD WARNING - mmcblk0 FLW032: {text}\n" in out.getvalue()
    assert "  80-90 %  " in out.getvalue()


def test_a_worn_out_emmc_needs_no_date(host: Host) -> None:
    trees.mmc(host.sys, "0x0b 0x01", "0x03")
    _, emmc = host.ask()
    assert "the rated endurance is used up" == emmc.wearout_missing
    assert ["at most 10 %", "100+ % of its rated endurance is used"] == [
        problem.text.removesuffix(" of its spare blocks are left; its limit is 10 %")
        for problem in problems(emmc, CheckThresholds())
    ]


@pytest.mark.parametrize("life_time", [None, "0x00 0x00", "garbage"])
def test_a_card_without_wear_says_why(host: Host, life_time: str | None) -> None:
    trees.mmc(host.sys, life_time)
    _, card = host.ask()
    assert ("mmcblk0", None) == (card.label, card.health)
    assert "the kernel reports no usable wear of this card: SD cards have none" in card.message


def test_a_ufs_drive_says_why_its_wear_is_unknown(host: Host) -> None:
    trees.ufs(host.sys)
    (host.settings.path.rootfs / "dev" / "sde").touch()
    host.stand_in.says(
        "--scan-open", '{"devices":[{"name":"/dev/sde","type":"scsi","protocol":"SCSI"}]}'
    )
    host.stand_in.says("sde", UFS)
    (ufs,) = [drive for drive in host.ask() if drive.label == "sde"]
    (problem,) = problems(ufs, CheckThresholds())
    assert Status.UNKNOWN is problem.status
    assert "smartctl cannot read the wear of a UFS drive" in problem.text
    assert "sat" not in problem.text.replace("SATA", "")


def test_a_smartctl_before_7_0_is_an_error_that_names_the_required_version(host: Host) -> None:
    host.stand_in.does(
        "sda",
        'echo "smartctl 6.6 2017-11-05 r4594 [x86_64-linux] (local build)"\n'
        'echo "=======> UNRECOGNIZED OPTION: json=c"; exit 1\n',
    )
    (drive,) = host.ask()
    assert not drive.up
    assert "smartctl 6.6 is too old; version 7.0 or newer is required" in drive.message


def test_a_running_agent_is_used_and_the_drive_not_polled(host: Host) -> None:
    now = SystemClock().wall()
    writer = DocumentWriter(host.settings.smart.directory)
    report = {
        "device": {"protocol": "ATA"},
        "model_name": "Flashworks S500",
        "serial_number": "S1",
        "temperature": {"current": 44},
    }
    writer.write(PollDocument("/dev/sda", "sat", "success", now, 0.1, 900.0, 0, report=report))
    writer.write(Heartbeat(now, 15.0, now, (("/dev/sda", "sat"),)))
    (drive,) = host.ask(SmartSource.AUTO)
    assert drive.health is not None
    assert {"drive": 44.0} == drive.health.temperatures
    assert [] == host.stand_in.calls()


def test_a_required_agent_without_data_is_an_error_with_the_remedy(host: Host) -> None:
    with pytest.raises(ConfigError, match="no such directory; start it"):
        host.ask(SmartSource.DIRECTORY)


def test_a_rejected_or_old_heartbeat_is_an_error_with_the_reason(host: Host) -> None:
    now = SystemClock().wall()
    directory = host.settings.smart.directory
    writer = DocumentWriter(directory)
    writer.write(Heartbeat(now - 900.0, 15.0, now, ()))
    with pytest.raises(ConfigError, match=r"the last heartbeat is 9\d\d s old"):
        host.ask(SmartSource.DIRECTORY)
    (directory / "agent.json").write_text("{")
    with pytest.raises(ConfigError, match="no SMART data from the agent: document: not JSON"):
        host.ask(SmartSource.DIRECTORY)
    directory.chmod(0o777)
    with pytest.raises(ConfigError, match="other users than its owner can write it: not trusted"):
        host.ask(SmartSource.DIRECTORY)


def test_a_listed_drive_without_a_document_was_not_polled(host: Host) -> None:
    now = SystemClock().wall()
    DocumentWriter(host.settings.smart.directory).write(
        Heartbeat(now, 15.0, now, (("/dev/sda", "sat"),))
    )
    (drive,) = host.ask(SmartSource.AUTO)
    assert ("sda", False) == (drive.label, drive.was_reached)
    assert "the agent has not polled it yet" == drive.message
    assert frozenset() == lost(host)


def test_a_rejected_document_is_reported(host: Host) -> None:
    now = SystemClock().wall()
    writer = DocumentWriter(host.settings.smart.directory)
    writer.write(PollDocument("/dev/sda", "sat", "success", now, 0.1, 900.0, 0))
    (document,) = host.settings.smart.directory.iterdir()
    document.write_text("{")
    writer.write(Heartbeat(now, 15.0, now, (("/dev/sda", "sat"),)))
    host.ask(SmartSource.AUTO)
    assert "documents of the agent rejected: document: not JSON" in host.answers.problem


@pytest.mark.parametrize("does", ["exit 2", "kill -KILL $$", "echo garbage", "exec sleep 1000"])
def test_a_disk_known_to_the_kernel_must_answer(host: Host, does: str) -> None:
    host.stand_in.does("sda", does)
    # A drive that hangs until the timeout must answer too.
    (drive,) = host.ask(timeout_seconds=1.0 if "sleep" in does else PATIENCE_SECONDS)
    assert (False, True) == (drive.up, drive.was_reached)
    assert {"sda"} == lost(host)


def test_a_drive_without_rights_need_not_answer(host: Host) -> None:
    said = reports.smartctl("Smartctl open device: /dev/sda failed: Permission denied", status=2)
    host.stand_in.says("sda", json.dumps(said), 2)
    (drive,) = host.ask()
    assert not drive.was_reached
    assert frozenset() == lost(host)


def test_behind_a_controller_only_a_known_drive_must_answer(host: Host) -> None:
    host.stand_in.does("0", "exit 2")
    behind = SmartDrive("/dev/bus/0", "megaraid,3")
    host.ask(drive=(behind,))
    assert frozenset() == lost(host)
    inventory = Inventory()
    who = DriveIdentity(model="Flashworks S500", serial="S3")
    sighting = Sighting(Address("/dev/bus/0", "megaraid,3"), "bus/0:megaraid,3", who)
    inventory.update([sighting], 1000.0, complete=True)
    host.ask(kept={"inventory": inventory.to_state()}, drive=(behind,))
    assert {"bus/0:megaraid,3"} == lost(host)


RAWIO, ADMIN, MKNOD = 1 << 17, 1 << 21, 1 << 27
EVERYTHING = 2**41 - 1
BEHIND = "/dev/bus/0", "megaraid,3"


def holds(host: Host, rights: int) -> None:
    """This process has these capabilities."""
    status = host.settings.path.procfs / "self" / "status"
    status.parent.mkdir(exist_ok=True)
    status.write_text(f"Name:\tssd-exporter\nCapEff:\t{rights:016x}\nCapBnd:\t0\n")


def knowing(*addresses: tuple[str, str]) -> dict[str, object]:
    """The state of a daemon that knows a drive at each."""
    inventory = Inventory()
    sightings = [
        Sighting(
            Address(*each),
            ":".join(each).removeprefix("/dev/"),
            DriveIdentity(model="Flashworks S500", serial=f"K{number}"),
        )
        for number, each in enumerate(addresses)
    ]
    inventory.update(sightings, 1000.0, complete=True)
    return {"inventory": inventory.to_state()}


def judged(host: Host) -> dict[str, list[tuple[Status, str]]]:
    """What `check` says of each drive."""
    result = check.report(host.answers, CheckThresholds())
    return {row.drive.label: [(p.status, p.text) for p in row.problems] for row in result.rows}


@pytest.mark.parametrize(
    ("held", "needed"),
    [
        (0, "CAP_SYS_ADMIN and CAP_MKNOD"),
        (RAWIO | MKNOD, "CAP_SYS_ADMIN"),
        (RAWIO | ADMIN, "CAP_MKNOD"),
    ],
)
def test_behind_an_unreachable_controller_no_drive_is_missing(
    host: Host, held: int, needed: str
) -> None:
    """The scan does not name these drives then, and does not say why."""
    holds(host, held)
    host.ask(kept=knowing(BEHIND))
    message = (
        "not polled: it is behind a MegaRAID controller, and smartctl needs"
        f" {needed} to reach it; run this command as root or grant the capabilities"
    )
    assert {"sda": [], "bus/0:megaraid,3": [(Status.UNKNOWN, message)]} == judged(host)
    assert frozenset() == lost(host)


def test_a_configured_drive_behind_an_unreachable_controller_need_not_answer(host: Host) -> None:
    holds(host, RAWIO)
    said = "Smartctl open device: /dev/bus/0 [megaraid_disk_03] failed: cannot open /dev/"
    said += "megaraid_sas_ioctl_node or /dev/megadev0"
    host.stand_in.says("0", json.dumps(reports.smartctl(said, status=2)), 2)
    host.ask(kept=knowing(BEHIND), drive=(SmartDrive(*BEHIND),))
    ((status, text),) = judged(host)["bus/0:megaraid,3"]
    assert (Status.UNKNOWN, True) == (status, text.startswith("not polled: it is behind"))
    assert frozenset() == lost(host)


def test_cap_mknod_is_not_required_if_the_node_exists(host: Host) -> None:
    holds(host, ADMIN)
    (host.settings.path.rootfs / "dev" / "megaraid_sas_ioctl_node").touch()
    host.ask(kept=knowing(BEHIND))
    assert has_vanished(judged(host)["bus/0:megaraid,3"])


@pytest.mark.parametrize("held", [EVERYTHING, None])
def test_with_all_or_unknown_capabilities_the_drive_is_missing(
    host: Host, held: int | None
) -> None:
    if held is not None:
        holds(host, held)
    host.ask(kept=knowing(BEHIND))
    assert has_vanished(judged(host)["bus/0:megaraid,3"])


def test_the_drive_is_missing_if_another_behind_the_controller_answers(host: Host) -> None:
    """smartctl has the rights then, by a file's capabilities or a program that gives them."""
    holds(host, 0)
    there = '{"name":"/dev/bus/0","type":"sat+megaraid,4","protocol":"ATA"}'
    host.stand_in.says("--scan-open", SCAN.replace("]}", f",{there}]}}"))
    host.stand_in.says("0", GOOD.replace("S1", "S4"))
    host.ask(kept=knowing(BEHIND))
    assert has_vanished(judged(host)["bus/0:megaraid,3"])
    assert [] == judged(host)["bus/0:megaraid,4"]


def test_a_directly_attached_drive_is_missing_with_any_capabilities(host: Host) -> None:
    holds(host, 0)
    host.ask(kept=knowing(("/dev/sdb", "sat")))
    assert has_vanished(judged(host)["sdb:sat"])


def test_with_an_agent_the_capabilities_of_the_command_are_irrelevant(host: Host) -> None:
    holds(host, 0)
    now = SystemClock().wall()
    DocumentWriter(host.settings.smart.directory).write(Heartbeat(now, 15.0, now, ()))
    host.ask(SmartSource.AUTO, kept=knowing(BEHIND))
    assert has_vanished(judged(host)["bus/0:megaraid,3"])


def has_vanished(problems: list[tuple[Status, str]]) -> bool:
    return [(Status.CRITICAL, "it is missing; if it was removed: ssd-exporter forget K0")] == (
        problems
    )


def test_a_bridge_for_one_process_is_polled_only_by_the_daemon(host: Host) -> None:
    (drive,) = host.ask(drive=(SmartDrive("/dev/sda", "jmb39x,0"),))
    assert ("sda:jmb39x,0", False) == (drive.label, drive.was_reached)
    assert drive.message.startswith("not polled: only the daemon may poll it")
    assert ["--scan-open"] == [call.split()[-1] for call in host.stand_in.calls()]


def test_a_bridge_named_by_its_disk_is_polled_only_by_the_daemon(host: Host) -> None:
    host.settings = replace(host.settings, device={"sda": DeviceSettings(smart_type="jms56x,1")})
    (drive,) = host.ask()
    assert drive.message.startswith("not polled: only the daemon may poll it")
    assert ["--scan-open"] == [call.split()[-1] for call in host.stand_in.calls()]


def test_a_failed_scan_is_reported(host: Host) -> None:
    host.stand_in.does("--scan-open", "echo garbage")
    host.ask()
    assert host.answers.problem.startswith("scanning for drives failed")


def on_fakes(host: Host, smartctl: Smartctl, **smart: Any) -> Answers:
    """Asked on a fake clock."""
    clock = FakeClock()
    return SmartReader(
        replace(host.settings, smart=replace(host.settings.smart, **smart)),
        clock,
        lambda: FakeChildren(clock, smartctl),
        kept={},
        history=None,
        progress=lambda _progress: None,
    ).read()


def test_a_hanging_scan_does_not_shorten_the_time_of_the_drives(host: Host) -> None:
    """It takes its 30 s, and the drive then its 30 of 40."""
    smartctl = Smartctl()
    smartctl.scan = Finished(None, End.TIMED_OUT, -9, message="smartctl was ended")
    smartctl.says("/dev/sda", "", printed(json.loads(GOOD), seconds=25.0))
    answers = on_fakes(host, smartctl, timeout_seconds=30.0)
    assert [("sda", True)] == [(each.label, each.up) for each in answers.drives]
    assert "smartctl was ended" in answers.problem


def test_a_drive_not_polled_by_the_deadline_must_answer(
    host: Host,
) -> None:
    """One process, and the first drive hangs for all the time that there is."""
    names = ("sda", "sdb")
    trees.sata_on_sas(host.sys, "sdb")
    node_trees.dev(host.sys, *names)
    smartctl = Smartctl(*((f"/dev/{name}", "sat", "ATA") for name in names))
    hangs = Finished(None, End.STUCK, seconds=42.0, message="it cannot be ended")
    for name in names:
        smartctl.says(f"/dev/{name}", "sat", hangs)
    answers = on_fakes(host, smartctl, timeout_seconds=30.0, processes=1)
    assert set(names) == {each.label for each in answers.drives}
    assert all(each.is_lost for each in answers.drives)
    assert any("no answer within 40 s" in d.message for d in answers.drives)


def test_smartctl_is_also_found_outside_of_an_ordinary_users_path(
    tmp_path: Path,
) -> None:
    StandIn(tmp_path / "sbin")
    beyond = [str(tmp_path / "sbin")]
    assert str(tmp_path / "sbin" / "smartctl") == smart_reader.located("smartctl", "/none", beyond)
    StandIn(tmp_path / "bin")
    first = smart_reader.located("smartctl", str(tmp_path / "bin"), beyond)
    assert str(tmp_path / "bin" / "smartctl") == first
    assert "smartctl" == smart_reader.located("smartctl", "/none", ["/none"])


GOOD = (
    '{"smartctl":{"version":[7,3],"exit_status":0},'
    '"device":{"name":"/dev/sda","type":"sat","protocol":"ATA"},'
    '"model_name":"Flashworks S500","serial_number":"S1","rotation_rate":0,'
    '"smart_status":{"passed":true},"temperature":{"current":31}}'
)

UFS = (
    '{"smartctl":{"version":[7,3],"exit_status":0},'
    '"device":{"name":"/dev/sde","type":"scsi","protocol":"SCSI"},'
    '"scsi_vendor":"FLASHWKS","scsi_product":"FLU256","serial_number":"U1",'
    '"smart_support":{"available":false}}'
)
