"""Builds smartctl reports of fictitious drives, with the documented keys.

Each call returns a new report, which the caller may change.
"""

import copy
from collections.abc import Iterator
from typing import Any, TypeAlias

from hypothesis import strategies as st

Report: TypeAlias = dict[str, Any]


def smartctl(
    *messages: str, status: int = 0, severity: str = "error", version: tuple[int, int] = (7, 4)
) -> Report:
    """The part that every report has. A report of a failed run has only this part."""
    said = [{"string": message, "severity": severity} for message in messages]
    return {
        "json_format_version": [1, 0],
        "smartctl": {
            "version": list(version),
            "argv": ["smartctl", "--json=c", "/dev/sdx"],
            **({"messages": said} if said else {}),
            "exit_status": status,
        },
    }


def device(type_: str, protocol: str) -> Report:
    return {
        "device": {
            "name": "/dev/sdx",
            "info_name": "/dev/sdx",
            "type": type_,
            "protocol": protocol,
        }
    }


def nvme() -> Report:
    """A drive with 42 % of its endurance used and the critical warning clear."""
    return {
        **smartctl(version=(7, 5)),
        **device("nvme", "NVMe"),
        "model_name": "Example Datacenter NVMe 960",
        "serial_number": "EXN0960A0001",
        "firmware_version": "EXF1.2",
        "nvme_total_capacity": 960_197_124_096,
        "nvme_namespaces": [
            {
                "id": 1,
                "formatted_lba_size": 4096,
                "eui64": {"oui": 0x00A1B2, "ext_id": 0x0C_0D0E_0F10},
            }
        ],
        "user_capacity": {"blocks": 117_187_500, "bytes": 480_000_000_000},
        "logical_block_size": 4096,
        "nvme_composite_temperature_threshold": {"warning": 75, "critical": 80},
        "smart_support": {"available": True, "enabled": True},
        "smart_status": {"passed": True, "nvme": {"value": 0}},
        "nvme_smart_health_information_log": {
            "nsid": -1,
            "critical_warning": 0,
            "temperature": 44,
            "available_spare": 97,
            "available_spare_threshold": 10,
            "percentage_used": 42,
            "data_units_read": 2_000_000,
            "data_units_written": 3_000_000,
            "host_reads": 111,
            "host_writes": 222,
            "controller_busy_time": 600,
            "power_cycles": 31,
            "power_on_hours": 8760,
            "unsafe_shutdowns": 7,
            "media_errors": 2,
            "num_err_log_entries": 90,
            "warning_temp_time": 5,
            "critical_comp_time": 1,
            "temperature_sensors": [44, None, 51],
        },
        "temperature": {"current": 44, "op_limit_max": 75, "critical_limit_max": 80},
        "power_cycle_count": 31,
        "power_on_time": {"hours": 8760},
        "nvme_self_test_log": {
            "nsid": -1,
            "current_self_test_operation": {"value": 0, "string": "No self-test in progress"},
            "table": [nvme_test(0, 8000)],
        },
    }


def nvme_test(result: int, hours: int) -> Report:
    return {
        "self_test_code": {"value": 1, "string": "Short"},
        "self_test_result": {"value": result, "string": "in words"},
        "power_on_hours": hours,
    }


def ata() -> Report:
    """A SATA SSD that the drive database does not list, on a link slower than its maximum."""
    return {
        **smartctl(),
        **device("sat", "ATA"),
        "model_name": "EXAMPLE SATA SSD 480",
        "serial_number": "EXS480B0002",
        "wwn": {"naa": 5, "oui": 0x00A1B2, "id": 0x3_0405_0607},
        "firmware_version": "EXS2.0",
        "user_capacity": {"blocks": 937_703_088, "bytes": 480_103_981_056},
        "logical_block_size": 512,
        "physical_block_size": 4096,
        "rotation_rate": 0,
        "in_smartctl_database": False,
        "interface_speed": {
            "max": {
                "sata_value": 14,
                "string": "6.0 Gb/s",
                "units_per_second": 60,
                "bits_per_unit": 100_000_000,
            },
            "current": {
                "sata_value": 1,
                "string": "1.5 Gb/s",
                "units_per_second": 15,
                "bits_per_unit": 100_000_000,
            },
        },
        "smart_support": {"available": True, "enabled": True},
        "smart_status": {"passed": True},
        "ata_smart_attributes": {
            "revision": 1,
            "table": [
                attribute(9, "Power_On_Hours", 70_000),
                attribute(12, "Power_Cycle_Count", 55),
                attribute(194, "Temperature_Celsius", 0x0032_000F_0021, value=67, worst=50),
            ],
        },
        "power_on_time": {"hours": 70_000, "minutes": 30},
        "power_cycle_count": 55,
        "temperature": {
            "current": 33,
            "op_limit_max": 70,
            "limit_max": 85,
            "lifetime_over_limit_minutes": 12,
        },
        "ata_smart_error_log": {
            "summary": {"revision": 1, "count": 5, "logged_count": 5},
            "extended": {"revision": 1, "sectors": 1, "count": 17},
        },
        "ata_smart_self_test_log": {
            "standard": {"revision": 1, "count": 1, "table": [ata_test(0x00, 1000)]}
        },
    }


def attribute(
    number: int, name: str, raw: int, *, value: int = 100, worst: int = 100, threshold: int = 0
) -> Report:
    return {
        "id": number,
        "name": name,
        "value": value,
        "worst": worst,
        "thresh": threshold,
        "when_failed": "",
        "flags": {"value": 50, "string": "-O--CK ", "prefailure": False, "updated_online": True},
        "raw": {"value": raw, "string": str(raw)},
    }


def ata_test(status: int, hours: int) -> Report:
    """One self-test entry. smartctl sets `passed` for a running test, not for an aborted one."""
    entry: Report = {
        "type": {"value": 1, "string": "Short offline"},
        "status": {"value": status, "string": "in words"},
        "lifetime_hours": hours,
    }
    if status >> 4 not in (1, 2, 3):
        entry["status"]["passed"] = not 3 <= status >> 4 <= 8
    return entry


def scsi() -> Report:
    """A SAS SSD with two ports. One of them is connected."""
    return {
        **smartctl(),
        **device("scsi", "SCSI"),
        "scsi_vendor": "EXAMPLE",
        "scsi_product": "SASSSD800",
        "scsi_model_name": "EXAMPLE SASSSD800",
        "scsi_revision": "EX03",
        "scsi_version": "SPC-5",
        "user_capacity": {"blocks": 1_562_824_368, "bytes": 800_166_076_416},
        "logical_block_size": 512,
        "rotation_rate": 0,
        "logical_unit_id": "0x500A1B2C03040506",
        "serial_number": "EXC800C0003",
        "device_type": {"scsi_value": 0, "name": "disk"},
        "smart_support": {"available": True, "enabled": True},
        "smart_status": {"passed": True},
        "scsi_percentage_used_endurance_indicator": 13,
        "temperature": {"current": 36, "drive_trip": 70},
        "power_on_time": {"hours": 12_345, "minutes": 6},
        "scsi_start_stop_cycle_counter": {"accumulated_start_stop_cycles": 45},
        "scsi_grown_defect_list": 4,
        "scsi_pending_defects": {"count": 1},
        "scsi_error_counter_log": {
            "read": {"total_uncorrected_errors": 2, "gigabytes_processed": "123456.789"},
            "write": {"total_uncorrected_errors": 3, "gigabytes_processed": "65432.100"},
            "verify": {"total_uncorrected_errors": 4, "gigabytes_processed": "0.500"},
        },
        "scsi_sas_port_0": {
            "number_of_phys": 1,
            "phy_0": phy("phy enabled; 12 Gbps", 1, 20, 300, 4000),
        },
        "scsi_sas_port_1": {
            "number_of_phys": 1,
            "phy_0": phy("phy enabled; unknown", 0, 0, 0, 0),
        },
        "scsi_self_test_0": scsi_test(0, 12_000),
    }


def phy(rate: str, dwords: int, disparity: int, synchronization: int, resets: int) -> Report:
    return {
        "identifier": 0,
        "attached_device_type": "SAS or SATA device",
        "negotiated_logical_link_rate": rate,
        "invalid_dword_count": dwords,
        "running_disparity_error_count": disparity,
        "loss_of_dword_synchronization_count": synchronization,
        "phy_reset_problem_count": resets,
    }


def scsi_test(result: int, hours: int) -> Report:
    return {
        "code": {"value": 1, "string": "Background short"},
        "result": {"value": result, "string": "in words"},
        "power_on_time": {"hours": hours, "aka": "accumulated_power_on_hours"},
    }


Path: TypeAlias = tuple[str | int, ...]


def paths(report: Any, before: Path = ()) -> Iterator[Path]:
    """The paths of all values in a report, except the report itself."""
    steps: Any = ()
    if isinstance(report, dict):
        steps = report.items()
    elif isinstance(report, list):
        steps = enumerate(report)
    for step, below in steps:
        yield (*before, step)
        yield from paths(below, (*before, step))


def with_value(report: Report, path: Path, value: Any) -> Report:
    """The report with another value at `path`. All steps but the last must exist."""
    changed = copy.deepcopy(report)
    place: Any = changed
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return changed


def without(report: Report, *keys: str) -> Report:
    return {key: value for key, value in report.items() if key not in keys}


#: Values that json.loads can return, such as NaN, infinity, lone surrogates and 200 digits.
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=10**40, max_value=10**200)
    | st.floats()
    | st.text(st.characters())
    | st.sampled_from(["NaN", "1e999", "-1", "0x12", "REDACTED", "unknown", "\ud800", "9" * 5000]),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=8,
)
