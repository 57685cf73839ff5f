"""Which directory does which work for a MySQL or MariaDB server."""

import posixpath
from dataclasses import dataclass

from exporter.linux.mysql_options import Options

#: What packages compile in; a server with another default says so on its command line.
_DEFAULT_DATADIR = "/var/lib/mysql"
_OFF = frozenset({"0", "off", "false", "no"})


@dataclass(frozen=True, slots=True)
class RoleDirectory:
    """A role (mysql-data, mysql-redo, ...) and the directory, as the server names it."""

    role: str
    directory: str


def directories(options: Options) -> tuple[RoleDirectory, ...]:
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
