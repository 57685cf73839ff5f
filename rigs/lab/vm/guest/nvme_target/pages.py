"""Encodes identify structures and logs of the NVM Express Base Specification 2.0.

Figure 275 is the controller's data structure, 97 of the NVM command set the namespace's, 208 the
health log. All numbers are little-endian.
"""

import struct

from .condition import Condition

BLOCK_BYTES = 512
#: Maximum transfer size of 128 KiB: power of two in units of 4096-byte pages.
_MOST_TRANSFER = 5
MOST_TRANSFER_BYTES = 4096 << _MOST_TRANSFER

#: Offset between °C and kelvin in the specification.
KELVIN = 273

_PAGE_BYTES = 4096
_COMMAND_BYTES = 64
_QUEUE_ENTRIES = 128
_VERSION_1_4 = 0x00010400
#: Data unit: a thousand blocks of 512 bytes, rounded up.
_DATA_UNIT_BYTES = 512_000


class _Fields:
    """A structure with fields at given offsets."""

    def __init__(self, size: int) -> None:
        self._bytes = bytearray(size)

    def number(self, offset: int, size: int, value: int) -> None:
        self._bytes[offset : offset + size] = value.to_bytes(size, "little")

    def text(self, offset: int, size: int, value: str) -> None:
        self._bytes[offset : offset + size] = value.encode("ascii").ljust(size)[:size]

    def raw(self, offset: int, value: bytes) -> None:
        self._bytes[offset : offset + len(value)] = value

    def __bytes__(self) -> bytes:
        return bytes(self._bytes)


def controller(condition: Condition, name: bytes, size: int) -> bytes:
    """Identify Controller. `name` is the NQN, `size` the capacity in bytes."""
    found = _Fields(_PAGE_BYTES)
    found.number(0, 2, condition.vendor_id)
    found.number(2, 2, condition.vendor_id)
    found.text(4, 20, condition.serial)
    found.text(24, 40, condition.model)
    found.text(64, 8, condition.firmware)
    found.number(77, 1, _MOST_TRANSFER)  # MDTS
    found.number(78, 2, 1)  # CNTLID
    found.number(80, 4, _VERSION_1_4)
    found.number(111, 1, 1)  # CNTRLTYPE: for I/O
    found.number(258, 1, 3)  # ACL
    found.number(259, 1, 3)  # AERL
    found.number(260, 1, 0b10)  # FRMW: one slot
    # LPA: the log's length is 32 bits; page 00h lists the pages
    found.number(261, 1, 0b10_0100)
    found.number(266, 2, condition.warning_celsius + KELVIN)
    found.number(268, 2, condition.critical_celsius + KELVIN)
    found.number(280, 16, size)  # TNVMCAP
    found.number(320, 2, 10)  # KAS: keep-alives each second
    found.number(322, 2, 1)  # HCTMA: the host can set the limits of the thermal management
    found.number(512, 1, 0x66)  # SQES
    found.number(513, 1, 0x44)  # CQES
    found.number(514, 2, _QUEUE_ENTRIES)  # MAXCMD
    found.number(516, 4, 1)  # NN
    found.number(520, 2, 1 << 2)  # ONCS: dataset management
    found.number(525, 1, 1)  # VWC
    found.number(536, 4, 1 << 20 | 1)  # SGLS: with an offset into the capsule
    found.raw(768, name)  # SUBNQN
    # IOCCSZ in units of 16 bytes: written data is part of its command.
    found.number(1792, 4, (_COMMAND_BYTES + MOST_TRANSFER_BYTES) // 16)
    found.number(1796, 4, 1)  # IORCSZ
    found.number(1803, 1, 1)  # MSDBD
    return bytes(found)


def namespace(size: int) -> bytes:
    found = _Fields(_PAGE_BYTES)
    for offset in (0, 8, 16):  # NSZE, NCAP, NUSE
        found.number(offset, 8, size // BLOCK_BYTES)
    found.number(130, 1, BLOCK_BYTES.bit_length() - 1)  # LBAF0: the block's size, a power of two
    return bytes(found)


def namespaces(after: int) -> bytes:
    """Namespace list: the numbers above the given one; only number 1 exists."""
    return struct.pack("<I", 1 if after == 0 else 0).ljust(_PAGE_BYTES, b"\0")


def descriptors(serial: str) -> bytes:
    """Namespace identification: type 3 (UUID), 16 bytes."""
    name = serial.encode("ascii")[:16].ljust(16, b"-")
    return struct.pack("<BBxx16s", 3, 16, name).ljust(_PAGE_BYTES, b"\0")


def supported_logs(condition: Condition) -> bytes:
    """Log page 0: four bytes for each page, of which bit 0 means supported."""
    found = _Fields(1024)
    for number in (0, 1, 2, 3, *map(int, condition.log_pages), *condition.listed_log_pages):
        found.number(4 * number, 4, 1)
    return bytes(found)


def health(
    condition: Condition, *, read_bytes: int, written_bytes: int, failed: int, refused: int
) -> bytes:
    """Log page 2 including the work since start. refused: commands, which are logged as errors."""
    found = _Fields(512)
    found.number(0, 1, condition.critical_warning)
    found.number(1, 2, condition.temperature_celsius + KELVIN)
    found.number(3, 1, condition.available_spare)
    found.number(4, 1, condition.available_spare_threshold)
    found.number(5, 1, condition.percentage_used)
    found.number(32, 16, condition.data_units_read - (-read_bytes // _DATA_UNIT_BYTES))
    found.number(48, 16, condition.data_units_written - (-written_bytes // _DATA_UNIT_BYTES))
    found.number(112, 16, condition.power_cycles)
    found.number(128, 16, condition.power_on_hours)
    found.number(144, 16, condition.unsafe_shutdowns)
    found.number(160, 16, condition.media_errors + failed)
    found.number(176, 16, failed + refused)  # entries of the error log
    found.number(192, 4, condition.warning_temperature_minutes)
    found.number(196, 4, condition.critical_temperature_minutes)
    for level in range(2):
        found.number(216 + 4 * level, 4, condition.thermal_management_transitions[level])
        found.number(224 + 4 * level, 4, condition.thermal_management_seconds[level])
    return bytes(found)
