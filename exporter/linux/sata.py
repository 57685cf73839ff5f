"""SATA links: /sys/class/ata_link, found from a drive's own path.

https://docs.kernel.org/admin-guide/abi-testing.html (sysfs-ata)
"""

from pathlib import Path

from exporter.linux import files, link


def rate(text: str) -> float | None:
    """Bytes per second for ``6.0 Gbps``; None for ``<unknown>``, which a link that is down says."""
    gigabits = link.gigabits(text)
    return None if gigabits is None else link.bytes_per_second(gigabits, link.CODE_8B_10B)


def link_source(port: Path, channel: str, drive_gigabits: float | None) -> link.LinkSource | None:
    """The link of a drive at an ATA port (a directory ataN).

    `channel` is the drive's SCSI channel, which libata sets to the port of a port multiplier;
    without a multiplier there is one link. `drive_gigabits` is the drive's own best, where known:
    hw_sata_spd_limit speaks for the port alone.
    """
    number = port.name.removeprefix("ata")
    for name in (f"link{number}.{channel}", f"link{number}"):
        directory = port / name / "ata_link" / name
        if files.attribute(directory / "sata_spd") is None:
            continue
        limits = [
            None if drive_gigabits is None else rate(f"{drive_gigabits} Gbps"),
            rate(files.attribute(directory / "hw_sata_spd_limit") or ""),
        ]
        maximum = min((each for each in limits if each is not None), default=None)
        return link.LinkSource((directory / "sata_spd",), rate, maximum)
    return None
