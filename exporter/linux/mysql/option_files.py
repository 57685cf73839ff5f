"""Reads the option files of MySQL and MariaDB servers, such as /etc/my.cnf.

Option files may contain passwords. Therefore only the options in `mysql_directories.KNOWN_OPTIONS`
are kept, and everything else is discarded.

Any user can start a process with the name of a server, and name any path on its command line.
Therefore only regular files that the server can read are read, and only directories that it can
list are listed. What is read for one server and for all servers is limited.
"""

import os
import stat
from pathlib import Path

from exporter.linux import files
from exporter.linux.mysql import mysql_directories
from exporter.linux.mysql.mysql_directories import (
    OptionFiles,
    OptionInclude,
    Options,
    OptionSetting,
)
from exporter.linux.mysql.mysqld_processes import Credentials
from exporter.runtime import untrusted_file
from exporter.runtime.errors import Faults, LimitReached, Parsed, ParseError
from exporter.runtime.untrusted_file import TooLargeFile, UnusableFile

#: The maximum size of an option file, in bytes. Usual option files have a few KiB.
_MAX_OPTION_FILE_BYTES = 256 << 10
#: The maximum size of all option files of one server, and of all servers, in bytes.
_MAX_SERVER_OPTION_BYTES = 1 << 20
_MAX_ALL_OPTION_BYTES = 8 << 20
#: The maximum number of files that the option files of one server, and of all servers, may include.
_MAX_SERVER_INCLUDES = 64
_MAX_ALL_INCLUDES = 512
#: The maximum number of names in the directories that the option files of one server, and of all
#: servers, include. Usual directories have fewer than 20. Listing 20,000 names takes 10 ms.
_MAX_SERVER_NAMES = 2_000
_MAX_ALL_NAMES = 20_000


class OptionBudget:
    """The option files that may still be read.

    size_bytes: their total size.
    includes: the number of files that they may include.
    names: the number of names in the directories that they include.
    whole: the budget of all servers, of which this one is a part.
    """

    def __init__(
        self,
        size_bytes: int = _MAX_SERVER_OPTION_BYTES,
        includes: int = _MAX_SERVER_INCLUDES,
        names: int = _MAX_SERVER_NAMES,
        whole: "OptionBudget | None" = None,
    ) -> None:
        self._whole = whole
        self.size_bytes: int = size_bytes if whole is None else min(size_bytes, whole.size_bytes)
        self.includes: int = includes if whole is None else min(includes, whole.includes)
        self.names: int = names if whole is None else min(names, whole.names)

    def subtract(self, *, size_bytes: int = 0, includes: int = 0, names: int = 0) -> None:
        """Subtract what was read, also from the whole."""
        self.size_bytes -= size_bytes
        self.includes -= includes
        self.names -= names
        if self._whole is not None:
            self._whole.subtract(size_bytes=size_bytes, includes=includes, names=names)


class OptionFileReader:
    """Reads the option files of all servers in one search.

    root: the directory at which the host's root filesystem is mounted for this process.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._whole = OptionBudget(_MAX_ALL_OPTION_BYTES, _MAX_ALL_INCLUDES, _MAX_ALL_NAMES)
        #: The names in the directories that were listed. The key contains the credentials, because
        #: another server may not be permitted to list the directory.
        self._listed: dict[tuple[str, Credentials | None], tuple[str, ...]] = {}

    def read(self, sources: OptionFiles, credentials: Credentials | None) -> Parsed[Options]:
        """Returns the options in the option files of one server and in the files they include.

        A later setting overrides an earlier one. Included files cannot include further files. A
        file that is absent or that the server cannot read is treated as empty. Never raises:
        malformed lines, oversized files and reached limits add exceptions to `Parsed.faults`.

        sources: the option files of the server.
        credentials: those of the server. None means that they are unknown, and that only files
            that every user can read are read.
        """
        return _ServerReader(
            self._root, sources.suffix, credentials, OptionBudget(whole=self._whole), self._listed
        ).read(sources)


class _ServerReader:
    """Reads the option files of one server."""

    def __init__(
        self,
        root: Path,
        suffix: str,
        credentials: Credentials | None,
        budget: OptionBudget,
        listed: dict[tuple[str, Credentials | None], tuple[str, ...]],
    ) -> None:
        self._root = root
        self._suffix = suffix
        self._credentials = credentials
        self._budget = budget
        self._listed = listed
        self._faults = Faults()

    def read(self, sources: OptionFiles) -> Parsed[Options]:
        options: dict[str, str | bool] = {}
        budget = self._budget
        for path in sources.paths:
            for item in self._items(path):
                if isinstance(item, OptionSetting):
                    options[item.name] = item.value
                    continue
                too_many = LimitReached(f"{path}: too many included files; the rest is not read")
                if budget.includes <= 0:
                    self._faults.add(too_many)
                    break
                included_paths = self._included_paths(item)
                if len(included_paths) > budget.includes:
                    self._faults.add(too_many)
                included_paths = included_paths[: budget.includes]
                # A line costs at least one, so that lines which include nothing are limited too.
                budget.subtract(includes=max(1, len(included_paths)))
                for included_path in included_paths:
                    for inner in self._items(included_path):
                        if isinstance(inner, OptionSetting):
                            options[inner.name] = inner.value
        return Parsed(options, self._faults.listed())

    def _items(self, path: str) -> tuple[OptionSetting | OptionInclude, ...]:
        budget, faults = self._budget, self._faults
        limit = max(min(_MAX_OPTION_FILE_BYTES, budget.size_bytes), 0)
        try:
            file = files.path_below(self._root, files.resolve_symlinks(self._root, path))
            content = untrusted_file.read_named(file, limit, self._refusal)
        except TooLargeFile:
            faults.add(
                LimitReached(f"{path}: not read: it is larger than the remaining {limit} bytes")
            )
            return ()
        except UnusableFile as e:
            faults.add(ParseError(f"{path}: not read: {e.strerror}"))
            return ()
        # The file is absent or cannot be read. ValueError means that the path has a null byte.
        except (OSError, ValueError):
            return ()
        budget.subtract(size_bytes=len(content))
        text = content.decode("utf-8", "backslashreplace")
        parsed = mysql_directories.parse_option_file(text, self._suffix)
        faults.extend(type(fault)(f"{path}: {fault}") for fault in parsed.faults)
        return parsed.value

    def _included_paths(self, include: OptionInclude) -> tuple[str, ...]:
        if not include.is_directory:
            return (include.path,)
        directory = files.resolve_symlinks(self._root, include.path)
        key = directory, self._credentials
        if key not in self._listed:
            self._listed[key] = self._option_names(include.path, directory)
        return tuple(f"{include.path.rstrip('/')}/{name}" for name in self._listed[key])

    def _option_names(self, path: str, directory: str) -> tuple[str, ...]:
        """Returns the names of the option files in a directory."""
        limit = max(self._budget.names, 0)
        try:
            names = untrusted_file.list_named(
                files.path_below(self._root, directory), limit, self._refusal
            )
        except TooLargeFile:
            self._budget.subtract(names=limit)
            self._faults.add(
                LimitReached(f"{path}: not read: it has more than the remaining {limit} names")
            )
            return ()
        except (OSError, ValueError):
            return ()
        # A directory costs at least one, so that empty ones are limited as well.
        self._budget.subtract(names=max(1, len(names)))
        return tuple(name for name in names if name.endswith(".cnf"))

    def _refusal(self, status: os.stat_result) -> str:
        if not may_read(self._credentials, status):
            # As if this process had no permission either.
            raise PermissionError
        return ""


def may_read(credentials: Credentials | None, status: os.stat_result) -> bool:
    """Returns True if a server can read a file or a directory with this status.

    Access control lists (acl(5)) are not considered.

    credentials: those of the server; None if they are unknown.
    """
    if status.st_mode & stat.S_IROTH:
        return True
    if credentials is None:
        return False
    if credentials.uid in (0, status.st_uid):
        return True
    return bool(status.st_mode & stat.S_IRGRP) and status.st_gid in credentials.groups
