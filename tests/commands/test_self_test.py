"""Self-tests through real pySMART and a fake smartctl with the output of real drives."""

import io
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from exporter.commands import self_test
from exporter.programs.command import Completed, SystemRunner
from exporter.runtime.errors import CommandError, ConfigError
from exporter.smart.self_tests import _LOOK
from tests.fakes import FakeClock, Terminal
from tests.smart import smartctl_texts

ATA_BEGUN = """\
Sending command: "Execute SMART Short self-test routine immediately in off-line mode".
Drive command "Execute SMART Short self-test routine immediately in off-line mode" successful.
Testing has begun.
Please wait 2 minutes for test to complete.
Test will complete after Sat Nov 21 10:02:00 2026 UTC
Use smartctl -X to abort test.
"""
NVME_BEGUN = "Self-test has begun (NSID 0xffffffff)\nUse smartctl -X to abort test\n"
SCSI_BEGUN = "Short Background Self Test has begun\nUse smartctl -X to abort test\n"
STOPPED = 'Sending command: "Abort SMART off-line mode self-test routine".\nSelf-testing aborted!\n'

ATA_ROW = "# 1  {:<18} {:<29} {}         {}\n"


def ata_log(kind: str, result: str, remaining: str = "00%  ", lba: str = "-") -> str:
    """The log of texts.ATA_LOG with one entry more."""
    head, _, rest = smartctl_texts.ATA_LOG.partition("# 1")
    row = ATA_ROW.format(kind, result, f"{remaining}     21900", lba)
    return (
        head
        + row
        + ("# 1" + rest).replace("# 3", "# 4").replace("# 2", "# 3").replace("# 1", "# 2")
    )


@dataclass
class StandIn:
    """A smartctl: looks until the test begins, then one text a look, the last for ever."""

    folder: Path
    idle: str
    begun: str = ATA_BEGUN
    then: Sequence[str] = ()
    aborted: str = STOPPED
    status: int = 0
    end: str = ""
    clock: FakeClock = field(default_factory=FakeClock)

    @property
    def program(self) -> str:
        (self.folder / "look.0").write_text(self.idle)
        (self.folder / "begun").write_text(smartctl_texts.BANNER.format(version="7.4") + self.begun)
        (self.folder / "aborted").write_text(
            smartctl_texts.BANNER.format(version="7.4") + self.aborted
        )
        for number, text in enumerate(self.then, start=1):
            (self.folder / f"look.{number}").write_text(text)
        path = self.folder / "smartctl"
        path.write_text(f"""#!/bin/sh
cd {shlex.quote(str(self.folder))}
echo "$*" >> asked
case " $* " in
*" -t "*) cat begun; echo 1 > at; exit {self.status} ;;
*" -X "*) cat aborted; echo {len(self.then)} > at; exit {self.status} ;;
esac
at=$(cat at 2>/dev/null || echo 0)
cat look.$at
[ $at -gt 0 ] && [ -e look.$((at + 1)) ] && echo $((at + 1)) > at
{self.end}
exit {self.status}
""")
        path.chmod(0o755)
        return str(path)

    def asked(self) -> list[str]:
        return (self.folder / "asked").read_text().splitlines()


def run(
    stand_in: StandIn, device: str = "sda", kind: str = "short", out: io.StringIO | None = None
) -> tuple[int, str]:
    out = io.StringIO() if out is None else out
    status = self_test.run(
        device,
        kind,
        smartctl=stand_in.program,
        runner=SystemRunner(),
        clock=stand_in.clock,
        out=out,
    )
    return status, out.getvalue()


def without_result(stand_in: StandIn, device: str = "sda", kind: str = "short") -> str:
    """Runs the command, which reports no result of a self-test. Returns what it prints."""
    status, shown = run(stand_in, device, kind)
    assert 3 == status
    return shown


#: After a test that passed.
PASSED = smartctl_texts.ata(log=ata_log("Short offline", "Completed without error"))


def ata(tmp_path: Path, ended: str, *, remaining: Sequence[int] = (90, 90, 40, 10)) -> StandIn:
    running = [
        smartctl_texts.ata(execution=smartctl_texts.ata_running(percent)) for percent in remaining
    ]
    return StandIn(tmp_path, smartctl_texts.ata(), then=(*running, ended))


def test_a_passed_test_is_0_and_shows_its_progress(tmp_path: Path) -> None:
    stand_in = ata(tmp_path, PASSED)
    status, shown = run(stand_in)
    begun, *progress, last = shown.splitlines()
    assert 0 == status
    assert "sda: short self-test started; the drive estimates 2 min" == begun
    assert ["90 %", "40 %", "10 %"] == [line.split(": ")[1][:4] for line in progress]
    assert "about 2 min, until " in progress[0]
    assert "passed: sda: Short offline: Completed without error, at 21900 power-on hours" == last
    assert [5.0] * 5 == stand_in.clock.slept


def test_a_failed_test_is_1_and_names_the_block(tmp_path: Path) -> None:
    log = ata_log("Short offline", "Completed: read failure", "40%  ", "987654")
    status, shown = run(ata(tmp_path, smartctl_texts.ata(log=log)))
    assert 1 == status
    assert "FAILED: sda: Short offline: Completed: read failure" in shown
    assert "first error at block 987654" in shown


@pytest.mark.parametrize(
    "result", ["Aborted by host", "Interrupted (host reset)", "Unknown status (0xa)"]
)
def test_a_test_that_was_stopped_from_outside_is_3(tmp_path: Path, result: str) -> None:
    shown = without_result(
        ata(tmp_path, smartctl_texts.ata(log=ata_log("Short offline", result, "50%  ")))
    )
    assert f"unknown: sda: Short offline: {result}" in shown


def test_a_test_without_result_does_not_report_the_previous_one(tmp_path: Path) -> None:
    assert "the drive logged no result" in without_result(ata(tmp_path, smartctl_texts.ata()))


def test_a_running_test_in_the_log_is_not_the_result(tmp_path: Path) -> None:
    listed = ata_log("Short offline", "Self-test routine in progress", "40%  ")
    stand_in = StandIn(
        tmp_path,
        smartctl_texts.ata(),
        then=(
            smartctl_texts.ata(execution=smartctl_texts.ata_running(40), log=listed),
            PASSED,
        ),
    )
    assert 0 == run(stand_in)[0]


def nvme(tmp_path: Path, *entries: str, version: str = "7.4") -> StandIn:
    running = [
        smartctl_texts.nvme(
            log=smartctl_texts.nvme_log(status=f"Extended self-test in progress ({n}% completed)")
        )
        for n in (0, 25, 99)
    ]
    return StandIn(
        tmp_path,
        smartctl_texts.nvme(version=version, log=smartctl_texts.nvme_log()),
        NVME_BEGUN,
        (*running, smartctl_texts.nvme(log=smartctl_texts.nvme_log(*entries))),
    )


def test_the_end_of_an_nvme_test_is_estimated_by_its_rate(
    tmp_path: Path,
) -> None:
    entry = smartctl_texts.nvme_entry(0, "Extended", "Completed without error", 8760)
    stand_in = nvme(tmp_path, entry)
    status, shown = run(stand_in, "/dev/nvme0", "long")
    assert 0 == status
    assert ["100 %", "75 %", "1 %"] == [
        line.split(": ")[1].partition(" remaining")[0] for line in shown.splitlines()[1:-1]
    ]
    # Two looks and a quarter: 10 s, so 30 s are left.
    assert "75 % remaining, about 1 min" in shown
    assert "about" not in shown.splitlines()[1]
    assert ["-t long /dev/nvme0"] == [each for each in stand_in.asked() if "-t" in each]


def test_a_failed_segment_of_an_nvme_drive_is_1(tmp_path: Path) -> None:
    entry = smartctl_texts.nvme_entry(0, "Extended", "Completed: failed segments", 8760)
    assert 1 == run(nvme(tmp_path, entry), "nvme0", "long")[0]


@pytest.mark.parametrize(
    ("kind", "hours", "reason"),
    [
        ("Extended", 8762, "it ended at 8762 h, and the power-on time of the drive is 8760 h"),
        ("Unknown (0x3)", 8760, "the type of the test is not defined"),
    ],
)
def test_an_entry_that_is_not_valid_has_no_result(
    tmp_path: Path, kind: str, hours: int, reason: str
) -> None:
    entry = smartctl_texts.nvme_entry(0, kind, "Completed: failed segments", hours)
    status, shown = run(nvme(tmp_path, entry), "nvme0", "long")
    assert (3, True) == (status, f"not valid: {reason}" in shown), shown


def test_a_smartctl_without_nvme_self_tests_is_reported_and_not_run(
    tmp_path: Path,
) -> None:
    stand_in = nvme(tmp_path, version="7.3")
    shown = without_result(stand_in, "nvme0")
    assert (
        "smartctl 7.3 does not support self-tests of NVMe drives; 7.4 or newer is required" in shown
    )
    assert [] == [each for each in stand_in.asked() if "-t" in each]


def test_a_smartctl_before_7_0_is_refused_with_the_required_version(tmp_path: Path) -> None:
    assert "smartctl 6.6 is too old; version 7.0 or newer is required" in without_result(
        StandIn(tmp_path, smartctl_texts.ata(version="6.6"))
    )


def test_an_nvme_drive_without_self_tests_is_reported(tmp_path: Path) -> None:
    for text in (
        smartctl_texts.nvme(log="Self-tests not supported\n"),
        smartctl_texts.nvme(log=smartctl_texts.nvme_log(), self_test=""),
    ):
        status, shown = run(StandIn(tmp_path, text), "nvme0")
        assert 3 == status
        assert "the drive has no" in shown


def scsi_log(*rows: str) -> str:
    head, _, _ = smartctl_texts.SCSI_LOG.partition("# 1")
    return head + "".join(f"{row}\n" for row in rows)


OLD_ROW = (
    "# 1  Background short  Completed                   -   17500                 - [-   -    -]"
)


@pytest.mark.parametrize(
    ("result", "status"),
    [
        ("Completed                ", 0),
        ("Aborted (by user command)", 3),
        ("Failed in first segment  ", 1),
        ("Failed in segment -->    ", 1),
    ],
)
def test_a_sas_drives_test_ends_as_its_log_says(tmp_path: Path, result: str, status: int) -> None:
    row = f"# 1  Background short  {result}   -   17520                 - [-   -    -]"
    running = "Self-test execution status:\t\t60% of test remaining\n" + scsi_log(OLD_ROW)
    stand_in = StandIn(
        tmp_path,
        smartctl_texts.scsi(log=scsi_log(OLD_ROW)),
        SCSI_BEGUN,
        (
            smartctl_texts.scsi(log=running),
            smartctl_texts.scsi(log=scsi_log(row, OLD_ROW.replace("# 1", "# 2"))),
        ),
    )
    ended, shown = run(stand_in, "bus/0:megaraid,3")
    assert status == ended
    assert "60 % remaining" in shown
    assert {"-d megaraid,3"} == {asked[:13] for asked in stand_in.asked()}
    assert {"/dev/bus/0"} == {asked.split()[-1] for asked in stand_in.asked()}


def test_only_the_needed_logs_are_read(tmp_path: Path) -> None:
    stand_in = ata(tmp_path, PASSED)
    run(stand_in)
    looks = {asked for asked in stand_in.asked() if "-t" not in asked}
    assert {f"{' '.join(_LOOK)} /dev/sda"} == looks


def test_a_running_test_is_not_disturbed(tmp_path: Path) -> None:
    stand_in = StandIn(tmp_path, smartctl_texts.ata(execution=smartctl_texts.ata_running(70)))
    assert "a self-test is already running, 70 % remaining" in without_result(stand_in)
    assert [] == [each for each in stand_in.asked() if "-t" in each]


def test_a_drive_that_does_not_start_is_3(tmp_path: Path) -> None:
    stand_in = StandIn(
        tmp_path, smartctl_texts.ata(), begun="Command failed: Input/output error\n", status=4
    )
    assert "was not started" in without_result(stand_in)


def test_abort_ends_the_test_that_runs(tmp_path: Path) -> None:
    stand_in = StandIn(
        tmp_path,
        smartctl_texts.ata(execution=smartctl_texts.ata_running(70)),
        then=[smartctl_texts.ata()],
    )
    assert (0, "sda: aborted\n") == run(stand_in, kind="abort")
    assert 1 == len([each for each in stand_in.asked() if each == "-X /dev/sda"])


def test_abort_reports_no_test_and_a_test_that_continues(tmp_path: Path) -> None:
    assert (0, "sda: no self-test is running\n") == run(
        StandIn(tmp_path, smartctl_texts.ata()), kind="abort"
    )
    on = smartctl_texts.ata(execution=smartctl_texts.ata_running(70))
    assert 3 == run(StandIn(tmp_path, on, then=[on]), kind="abort")[0]


def test_abort_that_smartctl_refuses_is_3(tmp_path: Path) -> None:
    assert "smartctl -X failed with status 4" in without_result(
        StandIn(tmp_path, smartctl_texts.ata(), status=4), kind="abort"
    )


REFUSED = (
    smartctl_texts.BANNER.format(version="7.4")
    + "Smartctl open device: /dev/sda failed: Permission denied\n"
)


def test_a_drive_that_cannot_be_opened_is_3_with_the_reason(tmp_path: Path) -> None:
    assert "Permission denied" in without_result(StandIn(tmp_path, REFUSED, status=2))


def test_a_virtual_disk_is_3_and_the_flag_is_that_of_this_command(tmp_path: Path) -> None:
    """The message is that of smartctl 7.3 for a virtio disk."""
    refused = (
        f"{smartctl_texts.BANNER.format(version='7.3')}/dev/vda: Unable to detect device type\n"
        "Please specify device type with the -d option.\n"
    )
    said = without_result(StandIn(tmp_path, refused, status=1), "vda")
    assert "a virtual disk has no self-test" in said
    assert "--type" in said
    assert "-d option" not in said


def test_a_device_that_is_not_a_drive_is_3(tmp_path: Path) -> None:
    assert "smartctl cannot test this device" in without_result(
        StandIn(tmp_path, smartctl_texts.BANNER.format(version="7.4"))
    )


def test_text_that_pysmart_cannot_read_is_3(tmp_path: Path) -> None:
    text = smartctl_texts.nvme(log=smartctl_texts.nvme_log()).replace("8,760", "many")
    assert "pySMART cannot parse smartctl's text" in without_result(
        StandIn(tmp_path, text), "nvme0"
    )


def test_a_missing_smartctl_is_3_and_named() -> None:
    out = io.StringIO()
    status = self_test.run(
        "sda", "short", smartctl="/no/smartctl", runner=SystemRunner(), clock=FakeClock(), out=out
    )
    assert (3, "unknown: /no/smartctl: not found\n") == (status, out.getvalue())


@pytest.mark.parametrize(
    ("device", "kind"),
    [("sda", "offline"), ("", "short"), ("-h", "short"), ("sd\x1b[2J", "short")],
)
def test_invalid_arguments_are_configuration_errors(device: str, kind: str) -> None:
    with pytest.raises(ConfigError):
        self_test.run(
            device, kind, smartctl="", runner=SystemRunner(), clock=FakeClock(), out=io.StringIO()
        )


def test_a_bridge_whose_smartctl_must_not_be_killed_is_refused() -> None:
    with pytest.raises(ConfigError, match="must not be interrupted"):
        self_test.addressed("/dev/sda", "jmb39x,0")


@pytest.mark.parametrize(
    ("device", "path", "kind"),
    [
        ("sda", "/dev/sda", ""),
        ("/dev/nvme0", "/dev/nvme0", ""),
        ("bus/0:sat+megaraid,3", "/dev/bus/0", "sat+megaraid,3"),
        ("/dev/sg2:areca,1/2", "/dev/sg2", "areca,1/2"),
        (
            "/dev/disk/by-path/pci-0000:00:1f.2-ata-1",
            "/dev/disk/by-path/pci-0000:00:1f.2-ata-1",
            "",
        ),
    ],
)
def test_a_drive_is_named_as_in_dev_or_as_in_the_metrics(device: str, path: str, kind: str) -> None:
    assert (path, kind) == self_test.addressed(device, "")


class Interrupting(FakeClock):
    """Somebody presses Ctrl-C in the second pause."""

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        if len(self.slept) == 2:
            raise KeyboardInterrupt


def test_ctrl_c_lets_the_test_continue_in_the_drive(tmp_path: Path) -> None:
    stand_in = ata(tmp_path, smartctl_texts.ata())
    stand_in.clock = Interrupting()
    shown = without_result(stand_in)
    assert "the self-test continues in the drive" in shown
    assert "ssd-exporter self-test sda abort" in shown
    assert [] == [each for each in stand_in.asked() if "-X" in each]


class Interrupted(SystemRunner):
    def complete(self, argv: Sequence[str], timeout: float) -> Completed:
        raise KeyboardInterrupt


def test_ctrl_c_before_the_start_says_that_a_test_may_run() -> None:
    out = io.StringIO()
    status = self_test.run(
        "sda", "short", smartctl="smartctl", runner=Interrupted(), clock=FakeClock(), out=out
    )
    assert (3, "interrupted before the drive confirmed the start: a test may be running\n") == (
        status,
        out.getvalue(),
    )


def test_a_terminal_shows_one_line_that_changes(tmp_path: Path) -> None:
    _, shown = run(ata(tmp_path, PASSED), out=Terminal())
    begun, progress, last = shown.rstrip("\n").split("\n")
    assert begun.startswith("sda: short self-test started")
    assert 4 == progress.count("\r")
    assert last.startswith("passed: ")


class Flaky:
    """A runner that fails for some looks, as a drive that resets does."""

    def __init__(self, failing: Sequence[int]) -> None:
        self._failing = failing
        self._calls = 0
        self._runner = SystemRunner()

    def run(self, argv: Sequence[str], timeout: float) -> str:
        return self.complete(argv, timeout).output

    def complete(self, argv: Sequence[str], timeout: float) -> Completed:
        self._calls += 1
        if self._calls in self._failing:
            raise CommandError("smartctl: did not end within 60 s")
        return self._runner.complete(argv, timeout)


@pytest.mark.parametrize(("failing", "status"), [((6, 7, 8), 0), (range(6, 100), 3)])
def test_a_failed_query_is_retried_a_limited_number_of_times(
    tmp_path: Path, failing: Sequence[int], status: int
) -> None:
    stand_in = ata(tmp_path, PASSED)
    out = io.StringIO()
    assert status == self_test.run(
        "sda",
        "short",
        smartctl=stand_in.program,
        runner=Flaky(failing),
        clock=stand_in.clock,
        out=out,
    )
    if status:
        assert (
            "did not end within 60 s; the self-test may still be running in the drive"
            in out.getvalue()
        )


def test_a_test_without_an_end_is_given_up_after_a_week(tmp_path: Path) -> None:
    class Slow(FakeClock):
        def sleep(self, seconds: float) -> None:
            super().sleep(86400.0)

    stand_in = ata(
        tmp_path, smartctl_texts.ata(execution=smartctl_texts.ata_running(10)), remaining=[10]
    )
    stand_in.clock = Slow()
    assert "the self-test did not end within 7 days" in without_result(stand_in)
