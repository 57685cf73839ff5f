"""The command line: node_exporter's spelling where it has one, a TOML file for the rest."""

import argparse
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from exporter import __version__, logs
from exporter.commands.command_line import COMMANDS
from exporter.config import COLLECTORS, Settings
from exporter.config_validation import parse_record, validated
from exporter.errors import ConfigError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

#: Flags that set one key of the configuration; the file is overruled by them.
_FLAGS: Mapping[str, tuple[str, str, str]] = {
    "--web.listen-address": ("web.listen_address", "HOST:PORT", "where to serve; may be repeated"),
    "--web.config.file": ("web.config_file", "FILE", "TLS and passwords, as exporter-toolkit's"),
    "--path.procfs": ("path.procfs", "DIR", "where /proc is"),
    "--path.sysfs": ("path.sysfs", "DIR", "where /sys is"),
    "--path.rootfs": ("path.rootfs", "DIR", "where the host's / is"),
    "--smartctl.path": ("path.smartctl", "PROGRAM", "the smartctl to run"),
    "--fio.path": ("path.fio", "PROGRAM", "the fio to run"),
    "--state.directory": ("state.directory", "DIR", "where to keep what was learned"),
    "--probe.directory": ("probe.directory", "DIR", "where probes may write; off without"),
    "--collector.disk.device-include": ("disk.device_include", "REGEX", "only these devices"),
    "--collector.disk.device-exclude": ("disk.device_exclude", "REGEX", "all but these devices"),
    "--log.level": ("log.level", "LEVEL", "debug, info, warning or error"),
    "--log.format": ("log.format", "FORMAT", "logfmt or json"),
}


#: The packages' settings: commands go by them as the daemon's unit does.
USUAL_FILE = Path("/etc/ssd-exporter/config.toml")

#: Those that every command has.
_OF_COMMANDS = ("--path.", "--smartctl.", "--state.", "--log.")

_LARGEST_FILE_BYTES = 1 << 20


class _Parser(argparse.ArgumentParser):
    """An argument parser whose complaint is one line."""

    def error(self, message: str) -> NoReturn:
        raise ConfigError(message, f"see {self.prog} --help")


def parser() -> argparse.ArgumentParser:
    """Every flag of the daemon."""
    listed = "".join(f"\n  {name:<14}{each.summary}" for name, each in COMMANDS.items())
    p = _Parser(
        prog="ssd-exporter",
        description="Prometheus exporter and health monitor for the SSDs under MySQL.",
        epilog=f"commands, each with a --help of its own:{listed}\n\n"
        "docs/settings.md has every default. Exit status 2: a mistake in the configuration.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    p.add_argument(
        "--config.check", dest="config_check", action="store_true", help="check them and exit"
    )
    p.add_argument("--once", action="store_true", help="print one page and exit")
    _add_settings(p, _FLAGS)
    p.add_argument(
        "--compat.node-exporter",
        dest="compat.node_exporter",
        action="store_true",
        default=None,
        help="emit node_exporter's own families too, for hosts without it",
    )
    for name in COLLECTORS:
        p.add_argument(
            f"--collector.{name}",
            dest=f"collector.{name}",
            action="store_true",
            default=None,
            help=argparse.SUPPRESS,
        )
        p.add_argument(
            f"--no-collector.{name}",
            dest=f"collector.{name}",
            action="store_false",
            default=None,
            help=f"do not collect {name}; all are collected by default",
        )
    p.add_argument("--version", action="version", version=f"ssd-exporter {__version__}")
    return p


def command_parser(name: str) -> argparse.ArgumentParser:
    """Every flag of one command; settings that it has no use for have none."""
    command = COMMANDS[name]
    p = _Parser(prog=f"ssd-exporter {name}", description=command.description, allow_abbrev=False)
    command.add_arguments(p)
    _add_settings(
        p,
        {f: each for f, each in _FLAGS.items() if f.startswith(_OF_COMMANDS)},
        f"the settings, TOML; without, {USUAL_FILE} where it exists",
    )
    return p


def _add_settings(
    p: argparse.ArgumentParser,
    flags: Mapping[str, tuple[str, str, str]],
    file_words: str = "the settings, TOML",
) -> None:
    p.add_argument("--config.file", dest="config_file", metavar="FILE", help=file_words)
    for flag, (key, metavar, text) in flags.items():
        action = "append" if key == "web.listen_address" else "store"
        p.add_argument(flag, dest=key, metavar=metavar, help=text, action=action)


def settings(arguments: argparse.Namespace, usual_file: Path | None = None) -> Settings:
    """The file's settings, overruled by the flags', checked.

    usual_file: read where no file is named and this one exists.

    Raises:
        ConfigError: with the key and what to do.
    """
    from_file: Settings = parse_record(Settings, {}, "")
    named = arguments.config_file
    # lexists: a link that leads nowhere is a mistake, and not a host without settings.
    if named is None and usual_file is not None and os.path.lexists(usual_file):
        named = usual_file
    if named is not None:
        from_file = parse_record(Settings, _file(Path(named)), "", from_file)
    flags: dict[str, Any] = {}
    for dotted, value in vars(arguments).items():
        section, _, key = dotted.partition(".")
        if key and value is not None:
            flags.setdefault(section, {})[key] = value
    return validated(parse_record(Settings, flags, "", from_file))


def _file(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            text = file.read(_LARGEST_FILE_BYTES + 1)
        if len(text) > _LARGEST_FILE_BYTES:
            raise ConfigError(f"{path} is larger than {_LARGEST_FILE_BYTES} bytes")
        values: dict[str, Any] = tomllib.loads(text.decode("utf-8"))
    except OSError as e:
        raise ConfigError(
            f"the configuration file {path} cannot be read: {e.strerror}", "check --config.file"
        ) from e
    # Besides its own kinds tomllib raises these for numbers of 5,000 digits and lists in lists.
    except (ValueError, RecursionError) as e:
        raise ConfigError(f"{path} is no TOML: {e}") from e
    return values


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; the exit status is its own, or 2 for a mistake in the configuration."""
    if os.getpid() == 1:
        # The kernel drops what PID 1 has no handler for: a container would not stop until it has.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    given = list(sys.argv[1:] if argv is None else argv)
    command = COMMANDS.get(given[0]) if given else None
    try:
        if command is not None:
            arguments = command_parser(given[0]).parse_args(given[1:])
            # smart-agent reads the settings again at SIGHUP.
            arguments.read_settings = lambda: settings(arguments, USUAL_FILE)
            chosen = settings(arguments, USUAL_FILE)
            logs.configure(chosen.log.level, chosen.log.format)
            return command.run(chosen, arguments)
        arguments = parser().parse_args(given)
        chosen = settings(arguments)
        logs.configure(chosen.log.level, chosen.log.format)
        # After the flags: --help and mistakes need nothing of the daemon's.
        from exporter import daemon  # noqa: PLC0415

        if arguments.config_check:
            daemon.check(chosen, dict(os.environ))
            sys.stdout.write("the configuration is good\n")
        elif arguments.once:
            daemon.print_page(chosen, dict(os.environ), sys.stdout.buffer)
        else:
            daemon.serve(chosen, lambda: settings(arguments), dict(os.environ))
    except ConfigError as e:
        sys.stderr.write(f"ssd-exporter: {e}\n")
        return 2
    except BrokenPipeError:
        # `ssd-exporter --once | head`: the reader has seen enough; Python flushes the rest at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        return 130
    return 0
