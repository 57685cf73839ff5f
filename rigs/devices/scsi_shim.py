"""The answers of a simulated SAS drive for the real smartctl; see drive_shim.c.

The layouts follow SPC-5, SBC-4 and SPL-4.
"""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_WWN = 0x5000_0A1B_2C3D_4E50
_BLOCK_BYTES = 512
_SAS = 6


@dataclass(frozen=True, slots=True)
class SasDrive:
    """The state of a drive.

    capacity_bytes: its size.
    errors: the counters of the error counter log, keyed by page (2: write, 3: read, 5: verify):
        corrected at once, corrected with delay, repeated, all corrected, corrections, bytes, and
        not corrected.
    percent_used: the percentage used endurance indicator; None for a hard disk.
    power_on_minutes: the power-on time.
    celsius, trip_celsius: the temperature and its reference.
    grown_defects: the number of elements in the grown defect list.
    pending_defects: power-on hours and address of each pending defect; None without this log.
    self_tests: test code, result code and power-on hours of each self-test, newest first.
    phy_errors: the four error counters of each phy.
    exception: additional sense code and its qualifier that the health log reports.
    """

    capacity_bytes: int
    errors: Mapping[int, tuple[int, ...]]
    percent_used: int | None
    power_on_minutes: int
    celsius: int
    trip_celsius: int
    grown_defects: int = 0
    pending_defects: Sequence[tuple[int, int]] | None = ()
    self_tests: Sequence[tuple[int, int, int]] = ()
    phy_errors: Sequence[tuple[int, int, int, int]] = ((0, 0, 0, 0),)
    exception: tuple[int, int] = (0, 0)

    def answers(self) -> dict[str, bytes]:
        """Returns the files of the drive's answers, keyed by name."""
        blocks = self.capacity_bytes // _BLOCK_BYTES
        logs = self._logs()
        pages = bytes(sorted({0, *(page for page, _ in logs)}))
        subpages = [(0, 0xFF), *((page, subpage) for page, subpage in logs if subpage)]
        # With bit 6, smartctl 7.0 to 7.2 take the second byte as a subpage. Real drives set it.
        pairs = sorted([*((page, 0) for page in pages), *((p | 0x40, sub) for p, sub in subpages)])
        return {
            "inquiry": inquiry("SHIMSAS", "EXAMPLE DRIVE", "S017"),
            "vpd-00": _vpd(0, bytes((0x00, 0x80, 0x83, 0xB1))),
            "vpd-80": _vpd(0x80, b"SHIM00SERIAL02"),
            "vpd-83": _vpd(
                0x83,
                struct.pack(">4BQ", 1, 3, 0, 8, _WWN)
                + struct.pack(">4BQ", _SAS << 4 | 1, 0x93, 0, 8, _WWN + 1),
            ),
            "vpd-b1": _vpd(0xB1, struct.pack(">H58x", 7200 if self.percent_used is None else 1)),
            "mode-1c": bytes((15, 0, 0, 0, 0x1C, 10, 0, 6)) + bytes(8),
            "sense": bytes((0x70, 0, 0, 0, 0, 0, 0, 10)) + bytes(10),
            "capacity-10": struct.pack(">II", min(blocks - 1, 0xFFFF_FFFF), _BLOCK_BYTES),
            "capacity-16": struct.pack(">QI2B18x", blocks - 1, _BLOCK_BYTES, 0, 3),
            "defects": struct.pack(">BBHI", 0, 0x08 | 5, 0, 8 * self.grown_defects),
            "log-00-00": _log(0, 0, pages),
            "log-00-ff": _log(0, 0xFF, bytes(number for pair in pairs for number in pair)),
            **{f"log-{page:02x}-{sub:02x}": _log(page, sub, d) for (page, sub), d in logs.items()},
        }

    def _logs(self) -> dict[tuple[int, int], bytes]:
        """Returns the parameters of each log page, keyed by page and subpage."""
        logs = {
            (page, 0): b"".join(
                _parameter(number, struct.pack(">Q", count)) for number, count in enumerate(counts)
            )
            for page, counts in self.errors.items()
        }
        logs[0x0D, 0] = _parameter(0, bytes((0, self.celsius))) + _parameter(
            1, bytes((0, self.trip_celsius))
        )
        tests = [
            struct.pack(">2BHQ4x", code << 5 | result, 1, hours, (1 << 64) - 1)
            for code, result, hours in self.self_tests
        ]
        tests += [bytes(16)] * (20 - len(tests))
        logs[0x10, 0] = b"".join(_parameter(1 + n, test) for n, test in enumerate(tests))
        if self.percent_used is not None:
            logs[0x11, 0] = _parameter(1, bytes((0, 0, 0, self.percent_used)))
        logs[0x15, 0] = _parameter(0, struct.pack(">IxBHHH", self.power_on_minutes, 0, 0, 0, 0))
        if self.pending_defects is not None:
            logs[0x15, 1] = _parameter(0, struct.pack(">I", len(self.pending_defects)))
            for number, (hours, address) in enumerate(self.pending_defects, 1):
                logs[0x15, 1] += _parameter(number, struct.pack(">IQ", hours, address))
        port = struct.pack(">BxxB", _SAS, len(self.phy_errors))
        for number, counts in enumerate(self.phy_errors):
            port += struct.pack(">xBxB", number, 44)
            # An end device with 12 Gbit/s, and the addresses of both sides.
            port += struct.pack(">BB2xQQB7x4I", 0x10, 0x0B, _WWN + 1, _WWN + 2, 0, *counts)
        logs[0x18, 0] = _parameter(1, port)
        logs[0x2F, 0] = _parameter(0, bytes((*self.exception, self.celsius, self.trip_celsius)))
        return logs


def volume(capacity_bytes: int) -> dict[str, bytes]:
    """Returns the answers of a RAID volume: it has an identity and a size, and no log."""
    blocks = capacity_bytes // _BLOCK_BYTES
    return {
        "inquiry": inquiry("SHIMRAID", "VOLUME", "5.07"),
        "vpd-00": _vpd(0, bytes((0x00, 0x80, 0x83))),
        "vpd-80": _vpd(0x80, b"00SHIM0VOLUME0SERIAL"),
        "vpd-83": _vpd(0x83, struct.pack(">4B2Q", 1, 3, 0, 16, 0x6000_0A1B_2C3D_4E50, 1)),
        "sense": bytes((0x70, 0, 0, 0, 0, 0, 0, 10)) + bytes(10),
        "capacity-10": struct.pack(">II", min(blocks - 1, 0xFFFF_FFFF), _BLOCK_BYTES),
        "capacity-16": struct.pack(">QI20x", blocks - 1, _BLOCK_BYTES),
    }


def inquiry(vendor: str, product: str, revision: str) -> bytes:
    """Standard INQUIRY data of a disk that follows SPC-4."""
    names = vendor.encode().ljust(8) + product.encode().ljust(16) + revision.encode().ljust(4)
    return bytes((0, 0, 6, 0x12, 91, 0, 0, 2)) + names + bytes(60)


def _vpd(page: int, contents: bytes) -> bytes:
    return struct.pack(">2BH", 0, page, len(contents)) + contents


def _log(page: int, subpage: int, parameters: bytes) -> bytes:
    """A log page. Bit 6 of the first byte says that the page has a subpage format."""
    first = page | (0x40 if subpage else 0)
    return struct.pack(">2BH", first, subpage, len(parameters)) + parameters


def _parameter(code: int, value: bytes) -> bytes:
    return struct.pack(">H2B", code, 3, len(value)) + value
