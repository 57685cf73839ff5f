"""What can go wrong, and whose business it is.

::

    ExporterError
    ├── ConfigError                   at start or reload, the operator's to mend: exit 2
    └── SourceError        reason     one source failed, the others go on
        ├── NotAvailable       not_there  this kernel or drive lacks it: no samples, and no failure
        ├── ReadError      read       it is there and cannot be read: rights, I/O error, size
        ├── ParseError     parse      it was read and not understood: file, place, the text itself
        └── CommandError   command    a program could not be run, or ran and failed

``reason`` becomes a label value, so the set of reasons is closed here.
"""

from typing import ClassVar


class ExporterError(Exception):
    """The root of everything this project raises on purpose."""


class ConfigError(ExporterError):
    """The operator asked for something that cannot be done; `hint` says what to do about it.

    One line, whatever stands in the keys and paths that the message shows.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        whole = f"{message}; {hint}" if hint else message
        super().__init__("".join(c if c.isprintable() else repr(c)[1:-1] for c in whole))


class SourceError(ExporterError):
    """One source of data failed."""

    reason: ClassVar[str] = "source"


class NotAvailable(SourceError):
    """The kernel or the drive does not offer this."""

    reason = "not_there"


class ReadError(SourceError):
    """The source exists and could not be read."""

    reason = "read"


class ParseError(SourceError):
    """The source was read and not understood."""

    reason = "parse"


class CommandError(SourceError):
    """A program could not be started, failed, or did not end in time."""

    reason = "command"
