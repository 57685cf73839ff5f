"""Parses the command line, reads the settings, and starts the daemon or a command.

The most important settings have flags. A flag that node_exporter also has is spelled in the same
way. All settings can be set in a TOML file.
"""

import argparse
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from exporter import __version__, command_help
from exporter.commands.registry import COMMANDS, Command
from exporter.config.settings import COLLECTORS, Settings
from exporter.config_validation import parse_record, validated
from exporter.runtime import logs
from exporter.runtime.errors import ConfigError
from exporter.runtime.printable import printable_output
from exporter.runtime.threads import TimeLimitedCall

#: Flags that override one key of the configuration file. The values are the key, the placeholder
#: of the flag's argument, and the help text.
_FLAGS: Mapping[str, tuple[str, str, str]] = {
    "--web.listen-address": (
        "web.listen_address",
        "HOST:PORT",
        "address to listen on; may be repeated; default: 127.0.0.1:10177",
    ),
    "--web.config.file": (
        "web.config_file",
        "FILE",
        "TLS and passwords, in the file format of all Prometheus exporters",
    ),
    "--path.procfs": ("path.procfs", "DIR", "mount point of /proc"),
    "--path.sysfs": ("path.sysfs", "DIR", "mount point of /sys"),
    "--path.rootfs": ("path.rootfs", "DIR", "root directory of the host"),
    "--smartctl.path": ("path.smartctl", "PROGRAM", "smartctl program to run"),
    "--fio.path": ("path.fio", "PROGRAM", "fio program to run"),
    "--state.directory": ("state.directory", "DIR", "directory for state that survives restarts"),
    "--probe.directory": (
        "probe.directory",
        "DIR",
        "directory that probes write to; probes are disabled without it",
    ),
    "--collector.disk.device-include": (
        "disk.device_include",
        "REGEX",
        "collect only devices whose name matches",
    ),
    "--collector.disk.device-exclude": (
        "disk.device_exclude",
        "REGEX",
        "do not collect devices whose name matches",
    ),
    "--log.level": ("log.level", "LEVEL", "debug, info (default), warning or error"),
    "--log.format": ("log.format", "FORMAT", "logfmt (default) or json"),
}

#: The configuration file that the packages install. Commands read it by default. The daemon has no
#: default: its systemd unit passes this path with --config.file.
DEFAULT_FILE = Path("/etc/ssd-exporter/config.toml")

#: Prefixes of those flags of `_FLAGS` that commands have too.
_COMMAND_FLAGS = ("--path.", "--smartctl.", "--state.", "--log.")

#: Maximum size of the configuration file, in bytes. It limits the memory that is used if the path
#: is wrong and names a large file.
_MAX_FILE_BYTES = 1 << 20

#: Maximum time to read the settings again after SIGHUP, in seconds. The main thread waits for it,
#: and must notify the watchdog, whose timeout is 60 s. Reading takes milliseconds, unless the file
#: is a pipe or its file system hangs.
_RELOAD_TIMEOUT_SECONDS = 5.0


class _Parser(argparse.ArgumentParser):
    """An argument parser that raises ConfigError for a mistake; `main` prints it in one line."""

    def error(self, message: str) -> NoReturn:
        flags = [flag for action in self._actions for flag in action.option_strings]
        raise ConfigError(
            message, command_help.mistake_hint(message, self.prog, flags, COMMANDS.keys())
        )

    #: Returns the description. Only --help needs it, and it takes 0.3 MB of memory.
    describe: Callable[[], str] | None = None

    def format_help(self) -> str:
        """Returns the text of --help."""
        if self.describe is not None:
            self.description = self.describe()
        return super().format_help()

    def add_grouped_argument(self, flag: str, **arguments: Any) -> None:
        """Add a flag to the group of its subject."""
        title = command_help.group_of(flag)
        group = next((g for g in self._action_groups if g.title == title), None)
        if group is None:
            group = self.add_argument_group(title) if title else self._optionals
        group.add_argument(flag, **arguments)

    def add_switch(self, flag: str, key: str, text: str, *, value: bool = True) -> None:
        """Add a flag without an argument, which sets a key of the configuration to `value`."""
        self.add_grouped_argument(flag, dest=key, action="store_const", const=value, help=text)


def _overview() -> str:
    return command_help.overview({name: listed.summary for name, listed in COMMANDS.items()})


def parser() -> _Parser:
    """Returns the parser of the daemon's flags."""
    p = _Parser(
        prog="ssd-exporter",
        usage=command_help.usage(),
        epilog="docs/settings.md lists all settings and defaults. Exit status 2: a mistake in the"
        " flags or in the configuration.",
        formatter_class=command_help.HelpFormatter,
        allow_abbrev=False,
    )
    p.describe = _overview
    p.add_argument(
        "--config.check",
        dest="config_check",
        action="store_true",
        help="check the configuration and exit",
    )
    p.add_argument("--once", action="store_true", help="print the metrics once and exit")
    p.add_argument(
        "--output",
        type=Path,
        metavar="FILE",
        help="with --once: replace this file in one step, for node_exporter's textfile collector",
    )
    p.add_argument("--version", action="version", version=f"ssd-exporter {__version__}")
    _add_settings(p, _FLAGS)
    for exporter, purpose in (("node", "hosts without it"), ("smartctl", "its dashboards")):
        text = f"also export metrics under {exporter}_exporter's names, for {purpose}"
        p.add_switch(f"--compat.{exporter}-exporter", f"compat.{exporter}_exporter", text)
    for name in COLLECTORS:
        key = f"collector.{name}"
        p.add_switch(f"--{key}", key, argparse.SUPPRESS)
        p.add_switch(f"--no-{key}", key, f"disable the {name} collector", value=False)
    return p


def command_parser(name: str) -> argparse.ArgumentParser:
    """Returns the parser for the flags of a command.

    It accepts the command's own flags, and those flags of the daemon that all commands share.
    """
    return _command_parser(name, COMMANDS[name].load())


def _command_parser(name: str, command: Command) -> _Parser:
    p = _Parser(
        prog=f"ssd-exporter {name}",
        description=command.description,
        epilog="\n".join(command_help.examples(name)),
        formatter_class=command_help.HelpFormatter,
        allow_abbrev=False,
    )
    command.add_arguments(p)
    if command.reads_settings:
        _add_settings(
            p,
            {flag: setting for flag, setting in _FLAGS.items() if flag.startswith(_COMMAND_FLAGS)},
            f"configuration file (TOML); default: {DEFAULT_FILE} if it exists",
        )
    return p


def _help_text(name: str | None) -> str:
    """Returns the text of --help: of a command, or of the program if the name is None.

    Raises:
        ConfigError: there is no command with this name.
    """
    if name is None:
        return parser().format_help()
    if name not in COMMANDS:
        raise _unknown_command(name)
    return command_parser(name).format_help()


def _add_settings(
    p: _Parser,
    flags: Mapping[str, tuple[str, str, str]],
    file_help: str = "configuration file (TOML)",
) -> None:
    p.add_grouped_argument("--config.file", dest="config_file", metavar="FILE", help=file_help)
    for flag, (key, metavar, text) in flags.items():
        action = "append" if key == "web.listen_address" else "store"
        p.add_grouped_argument(flag, dest=key, metavar=metavar, help=text, action=action)


def settings(arguments: argparse.Namespace, default_file: Path | None = None) -> Settings:
    """Returns the validated settings from the file and the flags. Flags override the file.

    default_file: the file to read if no flag names one; it need not exist. None means no file.

    Raises:
        ConfigError: a setting is invalid, or the file cannot be read. The message states the
            remedy.
    """
    from_file: Settings = parse_record(Settings, {}, "")
    path = arguments.config_file
    # A link to a missing file is a mistake that must be reported. `lexists` is True for such a
    # link, and `exists` is False.
    if path is None and default_file is not None and os.path.lexists(default_file):
        path = default_file
    if path is not None:
        values = _file(Path(path))
        try:
            from_file = parse_record(Settings, values, "", from_file)
        except ConfigError as e:
            raise ConfigError(f"{path}: {e}") from e
    flags: dict[str, Any] = {}
    for dotted, value in vars(arguments).items():
        section, _, key = dotted.partition(".")
        if key and value is not None:
            flags.setdefault(section, {})[key] = value
    chosen = parse_record(Settings, flags, "", from_file)
    try:
        return validated(chosen)
    except ConfigError as e:
        if path is None or _is_mistake_of(flags):
            raise
        raise ConfigError(f"{path}: {e}") from e


def _is_mistake_of(flags: Mapping[str, Any]) -> bool:
    """Returns True if the flags are invalid also without a file."""
    try:
        validated(parse_record(Settings, flags, ""))
    except ConfigError:
        return True
    return False


def _file(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            text = file.read(_MAX_FILE_BYTES + 1)
        if len(text) > _MAX_FILE_BYTES:
            raise ConfigError(f"{path} is larger than {_MAX_FILE_BYTES} bytes")
        values = _parsed_toml(text.decode("utf-8"))
    except OSError as e:
        raise ConfigError(
            f"the configuration file {path} cannot be read: {e.strerror}", "check --config.file"
        ) from e
    # tomllib raises ValueError for a syntax error or a number of 5,000 digits, and RecursionError
    # for deeply nested lists.
    except (ValueError, RecursionError) as e:
        raise ConfigError(f"{path} is not valid TOML: {e}") from e
    return values


def _parsed_toml(text: str) -> dict[str, Any]:
    # Imported late: it takes 0.2 MB, and without a file nothing needs it.
    if sys.version_info >= (3, 11):
        import tomllib  # noqa: PLC0415
    else:
        import tomli as tomllib  # noqa: PLC0415
    values: dict[str, Any] = tomllib.loads(text)
    return values


def _reread(
    arguments: argparse.Namespace, default_file: Path | None = None
) -> Callable[[], Settings]:
    """Returns a function that reads the settings again, within a time limit.

    It raises ConfigError as `settings` does, and if the configuration file cannot be read in time.
    """
    read = TimeLimitedCall(lambda: settings(arguments, default_file), _RELOAD_TIMEOUT_SECONDS)

    def reread() -> Settings:
        try:
            return read()
        except TimeoutError:
            raise ConfigError(
                f"{arguments.config_file or default_file} was not read within"
                f" {_RELOAD_TIMEOUT_SECONDS:g} s",
                "check that it is a file, and that its file system responds",
            ) from None

    return reread


def _reject_unknown_command(words: Sequence[str]) -> None:
    if words and not words[0].startswith("-"):
        raise _unknown_command(words[0])


def _unknown_command(name: str) -> ConfigError:
    near = command_help.suggestion(name, COMMANDS.keys())
    return ConfigError(
        f"unknown command {name!r}",
        f"did you mean {near}? see ssd-exporter --help"
        if near
        else f"use one of {', '.join(COMMANDS)}",
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run the daemon or a command, and return the exit status.

    The status is 2 if the flags or the configuration are invalid, and 130 if SIGINT ends a command.
    Names and models from drives cannot send control characters to the terminal.
    """
    with printable_output():
        return _run(argv)


def _require_once(arguments: argparse.Namespace) -> None:
    if arguments.output is not None and not arguments.once:
        raise ConfigError("--output requires --once")


def _run(argv: Sequence[str] | None) -> int:
    if os.getpid() == 1:
        # The kernel drops signals for which PID 1 has no handler. Without this handler, SIGTERM
        # would not stop a command in a container.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    words = list(sys.argv[1:] if argv is None else argv)
    registered = COMMANDS.get(words[0]) if words else None
    try:
        if registered is not None:
            command = registered.load()
            arguments = _command_parser(words[0], command).parse_args(words[1:])
            arguments.help_text = _help_text
            if not command.reads_settings:
                return command.run(Settings(), arguments)
            # smart-agent calls this at SIGHUP, to read the settings again.
            arguments.read_settings = _reread(arguments, DEFAULT_FILE)
            chosen = settings(arguments, DEFAULT_FILE)
            logs.configure(chosen.log.level, chosen.log.format)
            return command.run(chosen, arguments)
        _reject_unknown_command(words)
        arguments = parser().parse_args(words)
        _require_once(arguments)
        chosen = settings(arguments)
        logs.configure(chosen.log.level, chosen.log.format)
        # Imported late: --help and mistakes in the flags do not need them.
        if arguments.once and not arguments.config_check:
            from exporter import single_page  # noqa: PLC0415

            single_page.write(chosen, dict(os.environ), arguments.output)
            return 0
        from exporter import daemon  # noqa: PLC0415

        if arguments.config_check:
            daemon.check(chosen, dict(os.environ))
            sys.stdout.write("the configuration is valid\n")
        else:
            daemon.serve(chosen, _reread(arguments), dict(os.environ))
    except ConfigError as e:
        sys.stderr.write(f"ssd-exporter: {e}\n")
        return 2
    except BrokenPipeError:
        # In `ssd-exporter --once | head`, head closes the pipe early. Python flushes stdout at
        # exit, which would fail: /dev/null replaces the pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        return 130
    return 0
