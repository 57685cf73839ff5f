"""Builders of /sys and /proc trees, from the layouts that the kernel's documents describe.

Each builder writes one kind of drive into a `Sys`, with the real depth of directories and with
links where the kernel has links. The models and serial numbers are fictitious.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

QUEUE = {
    "scheduler": "[none] mq-deadline",
    "write_cache": "write back",
    "fua": "1",
    "discard_max_bytes": "2147450880",
    "rotational": "0",
    "nr_requests": "1023",
    "logical_block_size": "512",
    "physical_block_size": "4096",
    "optimal_io_size": "0",
}


@dataclass
class Sys:
    """A /sys below a temporary directory. Device numbers and diskseq increase automatically."""

    root: Path
    count: int = field(default=0)

    def write(self, path: str, attributes: Mapping[str, str | bytes]) -> Path:
        directory = self.root / path
        for name, value in attributes.items():
            file = directory / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(value if isinstance(value, bytes) else f"{value}\n".encode())
        directory.mkdir(parents=True, exist_ok=True)
        return directory

    def link(self, path: str, target: str) -> None:
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(os.path.relpath(self.root / target, place.parent))

    def disk(
        self,
        place: str,
        sectors: int = 1_875_385_008,
        *,
        queue: Mapping[str, str] | None = None,
        hidden: bool = False,
    ) -> Path:
        """Creates a disk at `place` below /sys. The last component is its name in /sys/block."""
        self.count += 1
        name = place.rpartition("/")[2]
        number = f"259:{self.count}"
        directory = self.write(
            place,
            {
                "size": str(sectors),
                "diskseq": str(self.count),
                "hidden": str(int(hidden)),
                **({} if hidden else {"dev": number}),
                **{f"queue/{n}": value for n, value in (QUEUE | dict(queue or {})).items()},
            },
        )
        (directory / "slaves").mkdir()
        self.link(f"block/{name}", place)
        self.link(f"class/block/{name}", place)
        return directory

    def partition(
        self, place: str, start: int = 2048, sectors: int = 204_800, offset: int = 0
    ) -> None:
        self.count += 1
        name = place.rpartition("/")[2]
        self.write(
            place,
            {
                "dev": f"259:{self.count}",
                "partition": "1",
                "start": str(start),
                "size": str(sectors),
                "alignment_offset": str(offset),
            },
        )
        self.link(f"class/block/{name}", place)

    def number(self, name: str) -> str:
        return (self.root / "class/block" / name / "dev").read_text().strip()

    def slaves(self, name: str, *below: str) -> None:
        """Adds the devices below a stacked device."""
        for each in below:
            directory = self.root / "block" / name / "slaves"
            (directory / each).symlink_to(self.root / "class/block" / each)

    def remove(self, name: str) -> None:
        """Removes the links of a disk, as the kernel does when it is unplugged."""
        (self.root / "block" / name).unlink()
        (self.root / "class/block" / name).unlink()


def pci_link(sys: Sys, place: str, *, now: tuple[str, str], best: tuple[str, str]) -> None:
    """Adds a link to a PCI function or port: speed and width, now and at most."""
    sys.write(
        place,
        {
            "current_link_speed": now[0],
            "current_link_width": now[1],
            "max_link_speed": best[0],
            "max_link_width": best[1],
        },
    )


def aer(sys: Sys, place: str, correctable: int, nonfatal: int, fatal: int) -> None:
    sys.write(
        place,
        {
            "aer_dev_correctable": f"RxErr 0\nBadTLP {correctable}\nTOTAL_ERR_COR {correctable}",
            "aer_dev_nonfatal": f"Undefined 0\nDLP 0\nTOTAL_ERR_NONFATAL {nonfatal}",
            "aer_dev_fatal": f"Undefined 0\nDLP 0\nTOTAL_ERR_FATAL {fatal}",
        },
    )


def nvme_controller(sys: Sys, instance: int, serial: str, *, state: str = "live") -> str:
    """Creates a PCIe 4.0 x4 controller in a 3.0 x4 slot. Returns its path."""
    # Each controller has its own root port, 128 per PCI domain, so that a thousand drives fit.
    domain, bus = f"{instance // 128:04x}", f"{instance % 128 + 1:02x}"
    port = f"devices/pci{domain}:00/{domain}:00:{bus}.0"
    function = f"{port}/{domain}:{bus}:00.0"
    slot = ("8.0 GT/s PCIe", "4")
    pci_link(sys, port, now=slot, best=slot)
    pci_link(sys, function, now=slot, best=("16.0 GT/s PCIe", "4"))
    aer(sys, function, 7 + instance, 2, 0)
    place = f"{function}/nvme/nvme{instance}"
    sys.write(
        place,
        {
            "model": "Flashworks F900 960GB                   ",
            "serial": f"{serial:20}",
            "firmware_rev": "FW010203",
            "state": state,
            "transport": "pcie",
        },
    )
    sys.write(f"{place}/hwmon{instance + 1}", {"temp1_max": "77850", "temp1_crit": "84850"})
    sys.link(f"{place}/device", function)
    sys.link(f"class/nvme/nvme{instance}", place)
    return place


def nvme(sys: Sys, instance: int = 0, namespaces: Sequence[int] = (1,)) -> list[str]:
    """Creates an NVMe drive without native multipath. Returns the paths of its namespaces."""
    controller = nvme_controller(sys, instance, f"FW{instance:06}")
    places = [f"{controller}/nvme{instance}n{number}" for number in namespaces]
    for place in places:
        sys.disk(place)
        sys.write(place, {"wwid": f"eui.00253{sys.count:011x}"})
        sys.link(f"{place}/device", controller)
    return places


def nvme_multipath(sys: Sys, subsystem: int, controllers: Sequence[int]) -> str:
    """Creates a namespace of a subsystem with several controllers. Returns the path of its head."""
    owner = f"devices/virtual/nvme-subsystem/nvme-subsys{subsystem}"
    names = {"model": "Flashworks F990 DP", "serial": "DP000001", "firmware_rev": "FW020000"}
    sys.write(owner, names)
    for instance in controllers:
        controller = nvme_controller(sys, instance, "DP000001")
        sys.link(f"{owner}/nvme{instance}", controller)
        path = f"{controller}/nvme{subsystem}c{instance}n1"
        sys.disk(path, hidden=True)
        sys.link(f"{path}/device", controller)
    head = f"{owner}/nvme{subsystem}n1"
    sys.disk(head)
    sys.write(head, {"wwid": "eui.0025385000000001"})
    sys.link(f"{head}/device", owner)
    return head


def identify(
    model: str, serial: str, firmware: str, *, wwn: int = 0, generations: int = 0b1110
) -> bytes:
    """Returns VPD page 0x89 with IDENTIFY DEVICE data; `generations` is word 76."""
    words = bytearray(512)

    def put(first: int, last: int, text: str) -> None:
        size = 2 * (last - first + 1)
        raw = text.encode().ljust(size)[:size]
        for at in range(0, size, 2):
            words[2 * first + at : 2 * first + at + 2] = raw[at : at + 2][::-1]

    put(10, 19, serial)
    put(23, 26, firmware)
    put(27, 46, model)
    words[152:154] = generations.to_bytes(2, "little")
    if wwn:
        words[174:176] = (0x4100).to_bytes(2, "little")
        for at, number in enumerate(range(108, 112)):
            word = wwn >> (48 - 16 * at) & 0xFFFF
            words[2 * number : 2 * number + 2] = word.to_bytes(2, "little")
    head = b"\0\x89\x02\x38" + bytes(4) + b"linux   " + b"libata".ljust(16) + b"3.00"
    return head.ljust(60, b"\0") + bytes(words)


def serial_page(serial: str) -> bytes:
    """Returns VPD page 0x80."""
    return b"\0\x80" + len(serial).to_bytes(2, "big") + serial.encode()


def _scsi_disk(sys: Sys, target: str, name: str, device: Mapping[str, str | bytes]) -> str:
    """Creates a SCSI disk at `target` (.../0:0:0:0) below /sys. Returns its path."""
    counts = {"state": "running", "ioerr_cnt": "0x2", "iotmo_cnt": "0x0", "type": "0"}
    sys.write(target, {**counts, **device})
    if not (sys.root / "bus/scsi").exists():
        sys.write("bus/scsi", {})
    sys.link(f"{target}/subsystem", "bus/scsi")
    place = f"{target}/block/{name}"
    sys.disk(place, queue={"scheduler": "none [mq-deadline] kyber"})
    sys.link(f"{place}/device", target)
    return place


def _ata_names(serial: str, model: str) -> dict[str, str | bytes]:
    """Returns the SCSI attributes of a SATA drive; the model has only 16 characters."""
    return {
        "vendor": "ATA     ",
        "model": f"{model[:16]:16}",
        "rev": "7B6Q",
        "wwid": "naa.5002538f00000001",
        "vpd_pg80": serial_page(f"{serial:>20}"),
        "vpd_pg89": identify(model, serial, "SVT07B6Q", wwn=0x5002538F00000001),
    }


def sata(
    sys: Sys,
    name: str = "sda",
    port: int = 1,
    *,
    speed: str = "6.0 Gbps",
    model: str = "Flashworks S500 Enterprise 480GB",
) -> str:
    """Creates a SATA drive at an AHCI port."""
    ata = f"devices/pci0000:00/0000:00:17.0/ata{port}"
    sys.write(
        f"{ata}/link{port}/ata_link/link{port}",
        {"sata_spd": speed, "hw_sata_spd_limit": "6.0 Gbps", "sata_spd_limit": "<unknown>"},
    )
    target = f"{ata}/host{port}/target{port}:0:0/{port}:0:0:0"
    return _scsi_disk(sys, target, name, _ata_names(f"S{port:05}", model))


def _end_device(sys: Sys, host: int, phy: int, rate: str, protocols: str) -> str:
    """Creates an end device at one phy of a SAS adapter. Returns the path of its SCSI device."""
    adapter = f"devices/pci0000:00/0000:00:03.0/0000:02:00.0/host{host}"
    port, phy_name = f"{adapter}/port-{host}:{phy}", f"phy-{host}:{phy}"
    sys.write(
        f"{adapter}/{phy_name}/sas_phy/{phy_name}",
        {"negotiated_linkrate": rate, "maximum_linkrate_hw": "12.0 Gbit"},
    )
    sys.link(f"{port}/{phy_name}", f"{adapter}/{phy_name}")
    end_device = f"{port}/end_device-{host}:{phy}"
    sys.write(
        f"{end_device}/sas_device/end_device-{host}:{phy}", {"target_port_protocols": protocols}
    )
    return f"{end_device}/target{host}:0:{phy}/{host}:0:{phy}:0"


def sata_on_sas(sys: Sys, name: str = "sdb", host: int = 8, *, rate: str = "6.0 Gbit") -> str:
    """Creates a SATA drive at a SAS adapter."""
    target = _end_device(sys, host, 0, rate, "sata")
    return _scsi_disk(sys, target, name, _ata_names("S00008", "Flashworks S500 1.92TB"))


def sas(sys: Sys, name: str = "sdc", host: int = 9, *, rate: str = "12.0 Gbit") -> str:
    """Creates a SAS drive."""
    target = _end_device(sys, host, 1, rate, "ssp")
    names: dict[str, str | bytes] = {
        "vendor": "FLASHWKS",
        "model": "X700 1.6TB      ",
        "rev": "A1C2",
        "wwid": "naa.5000c50000000001",
        "vpd_pg80": serial_page("X7000001"),
    }
    return _scsi_disk(sys, target, name, names)


def usb(sys: Sys, name: str = "sdd", speed: str = "5000") -> str:
    """Creates a drive behind a USB bridge with its own names and a wrong optimal I/O size."""
    device = "devices/pci0000:00/0000:00:14.0/usb2/2-1"
    sys.write(device, {"speed": speed, "idVendor": "152d", "idProduct": "0562"})
    sys.write("devices/pci0000:00/0000:00:14.0/usb2", {"speed": "10000"})
    target = f"{device}/2-1:1.0/host11/target11:0:0/11:0:0:0"
    place = _scsi_disk(sys, target, name, {"vendor": "SSK     ", "model": "Storage         "})
    sys.write(place, {"queue/optimal_io_size": "33553920"})
    return place


def _other_bus(sys: Sys, device: str, bus: str, place: str) -> None:
    if not (sys.root / "bus" / bus).exists():
        sys.write(f"bus/{bus}", {})
    sys.link(f"{device}/subsystem", f"bus/{bus}")
    sys.disk(place)
    sys.link(f"{place}/device", device)


def virtio(sys: Sys, name: str = "vda", serial: str = "vol-0001") -> str:
    """Creates a virtio-blk disk."""
    device = f"devices/pci0000:00/0000:00:05.0/virtio{sys.count}"
    place = f"{device}/block/{name}"
    sys.write(device, {"vendor": "0x1af4"})
    _other_bus(sys, device, "virtio", place)
    sys.write(place, {"serial": serial})
    return place


def ufs(sys: Sys, name: str = "sde") -> str:
    """Creates a logical unit of a UFS drive."""
    controller = "devices/platform/soc/1d84000.ufshc"
    sys.write(f"{controller}/host3/scsi_host/host3", {"proc_name": "ufshcd"})
    sys.write(f"{controller}/health_descriptor", {"life_time_estimation_a": "0x02"})
    names: dict[str, str | bytes] = {
        "vendor": "FLASHWKS",
        "model": "FLU256          ",
        "rev": "0200",
        "vpd_pg80": serial_page("U256000001"),
    }
    return _scsi_disk(sys, f"{controller}/host3/target3:0:0/3:0:0:0", name, names)


def mmc(sys: Sys, life_time: str | None = None, pre_eol_info: str | None = None) -> str:
    """Creates an eMMC with one boot area. Without `life_time`, it has the files of an SD card."""
    device = "devices/platform/soc/fe340000.mmc/mmc_host/mmc0/mmc0:0001"
    sys.write(device, {"name": "FLW032", "serial": "0x12345678", "fwrev": "0x5", "type": "MMC"})
    for file, content in (("life_time", life_time), ("pre_eol_info", pre_eol_info)):
        if content is not None:
            sys.write(device, {file: content})
    place = f"{device}/block/mmcblk0"
    _other_bus(sys, device, "mmc", place)
    sys.disk(f"{place}/mmcblk0boot0", sectors=8192)
    return place


def cciss(sys: Sys) -> str:
    """Creates a logical drive of an old HP Smart Array driver, whose name has a slash."""
    place = "devices/pci0000:00/0000:00:04.0/cciss0/c0d0/block/cciss!c0d0"
    sys.disk(place)
    sys.partition(f"{place}/cciss!c0d0p1")
    return place


def md(sys: Sys, name: str, *members: str, degraded: int = 0) -> str:
    """Creates a RAID 1 of `members`, which are disks or partitions."""
    place = f"devices/virtual/block/{name}"
    sys.disk(place)
    sys.write(place, {"md/degraded": str(degraded), "md/level": "raid1"})
    sys.slaves(name, *members)
    return place


def dm(sys: Sys, name: str, mapped: str, *below: str) -> str:
    """Creates a logical volume on `below`."""
    place = f"devices/virtual/block/{name}"
    sys.disk(place)
    sys.write(place, {"dm/name": mapped, "dm/uuid": "LVM-x"})
    sys.slaves(name, *below)
    return place


def mount_line(
    number: str,
    mountpoint: str,
    fstype: str = "ext4",
    source: str = "/dev/sda1",
    *,
    root: str = "/",
    options: str = "rw,relatime",
    super_options: str = "rw",
) -> str:
    """Returns a line of mountinfo with the kernel's escapes."""
    escaped = [_escaped(each) for each in (root, mountpoint, options)]
    tail = f"{fstype} {_escaped(source)} {_escaped(super_options)}"
    return f"36 35 {number} {' '.join(escaped)} shared:1 - {tail}\n"


def _escaped(text: str) -> str:
    return "".join(f"\\{ord(c):03o}" if c in " \t\n\\" else c for c in text)


def process(
    proc: Path,
    pid: int,
    argv: Sequence[str],
    mountinfo: str,
    *,
    cgroup: str = "0::/system.slice/mysql.service",
    name: str | None = None,
    uid: int = 1000,
    groups: Sequence[int] = (1000,),
    login: int = (1 << 32) - 1,
    started: int = 4711,
    parent: int = 1,
) -> None:
    """Creates a process; its name is `name` or that of its program.

    login: the user whose login started the process; the default means none.
    groups: the group of the process, then its supplementary groups.
    started: the time of its start, in clock ticks after the boot.
    parent: the process ID of its parent.
    """
    directory = proc / str(pid)
    directory.mkdir(parents=True)
    comm = (name or argv[0].rpartition("/")[2])[:15]
    columns = ["S", str(parent), *["0"] * 17, str(started), *["0"] * 30]
    (directory / "stat").write_text(f"{pid} ({comm}) {' '.join(columns)}\n")
    (directory / "comm").write_text(f"{comm}\n")
    (directory / "cmdline").write_bytes(b"".join(each.encode() + b"\0" for each in argv))
    (directory / "mountinfo").write_text(mountinfo)
    (directory / "cgroup").write_text(f"{cgroup}\n")
    (directory / "loginuid").write_text(str(login))
    ids = [f"{name}:\t" + "\t".join([str(n)] * 4) for name, n in (("Uid", uid), ("Gid", groups[0]))]
    more = " ".join(map(str, groups[1:]))
    (directory / "status").write_text("\n".join((f"Name:\t{comm}", *ids, f"Groups:\t{more} \n")))
