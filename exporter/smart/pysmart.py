"""Parses smartctl's text output with pySMART, which starts no process here.

pySMART 1.4.3 runs smartctl without a timeout, guesses the encoding of its output (26 MB and 61 ms
at the first use), runs it several times for one drive, and raises many kinds of exceptions for text
that it does not expect. This module therefore passes the text to pySMART and raises `ParseError`
for its failures. pySMART is imported at the first use, and never by the process that polls drives.
"""

import logging
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias, TypeVar

from exporter.errors import NotAvailable, ParseError

#: Limits of the text: characters of a line, and lines. smartctl prints less, also with every log.
#: The rest is dropped.
_MAX_LINE_CHARACTERS = 512
_MAX_LINES = 8192

#: Limit of error messages that are returned.
_MAX_ERRORS = 10

#: Limit of gaps in a line; lines with more are dropped. The widest table has twelve columns.
_MAX_GAPS = 16

_GAP = re.compile(r"\s{2,}")

#: Lines that only one protocol's report has (ataprint, nvmeprint and scsiprint of smartmontools).
_PROTOCOLS: Sequence[tuple[str, re.Pattern[str]]] = (
    ("NVMe", re.compile(r"NVMe Version:|SMART/Health Information \(NVMe|Self-test Log \(NVMe")),
    ("ATA", re.compile(r"S?ATA (?:Version|Standard) is:|General SMART Values|.*Specific SMART A")),
    (
        "SCSI",
        re.compile(r"Transport protocol:|SMART Health Status:|Vendor:|Elements in grown defect"),
    ),
)

_ERROR = re.compile(
    r"failed: |mode, exit\(|Unable to detect|please (?:try|specify)"
    r"|Self-tests? (?:functions )?not supported|does not support|Unknown USB bridge",
    re.IGNORECASE,
)

#: By protocol: pySMART's name of the interface, and a device name that matches it: pySMART also
#: searches "nvme" in the device name. It raises ValueError for smartctl's other types. With "sat"
#: it runs no further commands to detect the type.
_INTERFACES = {"NVMe": ("nvme", "nvme0"), "ATA": ("sat", "sda"), "SCSI": ("scsi", "sda")}

#: The output for `-l sasphy`. For any other, pySMART reads all data of the drive twice more.
_SAS_PHY_OUTPUT = ["", "", "", "", "SAS SSP"]

T = TypeVar("T")

#: Returns smartctl's output, as lines, and its exit status, for the arguments of smartctl.
RunSmartctl: TypeAlias = Callable[[Sequence[str]], tuple[list[str], int]]


def parse_protocol(lines: Iterable[str]) -> str | None:
    """The drive's protocol, named as in smartctl's JSON: NVMe, ATA or SCSI. None if not printed."""
    for line in lines:
        for name, pattern in _PROTOCOLS:
            if pattern.match(line[:_MAX_LINE_CHARACTERS]):
                return name
    return None


def parse_errors(lines: Iterable[str]) -> Iterator[str]:
    """The error messages of smartctl, at most ten."""
    number = 0
    for line in lines:
        if number < _MAX_ERRORS and _ERROR.search(line[:_MAX_LINE_CHARACTERS]):
            number += 1
            yield " ".join(line[:_MAX_LINE_CHARACTERS].split())


def normalized(lines: Iterable[str]) -> list[str]:
    """The lines in a form that pySMART 1.4.3 can parse in bounded time.

    pySMART's regular expressions for self-test logs backtrack over every way to divide a gap. They
    require at least two spaces, to which each gap is shortened. Two empty lines are appended: they
    end a table that was cut off.
    """
    result = []
    for number, line in enumerate(lines):
        if number >= _MAX_LINES:
            break
        short = _GAP.sub("  ", line[:_MAX_LINE_CHARACTERS].rstrip())
        # Dell's second product name follows the model, and pySMART takes the last one.
        if short.count("  ") <= _MAX_GAPS and not short.startswith("Add. Product Id"):
            result.append(_normalized_line(short))
    return [*result, "", ""]


def parse_device(lines: Sequence[str], protocol: str) -> Any:
    """The pySMART Device that is parsed from the output of `smartctl --all`.

    protocol: as for `new_device`.

    Raises:
        NotAvailable: pySMART is not installed.
        ParseError: pySMART cannot parse the text.
    """
    text = normalized(lines)
    return new_device(lambda _: (list(text), 0), protocol)


def new_device(run_smartctl: RunSmartctl, protocol: str) -> Any:
    """A new pySMART Device. A reused one would repeat the messages of its earlier updates.

    run_smartctl: called for the arguments --all, -t and -X. It adds the drive's address itself.
    protocol: the drive's protocol, named as in smartctl's JSON.

    Raises:
        NotAvailable: pySMART is not installed.
        ParseError: pySMART cannot parse the output of `run_smartctl`.
    """
    if protocol not in _INTERFACES:
        raise ParseError(f"pySMART does not support the protocol {protocol[:40]!r}")
    interface, name = _INTERFACES[protocol]

    def run(arguments: Sequence[str]) -> tuple[list[str], int]:
        if "sasphy" in arguments:
            return list(_SAS_PHY_OUTPUT), 0
        if "-l" in arguments:  # sataphy and background: logs that are not used here
            return [], 1
        return run_smartctl(arguments)

    library = _library()
    return call(lambda: library.device(name, interface, smartctl=library.smartctl(run)))


def call(function: Callable[[], T]) -> T:
    """The result of a function that calls pySMART.

    Raises:
        ParseError: pySMART raised an exception, because of text that it does not expect.
    """
    try:
        return function()
    except _library().failures as e:
        raise ParseError(f"pySMART cannot parse smartctl's text: {type(e).__name__}: {e}") from e


@dataclass(frozen=True, slots=True)
class _Library:
    """pySMART's classes, which have no types, and the exceptions for text that it cannot parse."""

    device: Any
    smartctl: Any
    failures: tuple[type[Exception], ...]


@cache
def _library() -> _Library:
    """Import pySMART and undo its changes of the process: LANG and the class of new loggers.

    Two changes remain: pySMART's own logger has its own class, and the log level TRACE exists.

    Raises:
        NotAvailable: pySMART is not installed.
    """
    language = os.environ.get("LANG")
    logger_class = logging.getLoggerClass()
    try:
        from pySMART import Device  # noqa: PLC0415
        from pySMART.interface import nvme  # noqa: PLC0415
        from pySMART.smartctl import Smartctl  # noqa: PLC0415
    except ImportError as e:
        raise NotAvailable(f"pySMART is not installed ({e}): pip install pySMART") from e
    finally:
        logging.setLoggerClass(logger_class)
        if language is None:
            os.environ.pop("LANG", None)
        else:
            os.environ["LANG"] = language
    failures = (
        *(ArithmeticError, AttributeError, LookupError, StopIteration, TypeError, ValueError),
        nvme.humanfriendly.InvalidSize,
    )
    return _Library(Device, _without_process(Smartctl), failures)


def _without_process(base: Any) -> Any:
    """A subclass of pySMART's Smartctl that starts no process and decodes nothing."""

    class SmartctlWithoutProcess(base):  # type: ignore[misc]
        def __init__(self, run: RunSmartctl) -> None:
            # A new list: the default one is shared, and grows by the options of each device.
            super().__init__("smartctl", options=[])
            self._run = run

        def _exec(self, cmd: list[str]) -> tuple[list[str], int]:
            return self._run(cmd[1:])

    return SmartctlWithoutProcess


def _normalized_line(line: str) -> str:
    if line.startswith("Self-test Log (NVMe Log 0x06, "):
        return "Self-test Log (NVMe Log 0x06)"  # smartctl 7.5 appends the namespace
    if line.startswith("Warning  Comp. Temperature Time"):
        return line.replace("  ", " ", 1)  # smartctl aligns this line with "Critical"
    # "*" is the namespace of a test of all namespaces (smartctl 7.4). pySMART expects a number or
    # "-".
    return line.replace("  * ", "  - ")
