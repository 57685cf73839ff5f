"""Prints the bash completion of ssd-exporter, generated from the argument parsers."""
# ruff: noqa: INP001  a build script outside of any package

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from exporter.cli import command_parser, parser
from exporter.commands.registry import COMMANDS

TEMPLATE = Path(__file__).with_name("completion.bash")


def flags(source: argparse.ArgumentParser) -> list[str]:
    """Returns the long flags of a parser, with a trailing = if they take a value."""
    return [
        name if action.nargs == 0 else f"{name}="
        for action in source._actions  # noqa: SLF001  argparse has no public equivalent
        for name in action.option_strings
        if name.startswith("--")
    ]


def operands(source: argparse.ArgumentParser) -> list[str]:
    """Returns, for each positional argument, its choices or its metavar in angle brackets."""
    return [
        " ".join(map(str, action.choices)) if action.choices else f"<{action.metavar}>"
        for action in source._actions  # noqa: SLF001
        if not action.option_strings
    ]


def values(parsers: list[argparse.ArgumentParser]) -> dict[str, set[str]]:
    """Returns the flags that take a value, by their metavar."""
    by_metavar: dict[str, set[str]] = {}
    for source in parsers:
        for action in source._actions:  # noqa: SLF001
            if action.nargs != 0 and action.metavar:
                by_metavar.setdefault(str(action.metavar), set()).update(action.option_strings)
    return {metavar: names for metavar, names in by_metavar.items() if names}


def cases(pairs: dict[str, str]) -> str:
    """Returns branches of a bash case statement that print an answer for a label."""
    return "\n".join(f"    {label}) echo '{answer}' ;;" for label, answer in pairs.items())


def _operand_cases() -> Iterator[tuple[str, str]]:
    for name in COMMANDS:
        for place, answer in enumerate(operands(command_parser(name))):
            yield f"{name}:{place}", answer


def script() -> str:
    """Returns the completion script."""
    command_parsers = {name: command_parser(name) for name in COMMANDS}
    flags_of = {"''": " ".join(flags(parser()))}
    flags_of |= {name: " ".join(flags(source)) for name, source in command_parsers.items()}
    words = values([parser(), *command_parsers.values()])
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
