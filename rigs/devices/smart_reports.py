"""Generates smartctl reports of realistic size and structure for simulated drives.

The keys are those of smartctl; all names, numbers and serials are invented. The values depend on
the number of the drive, and `age` increases its counters.
"""

from typing import Any

_VERSION = [7, 3]

#: ID and name as on most SATA SSDs, and whether the raw value increases with age.
_ATTRIBUTES: tuple[tuple[int, str, bool], ...] = (
    (1, "Raw_Read_Error_Rate", False),
    (5, "Reallocated_Sector_Ct", True),
    (9, "Power_On_Hours", True),
    (12, "Power_Cycle_Count", True),
    (165, "Total_Erase_Count", True),
    (166, "Min_Erase_Count", True),
    (167, "Max_Erase_Count", True),
    (168, "SATA_Phy_Error_Count", False),
    (169, "Bad_Block_Count", True),
    (170, "Reserve_Block_Count", False),
    (171, "Program_Fail_Count", True),
    (172, "Erase_Fail_Count", True),
    (173, "Average_Erase_Count", True),
    (174, "Unexpect_Power_Loss_Ct", True),
    (180, "Unused_Rsvd_Blk_Cnt_Tot", False),
    (184, "End-to-End_Error", False),
    (187, "Reported_Uncorrect", True),
    (192, "Power-Off_Retract_Count", True),
    (194, "Temperature_Celsius", False),
    (196, "Reallocated_Event_Count", True),
    (197, "Current_Pending_Sector", False),
    (199, "UDMA_CRC_Error_Count", True),
    (202, "Percent_Lifetime_Remain", False),
    (241, "Total_LBAs_Written", True),
    (242, "Total_LBAs_Read", True),
)

#: Page, name, and number of statistics, as in ACS-4.
_PAGES = ((1, "General Statistics", 8), (4, "General Errors Statistics", 4))
_MORE_PAGES = (
    (5, "Temperature Statistics", 14),
    (6, "Transport Statistics", 4),
    (7, "Solid State Device Statistics", 1),
)


def scan(paths: dict[str, str]) -> dict[str, Any]:
    """Output of --scan-open: path and type of each drive."""
    return {
        **_run("--scan-open"),
        "devices": [
            {
                "name": path,
                "info_name": path,
                "type": kind,
                "protocol": "NVMe" if kind == "nvme" else "ATA",
            }
            for path, kind in paths.items()
        ],
    }


def of(number: int, age: int = 0, serial: str = "") -> dict[str, Any]:
    """Report of a drive; every second one is NVMe, the others are SATA."""
    return (nvme if number % 2 else ata)(number, age, serial)


def nvme(number: int, age: int = 0, serial: str = "") -> dict[str, Any]:
    """Report of an NVMe drive: 3 KB with power states (option -c)."""
    n = 1000 * number + age
    return {
        **_run(f"/dev/rig{number}"),
        "device": _device(number, "nvme", "NVMe"),
        "model_name": "Example Datacenter NVMe 3840",
        "serial_number": serial or f"RIGN{number:06d}",
        "firmware_version": "EXN1.0",
        "nvme_pci_vendor": {"id": 0xFFFF, "subsystem_id": 0xFFFF},
        "nvme_ieee_oui_identifier": 0x00A1B2,
        "nvme_total_capacity": 3_840_755_982_336,
        "nvme_unallocated_capacity": 0,
        "nvme_controller_id": 1,
        "nvme_version": {"string": "1.4", "value": 66560},
        "nvme_number_of_namespaces": 32,
        "nvme_namespaces": [
            {
                "id": 1,
                "size": {"blocks": 7_501_476_528, "bytes": 3_840_755_982_336},
                "capacity": {"blocks": 7_501_476_528, "bytes": 3_840_755_982_336},
                "utilization": {"blocks": 7_501_476_528, "bytes": 3_840_755_982_336},
                "formatted_lba_size": 512,
                "eui64": {"oui": 0x00A1B2, "ext_id": number + 1},
            }
        ],
        "user_capacity": {"blocks": 7_501_476_528, "bytes": 3_840_755_982_336},
        "logical_block_size": 512,
        "local_time": {"time_t": 1_700_000_000 + age, "asctime": "Tue Nov 14 22:13:20 2023 UTC"},
        "smart_support": {"available": True, "enabled": True},
        "nvme_power_states": [
            {
                "non_operational_state": False,
                "relative_read_latency": state,
                "relative_read_throughput": state,
                "relative_write_latency": state,
                "relative_write_throughput": state,
                "entry_latency_us": 5 * state,
                "exit_latency_us": 7 * state,
                "max_power": {"value": 2500 - 100 * state, "scale": 2, "units_per_watt": 100},
            }
            for state in range(8)
        ],
        "smart_status": {"passed": True, "nvme": {"value": 0}},
        "nvme_smart_health_information_log": {
            "critical_warning": 0,
            "temperature": 30 + number % 20,
            "available_spare": 100,
            "available_spare_threshold": 10,
            "percentage_used": number % 90,
            "data_units_read": 1_000_000 + n,
            "data_units_written": 2_000_000 + n,
            "host_reads": 3_000_000 + n,
            "host_writes": 4_000_000 + n,
            "controller_busy_time": 5000 + n,
            "power_cycles": 20 + number,
            "power_on_hours": 10_000 + n,
            "unsafe_shutdowns": 5 + number,
            "media_errors": number,
            "num_err_log_entries": 100 + n,
            "warning_temp_time": number,
            "critical_comp_time": 0,
            "temperature_sensors": [35, 41],
        },
        "temperature": {"current": 30 + number % 20},
        "power_cycle_count": 20 + number,
        "power_on_time": {"hours": 10_000 + n},
    }


def ata(number: int, age: int = 0, serial: str = "", errors: int = 30) -> dict[str, Any]:
    """Report of a SATA SSD: about 20 KB with 30 logged errors, which is a large report."""
    n = 1000 * number + age
    return {
        **_run(f"/dev/rig{number}"),
        "device": _device(number, "sat", "ATA"),
        "model_family": "Crucial/Micron Client SSDs",
        "model_name": "EXAMPLE SATA SSD 960",
        "serial_number": serial or f"RIGA{number:06d}",
        "wwn": {"naa": 5, "oui": 0x00A1B2, "id": 0x3_0000_0000 + number},
        "firmware_version": "EXA1.0",
        "user_capacity": {"blocks": 1_875_385_008, "bytes": 960_197_124_096},
        "logical_block_size": 512,
        "physical_block_size": 4096,
        "rotation_rate": 0,
        "form_factor": {"ata_value": 3, "name": "2.5 inches"},
        "trim": {"supported": True, "deterministic": True, "zeroed": True},
        "in_smartctl_database": True,
        "ata_version": {"string": "ACS-3 T13/2161-D revision 5", "major": 2040, "minor": 109},
        "sata_version": {"string": "SATA 3.3", "value": 511},
        "interface_speed": {"max": _speed(60, "6.0 Gb/s"), "current": _speed(60, "6.0 Gb/s")},
        "local_time": {"time_t": 1_700_000_000 + age, "asctime": "Tue Nov 14 22:13:20 2023 UTC"},
        "smart_support": {"available": True, "enabled": True},
        "write_cache": {"enabled": True},
        "smart_status": {"passed": True},
        "ata_smart_attributes": {
            "revision": 16,
            "table": [
                _attribute(id_, name, (n if grows else number % 100) + id_)
                for id_, name, grows in _ATTRIBUTES
            ],
        },
        "power_on_time": {"hours": 9000 + n},
        "power_cycle_count": 12 + number,
        "temperature": {"current": 30 + number % 20, "op_limit_max": 70, "limit_max": 80},
        "ata_device_statistics": {
            "pages": [
                {
                    "number": page,
                    "name": name,
                    "revision": 1,
                    "table": [_statistic(page, 8 * (row + 1), n) for row in range(rows)],
                }
                for page, name, rows in (*_PAGES, *_MORE_PAGES)
            ]
        },
        "ata_smart_error_log": {
            "extended": {
                "revision": 1,
                "sectors": 1,
                "count": 400 + n,
                "logged_count": errors,
                "table": [
                    {
                        "error_number": 400 + n - row,
                        "lifetime_hours": 8000 + row,
                        "completion_registers": {
                            "error": 64,
                            "status": 81,
                            "count": 8,
                            "lba": 123_456 + row,
                            "device": 64,
                        },
                        "error_description": f"Error: UNC 8 sectors at LBA = {123_456 + row}",
                    }
                    for row in range(errors)
                ],
            }
        },
    }


def _run(last: str) -> dict[str, Any]:
    return {
        "json_format_version": [1, 0],
        "smartctl": {
            "version": _VERSION,
            "svn_revision": "5338",
            "platform_info": "x86_64-linux-6.1.0",
            "build_info": "(local build)",
            "argv": ["smartctl", "--json=c", "-i", "-H", "-A", last],
            "exit_status": 0,
        },
    }


def _device(number: int, kind: str, protocol: str) -> dict[str, Any]:
    path = f"/dev/rig{number}"
    return {"name": path, "info_name": path, "type": kind, "protocol": protocol}


def _speed(units: int, text: str) -> dict[str, Any]:
    return {
        "sata_value": 14,
        "string": text,
        "units_per_second": units,
        "bits_per_unit": 100_000_000,
    }


def _attribute(id_: int, name: str, raw: int) -> dict[str, Any]:
    return {
        "id": id_,
        "name": name,
        "value": 100,
        "worst": 100,
        "thresh": 0,
        "when_failed": "",
        "flags": {
            "value": 50,
            "string": "-O--CK ",
            "prefailure": False,
            "updated_online": True,
            "performance": False,
            "error_rate": False,
            "event_count": True,
            "auto_keep": True,
        },
        "raw": {"value": raw, "string": str(raw)},
    }


def _statistic(page: int, offset: int, value: int) -> dict[str, Any]:
    return {
        "offset": offset,
        "name": f"Statistic {offset} of page {page}, as ACS-4 calls it",
        "size": 4,
        "value": value % 100 if page in (5, 7) else value,
        "flags": {
            "value": 192,
            "string": "V---",
            "valid": True,
            "normalized": False,
            "supports_dsn": False,
            "monitored_condition_met": False,
        },
    }
