"""What smartctl prints of drives that do not exist, as text and as JSON, from its documented
formats: smartctl(8), and the output functions of ataprint, nvmeprint and scsiprint.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

BANNER = """\
smartctl {version} 2023-08-01 r5530 [x86_64-linux-6.1.0] (local build)
Copyright (C) 2002-23, Bruce Allen, Christian Franke, www.smartmontools.org

"""

_ATA = """\
=== START OF INFORMATION SECTION ===
Model Family:     Example based SSDs
Device Model:     EXAMPLE SSD 480
Serial Number:    EXA480000017
LU WWN Device Id: 5 0a1b2c 3d4e5f601
Firmware Version: EX01
User Capacity:    480,103,981,056 bytes [480 GB]
Sector Sizes:     512 bytes logical, 4096 bytes physical
Rotation Rate:    Solid State Device
Form Factor:      2.5 inches
TRIM Command:     Available, deterministic
Device is:        In smartctl database 7.3/5528
ATA Version is:   ACS-4 T13/BSR INCITS 529 revision 5
SATA Version is:  SATA 3.2, 6.0 Gb/s (current: 6.0 Gb/s)
Local Time is:    Sat Nov 21 10:00:00 2026 UTC
SMART support is: Available - device has SMART capability.
SMART support is: Enabled

=== START OF READ SMART DATA SECTION ===
SMART overall-health self-assessment test result: {health}

General SMART Values:
Offline data collection status:  (0x00)\tOffline data collection activity
\t\t\t\t\twas never started.
\t\t\t\t\tAuto Offline Data Collection: Disabled.
Self-test execution status:      {execution}
Total time to complete Offline
data collection: \t\t(    0) seconds.
Offline data collection
capabilities: \t\t\t (0x53) SMART execute Offline immediate.
\t\t\t\t\tAuto Offline data collection on/off support.
\t\t\t\t\tSuspend Offline collection upon new
\t\t\t\t\tcommand.
\t\t\t\t\tNo Offline surface scan supported.
\t\t\t\t\tSelf-test supported.
\t\t\t\t\tNo Conveyance Self-test supported.
\t\t\t\t\tSelective Self-test supported.
SMART capabilities:            (0x0003)\tSaves SMART data before entering
\t\t\t\t\tpower-saving mode.
\t\t\t\t\tSupports SMART auto save timer.
Error logging capability:        (0x01)\tError logging supported.
\t\t\t\t\tGeneral Purpose Logging supported.
Short self-test routine
recommended polling time: \t (   2) minutes.
Extended self-test routine
recommended polling time: \t (  30) minutes.
SCT capabilities: \t       (0x003d)\tSCT Status supported.

SMART Attributes Data Structure revision number: 1
Vendor Specific SMART Attributes with Thresholds:
ID# ATTRIBUTE_NAME          FLAG     VALUE WORST THRESH TYPE      UPDATED  WHEN_FAILED RAW_VALUE
  5 Reallocated_Sector_Ct   0x0033   100   100   010    Pre-fail  Always       -       3
  9 Power_On_Hours          0x0032   095   095   000    Old_age   Always       -       21900
 12 Power_Cycle_Count       0x0032   099   099   000    Old_age   Always       -       41
190 Airflow_Temperature_Cel 0x0032   069   050   000    Old_age   Always       -       31
{hot}
197 Current_Pending_Sector  0x0012   100   100   000    Old_age   Always       -       1
199 UDMA_CRC_Error_Count    0x003e   100   100   000    Old_age   Always       -       0

SMART Error Log Version: 1
No Errors Logged

SMART Self-test log structure revision number 1
{log}
"""

ATA_LOG = """\
Num  Test_Description    Status                  Remaining  LifeTime(hours)  LBA_of_first_error
# 1  Extended offline    Aborted by host               90%     21899         -
# 2  Short offline       Completed without error       00%     21800         -
# 3  Short offline       Completed: read failure       40%     20100         123456
"""

IDLE = (
    "(   0)\tThe previous self-test routine completed\n"
    "\t\t\t\t\twithout error or no self-test has ever \n\t\t\t\t\tbeen run."
)

_HOT = (
    "194 Temperature_Celsius     0x0022   066   048   000    Old_age   Always       "
    "{:<11} 34 (Min/Max 18/52)"
)


def ata(
    *,
    version: str = "7.4",
    health: str = "PASSED",
    execution: str = IDLE,
    log: str = ATA_LOG,
    when_hot: str = "-",
) -> str:
    body = _ATA.format(health=health, execution=execution, log=log, hot=_HOT.format(when_hot))
    return BANNER.format(version=version) + body


def ata_running(remaining_percent: int) -> str:
    status = 0xF0 + remaining_percent // 10
    return (
        f"( {status})\tSelf-test routine in progress...\n"
        f"\t\t\t\t\t{remaining_percent}% of test remaining."
    )


_NVME = """\
=== START OF INFORMATION SECTION ===
Model Number:                       Example NVMe 960
Serial Number:                      EXN960000023
Firmware Version:                   EXF1.2
PCI Vendor/Subsystem ID:            0x1f1f
IEEE OUI Identifier:                0xa1b2c3
Total NVM Capacity:                 960,197,124,096 [960 GB]
Unallocated NVM Capacity:           0
Controller ID:                      1
NVMe Version:                       1.4
Number of Namespaces:               1
Namespace 1 Size/Capacity:          960,197,124,096 [960 GB]
Namespace 1 Formatted LBA Size:     512
Local Time is:                      Sat Nov 21 10:00:00 2026 UTC
Firmware Updates (0x16):            3 Slots, no Reset required
Optional Admin Commands (0x0017):   Security Format Frmw_DL{self_test}
Optional NVM Commands (0x005f):     Comp Wr_Unc DS_Mngmt Wr_Zero Sav/Sel_Feat Timestmp
Warning  Comp. Temp. Threshold:     77 Celsius
Critical Comp. Temp. Threshold:     85 Celsius

Supported Power States
St Op     Max   Active     Idle   RL RT WL WT  Ent_Lat  Ex_Lat
 0 +    12.00W       -        -    0  0  0  0        5       5

=== START OF SMART DATA SECTION ===
SMART overall-health self-assessment test result: PASSED

SMART/Health Information (NVMe Log 0x02)
Critical Warning:                   0x00
Temperature:                        41 Celsius
Available Spare:                    98%
Available Spare Threshold:          10%
Percentage Used:                    7%
Data Units Read:                    12,345,678 [6.32 TB]
Data Units Written:                 87,654,321 [44.8 TB]
Host Read Commands:                 222,333,444
Host Write Commands:                333,444,555
Controller Busy Time:               1,234
Power Cycles:                       17
Power On Hours:                     8,760
Unsafe Shutdowns:                   5
Media and Data Integrity Errors:    2
Error Information Log Entries:      19
Warning  Comp. Temperature Time:    3
Critical Comp. Temperature Time:    1
Temperature Sensor 1:               41 Celsius
Temperature Sensor 2:               49 Celsius

Error Information (NVMe Log 0x01, 16 of 64 entries)
No Errors Logged

{log}"""

NVME_LOG = """\
Self-test Log (NVMe Log 0x06{namespace})
Self-test status: {status}
Num  Test_Description  Status                       Power_on_Hours  Failing_LBA  NSID Seg SCT Code
{entries}
"""


def nvme_entry(number: int, description: str, result: str, hours: int, namespace: str = "*") -> str:
    """As nvmeprint does it: "%2u   %-17s %-33s %9d %12s %5s %3s %3s %4s"."""
    return (
        f"{number:2d}   {description:<17} {result:<33} {hours:9d} "
        f"{'-':>12} {namespace:>5} {'-':>3} {'-':>3} {'-':>4}"
    )


def nvme_log(*entries: str, status: str = "No self-test in progress", namespace: str = "") -> str:
    return NVME_LOG.format(namespace=namespace, status=status, entries="\n".join(entries))


def nvme(*, version: str = "7.4", log: str = "", self_test: str = " Self_Test") -> str:
    return BANNER.format(version=version) + _NVME.format(log=log, self_test=self_test)


_SCSI = """\
=== START OF INFORMATION SECTION ===
Vendor:               EXAMPLE
Product:              SAS-SSD-1600
Revision:             A1B2
Compliance:           SPC-4
User Capacity:        1,600,321,314,816 bytes [1.60 TB]
Logical block size:   512 bytes
Physical block size:  4096 bytes
LU is resource provisioned, LBPRZ=1
Rotation Rate:        Solid State Device
Form Factor:          2.5 inches
Logical Unit id:      0x50a1b2c3d4e5f600
Serial number:        EXS1600000031
Device type:          disk
Transport protocol:   SAS (SPL-4)
Local Time is:        Sat Nov 21 10:00:00 2026 UTC
SMART support is:     Available - device has SMART capability.
SMART support is:     Enabled
Temperature Warning:  Enabled

=== START OF READ SMART DATA SECTION ===
SMART Health Status: OK

Percentage used endurance indicator: 12%
Current Drive Temperature:     36 C
Drive Trip Temperature:        70 C

Accumulated power on time, hours:minutes 17520:30
Manufactured in week 10 of year 2021
Accumulated start-stop cycles:  28
Elements in grown defect list: 4

Error counter log:
           Errors Corrected by           Total   Correction     Gigabytes    Total
               ECC          rereads/    errors   algorithm      processed    uncorrected
           fast | delayed   rewrites  corrected  invocations   [10^9 bytes]  errors
read:          0       11         0        11          0      41234.567           1
write:         0        0         0         0          0      12345.678           2
verify:        0        0         0         0          0          0.000           0

Non-medium error count:       12

{log}
"""

SCSI_LOG = """\
SMART Self-test log
Num  Test              Status                 segment  LifeTime  LBA_first_err [SK ASC ASQ]
     Description                              number   (hours)
# 1  Background short  Completed                   -   17500                 - [-   -    -]
# 2  Background long   Aborted (by user command)   -   17000                 - [-   -    -]
"""


def scsi(*, version: str = "7.4", log: str = SCSI_LOG) -> str:
    return BANNER.format(version=version) + _SCSI.format(log=log)


def _ata_row(number: int, name: str, values: tuple[int, int, int], raw: str) -> dict[str, Any]:
    value, worst, threshold = values
    return {
        "id": number,
        "name": name,
        "value": value,
        "worst": worst,
        "thresh": threshold,
        "when_failed": "",
        "flags": {"prefailure": number == 5},
        "raw": {"value": int(raw.split(maxsplit=1)[0]), "string": raw},
    }


def _json_ata() -> dict[str, Any]:
    return {
        "device": {"name": "/dev/sda", "type": "sat", "protocol": "ATA"},
        "model_family": "Example based SSDs",
        "model_name": "EXAMPLE SSD 480",
        "serial_number": "EXA480000017",
        "firmware_version": "EX01",
        "user_capacity": {"bytes": 480_103_981_056},
        "logical_block_size": 512,
        "rotation_rate": 0,
        "smart_status": {"passed": True},
        "temperature": {"current": 34},
        "power_on_time": {"hours": 21900},
        "power_cycle_count": 41,
        "ata_smart_attributes": {
            "table": [
                _ata_row(5, "Reallocated_Sector_Ct", (100, 100, 10), "3"),
                _ata_row(9, "Power_On_Hours", (95, 95, 0), "21900"),
                _ata_row(12, "Power_Cycle_Count", (99, 99, 0), "41"),
                _ata_row(190, "Airflow_Temperature_Cel", (69, 50, 0), "31"),
                _ata_row(194, "Temperature_Celsius", (66, 48, 0), "34 (Min/Max 18/52)"),
                _ata_row(197, "Current_Pending_Sector", (100, 100, 0), "1"),
                _ata_row(199, "UDMA_CRC_Error_Count", (100, 100, 0), "0"),
            ]
        },
        "ata_smart_self_test_log": {
            "standard": {
                "table": [
                    {"status": {"value": 0x19}, "lifetime_hours": 21899},
                    {"status": {"value": 0x00, "passed": True}, "lifetime_hours": 21800},
                    {"status": {"value": 0x74, "passed": False}, "lifetime_hours": 20100},
                ]
            }
        },
    }


def _json_nvme() -> dict[str, Any]:
    return {
        "device": {"name": "/dev/nvme0", "type": "nvme", "protocol": "NVMe"},
        "model_name": "Example NVMe 960",
        "serial_number": "EXN960000023",
        "firmware_version": "EXF1.2",
        "nvme_total_capacity": 960_197_124_096,
        "logical_block_size": 512,
        "smart_status": {"passed": True},
        "nvme_smart_health_information_log": {
            "critical_warning": 0,
            "temperature": 41,
            "available_spare": 98,
            "available_spare_threshold": 10,
            "percentage_used": 7,
            "data_units_read": 12_345_678,
            "data_units_written": 87_654_321,
            "controller_busy_time": 1234,
            "power_cycles": 17,
            "power_on_hours": 8760,
            "unsafe_shutdowns": 5,
            "media_errors": 2,
            "num_err_log_entries": 19,
            "warning_temp_time": 3,
            "critical_comp_time": 1,
            "temperature_sensors": [41, 49],
        },
        "temperature": {"current": 41},
    }


def _json_scsi() -> dict[str, Any]:
    def errors(uncorrected: int, gigabytes: str) -> dict[str, Any]:
        return {"total_uncorrected_errors": uncorrected, "gigabytes_processed": gigabytes}

    return {
        "device": {"name": "/dev/sdb", "type": "scsi", "protocol": "SCSI"},
        "scsi_vendor": "EXAMPLE",
        "scsi_product": "SAS-SSD-1600",
        "scsi_model_name": "EXAMPLE SAS-SSD-1600",
        "scsi_revision": "A1B2",
        "serial_number": "EXS1600000031",
        "user_capacity": {"bytes": 1_600_321_314_816},
        "logical_block_size": 512,
        "rotation_rate": 0,
        "smart_status": {"passed": True},
        "temperature": {"current": 36},
        "power_on_time": {"hours": 17520, "minutes": 30},
        "scsi_percentage_used_endurance_indicator": 12,
        "scsi_grown_defect_list": 4,
        "scsi_error_counter_log": {
            "read": errors(1, "41234.567"),
            "write": errors(2, "12345.678"),
            "verify": errors(0, "0.000"),
        },
        "scsi_self_test_0": {"result": {"value": 0}, "power_on_time": {"hours": 17500}},
        "scsi_self_test_1": {"result": {"value": 1}, "power_on_time": {"hours": 17000}},
    }


#: By protocol, text and JSON of one drive.
PAIRS: Mapping[str, tuple[Callable[..., str], Callable[[], dict[str, Any]]]] = {
    "ATA": (ata, _json_ata),
    "NVMe": (nvme, _json_nvme),
    "SCSI": (scsi, _json_scsi),
}


def with_output(report: dict[str, Any], lines: Sequence[str]) -> dict[str, Any]:
    """The report as --json=co prints it, with the text beside the values."""
    return {**report, "smartctl": {"version": [7, 4], "exit_status": 0, "output": list(lines)}}


def pair(protocol: str) -> dict[str, Any]:
    text, report = PAIRS[protocol]
    return with_output(report(), text().splitlines())
