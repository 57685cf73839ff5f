"""Writes log records to standard error, one line each, as logfmt or JSON.

Under systemd the lines carry the journal's priority prefix and no timestamp, because the journal
records the time itself.
"""

import json
import logging
import os
import sys
import time

#: The journal's priority for each log level. A line that starts with <N> has priority N in the
#: journal; see sd-daemon(3).
_PRIORITY = {logging.DEBUG: 7, logging.INFO: 6, logging.WARNING: 4, logging.ERROR: 3}


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
            "source": record.name.removeprefix("exporter."),
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


def configure(level: str, layout: str) -> None:
    """Send all log records of `level` and above to standard error.

    level: debug, info, warning or error.
    layout: "logfmt" or "json".
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(LineFormatter(layout, journal="JOURNAL_STREAM" in os.environ))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)


def _quoted(value: str) -> str:
    plain = value.isprintable() and not any(c in value for c in ' "=\\')
    return value if value and plain else json.dumps(value)
