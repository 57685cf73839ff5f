"""The man page has all that the command line has, and is well-formed."""

import argparse
import re
import subprocess

import pytest

from exporter.cli import command_parser, parser
from exporter.commands.registry import COMMANDS
from tests.end_to_end.programs import need
from tests.packaging import written

PAGE = written.by("manual.py")
#: As it is read: without roff's escapes and requests of fonts.
READ = re.sub(r"\\f[BIR]|\\&|\\(?=-)", "", PAGE)


def flags(of: argparse.ArgumentParser) -> set[str]:
    return {name for action in of._actions for name in action.option_strings}


def entries(text: str) -> set[str]:
    """The flags that have an entry of their own: the line after a .TP."""
    headings = re.findall(r"(?m)^\.TP\n(-.*)$", text)
    return {flag.split()[0] for heading in headings for flag in heading.split(", ")}


def section(name: str) -> str:
    """Of a command."""
    _, _, after = READ.partition(f"\n.SS ssd-exporter {name}\n")
    return re.split(r"\n\.S[SH] ", after)[0]


def test_the_page_has_every_flag_of_the_daemon_and_no_other() -> None:
    _, _, options = READ.partition("\n.SH OPTIONS\n")
    assert flags(parser()) == entries(options.partition("\n.SH COMMANDS\n")[0])


@pytest.mark.parametrize("name", COMMANDS)
def test_the_page_has_every_flag_of_every_command_and_what_it_does(name: str) -> None:
    assert flags(command_parser(name)) == entries(section(name))
    assert COMMANDS[name].load().description in section(name)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_page_names_what_a_command_takes(name: str) -> None:
    taken = [a for a in command_parser(name)._actions if not a.option_strings]
    headings = re.findall(r"(?m)^\.TP\n(?!-)(.*)$", section(name))
    assert [str(action.metavar) for action in taken] == headings


@pytest.mark.parametrize(
    "path",
    ["/etc/ssd-exporter/config.toml", "/etc/default/ssd-exporter", "/var/lib/ssd-exporter"],
)
def test_the_page_names_the_files(path: str) -> None:
    assert path in READ


def test_groff_has_nothing_to_say_about_it() -> None:
    need("groff")
    done = subprocess.run(
        ["groff", "-man", "-ww", "-z", "-Tutf8", "-Kutf8"],
        input=PAGE,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "" == done.stderr


def test_no_line_of_text_is_taken_for_a_request() -> None:
    """Of what the code says, none begins with a dot that roff would act on."""
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
