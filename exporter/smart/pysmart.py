"""What smartctl's text itself says: of the program, of the drive's protocol, and its complaints.

Readers of the values in it are pySMART's business (`pysmart`); smartctl's JSON is `smartctl`'s.

pySMART behind one door: our runner, our time limits, and nothing left behind in the process.

pySMART 1.4.3 reads smartctl's text. By itself it runs smartctl without a time limit, guesses the
encoding (26 MB and 61 ms at first use), asks again and again what a drive is, and raises whatever
comes of text that it does not expect. Here it gets the text from us, and its failures are
`ParseError`. It is imported when it is first used, never in the polling path.
"""

import logging
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias, TypeVar

from exporter.errors import NotAvailable, ParseError

#: Longer and more than smartctl prints with every log; the rest is dropped.
_LONGEST_LINE_CHARACTERS = 512
_MOST_LINES = 8192

#: The widest table has twelve columns.
_MOST_GAPS = 16

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

_COMPLAINT = re.compile(
    r"failed: |mode, exit\(|Unable to detect|please (?:try|specify)"
    r"|Self-tests? (?:functions )?not supported|does not support|Unknown USB bridge",
    re.IGNORECASE,
)


def tidy(lines: Iterable[str]) -> list[str]:
    """The lines as pySMART 1.4.3 can read them all, and in bounded time.

    Its expressions for self-test logs try every way to part a gap: gaps are two spaces here, which
    is what they ask for at least. A blank end stands in for a table that was cut off.
    """
    kept = []
    for number, line in enumerate(lines):
        if number >= _MOST_LINES:
            break
        short = _GAP.sub("  ", line[:_LONGEST_LINE_CHARACTERS].rstrip())
        # Dell's second product name follows the model, and pySMART takes the last one.
        if short.count("  ") <= _MOST_GAPS and not short.startswith("Add. Product Id"):
            kept.append(_readable(short))
    return [*kept, "", ""]


def _readable(line: str) -> str:
    if line.startswith("Self-test Log (NVMe Log 0x06, "):
        return "Self-test Log (NVMe Log 0x06)"  # smartctl 7.5 adds the namespace
    if line.startswith("Warning  Comp. Temperature Time"):
        return line.replace("  ", " ", 1)  # smartctl aligns it with "Critical"
    # The namespace of a test of all namespaces (smartctl 7.4); pySMART wants a number or "-".
    return line.replace("  * ", "  - ")


def protocol(lines: Iterable[str]) -> str | None:
    """What the drive speaks, as smartctl's JSON calls it: NVMe, ATA or SCSI."""
    for line in lines:
        for name, pattern in _PROTOCOLS:
            if pattern.match(line[:_LONGEST_LINE_CHARACTERS]):
                return name
    return None


def complaints(lines: Iterable[str]) -> Iterator[str]:
    """What smartctl found wrong, in its words; at most ten."""
    found = 0
    for line in lines:
        if found < 10 and _COMPLAINT.search(line[:_LONGEST_LINE_CHARACTERS]):
            found += 1
            yield " ".join(line[:_LONGEST_LINE_CHARACTERS].split())


T = TypeVar("T")

#: Lines and exit status for the arguments that pySMART gives smartctl.
Answer: TypeAlias = Callable[[Sequence[str]], tuple[list[str], int]]

#: By protocol pySMART's name of an interface, and a device name: it looks for "nvme" in that one,
#: too. Other names that smartctl knows are a ValueError there; "sat" it asks no more questions of.
_INTERFACES = {"NVMe": ("nvme", "nvme0"), "ATA": ("sat", "sda"), "SCSI": ("scsi", "sda")}

#: What pySMART wants to see of a SAS drive: else it reads all of the drive again, twice.
_SAS_PHY = ["", "", "", "", "SAS SSP"]


@dataclass(frozen=True, slots=True)
class _Library:
    """pySMART's classes, untyped as they are, and what it raises for text it cannot read."""

    device: Any
    smartctl: Any
    failures: tuple[type[Exception], ...]


@cache
def _library() -> _Library:
    """Import pySMART and undo what that does to the whole process.

    Its logger stays of its own class, and logging knows a level named TRACE from then on.

    Raises:
        NotAvailable: it is not installed.
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
    return _Library(Device, _answered(Smartctl), failures)


def _answered(base: Any) -> Any:
    class AnsweredSmartctl(base):  # type: ignore[misc]
        """pySMART's way to smartctl, where no process is started and nothing decoded."""

        def __init__(self, answer: Answer) -> None:
            # A list of its own: the default one is shared, and grows by every device's options.
            super().__init__("smartctl", options=[])
            self._answer = answer

        def _exec(self, cmd: list[str]) -> tuple[list[str], int]:
            return self._answer(cmd[1:])

    return AnsweredSmartctl


def device(answer: Answer, protocol: str) -> Any:
    """A fresh pySMART Device; a used one keeps the messages of all its updates.

    answer: is asked for what needs the drive: --all, -t and -X; which drive is its business.
    protocol: the drive's own, as smartctl's JSON calls it.

    Raises:
        NotAvailable: pySMART is not installed.
        ParseError: it cannot read what `answer` gave.
    """
    if protocol not in _INTERFACES:
        raise ParseError(f"pySMART knows no protocol {protocol[:40]!r}")
    interface, name = _INTERFACES[protocol]

    def classified(arguments: Sequence[str]) -> tuple[list[str], int]:
        if "sasphy" in arguments:
            return list(_SAS_PHY), 0
        if "-l" in arguments:  # sataphy, background
            return [], 1
        return answer(arguments)

    library = _library()
    return guarded(lambda: library.device(name, interface, smartctl=library.smartctl(classified)))


def replayed(lines: Sequence[str], protocol: str) -> Any:
    """The Device that pySMART makes of smartctl's text, without any process.

    Raises:
        NotAvailable: pySMART is not installed.
        ParseError: it cannot read the text.
    """
    readable = tidy(lines)
    return device(lambda _: (list(readable), 0), protocol)


def guarded(call: Callable[[], T]) -> T:
    """Call into pySMART.

    Raises:
        ParseError: for whatever it raised of text that it did not expect.
    """
    try:
        return call()
    except _library().failures as e:
        raise ParseError(f"pySMART cannot read smartctl's text: {type(e).__name__}: {e}") from e
