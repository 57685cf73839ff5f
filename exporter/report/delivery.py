"""Where a report goes: to whoever waits, and as a page into a file."""

import contextlib
import os
import secrets
import stat
from pathlib import Path
from typing import TextIO

from exporter.errors import ConfigError
from exporter.report import content, html_page, terminal
from exporter.report.content import Report
from exporter.report.formatting import encodable, printable


def deliver(report: Report, out: TextIO, *, as_json: bool, html: Path | None) -> None:
    """Print the report, then write the page. JSON stays alone: where the page is goes unsaid.

    Raises:
        ConfigError: the page cannot be written. The report has been printed then.
    """
    if as_json:
        out.write(content.text(report))
    else:
        terminal.write(report, out)
    out.flush()
    if html is None:
        return
    _write(html, html_page.html(report))
    if not as_json:
        out.write(encodable(f"\nThe page: {printable(str(html.absolute()))}\n", out))
        out.flush()


def check(html: Path | None) -> None:
    """Whether a page can be written there; to be asked before an hour of measuring, not after.

    Raises:
        ConfigError: it cannot.
    """
    if html is None:
        return
    try:
        _refuse_what_is_no_file(html)
        descriptor, temporary = _created(html)
        os.close(descriptor)
        os.unlink(temporary)
    except (OSError, ValueError) as e:
        raise _error(html, e) from e


def _write(path: Path, text: str) -> None:
    """The file whole or not at all: who looks meanwhile finds the old one."""
    try:
        _refuse_what_is_no_file(path)
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


def _refuse_what_is_no_file(path: Path) -> None:
    """A link, a device or a pipe was not put there by a report before this one."""
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISREG(mode):
        kind = "a link" if stat.S_ISLNK(mode) else "no ordinary file"
        raise ConfigError(
            f"the page is not written over {path}: that is {kind}", "name another --html"
        )


def _created(path: Path) -> tuple[int, Path]:
    """An empty file beside it, which nobody else can have put there."""
    temporary = path.with_name(f".ssd-exporter.{secrets.token_hex(8)}.new")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(temporary, flags, 0o666), temporary


def _error(path: Path, e: OSError | ValueError) -> ConfigError:
    why = e.strerror if isinstance(e, OSError) and e.strerror else str(e)
    return ConfigError(
        f"the page cannot be written to {path}: {why}",
        "name a file in a directory that you may write, with --html",
    )
