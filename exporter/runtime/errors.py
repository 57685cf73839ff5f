"""Defines the exceptions that this project raises, and the result of parsing (`Parsed`).

::

    ExporterError
    ├── ConfigError                       invalid settings at start or reload; exit status 2
    └── SourceError         reason        one data source failed; the other sources continue
        ├── NotAvailable    not_there     this kernel or drive lacks the source: not a failure
        ├── ReadError       read          the source exists and cannot be read
        │   └── LimitReached  limit       the source is larger than this project reads
        ├── ParseError      parse         the source was read and has an unexpected format
        ├── CommandError    command       a program did not start, failed or timed out
        └── BugError        bug           a mistake in this program, found by an exception

The second column shows ``reason``, which is the value of a metric label. So all its values are
defined here.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

from exporter.runtime.printable import printable

T_co = TypeVar("T_co", covariant=True)

#: The maximum number of faults that are kept of one source. More would not help a reader, and any
#: user can write an option file with a million broken lines.
MAX_FAULTS = 20


class ExporterError(Exception):
    """The base class of all exceptions that this project raises on purpose."""


class ConfigError(ExporterError):
    """The configuration is invalid or cannot be applied.

    The message is always one line: unprintable characters of keys and paths are escaped.

    hint: what the user can do about it. It is added to the message.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        whole = f"{message}; {hint}" if hint else message
        super().__init__(printable(whole))


class SourceError(ExporterError):
    """One data source could not be read completely, such as a file, a program or a drive.

    reason: the kind of failure; the value of a metric label.
    """

    reason: ClassVar[str] = "source"


class NotAvailable(SourceError):
    """The kernel or the drive does not provide this source. This is not a failure."""

    reason = "not_there"


class ReadError(SourceError):
    """The source exists but cannot be read: no permission, an I/O error, or it is too large."""

    reason = "read"


class LimitReached(ReadError):
    """The source is larger than a limit, and the part beyond the limit is not used.

    The limits are listed in docs/limits.md. The message names the limit.
    """

    reason = "limit"


class ParseError(SourceError):
    """The source has an unexpected format.

    The message contains the file, the position and the text that is wrong.
    """

    reason = "parse"


class CommandError(SourceError):
    """A program could not be started, failed, or timed out."""

    reason = "command"


class BugError(SourceError):
    """An exception that no code expects: a mistake in this program.

    cause: the exception. Its traceback is logged.
    what: the part that failed; empty if the message needs none.
    """

    reason = "bug"

    def __init__(self, cause: Exception, what: str = "") -> None:
        begin = f"{what}: " if what else ""
        super().__init__(f"{begin}{type(cause).__name__}: {cause}; please report this")
        self.cause = cause


class Faults:
    """Collects the faults of one source. Keeps the first 20 and counts the rest."""

    __slots__ = ("_kept", "_omitted")

    def __init__(self, faults: Iterable[SourceError] = ()) -> None:
        self._kept: list[SourceError] = []
        self._omitted = 0
        self.extend(faults)

    def add(self, fault: SourceError) -> None:
        """Add a fault."""
        if len(self._kept) < MAX_FAULTS:
            self._kept.append(fault)
        else:
            self._omitted += 1

    def extend(self, faults: Iterable[SourceError]) -> None:
        """Add several faults."""
        for fault in faults:
            self.add(fault)

    @property
    def first(self) -> SourceError | None:
        """The first fault; None if there is none."""
        return self._kept[0] if self._kept else None

    @property
    def is_full(self) -> bool:
        """True if further faults are only counted."""
        return len(self._kept) >= MAX_FAULTS

    def listed(self) -> tuple[SourceError, ...]:
        """Returns the kept faults. If there were more, the last one states their number."""
        if not self._omitted:
            return tuple(self._kept)
        kind = type(self._kept[0])
        return (*self._kept, kind(f"{self._omitted} more faults are not listed"))


@dataclass(frozen=True, slots=True)
class Parsed(Generic[T_co]):
    """The result of parsing. A line that cannot be parsed does not affect the other lines.

    value: the result from the valid lines.
    faults: one exception object for each line or file that could not be used. They are not raised.
    """

    value: T_co
    faults: tuple[SourceError, ...] = ()
