"""What smartctl's text itself says: of the program, of the drive's protocol, and its complaints.

Readers of the values in it are pySMART's business (`pysmart`); smartctl's JSON is `smartctl`'s.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

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
