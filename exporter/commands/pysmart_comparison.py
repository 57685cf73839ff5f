"""Compares this project's parser of smartctl's output with pySMART (`check --second-opinion`).

pySMART is a Python library that also parses smartctl's output.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import TextIO

from exporter.drives.health import DriveReport, Protocol, WrittenBytes
from exporter.drives.smart_report import parse_report
from exporter.programs.command import StatusRunner
from exporter.runtime.errors import SourceError
from exporter.runtime.printable import printable
from exporter.smart import smartctl
from exporter.smart.polling.poll_document import PollDocument
from exporter.smart.second_opinion import Opinion, Value, second_opinion
from exporter.smart.smartctl import Address

#: Timeout of one smartctl run. A drive that must spin up first answers within 15 s.
_POLL_TIMEOUT_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Difference:
    """One field for which the two parsers return different values.

    field: the name of the field.
    ours: the value of this project's parser; None means unknown.
    theirs: the value of pySMART.
    known_cause: the defect of pySMART that explains the difference; empty if no known defect does.
    """

    field: str
    ours: Value | None
    theirs: Value
    known_cause: str = ""


def find_differences(our: DriveReport, opinion: Opinion) -> list[Difference]:
    """Returns the fields that differ between our report and the values of pySMART.

    Fields for which pySMART has no value are ignored.
    """
    our_values = dict(_values(our))
    differences = []
    for field, value in opinion.items():
        own = our_values.get(field)
        if not _same(field, own, value):
            differences.append(Difference(field, own, value, _known_cause(our, field, own, value)))
    return differences


def _values(our: DriveReport) -> Iterator[tuple[str, Value | None]]:
    """Yields the name and value of each field of our report. The names are those of `Opinion`."""
    health = our.health
    for record in (our.identity, health):
        for field in fields(record):
            value = getattr(record, field.name)
            if isinstance(value, WrittenBytes):
                yield f"{field.name}_bytes", value.bytes
            elif isinstance(value, str | int | float):
                yield field.name, value
    yield "temperature_celsius", health.temperatures.get("drive")
    yield "endurance_used_ratio", health.endurance.used_ratio if health.endurance else None
    yield "self_test_passed", health.self_test.passed if health.self_test else None
    for row in health.attributes:
        yield f"attribute {row.id} raw", " ".join(row.raw_text.split())
        yield f"attribute {row.id} value", row.value
        yield f"attribute {row.id} worst", row.worst
        yield f"attribute {row.id} threshold", row.threshold


#: For each field, the largest difference between two values that count as equal, in the unit of the
#: field. pySMART rounds power-on times to whole hours, and converts the gigabytes of SCSI drives
#: with a floating-point number, which is not exact.
_TOLERANCES = {
    "power_on_seconds": 3599.0,
    "temperature_celsius": 1.0,
    "host_read_bytes": 1e6,
    "host_written_bytes": 1e6,
    "endurance_used_ratio": 1e-6,
    "spare_ratio": 1e-6,
    "spare_threshold_ratio": 1e-6,
}


def _same(field: str, own: Value | None, value: Value) -> bool:
    if own is None or isinstance(own, str) or isinstance(value, str):
        return own == value
    return _distance(own, value) <= _TOLERANCES.get(field, 0.0)


def _distance(one: float, other: float) -> float:
    """Returns the difference of two numbers; infinite if it is too large for a float.

    pySMART accepts a number of hundreds of digits from a drive.
    """
    try:
        return float(abs(one - other))
    except OverflowError:
        return math.inf


def _known_cause(our: DriveReport, field: str, own: Value | None, value: Value) -> str:
    for affected_fields, explains, cause in _PYSMART_DEFECTS:
        if field in affected_fields and explains(our, own, value):
            return cause
    return ""


def _cut_at_space(_our: DriveReport, own: Value | None, value: Value) -> bool:
    return isinstance(own, str) and own.split()[:1] == [value]


def _cut_at_colon(_our: DriveReport, own: Value | None, value: Value) -> bool:
    return isinstance(own, str) and ":" in own and own.split(":")[0].strip() == value


def _without_vendor(our: DriveReport, own: Value | None, value: Value) -> bool:
    scsi = our.identity.protocol is Protocol.SCSI
    return scsi and isinstance(own, str) and isinstance(value, str) and own.endswith(value)


def _zero(_our: DriveReport, own: Value | None, value: Value) -> bool:
    return own is None and value == 0


def _failing_attribute(our: DriveReport, own: Value | None, value: Value) -> bool:
    failing = any(row.failed == "now" for row in our.health.attributes)
    return own is not False and value is False and failing


def _nvme(our: DriveReport, _own: Value | None, _value: Value) -> bool:
    return our.identity.protocol is Protocol.NVME


def _other_sensor(our: DriveReport, own: Value | None, value: Value) -> bool:
    """Returns True if the two temperatures may be from different sensors of an ATA drive.

    They then differ by at most 10 degrees, and ours is from the SCT status or device statistics.
    """
    if own is None or isinstance(own, str) or isinstance(value, str):
        return False
    return our.identity.protocol is Protocol.ATA and _distance(own, value) <= 10.0


_Explains = Callable[[DriveReport, Value | None, Value], bool]

#: Fields for which pySMART returns 0 if the drive does not report them.
_ZERO_IF_NOT_REPORTED = frozenset(
    {
        *("temperature_celsius", "spare_ratio", "spare_threshold_ratio", "power_on_seconds"),
        *("host_read_bytes", "host_written_bytes", "controller_busy_seconds", "power_cycles"),
        "endurance_used_ratio",
        *("over_temperature_warning_seconds", "over_temperature_critical_seconds"),
    }
)

#: Known defects of pySMART 1.4.3, found in its source and confirmed by tests. Each row has the
#: affected fields, a function that tells whether the defect explains two values, and a text.
_PYSMART_DEFECTS: Sequence[tuple[frozenset[str], _Explains, str]] = (
    (frozenset({"serial"}), _cut_at_space, "pySMART cuts a serial number at its first space"),
    (
        frozenset({"model", "firmware", "family"}),
        _cut_at_colon,
        "pySMART cuts a name at its first colon",
    ),
    (
        frozenset({"model"}),
        _without_vendor,
        "pySMART omits the vendor of a SCSI drive",
    ),
    (
        frozenset({"capacity_bytes"}),
        _nvme,
        "pySMART reports the size of namespace 1 as the capacity of an NVMe drive",
    ),
    (
        frozenset({"healthy"}),
        _failing_attribute,
        "pySMART reports a failed drive if an attribute is below its threshold",
    ),
    (
        frozenset({"temperature_celsius"}),
        _other_sensor,
        "pySMART reads the attribute table; we read the source that smartctl prefers",
    ),
    (_ZERO_IF_NOT_REPORTED, _zero, 'pySMART reports 0 for a field that is "not reported"'),
)


def run(documents: Sequence[PollDocument], program: str, runner: StatusRunner, out: TextIO) -> None:
    """Polls each drive again, and prints the fields for which the two parsers differ.

    The JSON of smartctl also contains its plain text. pySMART parses the text.

    documents: the previous polls of the drives, which contain their addresses.
    program: the path of smartctl.
    """
    for document in documents:
        address = Address(document.path, document.type)
        out.write(f"\n{printable(str(address))}\n")
        try:
            argv = smartctl.arguments(program, address, smartctl.Logs.DAILY)
            argv = ["--json=co" if option == "--json=c" else option for option in argv]
            output = smartctl.report(runner.complete(argv, _POLL_TIMEOUT_SECONDS).output.encode())
            differences = find_differences(parse_report(output), second_opinion(output))
        except SourceError as e:
            out.write(f"  no second opinion: {printable(str(e))}\n")
            continue
        if not differences:
            out.write("  pySMART agrees\n")
        for difference in differences:
            cause = f"  ({difference.known_cause})" if difference.known_cause else "  DISAGREE"
            ours = "unknown" if difference.ours is None else difference.ours
            words = f"{difference.field}: {ours}, pySMART: {difference.theirs}{cause}"
            out.write(f"  {printable(words)}\n")
