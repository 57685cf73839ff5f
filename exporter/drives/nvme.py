"""Parses the health of an NVMe drive from its SMART / Health Information log.

This log is log page 2 of the NVMe base specification. smartctl prints its fields as JSON.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from exporter.drives import self_test_log
from exporter.drives.fields import Fields, celsius, counter, power_on_seconds, smart_passed
from exporter.drives.health import DriveHealth, Endurance, EnduranceSource, UnitSource, WrittenBytes

_LOG = "nvme_smart_health_information_log"

#: A counter of the thermal management, which smartctl's JSON has since the version after 7.5.
THERMAL_MANAGEMENT = (_LOG, "thermal_mgmt_temperature_1_transition_count")

#: The data unit of the specification: one thousand blocks of 512 bytes.
_DATA_UNIT_BYTES = 512_000

#: The names of the bits of the critical warning, lowest bit first.
_WARNINGS = (
    "spare",
    "temperature",
    "reliability",
    "read_only",
    "volatile_backup",
    "persistent_memory",
)
#: The bits that NVMe Base 2.0 reserves. They have a name only if they are set.
_RESERVED = {6: "reserved_6", 7: "reserved_7"}
_VOLATILE_BACKUP = 1 << 4

#: The largest number of temperature sensors in the log.
_MAX_SENSORS = 8
#: The largest number of keys that are read if the sensors are a JSON object. A valid report has at
#: most 8.
_MAX_SENSOR_KEYS = 64
_SENSOR_KEY = re.compile(r"\D*([1-8])", re.ASCII)

#: The largest value of the field `percentage_used`. It means 255 % or more.
_MAX_PERCENT_USED = 255


def nvme_health(fields: Fields, more: Mapping[str, Any]) -> DriveHealth:
    """Returns the health values of an NVMe drive.

    fields: the smartctl report.
    more: values that are not from this log, keyed by the field of `DriveHealth`.
    """
    warning = fields.integer(_LOG, "critical_warning", maximum=255)
    if warning is not None and warning & _VOLATILE_BACKUP:
        # A set bit means that the backup of volatile memory failed. A clear bit does not mean
        # that the drive has such a backup.
        more = {**more, "plp_healthy": False}
    passed = smart_passed(fields)
    spare_percent, threshold_percent = _spare_percent(fields)
    cycles = counter(fields, _LOG, "power_cycles")
    return DriveHealth(
        healthy=passed if passed is not None or warning is None else warning == 0,
        endurance=_endurance(fields),
        spare_ratio=_ratio(spare_percent),
        spare_threshold_ratio=_ratio(threshold_percent),
        temperatures=_temperatures(fields),
        temperature_warning_celsius=_limit(fields, "warning", "op_limit_max"),
        temperature_critical_celsius=_limit(fields, "critical", "critical_limit_max"),
        over_temperature_warning_seconds=_minutes(fields, "warning_temp_time"),
        over_temperature_critical_seconds=_minutes(fields, "critical_comp_time"),
        critical_warnings=_critical_warnings(warning),
        host_read=_host_bytes(fields, "data_units_read"),
        host_written=_host_bytes(fields, "data_units_written"),
        media_errors=counter(fields, _LOG, "media_errors"),
        error_log_entries=counter(fields, _LOG, "num_err_log_entries"),
        power_on_seconds=_power_on_seconds(fields),
        power_cycles=fields.integer("power_cycle_count") if cycles is None else cycles,
        unsafe_shutdowns=counter(fields, _LOG, "unsafe_shutdowns"),
        # A drive that does not count busy time reports 0, like a new drive that was busy for less
        # than a minute. So 0 becomes None.
        controller_busy_seconds=_minutes(fields, "controller_busy_time") or None,
        self_test=self_test_log.nvme_self_test(fields),
        **more,
    )


def _spare_percent(fields: Fields) -> tuple[int | None, int | None]:
    """Returns the available spare and its threshold, in percent. None means not reported.

    If the drive reports 0 for both, both are None, because the drive then has no spare blocks.
    """
    spare = fields.integer(_LOG, "available_spare", maximum=100)
    threshold = fields.integer(_LOG, "available_spare_threshold", maximum=100)
    return (None, None) if spare == threshold == 0 else (spare, threshold)


def _endurance(fields: Fields) -> Endurance | None:
    percent = fields.integer(_LOG, "percentage_used", maximum=_MAX_PERCENT_USED)
    spare = _spare_percent(fields)[0]
    if percent is None or (percent == 0 and spare is None):
        # A new drive reports 0 % used, too, but it reports its spare. A drive that reports neither
        # is emulated and has no wear.
        return None
    return Endurance(percent / 100, EnduranceSource.NVME_LOG)


def _ratio(percent: int | None) -> float | None:
    return None if percent is None else percent / 100


def _temperatures(fields: Fields) -> dict[str, float]:
    composite = celsius(fields, "temperature", "current") or celsius(fields, _LOG, "temperature")
    temperatures = {} if composite is None else {"drive": composite}
    for sensor, key in _sensors(fields):
        reading = celsius(fields, _LOG, "temperature_sensors", key)
        if reading is not None:
            temperatures[sensor] = reading
    return temperatures


def _sensors(fields: Fields) -> Iterator[tuple[str, str | int]]:
    """Yields the number (from 1) of each temperature sensor, and its key or index in the JSON.

    In the JSON the sensors are an object or a list. An entry that is null is yielded too, although
    it stands for no sensor.
    """
    sensors = fields.get(_LOG, "temperature_sensors")
    if isinstance(sensors, Mapping):
        for key in list(sensors)[:_MAX_SENSOR_KEYS]:
            match = _SENSOR_KEY.fullmatch(key) if isinstance(key, str) else None
            if match is not None:
                yield match[1], key
    elif isinstance(sensors, Sequence) and not isinstance(sensors, str):
        for index in range(min(len(sensors), _MAX_SENSORS)):
            yield str(index + 1), index
    elif sensors is not None:
        fields.fault((_LOG, "temperature_sensors"), sensors)


def _limit(fields: Fields, level: str, general: str) -> float | None:
    """Returns a temperature limit of the drive in °C; None if unknown.

    The limits are WCTEMP and CCTEMP of Identify Controller. smartctl prints them since 7.5, with
    `-c`.

    level: the key of the limit in `nvme_composite_temperature_threshold`.
    general: the key of the limit in `temperature`, which is used if the first one is missing.
    """
    limit = celsius(fields, "nvme_composite_temperature_threshold", level)
    return celsius(fields, "temperature", general) if limit is None else limit


def _minutes(fields: Fields, key: str) -> float | None:
    """Returns the value of a counter of minutes in seconds; None if unknown."""
    minutes = counter(fields, _LOG, key)
    return None if minutes is None else float(minutes * 60)


def _power_on_seconds(fields: Fields) -> float | None:
    hours = counter(fields, _LOG, "power_on_hours")
    return power_on_seconds(fields) if hours is None else float(hours * 3600)


def _critical_warnings(warning: int | None) -> dict[str, bool]:
    if warning is None:
        return {}
    warnings = {name: bool(warning >> bit & 1) for bit, name in enumerate(_WARNINGS)}
    return warnings | {name: True for bit, name in _RESERVED.items() if warning >> bit & 1}


def _host_bytes(fields: Fields, key: str) -> WrittenBytes | None:
    """Returns the bytes of a counter of data units.

    None if it is missing, or 0, because drives that do not count report 0.
    """
    units = counter(fields, _LOG, key)
    if not units:
        return None
    return WrittenBytes(units * _DATA_UNIT_BYTES, _DATA_UNIT_BYTES, UnitSource.STANDARD)
