"""bash completes the commands, flags and values of the command line."""

from pathlib import Path

import pytest

from exporter.cli import command_parser, parser
from exporter.commands.registry import COMMANDS
from tests.packaging import written
from tests.processes import run_program

SCRIPT = written.by("completion.py")

#: Like bash: words are also split at =, and only the last one is completed.
_ASK = """
source "$1"
COMP_LINE=$2 COMP_POINT=${#2} COMP_WORDS=() COMP_CWORD=0
_ssd_exporter 2>/dev/null
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("completion") / "ssd-exporter"
    path.write_text(SCRIPT)
    return path


def completed(script: Path, line: str, cwd: Path | None = None) -> set[str]:
    done = run_program(["bash", "--norc", "-c", _ASK, "bash", script, line], check=True, cwd=cwd)
    return set(done.stdout.split())


def long_flags(name: str = "") -> set[str]:
    of = command_parser(name) if name else parser()
    return {
        flag if action.nargs == 0 else f"{flag}="
        for action in of._actions
        for flag in action.option_strings
        if flag.startswith("--")
    }


def test_the_first_word_completes_to_commands(script: Path) -> None:
    assert set(COMMANDS) == completed(script, "ssd-exporter ")
    assert {"check"} == completed(script, "ssd-exporter che")


def test_daemon_flags_are_completed(script: Path) -> None:
    assert long_flags() == completed(script, "ssd-exporter --")


@pytest.mark.parametrize("name", COMMANDS)
def test_command_flags_are_completed(script: Path, name: str) -> None:
    assert long_flags(name) == completed(script, f"ssd-exporter {name} --")


def test_a_partial_flag_after_a_command_is_completed(script: Path) -> None:
    assert {"--json"} == completed(script, "ssd-exporter check --js")
    assert set() == completed(script, "ssd-exporter --js")


@pytest.mark.parametrize("line", ["ssd-exporter --log.level=", "ssd-exporter check --log.level "])
def test_enumerated_values_of_a_flag_are_completed(script: Path, line: str) -> None:
    assert {"debug", "info", "warning", "error"} == completed(script, line)
    assert {"warning"} == completed(script, f"{line}w")


def test_flags_complete_files_or_directories(script: Path, tmp_path: Path) -> None:
    (tmp_path / "settings.toml").touch()
    (tmp_path / "state").mkdir()
    line = "ssd-exporter --config.file="
    assert {"settings.toml", "state"} == completed(script, line, tmp_path)
    assert {"state"} == completed(script, "ssd-exporter --state.directory=s", tmp_path)


def test_operands_are_completed_by_position(script: Path, tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    kinds = {"short", "long", "abort"}
    assert kinds == completed(script, "ssd-exporter self-test /dev/sda ")
    assert {"short"} == completed(script, "ssd-exporter self-test --type=sat /dev/sda sh")
    assert {"new"} == completed(script, "ssd-exporter capture ", tmp_path)
    assert set() == completed(script, "ssd-exporter forget ")


def test_an_invalid_line_has_no_completions(script: Path) -> None:
    for line in ("ssd-exporter nonsense x", "ssd-exporter --no-such=", "ssd-exporter forget a b "):
        assert set() == completed(script, line)
