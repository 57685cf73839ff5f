"""Condition of a drive, read from a JSON file that may change at any time."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Condition:
    """Identity and health, with field names of NVM Express Base Specification 2.0.

    vendor_id: the PCI vendor ID; the default is that of virtual devices.
    bad_blocks: logical blocks that cannot be read; each try counts as a media error more.
    health_delay_seconds: how long the drive thinks before it gives its health log.
    read_delay_seconds: how long a read takes at least.
    slow_read_every, slow_read_seconds: one of so many reads takes so much longer; 0 means none.
    log_pages: further log pages in hexadecimal, keyed by their number in decimal. Shorter ones end
        with zeros. They are listed as supported.
    log_lengths_bytes: how much of a log page is transferred, keyed by its number; the default is as
        much as the command asks for.
    listed_log_pages: log pages that are listed as supported as well, but refused.
    log_delays_seconds: how long the drive thinks before it gives a log page, keyed by its number.
    nand_write_ratio: bytes written to flash per byte that the host writes; they are added to log
        page C0h.
    """

    serial: str
    vendor_id: int = 0x1AF4
    model: str = "LAB SOFTWARE NVME"
    firmware: str = "LAB1.0"
    warning_celsius: int = 80
    critical_celsius: int = 90
    critical_warning: int = 0
    temperature_celsius: int = 38
    available_spare: int = 100
    available_spare_threshold: int = 10
    percentage_used: int = 0
    data_units_read: int = 1000
    data_units_written: int = 1000
    power_cycles: int = 1
    power_on_hours: int = 100
    unsafe_shutdowns: int = 0
    media_errors: int = 0
    warning_temperature_minutes: int = 0
    critical_temperature_minutes: int = 0
    thermal_management_transitions: tuple[int, int] = (0, 0)
    thermal_management_seconds: tuple[int, int] = (0, 0)
    bad_blocks: tuple[int, ...] = ()
    health_delay_seconds: float = 0.0
    read_delay_seconds: float = 0.0
    slow_read_every: int = 0
    slow_read_seconds: float = 0.0
    log_pages: Mapping[str, str] = field(default_factory=dict)
    log_lengths_bytes: Mapping[str, int] = field(default_factory=dict)
    listed_log_pages: tuple[int, ...] = ()
    log_delays_seconds: Mapping[str, float] = field(default_factory=dict)
    nand_write_ratio: float = 0.0


def read(path: Path) -> Condition:
    """Reads the current condition; the file is replaced atomically."""
    return Condition(**json.loads(path.read_text()))
