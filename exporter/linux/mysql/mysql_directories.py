"""Finds the directories and the port of a MySQL or MariaDB server from its options.

The options are on its command line and in its option files. It does no I/O. These pages describe
option files:
https://dev.mysql.com/doc/refman/8.4/en/option-files.html and
https://mariadb.com/docs/server/server-management/install-and-upgrade-mariadb/configuring-mariadb/configuring-mariadb-with-option-files

Option files and command lines contain passwords. Therefore only the options in `KNOWN_OPTIONS` are
kept, and no error quotes a line.
"""

import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from exporter.linux import files
from exporter.runtime.errors import Faults, LimitReached, Parsed, ParseError

#: The options that set a directory or the port, or that decide whether a directory is used.
KNOWN_OPTIONS = frozenset(
    {
        "datadir",
        "innodb_data_home_dir",
        "innodb_doublewrite",
        "innodb_doublewrite_dir",
        "innodb_log_group_home_dir",
        "innodb_undo_directory",
        "log_bin",
        "port",
        "relay_log",
        "tmpdir",
    }
)

#: The values of options, keyed by the name of the option with underscores. A value is a text,
#: True for an option without a value (``log-bin``), or False for a disabled option
#: (``skip-log-bin``).
Options = Mapping[str, str | bool]

#: The options whose value is optional and must follow "=". The value of every other option may
#: also be the next argument.
_VALUE_OPTIONAL = frozenset({"log_bin", "innodb_doublewrite"})
_SHORT_OPTIONS = {"P": "port", "h": "datadir", "t": "tmpdir"}
_PREFIX_VALUES = {"skip": False, "disable": False, "enable": True}
_SERVER_GROUP = re.compile(r"(?:mysqld|server|mariadb|mariadbd)(?:-\d+(?:\.\d+)?)?", re.ASCII)
_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "r": "\r", "s": " ", "\\": "\\"}
_DEFAULT_FILES = ("/etc/my.cnf", "/etc/mysql/my.cnf")

#: The default data directory of the common packages. Packages with another default set it on the
#: command line.
_DEFAULT_DATADIR = "/var/lib/mysql"

#: The port of a server without the option, or with the value 0.
_DEFAULT_PORT = 3306

#: The maximum number of directories for temporary files of one server. MySQL has no limit; servers
#: with more than one are rare.
_MAX_TMPDIRS = 16
#: The maximum length of the path of a directory, in characters: PATH_MAX of linux/limits.h.
_MAX_PATH_CHARACTERS = 4096
_OFF_VALUES = frozenset({"0", "off", "false", "no"})


@dataclass(frozen=True, slots=True)
class OptionSetting:
    """One of `KNOWN_OPTIONS` with its value. The value is as in `Options`."""

    name: str
    value: str | bool


@dataclass(frozen=True, slots=True)
class OptionInclude:
    """A line of an option file that includes other files.

    path: the path of the file or directory.
    is_directory: true for ``!includedir``, which includes all files named *.cnf in a directory;
        false for ``!include``, which includes one file.
    """

    path: str
    is_directory: bool


@dataclass(frozen=True, slots=True)
class OptionFiles:
    """The option files that a server reads.

    paths: the paths of the files, in the order in which they are read.
    suffix: the suffix of additional option groups (--defaults-group-suffix); empty for none. With
        ``_a``, the group [mysqld_a] is read as well as [mysqld].
    """

    paths: tuple[str, ...] = _DEFAULT_FILES
    suffix: str = ""


@dataclass(frozen=True, slots=True)
class RoleDirectory:
    """A directory in which a server stores data.

    role: the purpose of the directory: mysql-data, mysql-redo and so on.
    directory: the absolute path, as the server sees it.
    """

    role: str
    directory: str


def parse_option_file(
    text: str, suffix: str = ""
) -> Parsed[tuple[OptionSetting | OptionInclude, ...]]:
    """Returns the known options and the includes in an option file, in the order of its lines.

    Only options in the groups of the server, such as [mysqld], are returned. A later setting
    overrides an earlier one. Never raises: each malformed line adds an exception to
    `Parsed.faults`.

    text: the text of the option file.
    suffix: the suffix of additional groups to read, as in `OptionFiles`.
    """
    items: list[OptionSetting | OptionInclude] = []
    faults = Faults()
    in_server_group = False
    for number, raw_line in enumerate(files.lines_of(text), start=1):
        if faults.is_full:
            # A server does not start with such a file, and each fault takes time.
            faults.add(LimitReached(f"line {number}: the rest of the file is not read"))
            break
        line = raw_line.strip()
        if not line or line[0] in "#;":
            continue
        if line[0] == "!":
            include = _parse_include(line)
            if include is None:
                faults.add(ParseError(f"line {number}: neither !include nor !includedir"))
            else:
                items.append(include)
        elif line[0] == "[":
            group, closed, _ = line[1:].partition("]")
            in_server_group = bool(closed) and _is_server_group(group.strip(), suffix)
            if not closed:
                faults.add(ParseError(f"line {number}: a group without its closing bracket"))
        elif in_server_group:
            name, equals, value = line.partition("=")
            # An option without a value may be followed by a comment.
            name = name if equals else name.partition("#")[0]
            setting = _parse_setting(name.strip(), _unquote(value.strip()) if equals else None)
            items.extend(() if setting is None else (setting,))
    return Parsed(tuple(items), faults.listed())


def parse_arguments(argv: Sequence[str]) -> Options:
    """Returns the known options on a server's command line.

    A later option overrides an earlier one.
    """
    options: dict[str, str | bool] = {}
    arguments = iter(argv[1:])
    for argument in arguments:
        setting: OptionSetting | None = None
        if argument == "--":
            break
        if argument.startswith("--"):
            name, equals, value = argument[2:].partition("=")
            setting = _parse_setting(name, value if equals else None)
            if setting is not None and setting.value is True and _takes_next(setting.name):
                setting = OptionSetting(setting.name, next(arguments, ""))
        elif argument.startswith("-") and argument[1:2] in _SHORT_OPTIONS:
            value = argument[2:] or next(arguments, "")
            setting = OptionSetting(_SHORT_OPTIONS[argument[1]], value)
        if setting is not None:
            options[setting.name] = setting.value
    return options


def parse_option_file_arguments(argv: Sequence[str]) -> OptionFiles:
    """Returns the option files that a server with this command line reads."""
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


def role_directories(options: Options) -> Parsed[tuple[RoleDirectory, ...]]:
    """Returns the directories of a server with these options.

    If no option sets another directory, the redo log, the undo log and the doublewrite buffer are
    in the data directory. Directories of binary logs, relay logs and temporary files are in the
    result only if an option enables or sets them. Relative paths start in the data directory. If
    the path of the data directory itself is relative, the result is empty. Directories for
    temporary files beyond the 16th and paths longer than PATH_MAX are omitted and reported as
    faults.
    """
    datadir = _text_value(options, "datadir") or _DEFAULT_DATADIR
    if not datadir.startswith("/"):
        return Parsed(())

    def absolute(name: str, default: str = datadir) -> str:
        path = _text_value(options, name)
        return posixpath.normpath(posixpath.join(datadir, path or default))

    directories = [
        RoleDirectory("mysql-data", posixpath.normpath(datadir)),
        RoleDirectory("mysql-redo", absolute("innodb_log_group_home_dir")),
        RoleDirectory("mysql-undo", absolute("innodb_undo_directory")),
    ]
    if not _is_off(options, "innodb_doublewrite"):
        directory = absolute("innodb_doublewrite_dir", absolute("innodb_data_home_dir"))
        directories.append(RoleDirectory("mysql-doublewrite", directory))
    for role, name in (("mysql-binlog", "log_bin"), ("mysql-relaylog", "relay_log")):
        if options.get(name, False) is not False:
            # The value is the path of the log files without their suffixes, .000001 and so on.
            directories.append(RoleDirectory(role, posixpath.dirname(absolute(name, "base"))))
    # tmpdir may list several directories, separated by colons.
    faults = Faults()
    tmpdirs = (_text_value(options, "tmpdir") or "").split(":", _MAX_TMPDIRS)
    if len(tmpdirs) > _MAX_TMPDIRS:
        faults.add(LimitReached(f"tmpdir: only the first {_MAX_TMPDIRS} directories are used"))
        del tmpdirs[_MAX_TMPDIRS:]
    directories.extend(RoleDirectory("mysql-tmp", d) for d in tmpdirs if d.startswith("/"))
    usable = tuple(d for d in directories if len(d.directory) <= _MAX_PATH_CHARACTERS)
    if len(usable) < len(directories):
        faults.add(LimitReached(f"a path has more than {_MAX_PATH_CHARACTERS} characters"))
    return Parsed(usable, faults.listed())


def server_port(options: Options) -> int | None:
    """Returns the TCP port of a server with these options; None if the option is not a port."""
    text = options.get("port", "0")
    if not isinstance(text, str) or not re.fullmatch(r"[0-9]{1,5}", text):
        return None
    port = int(text) or _DEFAULT_PORT
    return port if port < 1 << 16 else None


def _is_server_group(group: str, suffix: str) -> bool:
    plain = group.removesuffix(suffix) if suffix else group
    return bool(_SERVER_GROUP.fullmatch(group) or _SERVER_GROUP.fullmatch(plain))


def _parse_include(line: str) -> OptionInclude | None:
    directive, _, path = line.partition(" ")
    path = path.strip()
    if not path or directive not in ("!include", "!includedir"):
        return None
    return OptionInclude(path, directive == "!includedir")


def _parse_setting(name: str, value: str | None) -> OptionSetting | None:
    plain = name.replace("-", "_").removeprefix("loose_")
    prefix, _, rest = plain.partition("_")
    if plain not in KNOWN_OPTIONS and prefix in _PREFIX_VALUES and rest in KNOWN_OPTIONS:
        return OptionSetting(rest, _PREFIX_VALUES[prefix])
    if plain not in KNOWN_OPTIONS or (value is not None and "\0" in value):
        return None
    return OptionSetting(plain, True if value is None else value)


def _takes_next(name: str) -> bool:
    return name not in _VALUE_OPTIONAL


def _unquote(value: str) -> str:
    if value[:1] in ("'", '"'):
        end = value.find(value[0], 1)
        if end > 0:
            return _unescape(value[1:end])
    return _unescape(value.partition("#")[0].rstrip())


def _unescape(value: str) -> str:
    return re.sub(r"\\([btnrs\\])", lambda match: _ESCAPES[match[1]], value)


def _text_value(options: Options, name: str) -> str | None:
    value = options.get(name)
    return value if isinstance(value, str) and value else None


def _is_off(options: Options, name: str) -> bool:
    value = options.get(name)
    return value is False or (isinstance(value, str) and value.lower() in _OFF_VALUES)
