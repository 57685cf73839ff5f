"""Returns the values of log pages as fields of the health of an NVMe drive. Pure."""

from typing import Any

from exporter.drives.fields import Json
from exporter.drives.health import UnitSource, WrittenBytes
from exporter.drives.nvme_logs.log_document import ParsedLogs, parse_logs
from exporter.drives.nvme_logs.log_values import NvmeLogValues

#: The least health of a capacitor in percent with which a shutdown is safe (OCP Datacenter NVMe SSD
#: Specification 2.7, SMART-19).
_LEAST_CAPACITOR_PERCENT = 1
#: Page 09h counts in units of 10^9 bytes.
_GROUP_UNIT_BYTES = 10**9


def log_health(report: Json, previous: ParsedLogs | None = None) -> dict[str, Any]:
    """Returns the values of the log pages that a report contains, keyed by field of `DriveHealth`.

    A value that SATA and SAS drives have with the same meaning is in the same field. They are not
    put into a `DriveHealth` here, because a copy of it takes 20 us per poll.

    report: the report of smartctl, with the key `LOGS_KEY` or counters of the thermal management.
    previous: the content of the log pages in the previous report.
    """
    logs = parse_logs(report, previous)
    values = logs.values
    return {
        "logs": logs,
        "nand_written": _nand_written(values),
        "reallocated_sectors": _sum(
            values.bad_blocks, values.bad_user_blocks, values.bad_system_blocks
        ),
        "program_failures": _sum(values.program_failures, values.system_program_failures),
        "erase_failures": _sum(values.erase_failures, values.system_erase_failures),
        "interface_errors": values.link_crc_errors,
        "corrected_errors": {
            method: count
            for method, count in (
                ("soft_ecc", values.soft_ecc_errors),
                ("xor", values.xor_recoveries),
            )
            if count is not None
        },
        "plp_healthy": _plp_healthy(values.capacitor_health_percent),
    }


def _nand_written(values: NvmeLogValues) -> WrittenBytes | None:
    if values.nand_written_bytes:
        unit = values.nand_written_unit_bytes or 1
        return WrittenBytes(values.nand_written_bytes, unit, UnitSource.STANDARD)
    if values.group_media_written_bytes:
        return WrittenBytes(
            values.group_media_written_bytes, _GROUP_UNIT_BYTES, UnitSource.STANDARD
        )
    return None


def _plp_healthy(capacitor_percent: int | None) -> bool | None:
    """Returns whether the protection works; None if the drive does not say."""
    return None if capacitor_percent is None else capacitor_percent >= _LEAST_CAPACITOR_PERCENT


def _sum(*counts: int | None) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
