"""Reads how many PCI Express errors the kernel has counted for a device.

The counters belong to Advanced Error Reporting (AER):
https://docs.kernel.org/admin-guide/abi-testing.html (sysfs-bus-pci-devices-aer_stats) and
https://docs.kernel.org/PCI/pcieaer-howto.html

`links` reads the speed of PCIe links.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from exporter.errors import NotAvailable, ParseError, SourceError
from exporter.linux import files
from exporter.linux.files import Parsed

_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", re.ASCII)
_TOTAL = re.compile(r"^TOTAL_ERR_[A-Z]+[ \t]+(\d{1,20})[ \t]*$", re.ASCII | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class PcieErrors:
    """The numbers of PCI Express errors of a device since it appeared.

    None means that the number cannot be read.

    correctable: the number of errors that the hardware corrected.
    nonfatal: the number of uncorrectable errors after which the link was still reliable.
    fatal: the number of uncorrectable errors after which the link was no longer reliable.
    """

    correctable: int | None
    nonfatal: int | None
    fatal: int | None


@dataclass(frozen=True, slots=True)
class AerFiles:
    """The files with the numbers of errors of a PCI function, as in `PcieErrors`."""

    correctable: Path
    nonfatal: Path
    fatal: Path


def is_pci_function(directory: Path) -> bool:
    """True if a sysfs directory has the name of a PCI function, such as 0000:03:00.0."""
    return _ADDRESS.fullmatch(directory.name) is not None


def find_aer_files(function: Path) -> AerFiles | None:
    """Returns the error files of a PCI function; None if the kernel counts no errors for it.

    function: the directory of the PCI function.
    """
    aer = AerFiles(
        correctable=function / "aer_dev_correctable",
        nonfatal=function / "aer_dev_nonfatal",
        fatal=function / "aer_dev_fatal",
    )
    return None if files.read_attribute(aer.correctable) is None else aer


def read_aer_errors(aer: AerFiles) -> Parsed[PcieErrors | None]:
    """Returns the numbers of errors of a PCI function; the value is None if no file can be read.

    Never raises: each malformed file adds an exception to `Parsed.faults`.
    """
    faults: list[ParseError] = []
    correctable = _read_total(aer.correctable, faults)
    nonfatal = _read_total(aer.nonfatal, faults)
    fatal = _read_total(aer.fatal, faults)
    if correctable is nonfatal is fatal is None:
        return Parsed(None, tuple(faults))
    return Parsed(PcieErrors(correctable, nonfatal, fatal), tuple(faults))


def parse_aer_total(text: str) -> int:
    """Returns the total number of errors from the text of an aer_dev_* file.

    Raises:
        ParseError: the text has no TOTAL_ERR line.
    """
    match = _TOTAL.search(text)
    if match is None:
        raise ParseError(f"no TOTAL_ERR line in {text[:80]!r}")
    return int(match[1])


def sum_errors(one: PcieErrors, other: PcieErrors) -> PcieErrors:
    """Returns the sums of the errors of two controllers of a drive.

    If one of two numbers is unknown, the sum is the other.
    """
    return PcieErrors(
        correctable=_sum(one.correctable, other.correctable),
        nonfatal=_sum(one.nonfatal, other.nonfatal),
        fatal=_sum(one.fatal, other.fatal),
    )


def _sum(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else one + other


def _read_total(path: Path, faults: list[ParseError]) -> int | None:
    try:
        return parse_aer_total(files.read(path))
    except NotAvailable:
        return None
    except ParseError as e:
        faults.append(ParseError(f"{path}: {e}"))
        return None
    except SourceError:
        # The files of an unplugged device return I/O errors until its directory disappears.
        return None
