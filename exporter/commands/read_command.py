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
from exporter.drives.nvme_logs.controller import Controller
from exporter.drives.watched_drive import WatchedDrive
from exporter.reading import raw_log, read_details, read_values
from exporter.reading.input_file import STANDARD_INPUT, Stream, file_bytes
from exporter.reading.read_input import Document, documents
from exporter.reading.read_values import ReadDrive
from exporter.report.formatting import encodable, has_colour, terminal_width
from exporter.runtime.errors import ConfigError, ParseError, ReadError
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


def run_log(
    files: Sequence[str],
    page: int,
    controller: Controller,
    *,
    as_json: bool,
    out: TextIO,
    standard_input: Stream,
) -> int:
    """Prints the values in raw log pages, one per file. Returns 0, or 1 if one cannot be read.

    files: paths; "-" is standard input. Without a file, standard input is read.
    page: the log page identifier. controller: what is known of the drive.
    as_json: print one JSON object per page, each on a line of its own.
    """
    status = 0
    width = terminal_width(_DEFAULT_WIDTH, _MIN_WIDTH, _MAX_WIDTH)
    for file in files or [STANDARD_INPUT]:
        name = "standard input" if file == STANDARD_INPUT else file
        try:
            data = raw_log.page_bytes(file_bytes(file, standard_input, raw_log.MAX_FILE_BYTES))
            rows = raw_log.log_rows(page, data, controller)
        except (ParseError, ReadError) as e:
            status = _UNREADABLE
            plain = {"input": {"file": file}, "error": str(e)}
            text = f"{name}: could not be read: {e}\n"
        else:
            plain = {"input": {"file": file}, **raw_log.plain_log(page, rows)}
            text = read_details.pairs([(row.name, row.text) for row in rows], width)
            text = f"{name}, log page {page:02X}h\n{text}"
        shown = f"{json.dumps(plain, allow_nan=False)}\n" if as_json else printable_lines(text)
        out.write(encodable(shown, out))
    return status


def printable_lines(text: str) -> str:
    """Returns the lines of a text without characters that are not printable."""
    return "\n".join(printable(line) for line in text.split("\n"))


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
    p.add_argument(
        "--log",
        metavar="PAGE",
        type=_log_page,
        help="read one raw NVMe log page per FILE instead, such as 0xc0: binary, or the hex dump of"
        " `smartctl -l nvmelog` or `nvme get-log`",
    )
    p.add_argument(
        "--vendor",
        metavar="ID",
        type=_vendor_id,
        help="PCI vendor ID of the drive, such as 0x8086, if --log is a page of the vendor",
    )
    p.add_argument(
        "--model", default="", help="model of the drive, if the layout of --log depends on it"
    )


def _log_page(text: str) -> int:
    return _number(text, 0xFF, "a log page such as 0xc0")


def _vendor_id(text: str) -> int:
    return _number(text, 0xFFFF, "a PCI vendor ID such as 0x8086")


def _number(text: str, maximum: int, kind: str) -> int:
    try:
        number = int(text, 0) if len(text) <= 8 else -1
    except ValueError:
        number = -1
    if not 0 <= number <= maximum:
        raise argparse.ArgumentTypeError(f"not {kind}: {printable(text)}")
    return number


def _run(settings: Settings, arguments: argparse.Namespace) -> int:
    del settings
    # sys.stdin is None if the caller has closed standard input.
    is_open = sys.stdin is not None
    if STANDARD_INPUT in (arguments.files or [STANDARD_INPUT]):
        if not is_open:
            raise ConfigError("standard input is closed", "name a FILE")
        if sys.stdin.isatty():
            sys.stderr.write("reading standard input; Ctrl-D ends it\n")
    standard_input = cast("Stream", sys.stdin.buffer if is_open else io.BytesIO())
    if arguments.log is not None:
        return run_log(
            arguments.files,
            arguments.log,
            Controller(vendor_id=arguments.vendor, model=arguments.model),
            as_json=arguments.json,
            out=sys.stdout,
            standard_input=standard_input,
        )
    if arguments.vendor is not None or arguments.model:
        raise ConfigError("--vendor and --model describe a raw page", "add --log PAGE")
    return run(
        arguments.files,
        as_json=arguments.json,
        out=sys.stdout,
        standard_input=standard_input,
    )


COMMAND = Command(
    "Show how saved output of smartctl is interpreted: each value with its source and rule, and the"
    " values that are not used. Needs no privileges and no drive. Exit status 0: every document"
    " was read, 1: a document could not be read, 2: a mistake in the arguments.",
    _add_arguments,
    _run,
    reads_settings=False,
)
