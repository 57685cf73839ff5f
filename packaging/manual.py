"""Prints the man page ssd-exporter(1), generated from manual.roff and the argument parsers."""
# ruff: noqa: INP001  a build script outside of any package

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from exporter import __version__
from exporter.cli import command_parser, parser
from exporter.commands.registry import COMMANDS

TEMPLATE = Path(__file__).with_name("manual.roff")


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
        value = next((a.metavar for a in actions if a.nargs != 0 and a.metavar), "")
        heading = ", ".join(f"\\fB{text(name)}\\fR" for name in names)
        yield ".TP"
        yield " ".join(filter(None, (heading, f"\\fI{text(str(value))}\\fR" if value else "")))
        yield text(" ".join(_help(source, action) for action in described))


def commands() -> Iterator[str]:
    """Returns a section for each command."""
    for name in COMMANDS:
        source = command_parser(name)
        usage = re.sub(r"\s+", " ", source.format_usage().removeprefix("usage: ")).strip()
        yield f".SS {text(usage.partition(' [')[0])}"
        yield text(source.description or "")
        yield from options(source)


def page() -> str:
    """Returns the man page as roff."""
    parts = {
        "@VERSION@": __version__,
        "@OPTIONS@": "\n".join(options(parser())),
        "@COMMANDS@": "\n".join(commands()),
    }
    return re.sub("|".join(parts), lambda match: parts[match[0]], TEMPLATE.read_text("utf-8"))


def _help(source: argparse.ArgumentParser, action: argparse.Action) -> str:
    """The help text with %(choices)s and others expanded, as in --help."""
    return source._get_formatter()._expand_help(action)  # noqa: SLF001


if __name__ == "__main__":
    sys.stdout.write(page())
