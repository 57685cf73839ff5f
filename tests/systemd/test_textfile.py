"""The units of the textfile mode are valid and match the program."""

import re
import subprocess
from pathlib import Path

import pytest

from exporter.cli import parser
from tests.systemd.test_units import analyze
from tests.unit_file import SYSTEMD

DIRECTORY = SYSTEMD / "textfile"
SERVICE, TIMER = (DIRECTORY / f"ssd-exporter-textfile.{kind}" for kind in ("service", "timer"))


def command() -> list[str]:
    (line,) = re.findall(r"^ExecStart=(.*)$", SERVICE.read_text(), re.MULTILINE)
    return str(line).split()


def test_the_program_accepts_the_flags_of_the_service() -> None:
    arguments = parser().parse_args(command()[1:])
    assert arguments.once
    assert ".prom" == arguments.output.suffix


def test_the_directory_of_the_file_is_writable() -> None:
    directory = parser().parse_args(command()[1:]).output.parent
    assert f"ReadWritePaths={directory}" in SERVICE.read_text()


@pytest.mark.real
@pytest.mark.parametrize("unit", [SERVICE, TIMER], ids=lambda path: path.suffix)
def test_systemd_accepts_the_unit(tmp_path: Path, unit: Path) -> None:
    for each in (SERVICE, TIMER):
        text = each.read_text().replace("/usr/bin/ssd-exporter", "/bin/true")
        (tmp_path / each.name).write_text(text)
    done: subprocess.CompletedProcess[str] = analyze("verify", str(tmp_path / unit.name))
    found = [line for line in done.stderr.splitlines() if "textfile" in line]
    assert [] == found


def test_the_timer_starts_the_service_of_the_same_name() -> None:
    assert SERVICE.stem == TIMER.stem
    assert "Unit=" not in TIMER.read_text()
    assert "OnUnitActiveSec=5min" in TIMER.read_text()
