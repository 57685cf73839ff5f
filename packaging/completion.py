"""Prints the completion of ssd-exporter for bash, zsh or fish, generated from the argument parsers.

Each shell has a template beside this script.
"""
# ruff: noqa: INP001  a build script outside of any package

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from exporter.cli import command_parser, parser
from exporter.commands.registry import COMMANDS

#: The flags of the daemon have this name instead of that of a command.
DAEMON = "''"


def parsers() -> dict[str, argparse.ArgumentParser]:
    """Returns the parsers of the daemon and of each command, by name."""
    return {DAEMON: parser()} | {name: command_parser(name) for name in COMMANDS}


def flags(source: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.Action]]:
    """Returns the long flags of a parser, each with its action."""
    for action in source._actions:  # noqa: SLF001  argparse has no public equivalent
        for name in action.option_strings:
            if name.startswith("--"):
                yield name, action


def operands(source: argparse.ArgumentParser) -> list[argparse.Action]:
    """Returns the positional arguments of a parser."""
    return [action for action in source._actions if not action.option_strings]  # noqa: SLF001


def kind(action: argparse.Action) -> str:
    """Returns the words that an argument may have, or its placeholder in angle brackets."""
    if action.choices:
        return " ".join(map(str, action.choices))
    return f"<{action.metavar or action.dest.upper()}>"


def description(source: argparse.ArgumentParser, action: argparse.Action) -> str:
    """Returns the first clause of the help text; empty for a flag that --help does not list."""
    if action.help == argparse.SUPPRESS:
        return ""
    text = source._get_formatter()._expand_help(action)  # noqa: SLF001
    return re.split(r"; |\. ", text, maxsplit=1)[0].rstrip(".")


def quoted(text: str) -> str:
    """Returns a text in single quotes, as zsh and fish read it."""
    return "'" + text.replace("'", "'\"'\"'") + "'"


def cases(pairs: dict[str, str]) -> str:
    """Returns branches of a bash case statement that print an answer for a label."""
    return "\n".join(f"    {label}) echo '{answer}' ;;" for label, answer in pairs.items())


def valued() -> dict[str, set[str]]:
    """Returns the flags that take a value, by the kind of the value."""
    found: dict[str, set[str]] = {}
    for source in parsers().values():
        for _, action in flags(source):
            if action.nargs != 0:
                found.setdefault(kind(action), set()).update(action.option_strings)
    return found


def bash() -> dict[str, str]:
    """Returns the parts of the completion for bash."""
    flags_of = {
        name: " ".join(flag if a.nargs == 0 else f"{flag}=" for flag, a in flags(source))
        for name, source in parsers().items()
    }
    operands_of = {
        f"{name}:{'*' if action.nargs == '*' else place}": kind(action)
        for name, source in parsers().items()
        for place, action in enumerate(operands(source))
    }
    return {
        "@COMMANDS@": " ".join(COMMANDS),
        "@FLAGS@": cases(flags_of),
        "@OPERANDS@": cases(operands_of),
        "@VALUES@": cases({"|".join(sorted(names)): words for words, names in valued().items()}),
    }


def _zsh_value(action: argparse.Action) -> str:
    words = kind(action)
    call = f" _ssd_exporter_value {words[1:-1]}" if words.startswith("<") else f"({words})"
    message = str(action.metavar or action.dest).replace(":", "\\:")
    return f":{message}:{call}"


def _zsh_specs(source: argparse.ArgumentParser) -> Iterator[str]:
    """Returns the arguments of zsh's function _arguments."""
    for flag, action in flags(source):
        said = re.sub(r"([][:\\])", r"\\\1", description(source, action))
        # A flag that may be repeated, and one that takes a value in the same word or the next one.
        repeated = "*" if isinstance(action, argparse._AppendAction) else ""  # noqa: SLF001
        takes = f"=[{said}]{_zsh_value(action)}" if action.nargs != 0 else f"[{said}]"
        yield quoted(f"{repeated}{flag}{takes}")
    for action in operands(source):
        place = {"*": "*", "?": ":", None: ""}[action.nargs]  # type: ignore[index]
        yield quoted(f"{place}{_zsh_value(action)}")


def zsh() -> dict[str, str]:
    """Returns the parts of the completion for zsh."""
    lists = {name: " \\\n        ".join(_zsh_specs(source)) for name, source in parsers().items()}
    return {
        "@COMMANDS@": "\n".join(
            f"    {quoted(f'{name}:{listed.summary}')}" for name, listed in COMMANDS.items()
        ),
        "@DAEMON@": lists.pop(DAEMON),
        "@SPECS@": "\n".join(
            f"    {name})\n      _arguments \\\n        {specs} ;;" for name, specs in lists.items()
        ),
    }


#: What fish offers for each kind of value; nothing for other kinds.
_FISH_VALUES = {
    "<FILE>": "-rF",
    "<PROGRAM>": "-rF",
    "<DIR>": "-xa '(__ssd_exporter_directories)'",
    "<DEVICE>": "-xa '(__ssd_exporter_devices)'",
    "<LEVEL>": "-xa 'debug info warning error'",
    "<FORMAT>": "-xa 'logfmt json'",
    "<COMMAND>": f"-xa '{' '.join(COMMANDS)}'",
}


def _fish_value(action: argparse.Action) -> str:
    words = kind(action)
    return _FISH_VALUES.get(words, "-x") if words.startswith("<") else f"-xa '{words}'"


def _fish_lines() -> Iterator[str]:
    """Returns the calls of fish's command complete."""
    for name, listed in COMMANDS.items():
        yield f"-n __ssd_exporter_is_first -a {name} -d {quoted(listed.summary)}"
    for name, source in parsers().items():
        command = "__ssd_exporter_is_daemon" if name == DAEMON else f"'__ssd_exporter_is {name}'"
        for flag, action in flags(source):
            said = description(source, action)
            parts = ["-n", command, "-l", flag.removeprefix("--")]
            parts += [_fish_value(action)] if action.nargs != 0 else []
            yield " ".join(parts + ([f"-d {quoted(said)}"] if said else []))
        for place, action in enumerate(operands(source)):
            several = " or_more" if action.nargs == "*" else ""
            condition = f"'__ssd_exporter_is_at {name} {place}{several}'"
            yield f"-n {condition} {_fish_value(action)}"


def fish() -> dict[str, str]:
    """Returns the parts of the completion for fish."""
    return {
        "@VALUED@": " ".join(sorted(set.union(*valued().values()))),
        "@LINES@": "\n".join(f"complete -c ssd-exporter {line}" for line in _fish_lines()),
    }


PARTS = {"bash": bash, "zsh": zsh, "fish": fish}


def script(shell: str) -> str:
    """Returns the completion script of a shell: bash, zsh or fish."""
    text = Path(__file__).with_name(f"completion.{shell}").read_text("utf-8")
    for mark, part in PARTS[shell]().items():
        text = text.replace(mark, part)
    return text


if __name__ == "__main__":
    if sys.argv[1:] not in [[shell] for shell in PARTS]:
        sys.exit(f"usage: completion.py {'|'.join(PARTS)}")
    sys.stdout.write(script(sys.argv[1]))
