"""The simulated drives that each version of smartctl reads."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from rigs.devices import nvme_shim, scsi_shim
from rigs.devices.nvme_shim import Health
from rigs.devices.sata_shim import SataDrive
from rigs.devices.scsi_shim import SasDrive

CAPACITY = 1_920_383_410_176

NVME = Health(
    critical_warning=0,
    temperature=37,
    available_spare=83,
    available_spare_threshold=11,
    percentage_used=29,
    data_units_read=1_000_003,
    data_units_written=2_000_005,
    host_reads=3_000_007,
    host_writes=4_000_009,
    controller_busy_minutes=5_011,
    power_cycles=613,
    power_on_hours=7_017,
    unsafe_shutdowns=819,
    media_errors=0,
    error_log_entries=23,
    warning_minutes=127,
    critical_minutes=31,
    sensors=(41, 43),
)

SATA = SataDrive(
    capacity_bytes=CAPACITY,
    attributes={
        5: (0x33, 100, 17),
        9: (0x32, 99, 7_017),
        12: (0x32, 99, 613),
        194: (0x22, 63, 37),
        241: (0x32, 99, 4_000_000_000),
    },
    thresholds={5: 10},
    statistics={
        (1, 0x08): 613,
        (1, 0x10): 7_017,
        (1, 0x18): 4_000_000_000,
        (1, 0x28): 5_000_000_000,
        (4, 0x08): 3,
        (5, 0x08): 37,
        (5, 0x58): 70,
        (6, 0x18): 9,
        (7, 0x08): 29,
    },
    self_tests=((1, 0, 7_000), (2, 0, 6_000)),
    phy_errors={0x01: 4, 0x0A: 7},
)

SAS = SasDrive(
    capacity_bytes=CAPACITY,
    errors={
        2: (3, 4, 5, 12, 13, 14_000_000_017_000, 2),
        3: (13, 14, 15, 42, 43, 24_000_000_019_000, 1),
        5: (0, 0, 0, 0, 0, 3_000_000_000, 0),
    },
    percent_used=29,
    power_on_minutes=7_017 * 60 + 13,
    celsius=37,
    trip_celsius=68,
    grown_defects=30,
    self_tests=((1, 0, 7_000), (2, 0, 6_000)),
    phy_errors=((1, 2, 3, 4), (5, 6, 7, 8)),
)


class Scene(NamedTuple):
    """A drive, and the type with which smartctl reads it."""

    name: str
    type: str
    answers: Mapping[str, bytes]


def scenes() -> Iterator[Scene]:
    """Yields healthy drives, drives with faults, and a RAID volume, of each protocol."""
    for name, health in {
        "healthy": NVME,
        "130 % used": replace(NVME, percentage_used=130),
        "worn out (04h)": replace(NVME, critical_warning=4, percentage_used=100),
        "persistent memory (20h)": replace(NVME, critical_warning=0x20),
        "reserved bit (40h)": replace(NVME, critical_warning=0x40),
        "counter of 2^40": replace(NVME, host_reads=1 << 40),
        "no temperature": replace(NVME, temperature=-273, sensors=()),
    }.items():
        yield Scene(f"NVMe, {name}", "nvme", _nvme(health))
    failed_test = ((1, 7, 7_000), (2, 0, 6_000))
    for name, drive in {
        "healthy": SATA,
        "failing": replace(SATA, is_healthy=False),
        "below its threshold": replace(SATA, attributes={**SATA.attributes, 5: (0x33, 9, 900)}),
        "130 % used": replace(SATA, statistics={**SATA.statistics, (7, 8): 130}),
        "errors": replace(SATA, error_count=5, self_tests=failed_test),
        "no statistics": replace(SATA, statistics={}),
    }.items():
        yield Scene(f"SATA, {name}", "sat", drive.answers())
    for name, sas in {
        "healthy": SAS,
        "pending defects: 1": replace(SAS, pending_defects=((100, 12_345),)),
        "pending defects: 3": replace(SAS, pending_defects=((1, 2), (3, 4), (5, 6))),
        "no log of pending defects": replace(SAS, pending_defects=None),
        "failing (5Dh 10h)": replace(SAS, exception=(0x5D, 0x10)),
        "failed self-test": replace(SAS, self_tests=failed_test),
        "130 % used": replace(SAS, percent_used=130),
        "hard disk": replace(SAS, percent_used=None),
        "no errors": replace(SAS, errors={}, grown_defects=0, self_tests=()),
    }.items():
        yield Scene(f"SAS, {name}", "scsi", sas.answers())
    yield Scene("RAID volume", "scsi", scsi_shim.volume(CAPACITY))
    yield Scene("no such device", "scsi", {})


def _nvme(health: Health) -> dict[str, bytes]:
    return {
        "identify-1": nvme_shim.controller("SHIM EXAMPLE 1920", "SHIM00SERIAL01", "SH1", CAPACITY),
        "identify-0": nvme_shim.namespace(CAPACITY, 4096, 0x00A1B2_0C0D0E0F10),
        "log-1": bytes(4 * 64),
        "log-2": health.encoded(),
    }
