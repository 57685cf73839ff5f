"""Log lines for the journal: one a line, key=value or JSON, on standard error."""

import json
import logging
import os
import sys
import time

#: sd-daemon(3): a line that begins with <N> has priority N in the journal.
_PRIORITY = {logging.DEBUG: 7, logging.INFO: 6, logging.WARNING: 4, logging.ERROR: 3}


class LineFormatter(logging.Formatter):
    """One event, one line, whatever stands in the message."""

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
    """Send every log line to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(LineFormatter(layout, journal="JOURNAL_STREAM" in os.environ))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)


def _quoted(value: str) -> str:
    plain = value.isprintable() and not any(c in value for c in ' "=\\')
    return value if value and plain else json.dumps(value)
