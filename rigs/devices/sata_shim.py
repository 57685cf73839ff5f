"""The answers of a simulated SATA drive behind a SCSI host for the real smartctl; see drive_shim.c.

The layouts follow ACS-4. No standard defines the table of attributes: it has the layout of the
SFF-8035i specification, which smartctl reads.
"""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rigs.devices.scsi_shim import inquiry

_BLOCK_BYTES = 512
_WWN = 0x5000_0A1B_2C3D_4E60
_SERIAL = "SHIM00SERIAL03"
#: The flags of a device statistic: supported and valid.
_VALID = 0xC0 << 56
#: LBA mid and high after SMART RETURN STATUS, if the drive is healthy or failing.
_HEALTHY, _FAILING = (0x4F, 0xC2), (0xF4, 0x2C)
_READY = 0x50


@dataclass(frozen=True, slots=True)
class SataDrive:
    """The state of a drive.

    attributes: flags, normalized value and raw value of each attribute, keyed by its id.
    thresholds: the thresholds of attributes that have one, keyed by id.
    statistics: the device statistics, keyed by page and offset.
    is_healthy: the SMART status.
    self_tests: code of the test, result and power-on hours of each self-test, newest first.
    error_count: the number of errors that the drive has recorded.
    phy_errors: the SATA phy event counters, keyed by id.
    """

    capacity_bytes: int
    attributes: Mapping[int, tuple[int, int, int]]
    thresholds: Mapping[int, int] = field(default_factory=dict)
    statistics: Mapping[tuple[int, int], int] = field(default_factory=dict)
    is_healthy: bool = True
    self_tests: Sequence[tuple[int, int, int]] = ()
    error_count: int = 0
    phy_errors: Mapping[int, int] = field(default_factory=dict)

    def answers(self) -> dict[str, bytes]:
        """Returns the files of the drive's answers, keyed by name."""
        blocks = self.capacity_bytes // _BLOCK_BYTES
        status = _HEALTHY if self.is_healthy else _FAILING
        return {
            "inquiry": inquiry("ATA", "SHIM EXAMPLE SAT", "SHS1"),
            "sense": bytes((0x70, 0, 0, 0, 0, 0, 0, 10)) + bytes(10),
            "capacity-16": struct.pack(">QI2B18x", blocks - 1, _BLOCK_BYTES, 0, 3),
            "registers-e5-00": bytes((0, 0xFF, 0, 0, 0, 0, _READY)),
            "registers-b0-da": bytes((0, 0, 0, *status, 0, _READY)),
            "data-ec-00-00": self._identity(blocks),
            "data-b0-d0-00": _with_checksum(self._attribute_table()),
            "data-b0-d1-01": _with_checksum(self._threshold_table()),
            "data-b0-d5-00": _directory({1: 1, 6: 1}),
            "data-b0-d5-01": _with_checksum(self._error_log()),
            "data-b0-d5-06": _with_checksum(self._self_test_log()),
            "data-2f-00-00": _directory({4: 8, 0x11: 1}),
            "data-2f-00-04": self._statistics(),
            "data-2f-00-11": _with_checksum(self._phy_log()),
        }

    def _identity(self, blocks: int) -> bytes:
        words = [0] * 256
        for first, count, text in (
            (10, 10, _SERIAL),
            (23, 4, "SHS1.3"),
            (27, 20, "SHIM EXAMPLE SATA 1920"),
        ):
            words[first : first + count] = struct.unpack(
                f">{count}H", text.encode().ljust(2 * count)
            )
        words[0], words[49], words[53], words[76], words[80] = 0x40, 0x0300, 6, 0x0E, 0x07F0
        words[60:62] = 0xFFFF, 0x0FFF
        words[82], words[83], words[84] = 0x0021, 0x4400, 0x4123
        words[85], words[86], words[87] = 0x0021, 0x0400, 0x4123
        words[100:104] = (blocks >> shift & 0xFFFF for shift in (0, 16, 32, 48))
        words[106], words[217] = 0x6003, 1
        words[108:112] = (_WWN >> shift & 0xFFFF for shift in (48, 32, 16, 0))
        return struct.pack("<256H", *words)

    def _attribute_table(self) -> bytearray:
        table = bytearray(struct.pack("<H", 16))
        for number, (flags, value, raw) in self.attributes.items():
            table += struct.pack("<BHBB", number, flags, value, value) + raw.to_bytes(7, "little")
        table = table.ljust(512, b"\0")
        # Capabilities: self-tests, the error log, and durations of 1 and 10 minutes.
        table[367:374] = bytes((0x1B, 3, 0, 1, 0, 1, 10))
        return table

    def _threshold_table(self) -> bytearray:
        table = bytearray(struct.pack("<H", 16))
        for number in self.attributes:
            table += struct.pack("<BB10x", number, self.thresholds.get(number, 0))
        return table.ljust(512, b"\0")

    def _error_log(self) -> bytearray:
        log = bytearray(512)
        log[0] = 1
        if self.error_count:
            # The newest entry is the first one: an uncorrectable error after 1,000 hours.
            log[1] = 1
            struct.pack_into("<BBBBBBBB", log, 2 + 60, 0, 0x40, 1, 0, 0, 0, 0, 0x51)
            struct.pack_into("<BH", log, 2 + 60 + 27, 0, 1000)
        struct.pack_into("<H", log, 452, self.error_count)
        return log

    def _self_test_log(self) -> bytearray:
        log = bytearray(512)
        struct.pack_into("<H", log, 0, 1)
        # The newest entry is at the index, and the entry before it is the next older one.
        log[508] = len(self.self_tests)
        for place, (code, result, hours) in enumerate(reversed(self.self_tests)):
            struct.pack_into("<BBH", log, 2 + 24 * place, code, result << 4, hours)
        return log

    def _statistics(self) -> bytes:
        """Page 0 lists the pages. Each other page starts with its number and its revision."""
        pages = sorted({page for page, _ in self.statistics})
        log = bytearray(512 * 8)
        for page in (0, *pages):
            struct.pack_into("<HBB", log, 512 * page, 1, page, 0)
        log[8 : 9 + 1 + len(pages)] = bytes((1 + len(pages), 0, *pages))
        for (page, offset), value in self.statistics.items():
            struct.pack_into("<Q", log, 512 * page + offset, _VALID | value)
        return bytes(log)

    def _phy_log(self) -> bytearray:
        log = bytearray(4)
        for number, count in self.phy_errors.items():
            log += struct.pack("<HI", 2 << 12 | number, count)
        return log.ljust(512, b"\0")


def _directory(pages: Mapping[int, int]) -> bytes:
    """The log directory: its version, then the number of pages of each log."""
    return struct.pack("<256H", 1, *(pages.get(number, 0) for number in range(1, 256)))


def _with_checksum(page: bytearray) -> bytes:
    """A page of 512 bytes whose sum is 0 modulo 256."""
    page[511] = -sum(page[:511]) & 0xFF
    return bytes(page)
