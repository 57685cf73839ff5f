"""A simulated NVMe drive for the real smartctl; see drive_shim.c.

The layouts follow the NVM Express base specification 1.4: Identify Controller (figure 247),
Identify Namespace (figure 245), SMART / Health Information (figure 194).
"""

import struct
from dataclasses import dataclass

_KELVIN = 273


@dataclass(frozen=True, slots=True)
class Health:
    """Log page 2; temperatures in °C, other values in units of the log."""

    critical_warning: int
    temperature: int
    available_spare: int
    available_spare_threshold: int
    percentage_used: int
    data_units_read: int
    data_units_written: int
    host_reads: int
    host_writes: int
    controller_busy_minutes: int
    power_cycles: int
    power_on_hours: int
    unsafe_shutdowns: int
    media_errors: int
    error_log_entries: int
    warning_minutes: int
    critical_minutes: int
    sensors: tuple[int, ...]

    def encoded(self) -> bytes:
        wide = (
            *(self.data_units_read, self.data_units_written, self.host_reads, self.host_writes),
            *(self.controller_busy_minutes, self.power_cycles, self.power_on_hours),
            *(self.unsafe_shutdowns, self.media_errors, self.error_log_entries),
        )
        head = struct.pack(
            "<BHBBB",
            *(self.critical_warning, self.temperature + _KELVIN),
            *(self.available_spare, self.available_spare_threshold, self.percentage_used),
        )
        counts = b"".join(number.to_bytes(16, "little") for number in wide)
        heat = struct.pack("<II", self.warning_minutes, self.critical_minutes)
        sensors = struct.pack("<8H", *_kelvins(self.sensors))
        return (head.ljust(32, b"\0") + counts + heat + sensors).ljust(512, b"\0")


def controller(model: str, serial: str, firmware: str, capacity_bytes: int) -> bytes:
    """Identify Controller of NVMe 1.4 with one namespace."""
    page = bytearray(4096)
    page[4:24] = serial.encode().ljust(20)
    page[24:64] = model.encode().ljust(40)
    page[64:72] = firmware.encode().ljust(8)
    struct.pack_into("<I", page, 80, 0x0001_0400)
    page[262] = 3  # entries of the error log, less one
    page[280:296] = capacity_bytes.to_bytes(16, "little")
    struct.pack_into("<I", page, 516, 1)
    return bytes(page)


def namespace(capacity_bytes: int, block_bytes: int, eui64: int) -> bytes:
    """Identify Namespace with one format."""
    page = bytearray(4096)
    blocks = capacity_bytes // block_bytes
    struct.pack_into("<3Q", page, 0, blocks, blocks, blocks)
    page[120:128] = eui64.to_bytes(8, "big")
    page[130] = block_bytes.bit_length() - 1
    return bytes(page)


def _kelvins(celsius: tuple[int, ...]) -> list[int]:
    """Temperatures of eight sensors in Kelvin; 0 is a missing sensor."""
    found = [each + _KELVIN for each in celsius]
    return found + [0] * (8 - len(found))
