"""Formats how `read` interprets a drive: each value with its source, and what is not used."""

import itertools
import textwrap
from collections.abc import Iterable, Iterator

from exporter.drives.health import Protocol
from exporter.reading import nvme_cli
from exporter.reading.input_file import NOT_OPENED
from exporter.reading.read_input import Document
from exporter.reading.read_values import ReadDrive, ReadValue
from exporter.report.formatting import quantity
from exporter.runtime.printable import printable

#: Minimum width of the column with the source, in characters.
_MIN_SOURCE_WIDTH = 24

_INDENT = "  "
_GAP = "  "
_SECONDS_PER_MINUTE = 60
_SECONDS_PER_HOUR = 3600

_PROTOCOLS = {Protocol.NVME: "NVMe", Protocol.ATA: "SATA", Protocol.SCSI: "SCSI or SAS"}

#: The endings of metric names. They state the unit, and the text shows it with the value.
_ENDINGS = ("_total", "_ratio", "_bytes", "_seconds", "_celsius")

#: Names of metrics whose name would be unclear without the unit.
_NAMES = {
    "power_on_seconds_total": "power-on time",
    "controller_busy_seconds_total": "controller busy time",
    "over_temperature_seconds_total": "time too hot",
    "self_test_passed": "self-test passed",
    "self_test_completed_power_on_seconds": "self-test ended at",
    "firmware_issue_left_seconds": "firmware issue in",
    "exit_bit": "exit bits of smartctl",
}

#: The metrics with the values 1 (yes) and 0 (no).
_YES_NO = ("healthy", "self_test_passed", "plp_healthy", "available", "firmware_issue")

#: The metrics with one flag per label. The text lists the labels whose flag is set.
_FLAG_SETS = ("critical_warning", "exit_bit", "failure_cause", "power_mode")


def details(drive: ReadDrive, width: int) -> str:
    """Returns the values of a drive with their sources, and the values that are not used.

    width: the maximum width in characters.
    """
    parts = list(_table(list(_rows(drive.values)), width))
    rejected = [
        f"{_label(each.metric)} {_quantity(each.metric, each.value)} ({each.rule}): {each.reason}"
        for each in drive.report.health.rejected
    ]
    parts += _section("Reported by the drive, but not used:", rejected, width)
    parts += _section("Could not be parsed:", drive.report.faults, width)
    parts += _section("Messages of smartctl:", drive.report.health.messages, width)
    return "".join(parts)


def unreadable(documents: Iterable[Document], width: int) -> str:
    """Returns the documents that cannot be read, each with its position and the reason."""
    texts = []
    for document in documents:
        file = "standard input" if document.file == "-" else document.file
        # A file that cannot be opened has no lines.
        place = "" if (document.error or "").startswith(NOT_OPENED) else f", line {document.line}"
        texts.append(f"{file}{place}: {document.error}")
    return "".join(_section("Could not be read:", texts, width, indent=""))


def identity(drive: ReadDrive, width: int) -> str:
    """Returns the model, firmware, family and protocol, and the form of the document, as text.

    width: the maximum width in characters.
    """
    reported, form = drive.report.identity, drive.document.form
    program = "nvme-cli" if form == nvme_cli.FORM else f"smartctl {drive.program}".rstrip()
    source = f"{'text' if form == 'text' else 'JSON'} of {program}"
    known = (
        reported.model or "model unknown",
        f"firmware {reported.firmware}" if reported.firmware else "",
        f"family {reported.family}" if reported.family else "",
        _PROTOCOLS[reported.protocol] if reported.protocol else "protocol unknown",
        source,
    )
    return "".join(_wrapped(", ".join(filter(None, known)), width, _INDENT))


def _rows(values: Iterable[ReadValue]) -> Iterator[tuple[str, str, str]]:
    """Yields the name, the value and the source of each line."""
    for metric, group in itertools.groupby(values, key=lambda each: each.metric):
        members = list(group)
        if metric in _FLAG_SETS:
            flags = ", ".join(each.label for each in members if each.value)
            yield _label(metric), flags or "none", _origin(members[0])
            continue
        for each in members:
            name = f"{_label(metric)} ({each.label})" if each.label else _label(metric)
            if metric != "available" or not each.value:
                yield name, _quantity(metric, each.value), _origin(each)


def _origin(value: ReadValue) -> str:
    return f"{value.source}: {value.rule}" if value.rule else value.source


def _label(metric: str) -> str:
    if metric in _NAMES:
        return _NAMES[metric]
    for ending in _ENDINGS:
        metric = metric.removesuffix(ending)
    return metric.replace("_", " ")


def amount(name: str, value: float) -> str:
    """Returns the value with the unit that the end of its name states, such as `_bytes`."""
    if name.endswith(("_percent", "_normalized")):
        return f"{value:,.0f} %"
    return _quantity(name, value)


def pairs(rows: Iterable[tuple[str, str]], width: int) -> str:
    """Returns names and values in two columns. width: the maximum width in characters."""
    return "".join(_table([(name, value, "") for name, value in rows], width))


def _quantity(metric: str, value: float) -> str:
    """Returns the value with the unit that the name of the metric states."""
    name = metric.removesuffix("_total")
    if metric in _YES_NO:
        return "yes" if value else "no"
    if name.endswith("_ratio"):
        return f"{value * 100:.4g} %"
    if name.endswith("_bytes"):
        return quantity(value, "B")
    if name.endswith("_celsius"):
        return f"{value:.0f} C"
    if name.endswith("_seconds"):
        return _time(value)
    return f"{value:,.0f}"


def _time(seconds: float) -> str:
    if 0 < seconds < _SECONDS_PER_MINUTE:
        return f"{seconds:.3g} s"
    if 0 < seconds < _SECONDS_PER_HOUR:
        return f"{seconds / _SECONDS_PER_MINUTE:.0f} min"
    return f"{seconds / _SECONDS_PER_HOUR:,.0f} h"


def _table(rows: list[tuple[str, str, str]], width: int) -> Iterator[str]:
    if not rows:
        return
    names = max(len(printable(row[0])) for row in rows)
    amounts = min(max(len(row[1]) for row in rows), 24)
    left = len(_INDENT) + names + amounts + 2 * len(_GAP)
    room = max(width - left, _MIN_SOURCE_WIDTH)
    for name, amount, source in rows:
        first, *more = textwrap.wrap(printable(source), room, break_on_hyphens=False) or [""]
        head = f"{_INDENT}{printable(name):<{names}}{_GAP}{printable(amount):<{amounts}}{_GAP}"
        yield f"{head}{first}".rstrip() + "\n"
        yield from (f"{'':{left}}{line}\n" for line in more)


def _section(
    heading: str, texts: Iterable[str], width: int, indent: str = _INDENT
) -> Iterator[str]:
    first = True
    for text in texts:
        if first:
            yield f"{indent}{heading}\n"
            first = False
        yield from _wrapped(text, width, indent + _INDENT)


def _wrapped(text: str, width: int, indent: str) -> Iterator[str]:
    lines = textwrap.wrap(
        printable(text),
        width,
        initial_indent=indent,
        subsequent_indent=f"{indent}{_INDENT * 2}",
        break_on_hyphens=False,
    )
    yield from (f"{line}\n" for line in lines)
