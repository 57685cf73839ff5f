"""Judges each log of a SMART report as a whole, before its values are read. Pure.

A failing drive, a bridge or a controller can return a log that consists of ones, zeros, a pattern
or random bytes. Some fields of such a log may be in range. Therefore no value of a log is used if
several independent fields are impossible. If only one field is impossible, the other fields are
used.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from exporter.drives.fields import MAX_CELSIUS, MIN_CELSIUS, Fields, Json, counter
from exporter.drives.health import (
    DriveHealth,
    DriveIdentity,
    Protocol,
    RejectedValue,
    RejectionKind,
)

_NVME_LOG = "nvme_smart_health_information_log"
_SCSI_LOG = "scsi_error_counter_log"
_SCSI_OPERATIONS = ("read", "write", "verify")

#: The longest power-on time of an SSD, in hours: 25 years. The first SSDs with SMART are from 2003.
#: The bounds of the other counters follow from it.
MAX_SSD_HOURS = 25 * 8766
_MAX_SSD_SECONDS = MAX_SSD_HOURS * 3600

#: The highest data rate of any drive, in bytes per second. PCIe 5.0 with four lanes transfers
#: 16 GB/s, and PCIe 6.0 twice as much.
MAX_BYTES_PER_SECOND = 32e9
#: The highest rate of commands, per second. The fastest drives complete 3 million.
_MAX_COMMANDS_PER_SECOND = 20_000_000
#: The highest mean rate of errors over the life of a drive, per second.
_MAX_ERRORS_PER_SECOND = 1000

#: An impossible field counts 2 if no known drive has ever reported such a value, and 1 if some
#: firmware does (an unused temperature sensor, a busy time in another unit). From this sum on, the
#: log is invalid: two fields of the first kind, or three of the second kind and one of the first.
_INVALID_SUM = 4

#: The smallest number of counters with the same value above `_MIN_EQUAL` that shows a pattern
#: instead of counters.
_EQUAL_COUNTERS, _MIN_EQUAL = 5, 255

#: The number of fields that a log must have before a log of zeros counts as invalid.
_MIN_ZERO_FIELDS = 10
#: The start of the model, in lower case, of NVMe devices that have no flash. Some report a log of
#: zeros.
_VIRTUAL_MODELS = (
    *("amazon", "qemu", "vmware", "vbox", "orcl-vbox", "oracle", "msft", "microsoft", "google"),
    *("nvme_card", "alibaba", "parallels", "nutanix", "spdk", "linux", "bhyve", "virtual", "xen"),
)

#: The smallest raw value of an ATA attribute that uses the highest of its six bytes, and the share
#: of attributes with such a value from which on the table is random. Some firmware packs three
#: numbers into an attribute, but only into one or two of its attributes.
_HIGHEST_BYTE, _MAX_PACKED_SHARE = 1 << 40, 0.3
#: The smallest number of attributes of a table that is judged.
_MIN_ATTRIBUTES = 4

#: The values of fields with all bits set, and the number of them from which on a page is a pattern.
#: Some device statistics have one field with all bits set.
_ALL_ONES = frozenset((1 << bits) - 1 for bits in (32, 48, 56, 64))
_MIN_ONES = 3


@dataclass(frozen=True, slots=True)
class _Bound:
    """What a field of the NVMe log may contain.

    metric: the metric family of the field without `ssd_smart_`; the field itself if it has none.
    highest: the highest possible number in the unit of the log.
    weight: 2 if no known drive exceeds it, 1 if some firmware does.
    scale: the unit of the log in the base unit of the metric.
    copies: the keys at the top of the report that contain the same value.
    """

    metric: str
    highest: float
    weight: int = 2
    scale: float = 1
    copies: tuple[str, ...] = ()


_UNITS = MAX_BYTES_PER_SECOND * _MAX_SSD_SECONDS / 512_000
_COMMANDS = float(_MAX_COMMANDS_PER_SECOND * _MAX_SSD_SECONDS)
_ERRORS = float(_MAX_ERRORS_PER_SECOND * _MAX_SSD_SECONDS)
_MINUTES = MAX_SSD_HOURS * 60.0

#: The fields of the NVMe log (NVMe Base 2.0, figure 207). A drive is switched on at most once a
#: second.
_NVME_BOUNDS: Mapping[str, _Bound] = {
    "available_spare": _Bound("spare_ratio", 100, 2, 0.01, ("spare_available",)),
    "available_spare_threshold": _Bound("spare_threshold_ratio", 100, 1, 0.01),
    "percentage_used": _Bound("endurance_used_ratio", 255, 2, 0.01, ("endurance_used",)),
    "data_units_read": _Bound("host_read_bytes_total", _UNITS, 2, 512_000),
    "data_units_written": _Bound("host_written_bytes_total", _UNITS, 2, 512_000),
    "host_reads": _Bound("host_reads", _COMMANDS),
    "host_writes": _Bound("host_writes", _COMMANDS),
    "controller_busy_time": _Bound("controller_busy_seconds_total", _MINUTES, 1, 60),
    "power_cycles": _Bound("power_cycles_total", _MAX_SSD_SECONDS, copies=("power_cycle_count",)),
    "power_on_hours": _Bound("power_on_seconds_total", MAX_SSD_HOURS, 2, 3600, ("power_on_time",)),
    "unsafe_shutdowns": _Bound("unsafe_shutdowns_total", _MAX_SSD_SECONDS),
    "media_errors": _Bound("media_errors_total", _ERRORS),
    "num_err_log_entries": _Bound("error_log_entries_total", _ERRORS),
    "warning_temp_time": _Bound("over_temperature_seconds_total", _MINUTES, 1, 60),
    "critical_comp_time": _Bound("over_temperature_seconds_total", _MINUTES, 1, 60),
}
_NVME_COUNTERS = (
    *("data_units_read", "data_units_written", "host_reads", "host_writes", "power_cycles"),
    *("controller_busy_time", "power_on_hours", "unsafe_shutdowns", "media_errors"),
    "num_err_log_entries",
)
#: What the report contains besides the log itself that smartctl has taken from it.
_NVME_COPIES = (
    *("smart_status", "power_cycle_count", "power_on_time", "spare_available"),
    "endurance_used",
)
#: The attribute table, and what smartctl takes from it or computes with it.
_ATA_COPIES = ("ata_smart_attributes", "power_on_time", "power_cycle_count", "smart_status")
#: The two reserved bits of the critical warning.
_RESERVED_BITS = 0xC0

#: The temperatures that smartctl prints if a drive reports 0 K, which means no sensor.
_NO_SENSOR = (0, -273)


@dataclass(frozen=True, slots=True)
class LogJudgement:
    """The values of a report that are not used.

    hidden: the paths of the values that are removed from the report.
    rejected: the reasons, one record for each value, or one for each log that is invalid.
    """

    hidden: tuple[tuple[str, ...], ...] = ()
    rejected: tuple[RejectedValue, ...] = ()


@dataclass(slots=True)
class _Impossible:
    """The impossible fields of one log, and the sum of their weights."""

    texts: list[str] = field(default_factory=list)
    hidden: list[tuple[str, ...]] = field(default_factory=list)
    rejected: list[RejectedValue] = field(default_factory=list)
    weight: int = 0

    def add(self, key: str, number: float, bound: _Bound, reason: str) -> None:
        self.weight += bound.weight
        self.texts.append(f"{key} is {number:.4g}")
        self.hidden += [(_NVME_LOG, key), (_NVME_LOG, f"{key}_s"), *((c,) for c in bound.copies)]
        value = float(number) * bound.scale
        kind = RejectionKind.IMPOSSIBLE
        self.rejected.append(RejectedValue(bound.metric, value, key, reason, kind))


def log_judgement(fields: Fields, identity: DriveIdentity) -> LogJudgement:
    """Returns the values of the report that are impossible.

    fields: the smartctl report. No fault is recorded in it.
    """
    quiet = Fields(fields.report)
    if identity.protocol is Protocol.NVME:
        return _of_nvme(quiet, identity)
    if identity.protocol is Protocol.ATA:
        return _of_ata(quiet)
    if identity.protocol is Protocol.SCSI:
        return _of_scsi(quiet)
    return LogJudgement()


def without(report: Json, paths: Sequence[tuple[str, ...]]) -> Json:
    """Returns the report without the values at the paths. A path has one or two keys."""
    result = dict(report)
    for key, *rest in paths:
        inner = result.get(key)
        if not rest:
            result.pop(key, None)
        elif isinstance(inner, Mapping):
            result[key] = {name: value for name, value in inner.items() if name not in rest}
    return result


def invalid(log: str, reason: str) -> RejectedValue:
    """Returns the record for an invalid log. It represents all values of the log.

    log: the name of the log. reason: why the log is invalid, as text for people.
    """
    text = f"the SMART log is invalid: {reason}"
    return RejectedValue("available", 0.0, log, text, RejectionKind.LOG_INVALID)


def unusable(
    health: DriveHealth, statement: RejectedValue, rejected: tuple[RejectedValue, ...]
) -> DriveHealth:
    """Returns the health of a report of which no value is used.

    It contains only the values that are not from a log of the drive: the power mode, the link, and
    smartctl's messages and exit status.

    statement: the result of `invalid`. rejected: the other values that are not used.
    """
    return DriveHealth(
        power_mode=health.power_mode,
        link_bytes_per_second=health.link_bytes_per_second,
        link_max_bytes_per_second=health.link_max_bytes_per_second,
        exit_status=health.exit_status,
        messages=health.messages,
        unreadable=statement.reason,
        rejected=(statement, *rejected),
    )


def _of_nvme(fields: Fields, identity: DriveIdentity) -> LogJudgement:
    log = fields.get(_NVME_LOG)
    if not isinstance(log, Mapping):
        return LogJudgement()
    numbers = {key: counter(fields, _NVME_LOG, key) for key in _NVME_BOUNDS}
    found = _impossible_fields(fields, numbers)
    reason = _pattern(numbers, log, identity)
    if found.weight >= _INVALID_SUM and not reason:
        more = f" and {len(found.texts) - 3} more" if len(found.texts) > 3 else ""
        reason = f"{', '.join(found.texts[:3])}{more}"
    if not reason:
        return LogJudgement(tuple(found.hidden), tuple(found.rejected))
    hidden = ((_NVME_LOG,), *((key,) for key in _NVME_COPIES), ("temperature", "current"))
    return LogJudgement(hidden, (invalid("NVMe log page 02h", reason),))


def _impossible_fields(fields: Fields, numbers: Mapping[str, int | None]) -> _Impossible:
    found = _Impossible()
    for key, number in numbers.items():
        bound = _NVME_BOUNDS[key]
        if number is not None and number > bound.highest:
            found.add(key, number, bound, f"more than {bound.highest:.4g} is impossible")
    celsius = fields.number(_NVME_LOG, "temperature", minimum=-1e6)
    if celsius is not None and _is_impossible(celsius):
        bound = _Bound("temperature_celsius", MAX_CELSIUS)
        found.add("temperature", celsius, bound, "no drive works at this temperature")
        # The object `temperature` has the limits of the drive, too.
        found.hidden.append(("temperature", "current"))
    sensors = fields.get(_NVME_LOG, "temperature_sensors")
    if isinstance(sensors, list) and any(map(_is_impossible, sensors[:8])):
        # Each sensor is judged when it is read: here it only counts.
        found.weight += 1
        found.texts.append("a temperature sensor is out of range")
    if (fields.integer(_NVME_LOG, "critical_warning") or 0) & _RESERVED_BITS == _RESERVED_BITS:
        # Not rejected alone: a single warning that is not known is no failure.
        found.weight += 1
        found.texts.append("critical_warning has both reserved bits set")
    return found


def _is_impossible(celsius: object) -> bool:
    if not isinstance(celsius, int | float) or celsius in _NO_SENSOR:
        return False
    return not MIN_CELSIUS <= celsius <= MAX_CELSIUS


def _pattern(
    numbers: Mapping[str, int | None], log: Mapping[str, object], identity: DriveIdentity
) -> str:
    """Returns which pattern the whole log has; empty if it has none."""
    if all(log.get(key) == 255 for key in ("critical_warning", "available_spare")):
        return "all its bits are 1"
    # A log for all namespaces has the key nsid with the value -1.
    if all(
        value in _NO_SENSOR for key, value in log.items() if type(value) is int and key != "nsid"
    ):
        is_virtual = (identity.model or "").lower().startswith(_VIRTUAL_MODELS)
        fields = sum(type(value) is int for value in log.values())
        if not is_virtual and fields >= _MIN_ZERO_FIELDS:
            return "all its fields are 0, also the temperature and the spare blocks"
    counters = [number for key in _NVME_COUNTERS if (number := numbers[key])]
    for number in set(counters):
        if number > _MIN_EQUAL and counters.count(number) >= _EQUAL_COUNTERS:
            return f"{counters.count(number)} of its counters have the same value {number}"
    return ""


def _of_ata(fields: Fields) -> LogJudgement:
    hidden: list[tuple[str, ...]] = []
    rejected: list[RejectedValue] = []
    if reason := _invalid_table(fields):
        hidden += [(key,) for key in _ATA_COPIES]
        hidden.append(("temperature", "current"))
        rejected.append(invalid("ATA attribute table", reason))
    ones = sum(
        type(value := row.report.get("value")) is int and value in _ALL_ONES
        for page in fields.rows("ata_device_statistics", "pages")
        for row in page.rows("table")
    )
    if ones >= _MIN_ONES:
        hidden.append(("ata_device_statistics",))
        rejected.append(invalid("ATA device statistics", f"{ones} of its fields are all ones"))
    return LogJudgement(tuple(hidden), tuple(rejected))


def _invalid_table(fields: Fields) -> str:
    """Returns why the attribute table is invalid; empty if it is valid."""
    rows = list(fields.rows("ata_smart_attributes", "table", maximum=256))
    raws = [raw for row in rows if (raw := row.integer("raw", "value")) is not None]
    if len(raws) < _MIN_ATTRIBUTES:
        return ""
    high = [raw for raw in raws if raw >= _HIGHEST_BYTE]
    if len(high) > _MAX_PACKED_SHARE * len(raws):
        if len(set(high)) == 1:
            return f"{len(high)} of {len(raws)} attributes have the same raw value {high[0]}"
        return f"{len(high)} of {len(raws)} attributes have a raw value above 2^40"
    values = [row.integer("value") for row in rows]
    if not any(raws) and not any(values):
        return "all its attributes are 0"
    return ""


def _of_scsi(fields: Fields) -> LogJudgement:
    ones = [
        f"{operation}.{key}"
        for operation in _SCSI_OPERATIONS
        if isinstance(page := fields.get(_SCSI_LOG, operation), Mapping)
        for key, number in page.items()
        if type(number) is int and number in _ALL_ONES
    ]
    if len(ones) < _MIN_ONES:
        return LogJudgement()
    reason = f"{len(ones)} of the error counters are all ones"
    return LogJudgement(((_SCSI_LOG,),), (invalid("SCSI error counter log", reason),))
