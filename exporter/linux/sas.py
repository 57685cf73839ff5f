"""SAS links: the phys of the port that a drive hangs on, and what the drive speaks there.

The attributes are those of sas_phy and sas_device in drivers/scsi/scsi_transport_sas.c; no kernel
document lists them.
"""

from pathlib import Path

from exporter.linux import files, link


def rate(text: str) -> float | None:
    """Bytes per second for ``12.0 Gbit``; None for ``Unknown``, ``Phy disabled`` and the like.

    SAS-4 (22.5 Gbit) sends 128 bits in 150, everything before it 8 in 10.
    """
    gigabits = link.gigabits(text)
    if gigabits is None:
        return None
    code = link.CODE_128B_150B if gigabits > 12 else link.CODE_8B_10B
    return link.bytes_per_second(gigabits, code)


def speaks_sata(end_device: Path) -> bool | None:
    """Whether the drive is a SATA one on a SAS adapter; None where the kernel does not say."""
    protocols = files.attribute(
        end_device / "sas_device" / end_device.name / "target_port_protocols"
    )
    return None if protocols is None else "sata" in protocols or "stp" in protocols


def link_source(end_device: Path, drive_gigabits: float | None) -> link.LinkSource | None:
    """The link between a drive and the adapter's or expander's port above it.

    The port's directory holds a link to each phy that belongs to it. `drive_gigabits` is the
    drive's own best per phy, where known; maximum_linkrate_hw speaks for the port alone.
    """
    port = end_device.parent
    phys = [port / n / "sas_phy" / n for n in files.names(port) if n.startswith("phy-")]
    if not phys:
        return None
    drive = None if drive_gigabits is None else rate(f"{drive_gigabits} Gbit")
    limits = [rate(files.attribute(phy / "maximum_linkrate_hw") or "") for phy in phys]
    known = [each if drive is None else min(each, drive) for each in limits if each is not None]
    # A sum over some of the phys would be no maximum of the whole.
    maximum = sum(known) if len(known) == len(phys) else None
    return link.LinkSource(tuple(phy / "negotiated_linkrate" for phy in phys), rate, maximum)
