"""Compares a parsed report with the expected values of its file."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace
from typing import NamedTuple

from exporter.drives.health import DriveHealth, DriveIdentity, DriveReport, WrittenBytes
from rigs.corpus.expected import ABSENT, ANY, Expected, Value

#: The tolerance for bytes as a ratio: covers a number rounded to its unit, but not another unit.
_BYTES_TOLERANCE = 0.002
_BYTES = {"written", "read", "nand"}
#: 8 of 10 bits on the line are data: 6 Gb/s carry 600 MB/s.
_BYTES_PER_GIGABIT = 1e9 * 0.8 / 8
#: A word in the name of each NVMe critical warning, and its bit.
_WARNING_BITS = (
    ("spare", 1),
    ("temperature", 2),
    ("reliability", 4),
    ("read_only", 8),
    ("backup", 16),
    ("persistent_memory", 32),
)


class Disagreement(NamedTuple):
    """A field whose actual value is not as expected."""

    file: str
    field: str
    expected: str
    actual: str


def drive_disagreements(
    file: str, expected: Expected, report: DriveReport
) -> Iterator[Disagreement]:
    """Every field of a report that differs from the line of its file."""
    protocol = report.identity.protocol
    if protocol is None or protocol.value != file.partition("/")[0]:
        yield Disagreement(file, "protocol", file.partition("/")[0], str(protocol))
    for field, read in _READ.items():
        value = read(report)
        actual: Value = ABSENT if value is None else value
        if field == "source" and actual == ABSENT and ABSENT in expected["wear"]:
            continue
        if not any(_agree(field, right, actual, expected) for right in expected[field]):
            right = " or ".join(map(str, expected[field]))
            yield Disagreement(file, field, right, str(actual))
    for field in impossible_zeros(report):
        yield Disagreement(file, field, ABSENT, "0")


def error_disagreements(
    file: str, line: Mapping[str, object], report: DriveReport
) -> Iterator[Disagreement]:
    """Values in the report of a failed run, in which there must be none, and missing messages."""
    if report.identity != DriveIdentity():
        yield Disagreement(file, "identity", ABSENT, str(report.identity))
    blank = DriveHealth()
    health = replace(report.health, exit_status=0, messages=(), unreadable="")
    for field in fields(DriveHealth):
        actual = getattr(health, field.name)
        if actual != getattr(blank, field.name):
            yield Disagreement(file, field.name, ABSENT, str(actual))
    if report.health.exit_status != line["exit"]:
        yield Disagreement(file, "exit", str(line["exit"]), str(report.health.exit_status))
    if not report.health.messages:
        yield Disagreement(file, "messages", "at least one message", ABSENT)


def impossible_zeros(report: DriveReport) -> Iterator[str]:
    """Fields that are 0, although 0 can only mean that the drive does not report the value."""
    health, identity = report.health, report.identity
    never: dict[str, object] = {
        "capacity_bytes": identity.capacity_bytes,
        "logical_block_bytes": identity.logical_block_bytes,
        "temperature_warning_celsius": health.temperature_warning_celsius,
        "temperature_critical_celsius": health.temperature_critical_celsius,
        "link_bytes_per_second": health.link_bytes_per_second,
        "link_max_bytes_per_second": health.link_max_bytes_per_second,
        "host_read": _bytes(health.host_read),
        "host_written": _bytes(health.host_written),
        "nand_written": _bytes(health.nand_written),
        **{f"temperatures[{sensor}]": value for sensor, value in health.temperatures.items()},
    }
    return (field for field, value in never.items() if value == 0)


def _agree(field: str, right: Value, actual: Value, line: Expected) -> bool:
    """True if the actual value is the expected one, within its tolerance."""
    if right == ANY or (field, right) == ("ssd", "unknown"):
        return right == ANY or actual is not True
    if isinstance(right, int | float) and isinstance(actual, int | float):
        below, above = _margin(field, right, line)
        return right - below <= actual <= right + above
    return right == actual


def _margin(field: str, right: float, line: Expected) -> tuple[float, float]:
    """The tolerance below and above an expected number."""
    if field == "wear":
        (tolerance,) = line["tolerance"]
        assert isinstance(tolerance, int | float)
        return tolerance, tolerance
    if field in _BYTES:
        return _BYTES_TOLERANCE * right, _BYTES_TOLERANCE * right
    if field == "seconds":
        return 0, 59  # minutes that the drive reports and smartctl's JSON may omit
    return 0, 0


def _bytes(counted: WrittenBytes | None) -> int | None:
    return counted.bytes if counted else None


def _percent(ratio: float | None) -> float | None:
    return None if ratio is None else round(ratio * 100, 6)


def _warnings(report: DriveReport) -> int | str | None:
    """The NVMe critical warning byte, composed from the names of its bits."""
    byte = 0
    for name, is_set in report.health.critical_warnings.items():
        bits = [bit for word, bit in _WARNING_BITS if word in name]
        if len(bits) != 1:
            return f"a warning named {name}"
        byte |= bits[0] if is_set else 0
    return byte if report.health.critical_warnings else None


def _sensors(report: DriveReport) -> tuple[int, ...]:
    temperatures = report.health.temperatures
    return tuple(int(temperatures[sensor]) for sensor in sorted(temperatures) if sensor != "drive")


def _self_test(report: DriveReport) -> str | None:
    test = report.health.self_test
    if test is None:
        return None
    at = test.completed_power_on_seconds
    return f"{'passed' if test.passed else 'failed'} at {None if at is None else int(at / 3600)} h"


def _link(report: DriveReport) -> str:
    rates = (report.health.link_bytes_per_second, report.health.link_max_bytes_per_second)
    return "/".join("-" if rate is None else f"{rate / _BYTES_PER_GIGABIT:.1f}" for rate in rates)


def _ssd(report: DriveReport) -> bool | None:
    rotational = report.identity.rotational
    return None if rotational is None else not rotational


#: Reads each field of the table from a report; None means absent.
_READ: dict[str, Callable[[DriveReport], Value | None]] = {
    "ssd": _ssd,
    "wear": lambda report: (
        _percent(report.health.endurance.used_ratio) if report.health.endurance else None
    ),
    "source": lambda report: (
        report.health.endurance.source.value if report.health.endurance else None
    ),
    "healthy": lambda report: report.health.healthy,
    "unreadable": lambda report: bool(report.health.unreadable),
    "temp": lambda report: report.health.temperatures.get("drive"),
    "sensors": _sensors,
    "warn_at": lambda report: report.health.temperature_warning_celsius,
    "critical_at": lambda report: report.health.temperature_critical_celsius,
    "spare": lambda report: _percent(report.health.spare_ratio),
    "threshold": lambda report: _percent(report.health.spare_threshold_ratio),
    "warnings": _warnings,
    "plp": lambda report: report.health.plp_healthy,
    "reallocated": lambda report: report.health.reallocated_sectors,
    "pending": lambda report: report.health.pending_sectors,
    "media": lambda report: report.health.media_errors,
    "program": lambda report: report.health.program_failures,
    "erase": lambda report: report.health.erase_failures,
    "crc": lambda report: report.health.interface_errors,
    "errors": lambda report: report.health.error_log_entries,
    "seconds": lambda report: report.health.power_on_seconds,
    "cycles": lambda report: report.health.power_cycles,
    "unsafe": lambda report: report.health.unsafe_shutdowns,
    "busy_minutes": lambda report: (
        None
        if report.health.controller_busy_seconds is None
        else report.health.controller_busy_seconds / 60
    ),
    "written": lambda report: _bytes(report.health.host_written),
    "read": lambda report: _bytes(report.health.host_read),
    "nand": lambda report: _bytes(report.health.nand_written),
    "self_test": _self_test,
    "link": _link,
    "exit": lambda report: report.health.exit_status,
}
