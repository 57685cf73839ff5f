"""/sys/class/scsi_generic: every SCSI device has such a node, also one that no disk driver took.

A RAID adapter lets the driver of disks not attach to the members of its volumes
(no_uld_attach in include/scsi/scsi_device.h): they have an sg node, and no /dev/sdX.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from exporter.linux import files
from exporter.linux.identity import known

#: Peripheral device types of SPC-5, as in include/scsi/scsi_proto.h.
_DISK = 0


@dataclass(frozen=True, slots=True)
class ScsiGeneric:
    """A SCSI device by its generic node.

    `directory` is the SCSI device's in sysfs (.../6:0:1:0), with all links followed. `type` is
    the peripheral device type: 0 a disk, 3 a processor (Areca's controllers are addressed through
    theirs), 12 a RAID controller, 13 an enclosure. `block` is the disk of the same device.
    """

    name: str
    directory: Path
    type: int | None
    vendor: str | None
    model: str | None
    has_driver: bool
    block: str | None

    @property
    def is_hidden_disk(self) -> bool:
        """Whether this is a disk that has no block device, as behind mptsas and hpsa."""
        return self.type == _DISK and not self.has_driver and self.block is None


def read(sys: Path) -> tuple[ScsiGeneric, ...]:
    """All of them by number; none where the sg driver is not loaded."""
    directory = sys / "class" / "scsi_generic"
    names = [name for name in files.names(directory) if name[2:].isdecimal()]
    return tuple(_read(directory / n, n) for n in sorted(names, key=lambda n: (len(n), n)))


def _read(node: Path, name: str) -> ScsiGeneric:
    device = Path(os.path.realpath(node / "device"))
    blocks = files.names(device / "block")
    return ScsiGeneric(
        name=name,
        directory=device,
        type=files.integer(device / "type"),
        vendor=known(files.attribute(device / "vendor")),
        model=known(files.attribute(device / "model")),
        has_driver=os.path.lexists(device / "driver"),
        block=blocks[0].replace("!", "/") if blocks else None,
    )
