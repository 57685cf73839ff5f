"""/sys/class/scsi_generic: every SCSI device has such a node, also one that no disk driver took.

A RAID adapter lets the driver of disks not attach to the members of its volumes
(no_uld_attach in include/scsi/scsi_device.h): they have an sg node, and no /dev/sdX.

SCSI disks, which SATA and USB drives are to the kernel too: who they are, how attached.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path, PurePath

from exporter.errors import NotThere, ParseError, ReadError
from exporter.linux import files, links, vpd
from exporter.linux.device_identity import Identity, known
from exporter.linux.vpd import AtaIdentity

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


def read_generic(sys: Path) -> tuple[ScsiGeneric, ...]:
    """All of them by number; none where the sg driver is not loaded."""
    directory = sys / "class" / "scsi_generic"
    names = [name for name in files.names(directory) if name[2:].isdecimal()]
    return tuple(_read_generic(directory / n, n) for n in sorted(names, key=lambda n: (len(n), n)))


def _read_generic(node: Path, name: str) -> ScsiGeneric:
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


_ADDRESS = re.compile(r"\d+:(\d+):\d+:\d+", re.ASCII)

#: In this order: a USB bridge in SAT mode, or a libsas adapter, may show an ATA port below it.
_TRANSPORTS = (
    ("usb", re.compile(r"usb\d+", re.ASCII)),
    ("sata", re.compile(r"ata\d+", re.ASCII)),
    ("sas", re.compile(r"end_device-[\d:]+", re.ASCII)),
    ("fc", re.compile(r"rport-[\d:-]+", re.ASCII)),
    ("iscsi", re.compile(r"session\d+", re.ASCII)),
    ("virtio", re.compile(r"virtio\d+", re.ASCII)),
)


@dataclass(frozen=True, slots=True)
class Attachment:
    """How a SCSI device hangs on the host: the transport, and the directory that shows it.

    `point` is the ATA port's for sata, the end device's for sas; None where nothing shows it.
    """

    transport: str
    point: Path | None


def attachment(sys_root: Path, place: PurePath) -> Attachment:
    """How a device is attached, by its place below /sys (`sys_root` with links followed).

    >>> attachment(Path("/sys"), PurePath("devices/pci0000:00/ata1/host0/block/sda"))
    Attachment(transport='sata', point=PosixPath('/sys/devices/pci0000:00/ata1'))
    """
    for transport, pattern in _TRANSPORTS:
        for depth, part in enumerate(place.parts, start=1):
            if pattern.fullmatch(part):
                return Attachment(transport, sys_root.joinpath(*place.parts[:depth]))
    return Attachment("scsi", None)


def channel(place: PurePath) -> str:
    """The channel of the SCSI address in a path: 1 of 0:1:0:0; 0 where there is none."""
    return next((m[1] for part in place.parts if (m := _ADDRESS.fullmatch(part))), "0")


def read_ata(directory: Path) -> tuple[AtaIdentity | None, tuple[ParseError, ...]]:
    """IDENTIFY data of a drive that speaks ATA behind its SCSI address, and what was wrong."""
    path = directory / "device" / "vpd_pg89"
    try:
        return vpd.parse_ata(vpd.read(path)), ()
    except ParseError as e:
        return None, (ParseError(f"{path}: {e}"),)
    except (NotThere, ReadError):
        return None, ()


def read_serial(directory: Path) -> tuple[str | None, tuple[ParseError, ...]]:
    """The serial number of VPD page 0x80, and what was wrong with the page."""
    path = directory / "device" / "vpd_pg80"
    try:
        return vpd.parse_serial(vpd.read(path)), ()
    except ParseError as e:
        return None, (ParseError(f"{path}: {e}"),)
    except (NotThere, ReadError):
        return None, ()


def identity(
    directory: Path, attached: Attachment, ata: AtaIdentity | None, serial: str | None
) -> Identity:
    """Who a SCSI disk is; IDENTIFY data wins, for SCSI's own fields cut a SATA drive's short."""
    device = directory / "device"
    vendor = known(files.attribute(device / "vendor"))
    model = known(files.attribute(device / "model"))
    firmware = known(files.attribute(device / "rev"))
    wwn = known(files.attribute(device / "wwid"))
    speaks_ata = vendor == "ATA" or ata is not None or attached.transport == "sata"
    transport = attached.transport
    if transport == "sas" and attached.point is not None:
        sata = links.speaks_sata(attached.point)
        speaks_ata = speaks_ata if sata is None else sata
    # Behind a SAS adapter or one that hides its links, what speaks ATA is a SATA drive.
    if transport in ("sas", "scsi") and speaks_ata:
        transport = "sata"
    if ata is not None:
        model, firmware = ata.model or model, ata.firmware or firmware
        serial = ata.serial or serial
        wwn = wwn or ata.wwn
    return Identity(
        model=model,
        # libata answers "ATA" for every drive: a bus, no vendor.
        vendor=None if vendor == "ATA" else vendor,
        serial=serial,
        firmware=firmware,
        wwn=wwn,
        transport=transport,
        protocol="ata" if speaks_ata else "scsi",
    )
