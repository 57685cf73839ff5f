"""Prints a report, and writes it to an HTML file."""

import contextlib
import os
import secrets
import stat
from pathlib import Path
from typing import TextIO

from exporter import untrusted_file
from exporter.errors import ConfigError
from exporter.printable import printable
from exporter.report import content, html_page, terminal
from exporter.report.content import Report
from exporter.report.formatting import encodable


def deliver(report: Report, out: TextIO, *, as_json: bool, html: Path | None) -> None:
    """Print the report, then write the HTML file.

    as_json: True prints JSON instead of text. The path of the HTML file is then not printed,
        because the output must be valid JSON.
    html: the path of the HTML file; None means that no such file is written.

    Raises:
        ConfigError: the HTML file cannot be written. At that time the report is already printed.
    """
    if as_json:
        out.write(content.json_text(report))
    else:
        terminal.write(report, out)
    out.flush()
    if html is None:
        return
    _write(html, html_page.html(report))
    if not as_json:
        out.write(encodable(f"\nHTML report: {printable(str(html.absolute()))}\n", out))
        out.flush()


def check(html: Path | None) -> None:
    """Check that the HTML file can be written. Call it before the measurement.

    html: the path of the HTML file; None means that there is nothing to check.

    Raises:
        ConfigError: the file cannot be written.
    """
    if html is None:
        return
    try:
        _require_regular_file(html)
        descriptor, temporary = _created(html)
        os.close(descriptor)
        os.unlink(temporary)
    except (OSError, ValueError) as e:
        raise _error(html, e) from e


def _write(path: Path, text: str) -> None:
    """Write the file, or replace it, in one step. If this fails, an earlier file is unchanged."""
    try:
        _require_regular_file(path)
        descriptor, temporary = _created(path)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
    except (OSError, ValueError) as e:
        raise _error(path, e) from e


def _require_regular_file(path: Path) -> None:
    """Raise ConfigError if the path is a link, a device or a pipe.

    No earlier report can have created it, so it must not be replaced.
    """
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISREG(mode):
        kind = "a link" if stat.S_ISLNK(mode) else "not a regular file"
        raise ConfigError(
            f"the HTML report cannot replace {path}, which is {kind}", "use another file for --html"
        )


def _created(path: Path) -> tuple[int, Path]:
    """Create a new empty file in the directory of `path`; returns its descriptor and path."""
    temporary = path.with_name(f".ssd-exporter.{secrets.token_hex(8)}.new")
    return untrusted_file.create(temporary, 0o666), temporary


def _error(path: Path, e: OSError | ValueError) -> ConfigError:
    why = e.strerror if isinstance(e, OSError) and e.strerror else str(e)
    return ConfigError(
        f"the HTML report cannot be written to {path}: {why}",
        "use a file in a writable directory for --html",
    )
