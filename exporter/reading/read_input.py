"""Reads saved output of smartctl from files or standard input, one document after the other.

A document is the output of smartctl for one drive, as JSON or text. A file may contain several
documents of both forms. The JSON of nvme-cli is read too (`nvme_cli`), and its text of some log
pages (`nvme_cli_logs`). At most two documents are in memory at a time: the current one, and the
previous one if both may be joined.

A line that begins with "{" starts a JSON document. smartctl's banner ("smartctl 7.3 ...") starts a
text. So a document that cannot be read does not affect the next one. Files that gzip has compressed
are read too.
"""

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from exporter.drives.fields import Json
from exporter.drives.smartctl_text.text_report import is_banner, parse_text
from exporter.reading import nvme_cli, nvme_cli_logs
from exporter.reading.document_part import DocumentPart as _Part
from exporter.reading.document_part import is_introduction, json_after_text, unknown_text
from exporter.reading.input_file import STANDARD_INPUT, Stream, decompressed, opened
from exporter.report.formatting import quantity
from exporter.runtime.errors import ParseError, ReadError
from exporter.smart.smartctl import decoded, with_other_text

#: How often it is tested whether a line "}" ends a JSON document. In the output of smartctl it is
#: the first such line. The limit bounds the time for other documents.
_MAX_END_TESTS = 100

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

#: The keys of which smartctl's JSON contains at least one.
_REPORT_KEYS = frozenset(
    {"smartctl", "device", "model_name", "serial_number", "ata_smart_attributes"}
    | {"nvme_smart_health_information_log", "scsi_error_counter_log"}
)


@dataclass(frozen=True, slots=True)
class InputLimits:
    """Limits of memory and time for one input. The input may be endless.

    line_bytes: the largest size of one line.
    document_bytes: the largest size of one document. Reports of real drives have up to 150 KB with
        all logs. It is the limit of the agent's documents, too.
    document_lines: the largest number of lines of one document. Indented JSON with all logs has
        about 10,000.
    input_bytes: the largest size of one input, after decompression. The documents of 6,756 drives
        have 50 MB.
    input_lines: the largest number of lines of one input.
    """

    line_bytes: int = 4 << 20
    document_bytes: int = 4 << 20
    document_lines: int = 100_000
    input_bytes: int = 1 << 30
    input_lines: int = 10_000_000


@dataclass(frozen=True, slots=True)
class Document:
    """One document of the input.

    file: the name of the file as the user gave it; "-" is standard input.
    number: the position in the file, from 1.
    line: the number of the first line, from 1.
    form: "json" or "text" of smartctl, or "nvme-cli"; empty if unknown.
    report: the document in the structure of smartctl's JSON. None if it cannot be read.
    error: why it cannot be read, and what to do, as text for people; else empty.
    """

    file: str
    number: int
    line: int
    form: str = ""
    report: Json | None = None
    error: str = ""


class _Line(NamedTuple):
    """A line of the input. content: None if it is too long."""

    number: int
    content: bytes | None


def documents(
    file: str, standard_input: Stream, limits: InputLimits | None = None
) -> Iterator[Document]:
    """Yields the documents of one input, in order. A failure yields a document with an error.

    file: the path of a file, or "-" for standard input. limits: None means the default limits.
    """
    limits = limits or InputLimits()
    number = 0
    try:
        stream = standard_input if file == STANDARD_INPUT else opened(file)
    except ReadError as e:
        yield Document(file, 1, 1, error=str(e))
        return
    try:
        for part in nvme_cli.joined(_parts(_Assembly(limits), _lines(stream, limits))):
            number += 1
            yield Document(file, number, *part)
    except ReadError as e:
        number += 1
        yield Document(file, number, 1, error=str(e))
    finally:
        if stream is not standard_input:
            stream.close()
    if not number:
        yield Document(file, 1, 1, error="empty: it contains no document")


def _lines(stream: Stream, limits: InputLimits) -> Iterator[_Line]:
    """Yields the lines of a stream with their line ends.

    Raises:
        ReadError: the stream cannot be read, is damaged, or is too long.
    """
    size = number = 0
    try:
        source = decompressed(stream)
        while content := source.readline(limits.line_bytes + 1):
            number += 1
            size += len(content)
            is_long = len(content) > limits.line_bytes
            while is_long and not content.endswith(b"\n") and size <= limits.input_bytes:
                content = source.readline(limits.line_bytes)
                size += len(content)
                if not content:
                    break
            if size > limits.input_bytes:
                raise ReadError(f"longer than {_size(limits.input_bytes)}: split it")
            if number > limits.input_lines:
                raise ReadError(f"more than {limits.input_lines:,} lines: split it")
            if number == 1:
                content = content.removeprefix(_BYTE_ORDER_MARK)
            yield _Line(number, None if is_long else content)
    except (OSError, EOFError, zlib.error) as e:
        reason = getattr(e, "strerror", None) or str(e)
        raise ReadError(f"cannot be read after line {number}: {reason}") from e


class _Assembly:
    """The lines of the document that is being read.

    introduction: the text that belongs to the document and stands before it.
    """

    def __init__(self, limits: InputLimits) -> None:
        self._limits = limits
        self.introduction = ""
        self.clear()

    def clear(self) -> None:
        """Drops the lines."""
        self.lines: list[bytes] = []
        self.form = ""
        self.start = 0
        self.error = ""
        self._size = 0
        self._end_tests = 0

    def add(self, line: _Line) -> None:
        """Adds a line. If the document becomes too long, keep only the reason."""
        if not self.start:
            self.start = line.number
        if line.content is None:
            self.error = f"a line is longer than {_size(self._limits.line_bytes)}"
        elif not self.error:
            self.lines.append(line.content)
            self._size += len(line.content)
            if self._size > self._limits.document_bytes:
                self.error = f"longer than {_size(self._limits.document_bytes)}"
            elif len(self.lines) > self._limits.document_lines:
                self.error = f"more than {self._limits.document_lines:,} lines"
        if self.error:
            self.lines.clear()

    @property
    def content(self) -> str:
        """The text of the document. Bytes that are not valid UTF-8 are replaced."""
        return b"".join(self.lines).decode("utf-8", "replace")

    def may_end(self, line: bytes) -> bool:
        """True if a JSON document may end with this line, so that it is worth a test."""
        if self.form != "json" or self.error or not line.rstrip().endswith(b"}"):
            return False
        if len(self.lines) > 1 and not line.startswith(b"}"):
            return False
        self._end_tests += 1
        return self._end_tests <= _MAX_END_TESTS


def _parts(document: _Assembly, lines: Iterator[_Line]) -> Iterator[_Part]:
    for line in _divided(lines, document):
        content = line.content
        form = _form_at_start(content)
        if form and document.start and not _continues(document, content or b""):
            yield from _ended(document, form, content)
        if not document.start:
            if content is not None and not content.strip():
                continue
            document.form = form or "text"
        document.add(line)
        if content is not None and document.may_end(content):
            try:
                found = list(_json_parts(document))
            except ParseError:
                continue
            document.clear()
            yield from found
    if document.start:
        yield from _ended(document)


def _divided(lines: Iterator[_Line], document: _Assembly) -> Iterator[_Line]:
    """Yields the lines. One in which JSON starts after other text is divided into two."""
    for line in lines:
        at = 0 if document.form == "json" else json_after_text(line.content or b"")
        if at and line.content is not None:
            yield _Line(line.number, line.content[:at])
            line = line._replace(content=line.content[at:])  # noqa: PLW2901
        yield line


def _form_at_start(content: bytes | None) -> str:
    """Returns the form of the document that starts with this line; empty if none starts there."""
    if content is None:
        return ""
    if content.startswith(b"{"):
        return "json"
    if nvme_cli_logs.is_log_text(content[:100].decode("utf-8", "replace")):
        return "text"
    is_start = content.lstrip().startswith(b"smartctl ")
    return "text" if is_start and is_banner(content.decode("utf-8", "replace")) else ""


def _continues(document: _Assembly, content: bytes) -> bool:
    """True if a line "{" belongs to the JSON document before it, which has no indentation."""
    if document.form != "json" or content.strip() != b"{" or not document.lines:
        return False
    return document.lines[-1].rstrip().endswith((b"[", b",", b":"))


def _ended(document: _Assembly, next_form: str = "", following: bytes | None = None) -> list[_Part]:
    """Returns the parts of a document whose last line was read, and clears it.

    next_form, following: the form and the first line of the next document, if there is one.
    """
    start, form, error = document.start, document.form, document.error
    introduction = ""
    if error:
        parts = [_Part(start, form, None, f"{error}: it is not the output of smartctl")]
    elif form == "json":
        try:
            parts = list(_json_parts(document))
        except ParseError as e:
            parts = [_Part(start, form, None, f"the JSON cannot be parsed: {e}")]
    elif is_introduction(document.content, next_form, following or b""):
        introduction, parts = document.content, []
    else:
        parts = [_text_part(start, document.content)]
    document.clear()
    document.introduction = introduction
    return parts


def _json_parts(document: _Assembly) -> Iterator[_Part]:
    """Yields the JSON documents in the lines.

    Raises:
        ParseError: the JSON is cut off or invalid. No document was yielded then: documents before
            the invalid one are yielded, and the invalid one is yielded as an error.
    """
    text = document.content
    position = 0
    line = document.start
    while position < len(text):
        try:
            report, end = decoded(text, position)
        except ParseError as e:
            if not position:
                raise
            yield _Part(line, "json", None, f"the JSON cannot be parsed: {e}")
            return
        rest = text[end:].lstrip(" \t\r\n,")
        other = "" if rest.startswith("{") else rest
        yield _json_part(line, with_other_text(report, document.introduction, other))
        document.introduction = ""
        if other:
            return
        line += text.count("\n", position, len(text) - len(rest))
        position = len(text) - len(rest)


def _json_part(line: int, report: Json) -> _Part:
    if "devices" in report and "device" not in report:
        error = (
            "a list of drives (`smartctl --scan`), not the report of a drive: save"
            " `smartctl -x --json DEVICE` of each of them"
        )
    elif nvme_cli.is_list(report):
        error = "a list of drives (`nvme list`): save `nvme id-ctrl` and `nvme smart-log`"
    elif not _REPORT_KEYS & report.keys() and not nvme_cli.is_nvme_cli(report):
        error = "a JSON object that is not the output of `smartctl --json` or `nvme smart-log`"
    else:
        return _Part(line, "json", report)
    return _Part(line, "json", None, error)


def _text_part(line: int, text: str) -> _Part:
    log = nvme_cli_logs.parse_log_text(text)
    if log is not None:
        return _Part(line, "text", log)
    report = parse_text(text)
    if report is None:
        return _Part(line, "", None, unknown_text(text))
    program = report.get("smartctl")
    has_messages = isinstance(program, dict) and "messages" in program
    if report.get("device") is None and not has_messages:
        return _Part(
            line, "text", None, "smartctl's output without a drive: save that of `smartctl -x`"
        )
    return _Part(line, "text", report)


def _size(number: int) -> str:
    return quantity(number, "B")
