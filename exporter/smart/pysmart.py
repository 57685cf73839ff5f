"""Parses smartctl's text output with pySMART. pySMART starts no process.

pySMART 1.4.3 would run smartctl without a timeout and several times for one drive. It would also
guess the encoding of the output, which takes 26 MB and 61 ms at the first use. This module
therefore passes the text to pySMART. pySMART raises many kinds of exceptions for unexpected text;
this module raises `ParseError` instead. pySMART is imported at the first use. The process that
polls drives never imports it.
"""

import logging
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias, TypeVar

from exporter.runtime.errors import NotAvailable, ParseError

#: Limits of the text that is parsed: characters of a line, and number of lines. The rest is
#: dropped. smartctl prints less, even with all logs.
_MAX_LINE_CHARACTERS = 512
_MAX_LINES = 8192

#: The largest number of error messages that are returned.
_MAX_ERRORS = 10

#: The largest number of gaps in a line. A gap is two or more spaces. Lines with more gaps are
#: dropped; the widest table has twelve columns.
_MAX_GAPS = 16

_GAP = re.compile(r"\s{2,}")

#: Lines that occur in the text of one protocol only (ataprint, nvmeprint and scsiprint of
#: smartmontools).
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

#: For each protocol: pySMART's name of the interface, and a device name that matches it, because
#: pySMART also looks for "nvme" in the device name. pySMART raises ValueError for smartctl's other
#: types. With "sat" it runs no further commands to detect the type.
_INTERFACES = {"NVMe": ("nvme", "nvme0"), "ATA": ("sat", "sda"), "SCSI": ("scsi", "sda")}

#: The output that pySMART gets for `-l sasphy`. With any other output, it would read all data of
#: the drive two more times.
_SAS_PHY_OUTPUT = ["", "", "", "", "SAS SSP"]

T = TypeVar("T")

#: A function that runs smartctl with the given arguments and returns its output, as lines, and its
#: exit status.
RunSmartctl: TypeAlias = Callable[[Sequence[str]], tuple[list[str], int]]


def parse_protocol(lines: Iterable[str]) -> str | None:
    """Returns the drive's protocol, named as in smartctl's JSON: NVMe, ATA or SCSI.

    None means that smartctl's text does not show it.
    """
    for line in lines:
        for name, pattern in _PROTOCOLS:
            if pattern.match(line[:_MAX_LINE_CHARACTERS]):
                return name
    return None


def parse_errors(lines: Iterable[str]) -> Iterator[str]:
    """Yields the error messages in smartctl's text, at most ten."""
    number = 0
    for line in lines:
        if number < _MAX_ERRORS and _ERROR.search(line[:_MAX_LINE_CHARACTERS]):
            number += 1
            yield " ".join(line[:_MAX_LINE_CHARACTERS].split())


def normalized(lines: Iterable[str]) -> list[str]:
    """Returns the lines in a form that pySMART 1.4.3 can parse in bounded time.

    A gap is two or more spaces between columns. pySMART's regular expressions for self-test logs
    need at least two spaces, and take very long for a long gap. Each gap is therefore shortened to
    two spaces. Two empty lines are appended. They end a table that was cut off.
    """
    result = []
    for number, line in enumerate(lines):
        if number >= _MAX_LINES:
            break
        short = _GAP.sub("  ", line[:_MAX_LINE_CHARACTERS].rstrip())
        # Dell drives have a second product name in a line after the model. pySMART would take it
        # for the model.
        if short.count("  ") <= _MAX_GAPS and not short.startswith("Add. Product Id"):
            result.append(_normalized_line(short))
    return [*result, "", ""]


def parse_device(lines: Sequence[str], protocol: str) -> Any:
    """Returns the pySMART Device for the output of `smartctl --all`.

    lines: the text output of smartctl.
    protocol: the drive's protocol, named as in smartctl's JSON.

    Raises:
        NotAvailable: pySMART is not installed.
        ParseError: pySMART cannot parse the text, or does not support the protocol.
    """
    text = normalized(lines)
    return new_device(lambda _: (list(text), 0), protocol)


def new_device(run_smartctl: RunSmartctl, protocol: str) -> Any:
    """Returns a new pySMART Device, which calls `run_smartctl` instead of starting a process.

    Use each Device once: a second update would repeat the messages of the first one.

    run_smartctl: called with arguments that contain --all, -t or -X. It must add the drive's
        address itself.
    protocol: the drive's protocol, named as in smartctl's JSON.

    Raises:
        NotAvailable: pySMART is not installed.
        ParseError: pySMART cannot parse the output of `run_smartctl`, or does not support the
            protocol.
    """
    if protocol not in _INTERFACES:
        raise ParseError(f"pySMART does not support the protocol {protocol[:40]!r}")
    interface, name = _INTERFACES[protocol]

    def run(arguments: Sequence[str]) -> tuple[list[str], int]:
        if "sasphy" in arguments:
            return list(_SAS_PHY_OUTPUT), 0
        if "-l" in arguments:  # for sataphy and background, logs that are not used here
            return [], 1
        return run_smartctl(arguments)

    library = _library()
    return call(lambda: library.device(name, interface, smartctl=library.smartctl(run)))


def call(function: Callable[[], T]) -> T:
    """Calls a function that uses pySMART, and returns its result.

    Raises:
        NotAvailable: pySMART is not installed.
        ParseError: pySMART raised an exception, because of text that it does not expect.
    """
    try:
        return function()
    except _library().failures as e:
        raise ParseError(f"pySMART cannot parse smartctl's text: {type(e).__name__}: {e}") from e


@dataclass(frozen=True, slots=True)
class _Library:
    """The parts of pySMART that are used here. They are typed Any: pySMART has no type annotations.

    device: the class Device.
    smartctl: a subclass of the class Smartctl that starts no process.
    failures: the exceptions that pySMART raises for text that it cannot parse.
    """

    device: Any
    smartctl: Any
    failures: tuple[type[Exception], ...]


@cache
def _library() -> _Library:
    """Imports pySMART, and undoes its changes to LANG and to the class of new loggers.

    Two of its changes remain: its own logger has its own class, and the log level TRACE exists.

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
    """Returns a subclass of pySMART's Smartctl that starts no process and decodes no output."""

    class SmartctlWithoutProcess(base):  # type: ignore[misc]
        def __init__(self, run: RunSmartctl) -> None:
            # A new list is passed, because the default list is shared by all instances and grows by
            # the options of each device.
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
    # smartctl 7.4 prints "*" as the namespace of a test of all namespaces. pySMART expects a number
    # or "-".
    return line.replace("  * ", "  - ")
