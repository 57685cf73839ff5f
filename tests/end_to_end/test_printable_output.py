"""No command prints a control character, whatever drives, files and arguments contain."""

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from exporter.drives.health import DriveIdentity
from exporter.probe.budget import ProbeBudget
from exporter.runtime.clock import SystemClock
from exporter.runtime.state import StateFile
from exporter.smart.inventory import Inventory, Sighting
from exporter.smart.smartctl import Address
from tests.end_to_end.daemon import run
from tests.end_to_end.host import Host
from tests.linux import trees

#: Colours, a link (OSC 8), the title of the window, the 8-bit control sequence introducer, marks
#: that reverse the text, backspaces, a carriage return, and a line separator.
HOSTILE = "\x1b[31mA\x1b]8;;http://evil\x07B\x1b]0;title\x1b\\C\x9b2JD\x9dE\u202eF\u2066G\x08\x08H\rI\u2028J"
#: Without the null byte, which no path and no argument can contain.
FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\u061c]")


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """A host whose drives, mounts, state and smartctl return hostile text."""
    host = Host(tmp_path / "host")
    place = trees.sas(host.sys, "sda").rpartition("/block/")[0]
    host.sys.write(place, {"vendor": HOSTILE, "model": HOSTILE, "rev": HOSTILE})
    host.mounts(trees.mount_line(host.sys.number("sda"), f"/srv/{HOSTILE}", source="/dev/sda"))
    host.diskstats(["sda"])
    trees.process(host.proc, 50, ["mysqld", f"--datadir=/srv/{HOSTILE}"], f"broken {HOSTILE}\n")
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    identity = DriveIdentity(model=HOSTILE, serial=f"S{HOSTILE}", firmware=HOSTILE)
    inventory = Inventory()
    inventory.update([Sighting(Address("/dev/sdb", "sat"), HOSTILE, identity)], 1.0, complete=True)
    inventory.update([], 2.0, complete=True)
    StateFile(state).save({"inventory": inventory.to_state()})
    ProbeBudget(state, SystemClock(), "another boot").reserve(HOSTILE, HOSTILE, 1000)
    report = {
        "smartctl": {"messages": [{"string": HOSTILE, "severity": "error"}]},
        "devices": [
            {"name": "/dev/sda", "type": "scsi", "protocol": HOSTILE, "open_error": HOSTILE}
        ],
        "device": {"name": "/dev/sda", "type": "scsi", "protocol": "SCSI"},
        **dict.fromkeys(("model_name", "scsi_model_name", "vendor", "product"), HOSTILE),
        **dict.fromkeys(("serial_number", "firmware_version", "revision"), HOSTILE),
        "smart_status": {"passed": False},
        "scsi_grown_defect_list": HOSTILE,
    }
    (tmp_path / "report.json").write_text(json.dumps(report))
    program = tmp_path / "smartctl"
    program.write_text(
        f"#!{sys.executable}\nimport sys\n"
        f"if '--version' in sys.argv: print('smartctl 7.4')\n"
        f"else: print(open({str(tmp_path / 'report.json')!r}).read())\n"
        f"sys.stderr.buffer.write({HOSTILE.encode()!r})\n"
    )
    program.chmod(0o755)
    return host


def output(host: Host, tmp_path: Path, *words: str) -> str:
    """Runs the program, and returns all that it printed."""
    argv = [sys.executable, "-m", "exporter", *words]
    if words and not words[0].startswith("-") and words[0].isprintable():
        argv += [*host.flags, f"--smartctl.path={tmp_path / 'smartctl'}"]
        argv += [f"--state.directory={tmp_path / 'state'}"]
    _, out, errors = run(argv)
    return out + errors


COMMANDS: Sequence[Sequence[str]] = [
    ["check"],
    ["check", "--json"],
    ["check", "--second-opinion"],
    ["forget", "unknown"],
    ["forget", f"S{HOSTILE}"],
    ["forget", HOSTILE],
    ["probe", "--acknowledge"],
    ["probe", HOSTILE],
    ["bench", "--yes", f"/{HOSTILE}/x"],
    ["slc", "--yes", f"/{HOSTILE}/x"],
    ["steady-state", "--yes", f"/{HOSTILE}/x"],
    ["self-test", HOSTILE],
    ["self-test", "/dev/sda", "--test", HOSTILE],
    ["capture", f"/nowhere/{HOSTILE}"],
    ["smart-agent", f"--smart.directory={HOSTILE}"],
    ["check", f"--config.file=/{HOSTILE}"],
    [HOSTILE],
    [f"--{HOSTILE}"],
    [f"--config.file=/{HOSTILE}"],
    ["--config.check", f"--path.procfs={HOSTILE}", f"--log.level={HOSTILE}"],
    ["--config.check", f"--web.listen-address={HOSTILE}"],
]


@pytest.mark.parametrize(
    "words", COMMANDS, ids=lambda words: " ".join(words)[:24].encode("unicode_escape").decode()
)
def test_a_command_prints_only_printable_characters(
    host: Host, tmp_path: Path, words: Sequence[str]
) -> None:
    printed = output(host, tmp_path, *words)
    assert printed
    assert [] == FORBIDDEN.findall(printed)


def test_the_text_is_shown_as_escapes(host: Host, tmp_path: Path) -> None:
    printed = output(host, tmp_path, "forget", "unknown")
    assert r"\x1b[31mA" in printed
    printed = output(host, tmp_path, "probe", "--acknowledge")
    assert "acknowledged" in printed
    assert r"\x1b[31mA" in printed


def test_the_page_of_once_and_the_log_are_printable(host: Host, tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "exporter", "--once", *host.flags]
    argv += [f"--smartctl.path={tmp_path / 'smartctl'}", f"--state.directory={tmp_path / 'state'}"]
    _, out, errors = run([*argv, "--log.level=debug"])
    assert "ssd_device_info" in out
    assert [] == FORBIDDEN.findall(out + errors)
