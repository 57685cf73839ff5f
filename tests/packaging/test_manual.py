"""The man pages document the whole command line and are well-formed."""

import argparse
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from exporter import ADDRESS, command_help
from exporter.cli import command_parser, parser
from exporter.commands.registry import COMMANDS
from tests.end_to_end.programs import need
from tests.packaging import written
from tests.processes import run_program


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """The pages as roff, by name."""
    directory = tmp_path_factory.mktemp("man")
    written.by("manual.py", directory)
    return {path.stem: path.read_text() for path in directory.iterdir()}


def read(page: str) -> str:
    """The text without roff escapes and font requests."""
    return re.sub(r"\\f[BIR]|\\&|\\(?=-)", "", page)


def section(page: str, title: str) -> str:
    _, _, after = read(page).partition(f"\n.SH {title}\n")
    return after.partition("\n.SH ")[0]


def flags(of: argparse.ArgumentParser) -> set[str]:
    return {name for action in of._actions for name in action.option_strings}


def entries(text: str) -> set[str]:
    """Flags with an entry: the line after .TP."""
    headings = re.findall(r"(?m)^\.TP\n(-.*)$", text)
    return {flag.split()[0] for heading in headings for flag in heading.split(", ")}


def test_there_is_a_page_for_the_program_and_for_each_command(pages: Mapping[str, str]) -> None:
    assert {"ssd-exporter", *(f"ssd-exporter-{name}" for name in COMMANDS)} == pages.keys()


def test_the_page_of_the_program_documents_exactly_the_flags_of_the_daemon(
    pages: Mapping[str, str],
) -> None:
    assert flags(parser()) == entries(section(pages["ssd-exporter"], "OPTIONS"))


def test_the_page_of_the_program_names_the_page_of_each_command(pages: Mapping[str, str]) -> None:
    named = re.findall(r"(?m)^\.BR ssd-exporter-(\S+) \(1\)$", read(pages["ssd-exporter"]))
    assert list(COMMANDS) == named


def test_the_page_of_the_program_names_the_address_of_the_project(
    pages: Mapping[str, str],
) -> None:
    assert f".UR {ADDRESS}\n" in pages["ssd-exporter"]


@pytest.mark.parametrize("name", COMMANDS)
def test_the_page_of_a_command_documents_all_of_it(pages: Mapping[str, str], name: str) -> None:
    page = pages[f"ssd-exporter-{name}"]
    assert f"ssd-exporter-{name} - {COMMANDS[name].summary}" == section(page, "NAME")
    assert COMMANDS[name].load().description in section(page, "DESCRIPTION")
    assert flags(command_parser(name)) == entries(section(page, "OPTIONS"))
    shown = [line.strip() for line in command_help.examples(name)][1::2]
    assert shown == re.findall(r"(?m)^\.TP\n(.*)$", section(page, "EXAMPLES"))


@pytest.mark.parametrize("name", COMMANDS)
def test_the_page_of_a_command_documents_operands(pages: Mapping[str, str], name: str) -> None:
    taken = [a for a in command_parser(name)._actions if not a.option_strings]
    options = section(pages[f"ssd-exporter-{name}"], "OPTIONS")
    assert [str(action.metavar) for action in taken] == re.findall(
        r"(?m)^\.TP\n(?!-)(.*)$", options
    )


@pytest.mark.parametrize(
    "path",
    ["/etc/ssd-exporter/config.toml", "/etc/default/ssd-exporter", "/var/lib/ssd-exporter"],
)
def test_the_page_of_the_program_lists_the_files(pages: Mapping[str, str], path: str) -> None:
    assert path in read(pages["ssd-exporter"])


def test_groff_reports_no_warnings(pages: Mapping[str, str], tmp_path: Path) -> None:
    need("groff")
    for name, page in pages.items():
        (tmp_path / name).write_text(page)
    check = ["groff", "-man", "-ww", "-z", "-Tutf8", "-Kutf8"]
    done = run_program([*check, *sorted(tmp_path.iterdir())], check=True)
    assert "" == done.stderr


def test_no_text_line_starts_with_a_dot(pages: Mapping[str, str]) -> None:
    """roff interprets a line that starts with a dot as a request."""
    lines = [line for page in pages.values() for line in page.splitlines()]
    requests = {line.split()[0] for line in lines if line.startswith((".", "'"))}
    known = {
        *(".TH", ".SH", ".TP", ".PP", ".B", ".I", ".BR", ".RI", ".IR", ".br"),
        *(".in", ".EX", ".EE", ".UR", ".UE"),
    }
    assert set() == requests - known
