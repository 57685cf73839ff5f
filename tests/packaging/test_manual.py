"""The man page documents the whole command line and is well-formed."""

import argparse
import re

import pytest

from exporter.cli import command_parser, parser
from exporter.commands.registry import COMMANDS
from tests.end_to_end.programs import need
from tests.packaging import written
from tests.processes import run_program

PAGE = written.by("manual.py")
#: The text without roff escapes and font requests.
READ = re.sub(r"\\f[BIR]|\\&|\\(?=-)", "", PAGE)


def flags(of: argparse.ArgumentParser) -> set[str]:
    return {name for action in of._actions for name in action.option_strings}


def entries(text: str) -> set[str]:
    """Flags with an entry: the line after .TP."""
    headings = re.findall(r"(?m)^\.TP\n(-.*)$", text)
    return {flag.split()[0] for heading in headings for flag in heading.split(", ")}


def section(name: str) -> str:
    """The section of a command."""
    _, _, after = READ.partition(f"\n.SS ssd-exporter {name}\n")
    return re.split(r"\n\.S[SH] ", after)[0]


def test_the_manual_documents_exactly_the_flags_of_the_daemon() -> None:
    _, _, options = READ.partition("\n.SH OPTIONS\n")
    assert flags(parser()) == entries(options.partition("\n.SH COMMANDS\n")[0])


@pytest.mark.parametrize("name", COMMANDS)
def test_the_manual_documents_every_command(name: str) -> None:
    assert flags(command_parser(name)) == entries(section(name))
    assert COMMANDS[name].load().description in section(name)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_manual_documents_operands(name: str) -> None:
    taken = [a for a in command_parser(name)._actions if not a.option_strings]
    headings = re.findall(r"(?m)^\.TP\n(?!-)(.*)$", section(name))
    assert [str(action.metavar) for action in taken] == headings


@pytest.mark.parametrize(
    "path",
    ["/etc/ssd-exporter/config.toml", "/etc/default/ssd-exporter", "/var/lib/ssd-exporter"],
)
def test_the_manual_lists_the_files(path: str) -> None:
    assert path in READ


def test_groff_reports_no_warnings() -> None:
    need("groff")
    done = run_program(["groff", "-man", "-ww", "-z", "-Tutf8", "-Kutf8"], input=PAGE, check=True)
    assert "" == done.stderr


def test_no_text_line_starts_with_a_dot() -> None:
    """roff interprets a line that starts with a dot as a request."""
    requests = {line.split()[0] for line in PAGE.splitlines() if line.startswith((".", "'"))}
    known = {
        ".TH",
        ".SH",
        ".SS",
        ".TP",
        ".PP",
        ".B",
        ".I",
        ".BR",
        ".RI",
        ".br",
        ".in",
        ".EX",
        ".EE",
    }
    assert set() == requests - known - {".IR"}
