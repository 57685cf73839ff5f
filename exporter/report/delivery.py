"""Prints a report, and writes it to an HTML file."""

from pathlib import Path
from typing import TextIO

from exporter.report import content, html_page, terminal
from exporter.report.content import Report
from exporter.report.formatting import encodable
from exporter.runtime import output_file
from exporter.runtime.errors import ConfigError
from exporter.runtime.printable import printable


def deliver(report: Report, out: TextIO, *, as_json: bool, html: Path | None) -> None:
    """Prints the report, and then writes the HTML file.

    as_json: True prints JSON instead of text. The path of the HTML file is then not printed,
        because the output must be valid JSON.
    html: the path of the HTML file; None means that no such file is written.

    Raises:
        ConfigError: the HTML file cannot be written. The report has already been printed.
    """
    if as_json:
        out.write(content.json_text(report))
    else:
        terminal.write(report, out)
    out.flush()
    if html is None:
        return
    try:
        # Like any new file: the umask decides who can read it.
        output_file.write(html, html_page.html(report).encode(), 0o666)
    except (OSError, ValueError) as e:
        raise _error(html, e) from e
    if not as_json:
        out.write(encodable(f"\nHTML report: {printable(str(html.absolute()))}\n", out))
        out.flush()


def check(html: Path | None) -> None:
    """Checks that the HTML file can be written. Call it before the measurement.

    html: the path of the HTML file; None means that there is nothing to check.

    Raises:
        ConfigError: the file cannot be written.
    """
    if html is None:
        return
    try:
        output_file.check(html)
    except (OSError, ValueError) as e:
        raise _error(html, e) from e


def _error(path: Path, e: OSError | ValueError) -> ConfigError:
    why = e.strerror if isinstance(e, OSError) and e.strerror else str(e)
    return ConfigError(
        f"the HTML report cannot be written to {path}: {why}",
        "use another file for --html, in a writable directory",
    )
