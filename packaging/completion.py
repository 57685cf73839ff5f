"""Writes the bash completion of ssd-exporter, from the parsers."""
# ruff: noqa: INP001  a build script outside of any package

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from exporter.cli import command_parser, parser
from exporter.commands.registry import COMMANDS

TEMPLATE = Path(__file__).with_name("completion.bash")


def flags(of: argparse.ArgumentParser) -> list[str]:
    """The long flags, with a trailing = if they take a value."""
    return [
        name if action.nargs == 0 else f"{name}="
        for action in of._actions  # noqa: SLF001  argparse has no public equivalent
        for name in action.option_strings
        if name.startswith("--")
    ]


def operands(of: argparse.ArgumentParser) -> list[str]:
    """For each positional argument its choices, or its metavar in angle brackets."""
    return [
        " ".join(map(str, action.choices)) if action.choices else f"<{action.metavar}>"
        for action in of._actions  # noqa: SLF001
        if not action.option_strings
    ]


def values(parsers: list[argparse.ArgumentParser]) -> dict[str, set[str]]:
    """The flags that take a value, by their metavar."""
    found: dict[str, set[str]] = {}
    for of in parsers:
        for action in of._actions:  # noqa: SLF001
            if action.nargs != 0 and action.metavar:
                found.setdefault(str(action.metavar), set()).update(action.option_strings)
    return {word: names for word, names in found.items() if names}


def cases(pairs: dict[str, str]) -> str:
    """The branches of a bash case statement."""
    return "\n".join(f"    {label}) echo '{answer}' ;;" for label, answer in pairs.items())


def _operand_cases() -> Iterator[tuple[str, str]]:
    for name in COMMANDS:
        for place, answer in enumerate(operands(command_parser(name))):
            yield f"{name}:{place}", answer


def script() -> str:
    """The completion script."""
    of_commands = {name: command_parser(name) for name in COMMANDS}
    flags_of = {"''": " ".join(flags(parser()))}
    flags_of |= {name: " ".join(flags(of)) for name, of in of_commands.items()}
    words = values([parser(), *of_commands.values()])
    parts = {
        "@COMMANDS@": " ".join(COMMANDS),
        "@FLAGS@": cases(flags_of),
        "@OPERANDS@": cases(dict(_operand_cases())),
        "@VALUES@": cases({"|".join(sorted(names)): f"<{w}>" for w, names in words.items()}),
    }
    text = TEMPLATE.read_text("utf-8")
    for mark, part in parts.items():
        text = text.replace(mark, part)
    return text


if __name__ == "__main__":
    sys.stdout.write(script())
