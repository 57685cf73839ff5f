"""Health data of a simulated drive, in the format of smartctl."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rigs.devices import smart_reports
from rigs.month.demand import DAY, HOUR, office_hours

#: Approximate bytes written per day in the healthy month, by kind of drive.
_WRITTEN_A_DAY = {"nvme": 9e12, "sata": 1.5e12}

#: Initial values: the drive has run for two years.
_WRITTEN_BEFORE = {"nvme": 3.2e15, "sata": 0.9e15}
_WORN_BEFORE = {"nvme": 0.31, "sata": 0.46}
_AGE = 2 * 365 * DAY

#: Warning and critical composite temperature of NVMe: Kelvin in the log, °C here.
_WARM, _HOT = 70, 80


@dataclass(frozen=True, slots=True)
class HealthData:
    """Health data. Counters are lifetime values of the drive; used and spare are ratios."""

    celsius: float
    used: float
    written_bytes: float
    power_on_seconds: float
    spare: float = 1.0
    media_errors: int = 0
    reallocated: int = 0
    pending: int = 0
    interface_errors: int = 0
    error_log_entries: int = 0
    hot_seconds: float = 0.0


def healthy(kind: str, at: float) -> HealthData:
    """Health data of a healthy drive.

    It includes harmless defects: old errors, one reallocated block, one pending sector for an hour,
    and a growing error log.
    """
    days = at / DAY
    before, a_day = _WRITTEN_BEFORE[kind], _WRITTEN_A_DAY[kind]
    written = before + a_day * days
    used = _WORN_BEFORE[kind] * written / before
    warm = 38 + 9 * office_hours(at % DAY) + 2.5 * math.sin(days * 0.7)
    if kind == "nvme":
        return HealthData(
            warm + 6, used, written, _AGE + at, media_errors=2, error_log_entries=40 + int(days * 6)
        )
    return HealthData(
        warm - 6,
        used,
        written,
        _AGE + at,
        reallocated=3 + (days > 11.4),
        pending=int(days % 9 // 1 == 4 and HOUR <= at % DAY < 2 * HOUR),
        interface_errors=7,
    )


def report(kind: str, number: int, health_data: HealthData) -> Mapping[str, Any]:
    """JSON output of smartctl."""
    return _nvme(number, health_data) if kind == "nvme" else _sata(number, health_data)


def serial(kind: str, number: int) -> str:
    return f"MONTH{kind[0].upper()}{number:04d}"


def _nvme(number: int, health_data: HealthData) -> dict[str, Any]:
    found = smart_reports.nvme(number, serial=serial("nvme", number))
    limits = {"nvme_composite_temperature_threshold": {"warning": _WARM, "critical": _HOT}}
    spare = int(health_data.spare * 100)
    warning = (spare < 10) | (health_data.celsius >= _WARM) << 1
    log = found["nvme_smart_health_information_log"] | {
        "critical_warning": int(warning),
        "temperature": int(health_data.celsius),
        "available_spare": spare,
        "percentage_used": int(health_data.used * 100),
        "data_units_written": int(health_data.written_bytes / 512_000),
        "power_on_hours": int(health_data.power_on_seconds / 3600),
        "media_errors": health_data.media_errors,
        "num_err_log_entries": health_data.error_log_entries,
        "warning_temp_time": int(health_data.hot_seconds / 60),
    }
    verdict = {"passed": not warning, "nvme": {"value": int(warning)}}
    return found | {
        **limits,
        "nvme_smart_health_information_log": log,
        "smart_status": verdict,
        "temperature": {"current": int(health_data.celsius)},
        "power_on_time": {"hours": int(health_data.power_on_seconds / 3600)},
    }


def _sata(number: int, health_data: HealthData) -> dict[str, Any]:
    found = smart_reports.ata(number, serial=serial("sata", number), errors=0)
    del found["ata_device_statistics"]
    raw = {
        5: health_data.reallocated,
        171: 1,
        172: 0,
        187: health_data.media_errors,
        197: health_data.pending,
        199: health_data.interface_errors,
        202: int(health_data.used * 100),
    }
    rows = [row for row in found["ata_smart_attributes"]["table"] if row["id"] in raw]
    for row in rows:
        row["raw"] = {"value": raw[row["id"]], "string": str(raw[row["id"]])}
        if row["id"] == 202:
            row["value"] = 100 - raw[202]
    return found | {
        "ata_smart_attributes": {"revision": 16, "table": rows},
        "temperature": {
            "current": int(health_data.celsius),
            "op_limit_max": _WARM,
            "limit_max": _HOT,
        },
        "power_on_time": {"hours": int(health_data.power_on_seconds / 3600)},
    }
