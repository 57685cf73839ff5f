"""The commands `help` and `version`."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from exporter import ADDRESS, __version__
from exporter.cli import command_parser, main, parser
from exporter.commands.about.version_command import text
from exporter.commands.registry import COMMANDS
from exporter.config.settings import Settings
from exporter.runtime.errors import CommandError
from tests.stand_ins.smartctl import StandIn


class Installed:
    """Runs programs that print the given first lines; others are not installed."""

    def __init__(self, **lines: str) -> None:
        self.lines = lines

    def run(self, argv: Sequence[str], timeout: float) -> str:
        if argv[0] not in self.lines:
            raise CommandError(f"{argv[0]}: not found")
        return self.lines[argv[0]]


@pytest.mark.parametrize("name", COMMANDS)
def test_help_with_a_command_prints_its_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == main(["help", name])
    assert command_parser(name).format_help() == capsys.readouterr().out


def test_help_alone_prints_all_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == main(["help"])
    assert parser().format_help() == capsys.readouterr().out


def test_help_suggests_the_command_that_was_meant(capsys: pytest.CaptureFixture[str]) -> None:
    assert 2 == main(["help", "chekc"])
    assert "unknown command 'chekc'; did you mean check?" in capsys.readouterr().err


def test_version_names_each_program_that_a_report_depends_on() -> None:
    programs = Installed(smartctl="smartctl 7.3 2022-02-28 r5338\n", fio="fio-3.33\n")
    lines = text(Settings(), programs).splitlines()
    assert f"ssd-exporter {__version__}" == lines[0]
    assert ["project", "Python", "kernel", "smartctl", "fio"] == [
        line.split()[0] for line in lines[1:]
    ]
    assert lines[1].endswith(f" {ADDRESS}")
    assert ["smartctl  7.3", "fio       3.33"] == lines[-2:]


def test_version_says_which_program_is_missing() -> None:
    lines = text(Settings(), Installed(smartctl="smartctl 7.3 2022\n")).splitlines()
    assert "fio       not found" == lines[-1]


def test_version_runs_the_smartctl_of_the_settings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stand_in = StandIn(tmp_path / "bin")
    stand_in.says("--version", "smartctl 7.9 2030-01-01 r1\n")
    assert 0 == main(["version", f"--smartctl.path={stand_in.program}"])
    assert "\nsmartctl  7.9\n" in capsys.readouterr().out
