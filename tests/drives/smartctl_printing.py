"""Prints a report as smartctl's text, with the formats of ataprint, nvmeprint and scsiprint.cpp.

It is the inverse of `exporter.drives.smartctl_text`, for the fields that are read.
"""

from collections.abc import Iterator

from tests.drives.reports import Report

_BANNER = (
    "smartctl {}.{} 2022-02-28 r5338 [x86_64-linux-6.1.0] (local build)\n"
    "Copyright (C) 2002-22, Bruce Allen, Christian Franke, www.smartmontools.org\n"
)
_LETTERS = "POSRCK"
_ASSESSMENT = "SMART overall-health self-assessment test result"
_SELF_TESTS = {
    0: "Completed without error",
    1: "Aborted by host",
    2: "Interrupted (host reset)",
    3: "Fatal or unknown error",
    4: "Completed: unknown failure",
    5: "Completed: electrical failure",
    6: "Completed: servo/seek failure",
    7: "Completed: read failure",
    8: "Completed: handling damage??",
    15: "Self-test routine in progress",
}
_NVME_RESULTS = (
    "Completed without error",
    "Aborted: Self-test command",
    "Aborted: Controller Reset",
    "Aborted: Namespace removed",
    "Aborted: Format NVM command",
    "Fatal or unknown test error",
    "Completed: unknown failed segment",
    "Completed: failed segments",
    "Aborted: unknown reason",
    "Aborted: sanitize operation",
)
_SCSI_RESULTS = (
    "Completed                ",
    "Aborted (by user command)",
    "Aborted (device reset ?) ",
    "Unknown error, incomplete",
    "Completed, segment failed",
    "Failed in first segment  ",
    "Failed in second segment ",
    "Failed in segment -->    ",
)


def printed(report: Report, *, brief: bool = True, separator: str = ",") -> str:
    """The text of `smartctl -x`, or with the attribute table of `smartctl -a`.

    separator: the separator between groups of digits, which depends on the locale.
    """
    protocol = report["device"]["protocol"]
    version = report.get("smartctl", {}).get("version", [7, 3])
    lines = [_BANNER.format(*version), "=== START OF INFORMATION SECTION ==="]
    lines += {"ATA": _ata, "NVMe": _nvme, "SCSI": _scsi}[protocol](report, separator, brief)
    return "\n".join(lines) + "\n"


def _grouped(number: int, separator: str) -> str:
    return f"{number:,}".replace(",", separator)


def size_text(number: int) -> str:
    """A number of bytes with three digits, as smartctl prints it: the other digits are cut off."""
    prefix, unit = "", 1
    for larger in "KMGTPEZY":
        if number < unit * 1000:
            break
        prefix, unit = larger, unit * 1000
    decimals = 0 if unit == 1 or number >= 100 * unit else 1 if number >= 10 * unit else 2
    digits = str(number * 10**decimals // unit)
    point = len(digits) - decimals
    return f"{digits[:point]}{'.' if decimals else ''}{digits[point:]} {prefix}B"


def _named(width: int, *pairs: tuple[str, object]) -> Iterator[str]:
    """Lines "name: value", aligned. A value of None has no line."""
    for name, value in pairs:
        if value is not None:
            yield f"{name + ': ':<{width}}{value}"


def _bytes(report: Report, separator: str) -> str | None:
    size = report.get("user_capacity", {}).get("bytes")
    return None if size is None else f"{_grouped(size, separator)} bytes [{size_text(size)}]"


def _rotation(report: Report) -> str | None:
    rate = report.get("rotation_rate")
    return None if rate is None else f"{rate} rpm" if rate else "Solid State Device"


def _ata(report: Report, separator: str, brief: bool) -> Iterator[str]:
    wwn, is_known = report.get("wwn"), bool(report.get("in_smartctl_database"))
    yield from _named(
        18,
        ("Model Family", report.get("model_family")),
        ("Device Model", report.get("model_name", "[No Information Found]")),
        ("Serial Number", report.get("serial_number", "[No Information Found]")),
        ("LU WWN Device Id", wwn and f"{wwn['naa']:x} {wwn['oui']:06x} {wwn['id']:09x}"),
        ("Firmware Version", report.get("firmware_version", "")),
        ("User Capacity", _bytes(report, separator)),
        *_sectors(report),
        ("Rotation Rate", _rotation(report)),
        ("Device is", f"{'In' if is_known else 'Not in'} smartctl database 7.3/5319"),
        ("ATA Version is", "ACS-4 T13/BSR INCITS 529 revision 5"),
        ("SATA Version is", _sata_version(report.get("interface_speed", {}))),
        ("Local Time is", "Mon Jan  1 00:00:00 2024 UTC"),
        *_smart_support(report),
        ("AAM feature is", "Unavailable"),
        ("Power mode is", report.get("power_mode", {}).get("name")),
    )
    yield from ("", "=== START OF READ SMART DATA SECTION ===")
    yield from _named(0, (_ASSESSMENT, _assessment(report)))
    yield from ("", "General SMART Values:")
    yield "Offline data collection status:  (0x00)\tOffline data collection activity"
    yield "\t\t\t\t\twas never started."
    if "ata_smart_attributes" in report:
        yield from _attributes(report["ata_smart_attributes"]["table"], brief)
    yield from _ata_logs(report)


def _assessment(report: Report) -> str | None:
    passed = report.get("smart_status", {}).get("passed")
    return None if passed is None else "PASSED" if passed else "FAILED!"


def _sectors(report: Report) -> Iterator[tuple[str, str]]:
    block = report.get("logical_block_size")
    physical = report.get("physical_block_size", block)
    if block is not None and block == physical:
        yield "Sector Size", f"{block} bytes logical/physical"
    elif block is not None:
        yield "Sector Sizes", f"{block} bytes logical, {physical} bytes physical"


def _sata_version(speeds: Report) -> str:
    maximum = f", {speeds['max']['string']}" if "max" in speeds else ""
    current = f" (current: {speeds['current']['string']})" if "current" in speeds else ""
    return f"SATA 3.2{maximum}{current}"


def _attributes(table: list[Report], brief: bool) -> Iterator[str]:
    yield "SMART Attributes Data Structure revision number: 16"
    yield "Vendor Specific SMART Attributes with Thresholds:"
    if brief:
        yield "ID# ATTRIBUTE_NAME          FLAGS    VALUE WORST THRESH FAIL RAW_VALUE"
    else:
        yield (
            "ID# ATTRIBUTE_NAME          FLAG     VALUE WORST THRESH TYPE      UPDATED"
            "  WHEN_FAILED RAW_VALUE"
        )
    for row in table:
        flags = row["flags"]["value"]
        value, worst, limit = (
            f"{row[key]:03}" if row.get(key) is not None else "---"
            for key in ("value", "worst", "thresh")
        )
        failed, raw = row.get("when_failed", ""), row["raw"]["string"]
        start = f"{row['id']:3} {row['name']:<24}"
        if brief:
            letters = "".join(
                letter if flags >> bit & 1 else "-" for bit, letter in enumerate(_LETTERS)
            )
            mark = {"now": "NOW", "past": "Past"}.get(failed, "-")
            yield f"{start}{letters}   {value:<4}  {worst:<4}  {limit:<4}   {mark:<5}{raw}"
        else:
            kind = "Pre-fail" if flags & 1 else "Old_age"
            updated = "Always" if flags & 2 else "Offline"
            mark = {"now": "FAILING_NOW", "past": "In_the_past"}.get(failed, "    -")
            yield (
                f"{start}0x{flags:04x}   {value:<4}  {worst:<4}  {limit:<4}   {kind:<10}"
                f"{updated:<9}{mark:<12}{raw}"
            )
    if brief:
        yield from (
            f"{'':28}{marks}"
            for marks in ("||||||_ K auto-keep", "|||||__ C event count", "||||___ R error rate")
        )
    yield ""


def _ata_logs(report: Report) -> Iterator[str]:
    errors = report.get("ata_smart_error_log", {})
    if "extended" in errors:
        yield "SMART Extended Comprehensive Error Log Version: 1 (1 sectors)"
        yield from _error_count("Device", errors["extended"].get("count", 0))
    if "summary" in errors:
        yield "SMART Error Log Version: 1"
        yield from _error_count("ATA", errors["summary"].get("count", 0))
    tests = report.get("ata_smart_self_test_log", {})
    for name, title in (
        ("extended", "SMART Extended Self-test Log Version: 1 (1 sectors)"),
        ("standard", "SMART Self-test log structure revision number 1"),
    ):
        if name in tests:
            yield title
            yield from _self_tests(tests[name].get("table", []))
    # Devices answer with SCT or with statistics. Both lead to the same keys.
    temperature = report.get("temperature", {})
    current, maximum = temperature.get("current"), temperature.get("op_limit_max")
    yield "SCT Status Version:                  3"
    if current is not None:
        yield f"Current Temperature:                    {current:2} Celsius"
    yield f"Power Cycle Min/Max Temperature:     {'--'}/{'48'} Celsius"
    yield "SCT Temperature History Version:     2"
    if maximum is not None:
        yield f"Min/Max recommended Temperature:     {'?':>2}/{maximum:2} Celsius"
    if "limit_max" in temperature:
        yield f"Min/Max Temperature Limit:           {'?':>2}/{temperature['limit_max']:2} Celsius"
    yield ""
    if "ata_device_statistics" in report:
        yield from _statistics(report["ata_device_statistics"]["pages"])


def _error_count(kind: str, count: int) -> Iterator[str]:
    if not count:
        yield from ("No Errors Logged", "")
        return
    yield f"{kind} Error Count: {count} (device log contains only the most recent 4 errors)"
    yield from ("\tCR     = Command Register", "\tFEATR  = Features Register", "")
    yield f"Error {count} [3] occurred at disk power-on lifetime: 9 hours (0 days + 9 hours)"
    yield "  40 -- 51 00 08 00 00 00 00 12 34 40 00  Error: UNC 8 sectors at LBA = 0x00001234"


def _self_tests(table: list[Report]) -> Iterator[str]:
    if not table:
        yield from ("No self-tests have been logged.  [To run self-tests, use: smartctl -t]", "")
        return
    yield (
        "Num  Test_Description    Status                  Remaining  LifeTime(hours)"
        "  LBA_of_first_error"
    )
    for number, row in enumerate(table, 1):
        status = row["status"]["value"]
        words = _SELF_TESTS.get(status >> 4, f"Unknown status (0x{status >> 4:x})")
        yield (
            f"#{number:2}  {row['type']['string']:<19} {words:<29} {status & 15:1d}0%"
            f"  {row['lifetime_hours']:8}         -"
        )
    yield ""


def _statistics(pages: list[Report]) -> Iterator[str]:
    yield "Device Statistics (GP Log 0x04)"
    yield "Page  Offset Size        Value Flags Description"
    for page in pages:
        name = page.get("name", "Statistics")
        yield f"0x{page['number']:02x}  =====  =               =  ===  == {name} (rev 1) =="
        for row in page.get("table", []):
            flags = row["flags"]
            letters = "".join(
                letter if flags.get(key) else "-"
                for letter, key in (
                    ("N", "normalized"),
                    ("D", "supports_dsn"),
                    ("C", "monitored_condition_met"),
                )
            )
            value = row["value"] if flags["valid"] else "-"
            extra = " [12.3 GB]" if page["number"] == 1 and row["offset"] == 0x18 else ""
            yield (
                f"0x{page['number']:02x}  0x{row['offset']:03x}  {row['size']:1} {value:>15}"
                f"  {letters}  {row['name']}{extra}"
            )
    yield f"{'':32}|||_ C monitored condition met"


def _smart_support(report: Report) -> Iterator[tuple[str, str]]:
    support = report.get("smart_support")
    if support is not None and support["available"]:
        yield "SMART support is", "Available - device has SMART capability."
        yield "SMART support is", "Enabled" if support["enabled"] else "Disabled"
    elif support is not None:
        yield "SMART support is", "Unavailable - device lacks SMART capability."


def _nvme(report: Report, separator: str, brief: bool) -> Iterator[str]:
    del brief
    total = report.get("nvme_total_capacity")
    limits = report.get("nvme_composite_temperature_threshold", {})
    yield from _named(
        36,
        ("Model Number", report.get("model_name", "")),
        ("Serial Number", report.get("serial_number", "")),
        ("Firmware Version", report.get("firmware_version", "")),
        ("PCI Vendor/Subsystem ID", "0x1234"),
        ("Total NVM Capacity", total and f"{_grouped(total, separator)} [{size_text(total)}]"),
        ("Unallocated NVM Capacity", "0"),
        ("Controller ID", 1),
        ("NVMe Version", "1.4"),
        ("Number of Namespaces", 1),
        *_namespaces(report, separator),
        ("Local Time is", "Mon Jan  1 00:00:00 2024 UTC"),
        ("Warning  Comp. Temp. Threshold", _celsius(limits.get("warning"))),
        ("Critical Comp. Temp. Threshold", _celsius(limits.get("critical"))),
    )
    yield from ("", "Supported Power States", "St Op     Max   Active     Idle   RL RT WL WT")
    yield from (" 0 +     8.25W       -        -    0  0  0  0        0       0", "")
    yield "=== START OF SMART DATA SECTION ==="
    yield from _named(0, (_ASSESSMENT, _assessment(report)))
    yield "- available spare has fallen below threshold"
    if "nvme_smart_health_information_log" in report:
        yield from _health_log(report, separator)
    yield from ("", "Error Information (NVMe Log 0x01, 16 of 64 entries)", "No Errors Logged", "")
    yield from _nvme_self_tests(report)


def _celsius(number: int | None) -> str | None:
    return None if number is None else f"{number} Celsius"


def _namespaces(report: Report, separator: str) -> Iterator[tuple[str, object]]:
    for namespace in report.get("nvme_namespaces", []):
        start = f"Namespace {namespace['id']}"
        eui64 = namespace.get("eui64")
        yield f"{start} Size/Capacity", _bytes(report, separator)
        yield f"{start} Formatted LBA Size", namespace.get("formatted_lba_size")
        yield f"{start} IEEE EUI-64", eui64 and f"{eui64['oui']:06x} {eui64['ext_id']:010x}"


def _health_log(report: Report, separator: str) -> Iterator[str]:
    log = report["nvme_smart_health_information_log"]
    celsius = log.get("temperature", report.get("temperature", {}).get("current"))
    counters = {
        "Data Units Read": "data_units_read",
        "Data Units Written": "data_units_written",
        "Host Read Commands": "host_reads",
        "Host Write Commands": "host_writes",
        "Controller Busy Time": "controller_busy_time",
        "Power Cycles": "power_cycles",
        "Power On Hours": "power_on_hours",
        "Unsafe Shutdowns": "unsafe_shutdowns",
        "Media and Data Integrity Errors": "media_errors",
        "Error Information Log Entries": "num_err_log_entries",
    }
    grouped = [
        (
            name,
            _grouped(log[key], separator)
            + (f" [{size_text(log[key] * 512_000)}]" if "Units" in name else ""),
        )
        for name, key in counters.items()
    ]
    sensors = enumerate(log.get("temperature_sensors", []), 1)
    yield from ("", "SMART/Health Information (NVMe Log 0x02)")
    yield from _named(
        36,
        ("Critical Warning", f"0x{log['critical_warning']:02x}"),
        ("Temperature", _celsius(celsius) or "-"),
        ("Available Spare", f"{log['available_spare']}%"),
        ("Available Spare Threshold", f"{log['available_spare_threshold']}%"),
        ("Percentage Used", f"{log['percentage_used']}%"),
        *grouped,
        ("Warning  Comp. Temperature Time", log.get("warning_temp_time")),
        ("Critical Comp. Temperature Time", log.get("critical_comp_time")),
        *((f"Temperature Sensor {number}", _celsius(reading)) for number, reading in sensors),
    )


def _nvme_self_tests(report: Report) -> Iterator[str]:
    tests = report.get("nvme_self_test_log")
    if tests is None:
        return
    yield "Self-test Log (NVMe Log 0x06, NSID 0xffffffff)"
    yield "Self-test status: No self-test in progress"
    if not tests.get("table"):
        yield "No Self-tests Logged"
        return
    yield "Num  Test_Description  Status                       Power_on_Hours  Failing_LBA  NSID"
    for number, row in enumerate(tests["table"]):
        result = row["self_test_result"]["value"]
        yield (
            f"{number:2}   {row['self_test_code']['string']:<17} {_NVME_RESULTS[result]:<33}"
            f" {row['power_on_hours']:9} {'-':>12} {'*':>5} {'-':>3} {'-':>3} {'-':>4}"
        )


def _scsi(report: Report, separator: str, brief: bool) -> Iterator[str]:
    del brief
    block = report.get("logical_block_size")
    yield from _named(
        22,
        ("Vendor", report.get("scsi_vendor", report.get("vendor"))),
        ("Product", report.get("scsi_product", report.get("product"))),
        ("Revision", report.get("scsi_revision", report.get("revision"))),
        ("Compliance", "SPC-5"),
        ("User Capacity", _bytes(report, separator)),
        ("Logical block size", block and f"{block} bytes"),
        ("Rotation Rate", _rotation(report)),
        ("Logical Unit id", report.get("logical_unit_id")),
        ("Serial number", report.get("serial_number", "")),
        ("Device type", "disk"),
        ("Transport protocol", "SAS (SPL-4)"),
        *_smart_support(report),
    )
    temperature = report.get("temperature", {})
    current, trip = temperature.get("current"), temperature.get("drive_trip")
    used = report.get("scsi_percentage_used_endurance_indicator")
    yield from ("", "=== START OF READ SMART DATA SECTION ===")
    yield from _named(
        0,
        ("SMART Health Status", _scsi_assessment(report.get("smart_status"))),
        ("Percentage used endurance indicator", None if used is None else f"{used}%"),
    )
    yield from _named(
        31,
        ("Current Drive Temperature", "<not available>" if current is None else f"{current} C"),
        ("Drive Trip Temperature", "<not available>" if trip is None else f"{trip} C"),
    )
    yield ""
    for sensor in report.get("scsi_environmental_reports", {}).values():
        yield f"Current temperature = {sensor['current']}"
        yield f"Lifetime maximum temperature = {sensor['current']}"
    time = report.get("power_on_time")
    if time is not None:
        yield (
            "Accumulated power on time, hours:minutes"
            f" {time['hours']}:{time.get('minutes', 0):02} [{time['hours'] * 60} minutes]"
        )
    yield from ("Manufactured in week 52 of year 2019", "Accumulated start-stop cycles:  47")
    yield from _named(0, ("Elements in grown defect list", report.get("scsi_grown_defect_list")))
    yield from _scsi_logs(report)


def _scsi_assessment(status: Report | None) -> str | None:
    if status is None or status["passed"]:
        return None if status is None else "OK"
    reason = status.get("scsi", {"ie_string": "FAILURE", "asc": 93, "ascq": 16})
    return f"{reason['ie_string']} [asc={reason['asc']:x}, ascq={reason['ascq']:x}]"


def _scsi_logs(report: Report) -> Iterator[str]:
    yield from ("", "Error counter log:")
    yield "           fast | delayed   rewrites  corrected  invocations   [10^9 bytes]  errors"
    for kind, row in report.get("scsi_error_counter_log", {}).items():
        counters = [
            row.get(key, 0)
            for key in (
                "errors_corrected_by_eccfast",
                "errors_corrected_by_eccdelayed",
                "errors_corrected_by_rereads_rewrites",
                "total_errors_corrected",
                "correction_algorithm_invocations",
            )
        ]
        a, b, c, d, e = counters
        done = float(row["gigabytes_processed"])
        yield (
            f"{kind + ':':<8}{a:8} {b:8}  {c:8}  {d:8}   {e:8}   {done:12.3f}"
            f"    {row['total_uncorrected_errors']:8}"
        )
    yield from ("", "Non-medium error count:      123", "")
    if "scsi_pending_defects" in report:
        yield f"  Pending defect count:{report['scsi_pending_defects']['count']} Pending Defects"
    if "scsi_self_test_0" in report:
        yield "SMART Self-test log"
        yield "Num  Test              Status                 segment  LifeTime  LBA_first_err"
    for number in range(20):
        test = report.get(f"scsi_self_test_{number}")
        if test is not None:
            result, hours = test["result"]["value"], test["power_on_time"]["hours"]
            words = _SCSI_RESULTS[result] if result < 8 else "Self test in progress ..."
            yield (
                f"#{number + 1:2}  {test['code']['string']:<16}  {words}   -   {hours:5}"
                f"{'':17}- [-   -    -]"
            )
    for number in range(4):
        yield from _port(number, report.get(f"scsi_sas_port_{number}"))


def _port(number: int, port: Report | None) -> Iterator[str]:
    if port is None:
        return
    yield f"relative target port id = {number + 1}"
    yield "  generation code = 1"
    phys = {key: phy for key, phy in port.items() if key.startswith("phy_")}
    for position, phy in enumerate(phys.values()):
        yield f"  phy identifier = {position}"
        yield f"    negotiated logical link rate: {phy['negotiated_logical_link_rate']}"
        for name, key in (
            ("Invalid DWORD count", "invalid_dword_count"),
            ("Running disparity error count", "running_disparity_error_count"),
            ("Loss of DWORD synchronization count", "loss_of_dword_synchronization_count"),
            ("Phy reset problem count", "phy_reset_problem_count"),
        ):
            yield f"    {name} = {phy[key]}"
