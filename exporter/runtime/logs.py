"""Writes log records to standard error, one line each, as logfmt or JSON.

Under systemd the lines carry the journal's priority prefix and no timestamp, because the journal
records the time itself.
"""

import contextlib
import json
import logging
import os
import select
import sys
import time
from collections.abc import Callable
from typing import TextIO

#: The journal's priority for each log level. A line that starts with <N> has priority N in the
#: journal; see sd-daemon(3).
_PRIORITY = {logging.DEBUG: 7, logging.INFO: 6, logging.WARNING: 4, logging.ERROR: 3}


#: Maximum time that a log line waits for a blocked reader of standard error, in seconds. The
#: process must end within seconds after SIGTERM.
_MAX_WAIT_SECONDS = 0.5

#: Minimum time between two lines about exceptions from the same place, in seconds.
_REPEAT_SECONDS = 3600.0

#: The maximum number of places whose exceptions are logged. It limits the memory and the log.
_MAX_PLACES = 100


class UnexpectedErrors:
    """Logs exceptions that no code expects, which are mistakes in this program.

    The first exception from a place in the code is logged with its traceback. Later ones from the
    same place are logged once an hour, so that a mistake that a client can trigger at will does not
    fill the log. Any thread may call its methods.

    monotonic: returns the monotonic time in seconds.
    """

    def __init__(
        self, log: logging.Logger, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._log = log
        self._monotonic = monotonic
        #: The time of the last line, keyed by the type of the exception, the file and the line.
        self._logged: dict[tuple[type[Exception], str, int], float] = {}

    def record(self, error: Exception, what: str) -> None:
        """Log an exception that has been caught.

        what: what failed, as the begin of a sentence.
        """
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        name = trace.tb_frame.f_code.co_filename if trace else ""
        place = type(error), name, trace.tb_lineno if trace else 0
        now = self._monotonic()
        last = self._logged.get(place)
        if last is None and len(self._logged) < _MAX_PLACES:
            self._logged[place] = now
            self._log.error("%s; please report this", what, exc_info=error)
        elif last is not None and now - last >= _REPEAT_SECONDS:
            self._logged[place] = now
            self._log.error("%s again: %s: %s", what, type(error).__name__, error)


class LineFormatter(logging.Formatter):
    """Formats a log record as one line, also if the message contains line breaks.

    layout: "logfmt" or "json".
    journal: the output is systemd's journal. Each line starts with its priority and has no
        timestamp.
    """

    def __init__(self, layout: str, *, journal: bool) -> None:
        super().__init__()
        self._layout = layout
        self._journal = journal

    def format(self, record: logging.LogRecord) -> str:
        fields = {
            "level": record.levelname.lower(),
            "source": record.name.removeprefix("exporter.").removeprefix("runtime."),
            "msg": record.getMessage(),
        }
        if record.exc_info:
            fields["trace"] = self.formatException(record.exc_info)
        if not self._journal:
            stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
            fields = {"ts": f"{stamp}.{int(record.msecs):03d}Z"} | fields
        if self._layout == "json":
            line = json.dumps(fields)
        else:
            line = " ".join(f"{key}={_quoted(value)}" for key, value in fields.items())
        return f"<{_PRIORITY.get(record.levelno, 6)}>{line}" if self._journal else line


class BoundedHandler(logging.Handler):
    """Writes log lines to a stream, but waits for a blocked reader only for a limited time.

    Standard error can be a pipe whose reader is stopped. A write then blocks for ever, and the
    process would not end at SIGTERM. This handler drops lines while the stream is blocked, and
    reports their number afterwards.
    """

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream
        self._dropped = 0
        self._is_cut = False

    def emit(self, record: logging.LogRecord) -> None:
        """Write the line, or drop it if the stream stays blocked. Never raises an exception."""
        try:
            line = self.format(record)
        except (TypeError, ValueError):
            # The arguments do not fit the message.
            self.handleError(record)
            return
        # OSError: the reader of the pipe has ended, or the disk is full. ValueError: the stream is
        # closed. Neither can be reported.
        with contextlib.suppress(OSError, ValueError):
            descriptor = _descriptor(self._stream)
            if descriptor is None:
                self._stream.write(f"{line}\n")
            elif self._dropped and not _is_writable(descriptor, 0.0):
                # While the stream is blocked, later lines are dropped at once.
                self._dropped += 1
            else:
                self._write(descriptor, self._report(record) + line)

    def _write(self, descriptor: int, text: str) -> None:
        rest = f"{text}\n".encode("utf-8", "backslashreplace")
        begin = len(rest)
        while rest:
            if not _is_writable(descriptor, _MAX_WAIT_SECONDS):
                self._dropped += 1
                self._is_cut = len(rest) < begin
                return
            # A pipe that is writable accepts this many bytes without blocking (pipe(7)).
            rest = rest[os.write(descriptor, rest[: select.PIPE_BUF]) :]

    def _report(self, record: logging.LogRecord) -> str:
        """Returns the line that reports dropped lines; empty if no line was dropped."""
        if not self._dropped:
            return ""
        message = f"standard error was blocked: {self._dropped} log lines were dropped"
        report = logging.LogRecord(__name__, logging.WARNING, "", 0, message, None, None)
        report.created, report.msecs = record.created, record.msecs
        end = "\n" if self._is_cut else ""
        self._dropped, self._is_cut = 0, False
        return f"{end}{self.format(report)}\n"


def _descriptor(stream: TextIO) -> int | None:
    """Returns the file descriptor of a stream; None if it has none, as in tests."""
    try:
        stream.flush()
        return stream.fileno()
    except (AttributeError, OSError, ValueError):
        return None


def _is_writable(descriptor: int, wait_seconds: float) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    return bool(poll.poll(wait_seconds * 1000))


def is_journal(stream: TextIO, variable: str) -> bool:
    """Returns True if a stream is connected to systemd's journal.

    variable: the value of $JOURNAL_STREAM: device and inode of the journal's socket, such as
        "8:1234" (systemd.exec(5)). A process inherits the variable also if its output is redirected
        to a file, so it must be compared with the stream.
    """
    descriptor = _descriptor(stream)
    if descriptor is None or not variable:
        return False
    try:
        status = os.fstat(descriptor)
    except OSError:
        return False
    return variable == f"{status.st_dev}:{status.st_ino}"


def configure(level: str, layout: str) -> None:
    """Send all log records of `level` and above to standard error.

    level: debug, info, warning or error.
    layout: "logfmt" or "json".
    """
    handler = BoundedHandler(sys.stderr)
    variable = os.environ.get("JOURNAL_STREAM", "")
    handler.setFormatter(LineFormatter(layout, journal=is_journal(sys.stderr, variable)))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)


def _quoted(value: str) -> str:
    plain = value.isprintable() and not any(c in value for c in ' "=\\')
    return value if value and plain else json.dumps(value)
