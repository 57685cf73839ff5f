"""The settings: every default stands here, and only here.

The sections and keys of the configuration file are the fields of these records; a key's comment is
its documentation, and `tests/test_docs.py` holds the README against it.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from pathlib import Path

from exporter.errors import ConfigError
from exporter.io.activity import DiskRules
from exporter.io.drive_class import DriveClass
from exporter.probe.gate import GateRules
from exporter.probe.profiles import ProfileSettings

#: Every collector, and whether it is on by default.
COLLECTORS: Mapping[str, bool] = {
    "cpu": True,
    "softirqs": True,
    "softnet": True,
    "pressure": True,
    "cgroup": True,
    "disk": True,
    "device": True,
    "filesystem": True,
    "smart": True,
    "probe": True,
    "process": True,
}

#: Partitions, RAM disks, loop and floppy devices, optical drives, and the hidden paths of NVMe
#: multipath, whose work their head shows: no drives of their own.
NO_DRIVES = (
    r"^((z?ram|loop|fd|sr|zd)\d+|(h|s|v|xv)d[a-z]+\d+"
    r"|(nvme\d+n|mmcblk|nbd|rbd|md|loop|zd|bcache|pmem)\d+p\d+"
    r"|mmcblk\d+(boot\d+|rpmb)|nvme\d+c\d+n\d+)$"
)


@dataclass(frozen=True, slots=True)
class Paths:
    """Where the machine is; a folder of tests, or a host seen from a container.

    procfs, sysfs, rootfs: the roots of /proc, /sys and the host's file system.
    smartctl, fio: the programs, as a path or a name in PATH.
    """

    procfs: Path = Path("/proc")
    sysfs: Path = Path("/sys")
    rootfs: Path = Path("/")
    smartctl: str = "smartctl"
    fio: str = "fio"


@dataclass(frozen=True, slots=True)
class WebSettings:
    """listen_address: where to serve, "host:port" or ":port", one or several.

    config_file: TLS and passwords, in the exporter-toolkit's format.
    """

    listen_address: tuple[str, ...] = ("127.0.0.1:10177",)
    config_file: Path | None = None


@dataclass(frozen=True, slots=True)
class SamplerSettings:
    """interval_seconds: between two samples, 0.1 to 10."""

    interval_seconds: float = 1.0


@dataclass(frozen=True, slots=True)
class SurveySettings:
    """interval_seconds: between two looks at /sys and the mounts, 5 to 3600. A new device is seen
    at once.
    """

    interval_seconds: float = 30.0


@dataclass(frozen=True, slots=True)
class DiskSettings:
    """device_include, device_exclude: regular expressions searched in device names, one of the two.
    With neither, partitions, RAM disks, loop devices and optical drives are left out.

    request_sizes: histograms of request sizes, off by default.
    """

    device_include: str = ""
    device_exclude: str = ""
    request_sizes: bool = False


@dataclass(frozen=True, slots=True)
class CpuSettings:
    """per_cpu: CPU time and softirqs of each CPU too: 2,000 series more on 128 CPUs, so off."""

    per_cpu: bool = False


@dataclass(frozen=True, slots=True)
class CgroupSettings:
    """groups: control groups besides mysqld's own, as "system.slice/backup.service"."""

    groups: tuple[str, ...] = ()


class SmartSource(str, Enum):
    """Who asks the drives."""

    AUTO = "auto"
    EXEC = "exec"
    DIRECTORY = "directory"


@dataclass(frozen=True, slots=True)
class SmartDrive:
    """path, type: a drive that no scan finds, as smartctl is told of it: "/dev/sda" and
    "megaraid,3". A range stands for several: "cciss,0-7".
    """

    path: str
    type: str


@dataclass(frozen=True, slots=True)
class SmartSettings:
    """source: who asks the drives: "directory" takes what `ssd-exporter smart-agent` leaves, "exec"
    has this process run smartctl, "auto" takes the agent's word where it is fresh and else asks
    itself, where it may.

    directory: where the agent leaves what it found.

    nvme_interval_seconds, interval_seconds: between two polls of an NVMe drive, and of a SATA or
    SAS drive, whose SMART commands hold its I/O up, 10 to 86400.

    timeout_seconds: a smartctl that takes longer is ended, 1 to 600.

    processes, processes_per_adapter: of smartctl at a time, on the host and behind one adapter.

    rescan_seconds: between two looks for drives, 60 to 86400. A block device that comes or goes
    is looked for at once.

    max_age_intervals: values from a drive that has not answered for so many intervals are no longer
    shown.

    include, exclude: regular expressions searched in "/dev/sda sat"; what they leave out is not
    asked.

    drive: drives that no scan finds, as [[smart.drive]] tables.

    raw_attributes, attribute_values: show the ATA table's raw numbers; its normalised ones too.
    """

    source: SmartSource = SmartSource.AUTO
    directory: Path = Path("/run/ssd-smart-agent")
    nvme_interval_seconds: float = 60.0
    interval_seconds: float = 900.0
    timeout_seconds: float = 30.0
    processes: int = 8
    processes_per_adapter: int = 4
    rescan_seconds: float = 600.0
    max_age_intervals: float = 4.0
    include: str = ""
    exclude: str = ""
    drive: tuple[SmartDrive, ...] = ()
    raw_attributes: bool = True
    attribute_values: bool = False


@dataclass(frozen=True, slots=True)
class ProbeSettings:
    """directory: where probes may write: a directory of ours on the filesystem of MySQL's data, not
    within it; one for each drive. Without one nothing is probed.

    profiles: those that run periodically, of the built-in ones and of [probe.profile.NAME].

    first_delay_seconds: from the start to the first probe, splayed by host, 0 to 86400.

    budget_bytes_per_day: what the scheduled profiles may write to a drive in a day (UTC), counted
    with what the filesystem adds. Where `rated_bytes_written` of the drive is set, no more than
    0.05 % of it a year.

    copy_on_write: probe btrfs, ZFS and the like too, where each block that is written goes to a new
    place.

    profile: parameters of a profile; a built-in one's are changed, another name is a new profile.

    gate: when a probe may run, and when one that runs is ended.
    """

    directory: tuple[Path, ...] = ()
    profiles: tuple[str, ...] = ("fsync", "page_read", "page_write")
    first_delay_seconds: float = 600.0
    budget_bytes_per_day: int = 1 << 30
    copy_on_write: bool = False
    profile: Mapping[str, ProfileSettings] = field(default_factory=dict)
    gate: GateRules = field(default_factory=GateRules)


@dataclass(frozen=True, slots=True)
class DeviceSettings:
    """class: what the device is, where the kernel says it wrongly: nvme, ssd or rotational. RAID
    controllers call their SSD volumes rotational.

    smart_type: how smartctl is to ask it ("sat", "sntasmedia"), where it cannot tell; "off" leaves
    it alone.

    smart_interval_seconds, smart_timeout_seconds: this drive's own.

    rated_bytes_written: what its maker lets be written over its life (TBW); never guessed.
    """

    class_: DriveClass | None = field(default=None, metadata={"key": "class"})
    smart_type: str = ""
    smart_interval_seconds: float | None = None
    smart_timeout_seconds: float | None = None
    rated_bytes_written: float | None = None


@dataclass(frozen=True, slots=True)
class StateSettings:
    """directory: where what was learned is kept over a restart."""

    directory: Path | None = None


@dataclass(frozen=True, slots=True)
class LogSettings:
    """level: debug, info, warning or error. format: logfmt or json."""

    level: str = "info"
    format: str = "logfmt"


@dataclass(frozen=True, slots=True)
class CompatSettings:
    """node_exporter: also emit node_exporter's own families, for hosts without it."""

    node_exporter: bool = False


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that can be set."""

    path: Paths = field(default_factory=Paths)
    web: WebSettings = field(default_factory=WebSettings)
    sampler: SamplerSettings = field(default_factory=SamplerSettings)
    survey: SurveySettings = field(default_factory=SurveySettings)
    disk: DiskSettings = field(default_factory=DiskSettings)
    cpu: CpuSettings = field(default_factory=CpuSettings)
    cgroup: CgroupSettings = field(default_factory=CgroupSettings)
    smart: SmartSettings = field(default_factory=SmartSettings)
    probe: ProbeSettings = field(default_factory=ProbeSettings)
    rules: DiskRules = field(default_factory=DiskRules)
    state: StateSettings = field(default_factory=StateSettings)
    log: LogSettings = field(default_factory=LogSettings)
    compat: CompatSettings = field(default_factory=CompatSettings)
    collector: Mapping[str, bool] = field(default_factory=lambda: dict(COLLECTORS))
    device: Mapping[str, DeviceSettings] = field(default_factory=dict)
    role: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def device_filter(disk: DiskSettings) -> Callable[[str], bool]:
    """Returns a function that is True for the names of devices to export.

    Raises:
        ConfigError: an expression is invalid, or both are set.
    """
    if disk.device_include and disk.device_exclude:
        raise ConfigError(
            "disk.device_include and disk.device_exclude are both set", "set one of them"
        )
    include = regular_expression("disk.device_include", disk.device_include)
    exclude = regular_expression("disk.device_exclude", disk.device_exclude or NO_DRIVES)

    # Called for every device once a second. 16,384 entries hold 2,000 devices with partitions.
    @lru_cache(maxsize=1 << 14)
    def is_exported(device: str) -> bool:
        if disk.device_include:
            return include.search(device) is not None
        return exclude.search(device) is None

    return is_exported


def regular_expression(key: str, pattern: str) -> re.Pattern[str]:
    """Returns the compiled pattern of a setting.

    Raises:
        ConfigError: the pattern is invalid; the message names the key.
    """
    try:
        return re.compile(pattern)
    except re.error as e:
        raise ConfigError(f"{key} is {pattern!r}, which is not a regular expression: {e}") from e
