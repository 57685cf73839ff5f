"""Where MySQL and MariaDB servers are told their directories: arguments and option files.

https://dev.mysql.com/doc/refman/8.4/en/option-files.html and
https://mariadb.com/docs/server/server-management/install-and-upgrade-mariadb/configuring-mariadb/configuring-mariadb-with-option-files

Only the options of `KNOWN` are ever kept, and no line of a file stands in an error: option files
and arguments hold passwords.

Which directory does which work for a MySQL or MariaDB server.
"""

import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from exporter.errors import ParseError
from exporter.linux.files import Parsed

KNOWN_OPTIONS = frozenset(
    {
        "datadir",
        "innodb_data_home_dir",
        "innodb_doublewrite",
        "innodb_doublewrite_dir",
        "innodb_log_group_home_dir",
        "innodb_undo_directory",
        "log_bin",
        "relay_log",
        "tmpdir",
    }
)

#: A value, True for an option without one (``log-bin``), False for one denied (``skip-log-bin``).
Options = Mapping[str, str | bool]

#: These take a value only after "=", the others also as the next argument.
_VALUE_OPTIONAL = frozenset({"log_bin", "innodb_doublewrite"})
_SHORT = {"h": "datadir", "t": "tmpdir"}
_DENIED = {"skip": False, "disable": False, "enable": True}
_GROUP = re.compile(r"(?:mysqld|server|mariadb|mariadbd)(?:-\d+(?:\.\d+)?)?", re.ASCII)
_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "r": "\r", "s": " ", "\\": "\\"}
_DEFAULT_FILES = ("/etc/my.cnf", "/etc/mysql/my.cnf")


@dataclass(frozen=True, slots=True)
class OptionSetting:
    name: str
    value: str | bool


@dataclass(frozen=True, slots=True)
class OptionInclude:
    """``!include`` of a file, or ``!includedir`` of all *.cnf in a directory."""

    path: str
    is_directory: bool


@dataclass(frozen=True, slots=True)
class OptionFiles:
    """The option files that a server was told to read, in order, and its group suffix."""

    paths: tuple[str, ...] = _DEFAULT_FILES
    suffix: str = ""


def parse_option_file(
    text: str, suffix: str = ""
) -> Parsed[tuple[OptionSetting | OptionInclude, ...]]:
    """What an option file says to a server, in order: the last one of a name holds.

    With a suffix the groups of that suffix are read besides the plain ones.
    """
    found: list[OptionSetting | OptionInclude] = []
    faults: list[ParseError] = []
    ours = False
    for number, raw in enumerate(text.split("\n"), start=1):
        line = raw.strip()
        if not line or line[0] in "#;":
            continue
        if line[0] == "!":
            include = _include(line)
            if include is None:
                faults.append(ParseError(f"line {number}: neither !include nor !includedir"))
            else:
                found.append(include)
        elif line[0] == "[":
            group, closed, _ = line[1:].partition("]")
            ours = bool(closed) and _is_server(group.strip(), suffix)
            if not closed:
                faults.append(ParseError(f"line {number}: a group without its closing bracket"))
        elif ours:
            name, equals, value = line.partition("=")
            # A comment may follow an option without a value.
            word = name if equals else name.partition("#")[0]
            setting = _setting(word.strip(), _unquoted(value.strip()) if equals else None)
            found.extend(() if setting is None else (setting,))
    return Parsed(tuple(found), tuple(faults))


def parse_arguments(argv: Sequence[str]) -> Options:
    """What a server's command line says; the last one of a name holds."""
    options: dict[str, str | bool] = {}
    arguments = iter(argv[1:])
    for argument in arguments:
        setting: OptionSetting | None = None
        if argument == "--":
            break
        if argument.startswith("--"):
            name, equals, value = argument[2:].partition("=")
            setting = _setting(name, value if equals else None)
            if setting is not None and setting.value is True and _takes_next(setting.name):
                setting = OptionSetting(setting.name, next(arguments, ""))
        elif argument.startswith("-") and argument[1:2] in _SHORT:
            setting = OptionSetting(_SHORT[argument[1]], argument[2:] or next(arguments, ""))
        if setting is not None:
            options[setting.name] = setting.value
    return options


def parse_option_file_arguments(argv: Sequence[str]) -> OptionFiles:
    """Which option files a server with this command line reads."""
    suffix = ""
    paths: tuple[str, ...] = _DEFAULT_FILES
    extra: tuple[str, ...] = ()
    for argument in argv[1:]:
        name, _, value = argument.partition("=")
        match name:
            case "--no-defaults":
                return OptionFiles(())
            case "--defaults-file" if value:
                paths = (value,)
            case "--defaults-extra-file" if value:
                extra = (value,)
            case "--defaults-group-suffix":
                suffix = value
    return OptionFiles(paths + extra, suffix)


def _is_server(group: str, suffix: str) -> bool:
    plain = group.removesuffix(suffix) if suffix else group
    return bool(_GROUP.fullmatch(group) or _GROUP.fullmatch(plain))


def _include(line: str) -> OptionInclude | None:
    directive, _, path = line.partition(" ")
    path = path.strip()
    if not path or directive not in ("!include", "!includedir"):
        return None
    return OptionInclude(path, directive == "!includedir")


def _setting(name: str, value: str | None) -> OptionSetting | None:
    plain = name.replace("-", "_").removeprefix("loose_")
    prefix, _, rest = plain.partition("_")
    if plain not in KNOWN_OPTIONS and prefix in _DENIED and rest in KNOWN_OPTIONS:
        return OptionSetting(rest, _DENIED[prefix])
    if plain not in KNOWN_OPTIONS or (value is not None and "\0" in value):
        return None
    return OptionSetting(plain, True if value is None else value)


def _takes_next(name: str) -> bool:
    return name not in _VALUE_OPTIONAL


def _unquoted(value: str) -> str:
    if value[:1] in ("'", '"'):
        end = value.find(value[0], 1)
        if end > 0:
            return _unescaped(value[1:end])
    return _unescaped(value.partition("#")[0].rstrip())


def _unescaped(value: str) -> str:
    return re.sub(r"\\([btnrs\\])", lambda match: _ESCAPES[match[1]], value)


#: What packages compile in; a server with another default says so on its command line.
_DEFAULT_DATADIR = "/var/lib/mysql"
_OFF = frozenset({"0", "off", "false", "no"})


@dataclass(frozen=True, slots=True)
class RoleDirectory:
    """A role (mysql-data, mysql-redo, ...) and the directory, as the server names it."""

    role: str
    directory: str


def role_directories(options: Options) -> tuple[RoleDirectory, ...]:
    """The directories of a server with these options.

    Redo, undo and doublewrite lie in the data directory unless told otherwise; logs and
    temporary files are listed where an option asks for them. A relative path starts in the data
    directory; a data directory that is itself relative cannot be placed, so nothing is.
    """
    datadir = _value(options, "datadir") or _DEFAULT_DATADIR
    if not datadir.startswith("/"):
        return ()

    def place(name: str, otherwise: str = datadir) -> str:
        path = _value(options, name)
        return posixpath.normpath(posixpath.join(datadir, path or otherwise))

    found = [
        RoleDirectory("mysql-data", posixpath.normpath(datadir)),
        RoleDirectory("mysql-redo", place("innodb_log_group_home_dir")),
        RoleDirectory("mysql-undo", place("innodb_undo_directory")),
    ]
    if not _is_off(options, "innodb_doublewrite"):
        directory = place("innodb_doublewrite_dir", place("innodb_data_home_dir"))
        found.append(RoleDirectory("mysql-doublewrite", directory))
    for role, name in (("mysql-binlog", "log_bin"), ("mysql-relaylog", "relay_log")):
        if options.get(name, False) is not False:
            # A base name: the files are <base name>.000001 and so on.
            found.append(RoleDirectory(role, posixpath.dirname(place(name, "base"))))
    # Several directories, between colons, are used in turn.
    tmpdirs = (_value(options, "tmpdir") or "").split(":")
    found.extend(RoleDirectory("mysql-tmp", d) for d in tmpdirs if d.startswith("/"))
    return tuple(found)


def _value(options: Options, name: str) -> str | None:
    value = options.get(name)
    return value if isinstance(value, str) and value else None


def _is_off(options: Options, name: str) -> bool:
    value = options.get(name)
    return value is False or (isinstance(value, str) and value.lower() in _OFF)
