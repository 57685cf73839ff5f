"""Writes the man pages to a directory: ssd-exporter(1), and one for each command.

They are generated from manual.roff, manual-command.roff and the argument parsers.
"""
# ruff: noqa: INP001  a build script outside of any package

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from exporter import ADDRESS, __version__, command_help
from exporter.cli import command_parser, parser
from exporter.commands.registry import COMMANDS

HERE = Path(__file__).parent


def text(plain: str) -> str:
    """Returns plain text as roff, with escapes for characters that roff interprets."""
    escaped = plain.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + escaped if escaped.startswith((".", "'")) else escaped


def options(source: argparse.ArgumentParser) -> Iterator[str]:
    """Returns one entry for each setting. --x and --no-x set the same value and share an entry."""
    entries: dict[str, list[argparse.Action]] = {}
    for action in source._actions:  # noqa: SLF001  argparse has no public equivalent
        entries.setdefault(action.dest, []).append(action)
    for actions in entries.values():
        names = [name for action in actions for name in action.option_strings]
        described = [a for a in actions if a.help != argparse.SUPPRESS]
        value = next((a.metavar or a.dest.upper() for a in actions if a.nargs != 0), "")
        heading = ", ".join(f"\\fB{text(name)}\\fR" for name in names)
        yield ".TP"
        yield " ".join(filter(None, (heading, f"\\fI{text(str(value))}\\fR" if value else "")))
        yield text(" ".join(_help(source, action) for action in described))


def commands() -> Iterator[str]:
    """Returns one entry for each command."""
    for name, listed in COMMANDS.items():
        yield ".TP"
        yield f".BR {text(f'ssd-exporter-{name}')} (1)"
        yield text(_sentence(listed.summary))


def usage(source: argparse.ArgumentParser) -> str:
    """Returns the usage with optional flags and operands, without the name of the program."""
    line = re.sub(r"\s+", " ", source.format_usage().removeprefix("usage: ")).strip()
    return text(line.removeprefix(source.prog).strip())


def examples(name: str) -> Iterator[str]:
    """Returns one entry for each example of --help."""
    for line in command_help.examples(name):
        if line.startswith("      "):
            yield text(_sentence(line.strip()))
        elif line.startswith(" "):
            yield ".TP"
            yield f"\\fB{text(line.strip())}\\fR"


def filled(template: str, parts: dict[str, str]) -> str:
    """Returns a template with its marks replaced."""
    parts = {"@VERSION@": __version__, "@ADDRESS@": ADDRESS, **parts}
    source = (HERE / template).read_text("utf-8")
    return re.sub("|".join(parts), lambda match: parts[match[0]], source)


def program_page() -> str:
    """Returns ssd-exporter(1) as roff."""
    parts = {"@OPTIONS@": "\n".join(options(parser())), "@COMMANDS@": "\n".join(commands())}
    return filled("manual.roff", parts)


def command_page(name: str) -> str:
    """Returns the page of a command as roff."""
    source = command_parser(name)
    parts = {
        "@NAME@": text(name),
        "@TITLE@": text(name.upper()),
        "@SUMMARY@": text(COMMANDS[name].summary),
        "@USAGE@": usage(source),
        "@DESCRIPTION@": text(source.description or ""),
        "@OPTIONS@": "\n".join(options(source)),
        "@EXAMPLES@": "\n".join(examples(name)),
    }
    return filled("manual-command.roff", parts)


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."


def _help(source: argparse.ArgumentParser, action: argparse.Action) -> str:
    """The help text with %(choices)s and others expanded, as in --help."""
    return source._get_formatter()._expand_help(action)  # noqa: SLF001


if __name__ == "__main__":
    directory = Path(sys.argv[1])
    (directory / "ssd-exporter.1").write_text(program_page(), "utf-8")
    for command in COMMANDS:
        (directory / f"ssd-exporter-{command}.1").write_text(command_page(command), "utf-8")
