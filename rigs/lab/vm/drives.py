"""The drives that QEMU emulates: one of each kind.

Tests identify them by serial number, because device letters change between boots.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_MEGABYTES = 64

#: An unreadable sector, and the drive that has it.
BAD_SECTOR = 1000

NVME = "LABNVME1"
NVME_NEXT = "LABNVME2"
SATA_SSD = "LABSATASSD"
SATA_HDD = "LABSATAHDD"
SATA_BAD = "LABSATABAD"
SAS = "LABSAS"
USB = "LABUSB"
MEGARAID = "LABMEGARAID"
VIRTIO = "LABVIRTIO"
SATA = (SATA_SSD, SATA_HDD, SATA_BAD)

#: Drives simulated in software, one per test.
SOFT_WORN = "SOFTWORN"
SOFT_BAD = "SOFTBAD"
SOFT_HOT = "SOFTHOT"
SOFT_SLOW = "SOFTSLOW"
SOFT_LOGS = "SOFTLOGS"
SOFT = (SOFT_WORN, SOFT_BAD, SOFT_HOT, SOFT_SLOW, SOFT_LOGS)


@dataclass(frozen=True, slots=True)
class Drive:
    """An emulated drive.

    driver, options: device of QEMU. bad: reading BAD_SECTOR fails. throttled: `Machine.limit` can
    limit it. megabytes: its size.
    """

    serial: str
    driver: str
    options: dict[str, Any] = field(default_factory=dict)
    bad: bool = False
    throttled: bool = False
    megabytes: int = _MEGABYTES

    @property
    def node(self) -> str:
        """Name of its block backend."""
        return f"data-{self.serial}"

    def device(self) -> dict[str, Any]:
        """Arguments of -device and of device_add."""
        return {
            "driver": self.driver,
            "id": self.serial,
            "drive": self.node,
            "serial": self.serial,
            **self.options,
        }

    def storage(self, directory: Path) -> Iterator[dict[str, Any]]:
        """Arguments of -blockdev, bottom layer first; creates the image file."""
        path = directory / f"{self.serial}.raw"
        with path.open("ab") as file:
            file.truncate(self.megabytes << 20)
        name = f"whole-{self.serial}" if self.bad or self.throttled else self.node
        yield {"driver": "file", "filename": str(path), "node-name": f"file-{self.serial}"}
        yield {"driver": "raw", "file": f"file-{self.serial}", "node-name": name}
        if self.throttled:
            yield {
                "driver": "throttle",
                "file": name,
                "node-name": self.node,
                "throttle-group": throttle_group(self.serial),
            }
        if self.bad:
            yield {
                "driver": "blkdebug",
                "image": name,
                "node-name": self.node,
                "inject-error": [
                    {
                        "event": "none",
                        "iotype": "read",
                        "sector": BAD_SECTOR,
                        "errno": 5,
                        "once": False,
                    }
                ],
            }


def throttle_group(serial: str) -> str:
    """Name of the object of QEMU that limits a drive."""
    return f"limit-{serial}"


def nvme(serial: str) -> Drive:
    """An NVMe drive in a hot-plug slot."""
    return Drive(serial, "nvme", {"bus": "slot0"})


def sata(serial: str, port: int) -> Drive:
    """A SATA drive; model and rotation rate follow from the serial number."""
    is_ssd = serial != SATA_HDD
    return Drive(
        serial,
        "ide-hd",
        {
            "bus": f"ide.{port}",
            "model": "LAB SATA SSD" if is_ssd else "LAB SATA HDD",
            "rotation_rate": 1 if is_ssd else 7200,
        },
        bad=serial == SATA_BAD,
    )


def swapped(drives: Sequence[Drive]) -> tuple[Drive, ...]:
    """The same drives with exchanged SATA ports."""
    ports = dict(zip(SATA, range(len(SATA) - 1, -1, -1), strict=True))
    return tuple(
        sata(each.serial, ports[each.serial]) if each.serial in ports else each for each in drives
    )


#: Controllers of the other drives.
ADAPTERS: tuple[dict[str, Any], ...] = (
    {"driver": "pcie-root-port", "id": "slot0", "chassis": 1},
    {"driver": "virtio-scsi-pci", "id": "hba"},
    {"driver": "qemu-xhci", "id": "xhci"},
    {"driver": "megasas-gen2", "id": "raid"},
)

_SCSI = {"vendor": "LAB", "rotation_rate": 1}


def fleet() -> tuple[Drive, ...]:
    """All drives that QEMU supports."""
    return (
        nvme(NVME),
        *(sata(serial, port) for port, serial in enumerate(SATA)),
        Drive(SAS, "scsi-hd", {"bus": "hba.0", "product": "SAS SSD", **_SCSI}),
        Drive(USB, "usb-storage", {"bus": "xhci.0"}),
        Drive(MEGARAID, "scsi-hd", {"bus": "raid.0", "product": "RAID SSD", **_SCSI}),
        Drive(VIRTIO, "virtio-blk-pci"),
    )


def arguments(drives: Sequence[Drive], directory: Path) -> list[str]:
    """Command line of QEMU for drives and controllers, in JSON, which needs no quoting."""
    found = []
    for adapter in ADAPTERS:
        found += ["-device", json.dumps(adapter)]
    for drive in drives:
        if drive.throttled:
            group = {"qom-type": "throttle-group", "id": throttle_group(drive.serial)}
            found += ["-object", json.dumps(group)]
        for node in drive.storage(directory):
            found += ["-blockdev", json.dumps(node)]
        found += ["-device", json.dumps(drive.device())]
    return found
