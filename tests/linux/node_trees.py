"""Builders of the device nodes for smartctl, in /sys and /dev.

They extend the drives of `trees`. A `Sys` at <root>/sys has its /dev at <root>/dev.
"""

from collections.abc import Mapping

from tests.linux.trees import Sys

_PERC = "devices/pci0000:00/0000:00:03.0/0000:03:00.0/host6"


def dev(sys: Sys, *names: str) -> None:
    """Creates nodes below /dev."""
    for name in names:
        node = sys.root.parent / "dev" / name
        node.parent.mkdir(parents=True, exist_ok=True)
        node.touch()


def generic(sys: Sys, name: str, target: str) -> None:
    """Creates the generic node of the SCSI device at `target` below /sys."""
    place = f"{target}/scsi_generic/{name}"
    sys.write(place, {"dev": "21:0"})
    sys.link(f"{place}/device", target)
    sys.link(f"class/scsi_generic/{name}", place)
    dev(sys, name)


def attach(sys: Sys, target: str) -> None:
    """Binds the SCSI device to the disk driver sd."""
    if not (sys.root / "bus/scsi/drivers/sd").exists():
        sys.write("bus/scsi/drivers/sd", {})
    sys.link(f"{target}/driver", "bus/scsi/drivers/sd")


def host(sys: Sys, number: int, place: str) -> None:
    """Creates a SCSI host at `place` (.../host6) below /sys."""
    directory = f"{place}/scsi_host/host{number}"
    sys.write(directory, {"proc_name": "made_up"})
    sys.link(f"{directory}/device", place)
    sys.link(f"class/scsi_host/host{number}", directory)


def scsi_device(
    sys: Sys, target: str, attributes: Mapping[str, str], block: str | None = None
) -> str:
    """Creates a SCSI device whose link is not visible. Returns its path, which is `target`."""
    sys.write(target, {"type": "0", "vendor": "FLASHWKS", "model": "X700"} | dict(attributes))
    if not (sys.root / "bus/scsi").exists():
        sys.write("bus/scsi", {})
    sys.link(f"{target}/subsystem", "bus/scsi")
    if block is not None:
        attach(sys, target)
        sys.disk(f"{target}/block/{block}")
        sys.link(f"{target}/block/{block}/device", target)
        dev(sys, block)
    return target


def raid_volumes(sys: Sys, *blocks: str) -> None:
    """Creates a RAID controller as host 6. Its volumes are disks, its drives are not visible."""
    host(sys, 6, _PERC)
    for number, block in enumerate(blocks):
        target = f"{_PERC}/target6:2:{number}/6:2:{number}:0"
        scsi_device(sys, target, {"vendor": "RAIDWRKS", "model": "VOLUME"}, block)
        generic(sys, f"sg{number}", target)


def hidden_disks(sys: Sys, count: int, first: int = 1, vendor: str = "ATA     ") -> None:
    """An adapter as host 4: volume sda, and its members with generic nodes alone."""
    place = "devices/pci0000:00/0000:00:01.0/0000:01:00.0/host4"
    host(sys, 4, place)
    volume = scsi_device(sys, f"{place}/target4:1:0/4:1:0:0", {"model": "VOLUME"}, "sda")
    generic(sys, "sg0", volume)
    for number in range(count):
        target = f"{place}/target4:0:{number}/4:0:{number}:0"
        scsi_device(sys, target, {"vendor": vendor})
        generic(sys, f"sg{first + number}", target)
