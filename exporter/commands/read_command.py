"""``ssd-exporter read [FILE ...]``: shows how the exporter interprets saved output of smartctl.

The command is for drives of other hosts and for bug reports. It needs no privileges, no
configuration and no drive, and starts no program.
"""

import argparse
import io
import json
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TextIO, cast

from exporter.commands import check, check_table
from exporter.commands.registry import Command
from exporter.config.settings import Settings
from exporter.drives.watched_drive import WatchedDrive
from exporter.reading import read_details, read_values
from exporter.reading.read_input import STANDARD_INPUT, Document, Stream, documents
from exporter.reading.read_values import ReadDrive
from exporter.report.formatting import encodable, has_colour, terminal_width
from exporter.runtime.errors import ConfigError
from exporter.runtime.printable import printable, with_control_characters
from exporter.smart.drive_problems import Answers, CheckThresholds

#: The exit status if a document cannot be read.
_UNREADABLE = 1

#: Minimum and maximum width of the text, in characters, and the width if the output is no terminal.
_MIN_WIDTH, _MAX_WIDTH, _DEFAULT_WIDTH = 60, 120, 100


@dataclass(frozen=True, slots=True)
class _Shown:
    """What the text shows of a drive."""

    document: Document
    watched: WatchedDrive
    identity: str
    details: str


def run(
    files: Sequence[str],
    *,
    as_json: bool,
    out: TextIO,
    standard_input: Stream,
) -> int:
    """Prints the values in the documents of the files. Returns 0, or 1 if one cannot be read.

    files: paths; "-" is standard input. Without a file, standard input is read.
    as_json: print one JSON object per document, each on a line of its own.
    """
    found = _read(files or [STANDARD_INPUT], standard_input)
    if as_json:
        return _write_json(found, out)
    return _write_text(found, out)


def _read(
    files: Iterable[str], standard_input: Stream
) -> Iterator[tuple[Document, ReadDrive | None]]:
    """Yields each document, and what it means. None means that it cannot be read."""
    for file in files:
        for document in documents(file, standard_input):
            if document.report is None:
                yield document, None
                continue
            drive = read_values.interpreted(document, document.report)
            if drive is None:
                error = "the report contains neither a drive nor a message of smartctl"
                yield replace(document, report=None, error=error), None
            else:
                yield drive.document, drive


def _write_json(found: Iterable[tuple[Document, ReadDrive | None]], out: TextIO) -> int:
    status = 0
    for document, drive in found:
        if drive is None:
            status = _UNREADABLE
            plain = {"input": read_values.plain_input(document), "error": document.error}
        else:
            plain = read_values.plain(drive)
        # All other characters that are not printable are escaped already.
        text = json.dumps(plain, allow_nan=False).replace("\x7f", "\\u007f")
        out.write(f"{text}\n")
    return status


def _write_text(
    found: Iterable[tuple[Document, ReadDrive | None]],
    out: TextIO,
) -> int:
    width = terminal_width(_DEFAULT_WIDTH, _MIN_WIDTH, _MAX_WIDTH)
    shown: list[_Shown] = []
    unreadable: list[Document] = []
    numbers: Counter[str] = Counter()
    for document, drive in found:
        numbers[document.file] += 1
        if drive is None:
            unreadable.append(document)
        else:
            shown.append(_shown(drive, width))
    drives, texts = [], []
    for each in shown:
        is_only = numbers[each.document.file] == 1
        name = read_values.name_of(each.document, is_only=is_only)
        drives.append(replace(each.watched, label=os.path.basename(name)))
        texts.append(f"\n{printable(name)}\n{each.identity}{each.details}")
    problem = ""
    if unreadable:
        total = sum(numbers.values())
        problem = f"{len(unreadable)} of {total} documents could not be read"
        if total == 1:
            problem = "the document could not be read"
    result = check.report(Answers(tuple(drives), problem=problem), CheckThresholds())
    layout = check_table.Layout(width=width, has_details=False)
    if problem in result.summary:
        result = replace(result, problem="")
    table = check_table.text(result, layout, colour=has_colour(out))
    if unreadable:
        texts.append(f"\n{read_details.unreadable(unreadable, width)}")
    # All parts are printable except for the colours.
    with_control_characters(out).writelines(encodable(part, out) for part in (table, *texts))
    return _UNREADABLE if unreadable else 0


def _shown(drive: ReadDrive, width: int) -> _Shown:
    """Returns what the text shows of a drive, without the attributes, which take much memory."""
    watched, health = drive.watched, drive.watched.health
    if health is not None:
        failed = tuple(row for row in health.attributes if row.failed)
        watched = replace(watched, health=replace(health, attributes=failed))
    return _Shown(
        drive.document,
        watched,
        read_details.identity(drive, width),
        read_details.details(drive, width),
    )


def _add_arguments(p: argparse.ArgumentParser) -> None:
    p.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="saved output of `smartctl -x --json` or `smartctl -x`, also several documents in one"
        " file, also compressed with gzip; - or no FILE: standard input",
    )
    p.add_argument(
        "--json", action="store_true", help="print one JSON object per document, one per line"
    )


def _run(settings: Settings, arguments: argparse.Namespace) -> int:
    del settings
    # sys.stdin is None if the caller has closed standard input.
    is_open = sys.stdin is not None
    if STANDARD_INPUT in (arguments.files or [STANDARD_INPUT]):
        if not is_open:
            raise ConfigError("standard input is closed", "name a FILE")
        if sys.stdin.isatty():
            sys.stderr.write("reading standard input; Ctrl-D ends it\n")
    return run(
        arguments.files,
        as_json=arguments.json,
        out=sys.stdout,
        standard_input=cast("Stream", sys.stdin.buffer if is_open else io.BytesIO()),
    )


COMMAND = Command(
    "Show how saved output of smartctl is interpreted: each value with its source and rule, and the"
    " values that are not used. Needs no privileges and no drive. Exit status 0: every document"
    " was read, 1: a document could not be read, 2: a mistake in the arguments.",
    _add_arguments,
    _run,
    reads_settings=False,
)
