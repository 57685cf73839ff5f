"""Defines the settings and their defaults.

Each record is a section of the configuration file, and its fields are the keys of the section. The
docstring of a record documents its keys. `tests/test_docs.py` checks that docs/settings.md lists
every key.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from pathlib import Path

from exporter.config.disk_rules import DiskRules
from exporter.config.drive_class import DriveClass, VolumeType
from exporter.config.gate_rules import GateRules
from exporter.config.history_settings import HistorySettings, LinkSettings
from exporter.config.latency_settings import LatencySettings
from exporter.config.profiles import ON_BY_DEFAULT, ProfileSettings
from exporter.runtime.errors import ConfigError

#: The names of all collectors, in the order of the page; see `exporter.metrics.collectors`. The
#: value is True if the collector is enabled by default.
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
    "process": True,
    "probe": True,
    "latency": True,
}

#: Matches the block devices that are excluded by default: partitions, RAM disks, loop and floppy
#: devices, optical drives, and the hidden path devices of NVMe multipath. The I/O of the path
#: devices is included in that of the multipath device.
_DEFAULT_DEVICE_EXCLUDE = (
    r"^((z?ram|loop|fd|sr|zd)\d+|(h|s|v|xv)d[a-z]+\d+"
    r"|(nvme\d+n|mmcblk|nbd|rbd|md|loop|zd|bcache|pmem)\d+p\d+"
    r"|mmcblk\d+(boot\d+|rpmb)|nvme\d+c\d+n\d+)$"
)


@dataclass(frozen=True, slots=True)
class Paths:
    """The paths of the host's files and of the external programs.

    procfs, sysfs, rootfs: the roots of /proc, /sys and the host's file system. They differ from the
    defaults in a container that monitors its host, and in tests.
    smartctl, fio: the programs, as a path or as a name in PATH.
    """

    procfs: Path = Path("/proc")
    sysfs: Path = Path("/sys")
    rootfs: Path = Path("/")
    smartctl: str = "smartctl"
    fio: str = "fio"


@dataclass(frozen=True, slots=True)
class WebSettings:
    """The HTTP server.

    listen_address: one or more addresses to listen on, as "host:port" or ":port".

    config_file: a file with TLS certificates and passwords, in the format of the Prometheus
    exporter-toolkit. None means no TLS and no passwords.
    """

    listen_address: tuple[str, ...] = ("127.0.0.1:10177",)
    config_file: Path | None = None


@dataclass(frozen=True, slots=True)
class SamplerSettings:
    """The sampling of the kernel's I/O and CPU counters.

    interval_seconds: time between two samples, 0.1 to 10.
    """

    interval_seconds: float = 1.0


@dataclass(frozen=True, slots=True)
class SurveySettings:
    """The survey: reading the topology, which is the block devices in /sys and the mounts.

    interval_seconds: time between two surveys, 5 to 3600. If a block device appears or disappears,
    a survey starts at once.

    keep_role_days: the role of a MySQL server that has ended is kept for this number of days, 0 to
    365. A server ends when its file system becomes read-only, and the alert must not end with it.
    """

    interval_seconds: float = 30.0
    keep_role_days: float = 7.0


@dataclass(frozen=True, slots=True)
class DiskSettings:
    """The collector `disk`.

    device_include, device_exclude: regular expressions that are searched in device names. Only one
    of the two may be set. Without either, partitions, RAM disks, loop devices and optical drives
    are excluded.

    request_sizes: export histograms of request sizes.
    histograms: export histograms of busy ratio, queue depth and await.
    """

    device_include: str = ""
    device_exclude: str = ""
    request_sizes: bool = False
    histograms: bool = True


@dataclass(frozen=True, slots=True)
class CpuSettings:
    """The collectors of CPU time and softirqs.

    per_cpu: also export the values of each CPU. This adds 2,000 time series on 128 CPUs.
    """

    per_cpu: bool = False


@dataclass(frozen=True, slots=True)
class CgroupSettings:
    """The collector `cgroup`.

    groups: control groups to export in addition to mysqld's, such as "system.slice/backup.service".

    services: the number of busiest services of each device that are exported by name, 0 to 50. The
    services of mysqld and of `groups` are exported in addition. 0 disables the ranking.
    """

    groups: tuple[str, ...] = ()
    services: int = 5


class SmartSource(str, Enum):
    """The permitted values of the setting smart.source; see `SmartSettings.source`."""

    AUTO = "auto"
    EXEC = "exec"
    DIRECTORY = "directory"


@dataclass(frozen=True, slots=True)
class SmartDrive:
    """A drive that `smartctl --scan-open` does not find.

    path, type: the arguments of smartctl, such as "/dev/sda" and "megaraid,3". A range in the type
    adds several drives: "cciss,0-7".
    """

    path: str
    type: str


@dataclass(frozen=True, slots=True)
class SmartSettings:
    """The reading of SMART data; see docs/smart.md.

    source: where SMART data comes from.
    - "directory": the documents of `ssd-exporter smart-agent` are read.
    - "exec": this process runs smartctl.
    - "auto": the documents are read while they are recent. Otherwise this process runs smartctl,
      which requires capabilities.

    directory: the directory with the agent's documents.

    nvme_interval_seconds, interval_seconds: time between two polls of an NVMe drive, and of a SATA
    or SAS drive, 10 to 86400. SMART commands delay the I/O of SATA and SAS drives.

    nvme_logs: read further log pages of NVMe drives, such as those of OCP and of the vendors.

    nvme_log_interval_seconds: time between two reads of these pages, 10 to 3600.

    timeout_seconds: a smartctl process that runs longer is killed, 1 to 600.

    processes, processes_per_adapter: maximum number of concurrent smartctl processes on the host,
    and behind one adapter.

    rescan_seconds: time between two scans for drives, 60 to 86400. If a block device appears or
    disappears, a scan starts at once.

    max_age_intervals: the values of a drive are removed from the page when it has not answered for
    this number of poll intervals.

    include, exclude: regular expressions that are searched in text such as "/dev/sda sat". Excluded
    drives are not polled.

    drive: drives that the scan does not find, as [[smart.drive]] tables.

    raw_attributes, attribute_values: export the raw values and the normalised values of the ATA
    attribute table.
    """

    source: SmartSource = SmartSource.AUTO
    directory: Path = Path("/run/ssd-smart-agent")
    nvme_interval_seconds: float = 60.0
    interval_seconds: float = 900.0
    nvme_logs: bool = True
    nvme_log_interval_seconds: float = 900.0
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
    """Scheduled fio probes; see docs/probes.md.

    directory: directories that probes write to, one for each drive. Each must be on the file system
    of the database, outside the database's own directory. Probes are disabled without a directory.

    profiles: the profiles that run periodically: built-in ones and those of [probe.profile.NAME].

    first_delay_seconds: time from the start of the exporter to the first probe, 0 to 86400. The
    actual time differs from it by up to 20 %, so that the hosts of a fleet do not probe together.

    budget_bytes_per_day: the bytes that scheduled profiles may write to a drive in a day (UTC),
    including the file system's overhead. If `rated_bytes_written` of the drive is set, probes write
    at most 0.05 % of it in a year.

    copy_on_write: also probe file systems such as btrfs and ZFS, which write each block to a new
    location.

    profile: parameters of profiles. The name of a built-in profile overrides its parameters; any
    other name defines a profile.

    gate: the conditions under which a probe may start, and under which a running probe is stopped.
    """

    directory: tuple[Path, ...] = ()
    profiles: tuple[str, ...] = ON_BY_DEFAULT
    first_delay_seconds: float = 600.0
    budget_bytes_per_day: int = 1 << 30
    copy_on_write: bool = False
    profile: Mapping[str, ProfileSettings] = field(default_factory=dict)
    gate: GateRules = field(default_factory=GateRules)


@dataclass(frozen=True, slots=True)
class DeviceSettings:
    """Settings of one device.

    class: nvme, ssd or rotational. Set it if the kernel reports the wrong class. For example, RAID
    controllers report SSD volumes as rotational.

    volume: drive, array, hypervisor or cloud; `VolumeType` explains them. Set it if the model and
    the transport of the device do not show which of them it is.

    smart_type: smartctl's device type ("sat", "sntasmedia") if smartctl does not detect it. "off"
    excludes the drive from polling.

    smart_interval_seconds, smart_timeout_seconds: the poll interval and the timeout of this drive;
    without them the settings of [smart] apply.

    rated_bytes_written: the rated endurance of the drive (TBW) in bytes. There is no default.
    """

    class_: DriveClass | None = field(default=None, metadata={"key": "class"})
    volume: VolumeType | None = None
    smart_type: str = ""
    smart_interval_seconds: float | None = None
    smart_timeout_seconds: float | None = None
    rated_bytes_written: float | None = None


@dataclass(frozen=True, slots=True)
class StateSettings:
    """The state directory.

    directory: stores baselines, counters and the wear history across restarts. None means
    $STATE_DIRECTORY or a default directory; see `exporter.runtime.state.open_state_file`.
    """

    directory: Path | None = None


@dataclass(frozen=True, slots=True)
class LogSettings:
    """The log.

    level: debug, info, warning or error.

    format: logfmt or json.
    """

    level: str = "info"
    format: str = "logfmt"


@dataclass(frozen=True, slots=True)
class CompatSettings:
    """Compatibility with other exporters.

    node_exporter: also export metrics under node_exporter's names, for hosts without node_exporter.
    smartctl_exporter: also export metrics under smartctl_exporter's names, for its dashboards.
    """

    node_exporter: bool = False
    smartctl_exporter: bool = False


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings. Each field is a section of the configuration file."""

    path: Paths = field(default_factory=Paths)
    web: WebSettings = field(default_factory=WebSettings)
    sampler: SamplerSettings = field(default_factory=SamplerSettings)
    survey: SurveySettings = field(default_factory=SurveySettings)
    disk: DiskSettings = field(default_factory=DiskSettings)
    cpu: CpuSettings = field(default_factory=CpuSettings)
    cgroup: CgroupSettings = field(default_factory=CgroupSettings)
    smart: SmartSettings = field(default_factory=SmartSettings)
    probe: ProbeSettings = field(default_factory=ProbeSettings)
    history: HistorySettings = field(default_factory=HistorySettings)
    latency: LatencySettings = field(default_factory=LatencySettings)
    links: LinkSettings = field(default_factory=LinkSettings)
    rules: DiskRules = field(default_factory=DiskRules)
    state: StateSettings = field(default_factory=StateSettings)
    log: LogSettings = field(default_factory=LogSettings)
    compat: CompatSettings = field(default_factory=CompatSettings)
    collector: Mapping[str, bool] = field(default_factory=lambda: dict(COLLECTORS))
    device: Mapping[str, DeviceSettings] = field(default_factory=dict)
    role: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def rated_bytes(self) -> dict[str, int]:
        """Returns the configured rated endurance of drives in bytes, keyed by label."""
        return {
            name: int(device.rated_bytes_written)
            for name, device in self.device.items()
            if device.rated_bytes_written is not None
        }

    def longest_smart_timeout_seconds(self) -> float:
        """Returns the longest timeout of a poll of one drive, in seconds."""
        own = (device.smart_timeout_seconds or 0.0 for device in self.device.values())
        return max(self.smart.timeout_seconds, *own, 0.0)


def device_filter(disk: DiskSettings) -> Callable[[str], bool]:
    """Returns a function that takes a device name and returns True if the device is exported.

    Raises:
        ConfigError: a regular expression is invalid, or device_include and device_exclude are both
            set.
    """
    if disk.device_include and disk.device_exclude:
        raise ConfigError(
            "disk.device_include and disk.device_exclude are both set", "set one of them"
        )
    include = regular_expression("disk.device_include", disk.device_include)
    exclude = regular_expression(
        "disk.device_exclude", disk.device_exclude or _DEFAULT_DEVICE_EXCLUDE
    )

    # The results are cached, because the function is called for every device once per second.
    # 16,384 entries are sufficient for 2,000 devices with partitions.
    @lru_cache(maxsize=1 << 14)
    def is_exported(device: str) -> bool:
        if disk.device_include:
            return include.search(device) is not None
        return exclude.search(device) is None

    return is_exported


def regular_expression(key: str, pattern: str) -> re.Pattern[str]:
    """Returns the compiled pattern of a setting.

    key: the dotted key of the setting, for the error message.

    Raises:
        ConfigError: the pattern is not a regular expression.
    """
    try:
        return re.compile(pattern)
    except re.error as e:
        raise ConfigError(f"{key} is {pattern!r}, which is not a regular expression: {e}") from e
