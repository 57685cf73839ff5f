"""Simulated NVMe drives with log pages, as the program that reads them prints their answers."""

import struct
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from exporter.programs.child import End, Finished
from exporter.smart.polling.log_reading import LogBatch
from tests.stand_ins.children import Behaviour, answers

#: NVMe statuses with the bit "do not retry", and without it.
INVALID_LOG, NOT_READY = 0x4109, 0x0082
MICRON = 0x1344


def identify(
    *, vendor_id: int = MICRON, groups: bool = False, manages_heat: bool = True, model: str = "M"
) -> bytes:
    """Identify Controller of an NVMe 2.0 drive."""
    page = bytearray(4096)
    struct.pack_into("<HH", page, 0, vendor_id, vendor_id)
    page[24:64] = model.encode().ljust(40)
    page[64:72] = b"FW1".ljust(8)
    struct.pack_into("<I", page, 80, 0x0002_0000)
    struct.pack_into("<I", page, 96, int(groups) << 4)
    struct.pack_into("<H", page, 322, int(manages_heat))
    return bytes(page)


def supported(*numbers: int) -> bytes:
    """Page 00h that lists these pages."""
    page = bytearray(1024)
    for number in numbers:
        page[4 * number] = 1
    return bytes(page)


@dataclass(slots=True)
class LoggingDrive:
    """How a drive answers.

    pages: their content, a status, or None if the drive hangs.
    began: the time that the drives before it took, in seconds.
    """

    identify: bytes | None = field(default_factory=identify)
    pages: dict[int, bytes | int | None] = field(default_factory=dict)
    unusable: str = ""
    began: float = 0.0
    asked: list[int] = field(default_factory=list)


class LoggingDrives:
    """The behaviour of fake children: smartctl answers, and so do the log pages of these drives."""

    def __init__(self, **drives: LoggingDrive) -> None:
        self.drives = {f"/dev/{name}": drive for name, drive in drives.items()}
        self.smartctl: Behaviour = answers
        self.hang_ends = End.STUCK
        self.started = 0

    def __call__(self, key: Hashable, argv: Sequence[str], limit: float) -> Finished:
        if not isinstance(key, LogBatch):
            return self.smartctl(key, argv, limit)
        self.started += 1
        lines: list[str] = []
        drive = LoggingDrive()
        for argument in argv[4:]:
            if argument.startswith("/"):
                drive = self.drives[argument]
                lines += [f"device {argument}", f"began {drive.began:.3f}"]
                lines += [f"unusable {drive.unusable}"] if drive.unusable else []
            elif not drive.unusable and not _answer(drive, argument, lines):
                return self._hang(key, lines, limit)
        return Finished(key, End.EXITED, 0, _text(lines), seconds=0.02)

    def _hang(self, key: Hashable, lines: list[str], limit: float) -> Finished:
        return Finished(key, self.hang_ends, None, _text(lines), seconds=limit)


def _answer(drive: LoggingDrive, argument: str, lines: list[str]) -> bool:
    """Adds the lines that answer an argument; False if the drive hangs."""
    number = int(argument.partition(":")[0]) if argument != "identify" else 0
    if argument == "identify":
        if drive.identify is None:
            return False
        lines.append(f"identify {drive.identify.hex()}")
        if 0 not in drive.pages:
            return True
    drive.asked.append(number)
    lines.append(f"ask {number}")
    answer = drive.pages.get(number, INVALID_LOG)
    if isinstance(answer, bytes):
        lines.append(f"page {number} {answer.hex()}")
    elif answer is not None:
        lines.append(f"status {number} {answer}")
    return answer is not None


def _text(lines: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()
