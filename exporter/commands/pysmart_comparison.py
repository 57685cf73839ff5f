"""Comparing our reading of a drive with pySMART's of the same output."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import TextIO

from exporter.drives.health import DriveReport, Protocol, WrittenBytes
from exporter.drives.smart_report import parse_report
from exporter.errors import SourceError
from exporter.programs.command import StatusRunner
from exporter.smart import smartctl
from exporter.smart.poll_document import PollDocument
from exporter.smart.second_opinion import Opinion, Value, second_opinion
from exporter.smart.smartctl import Address

_ASK_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Disagreement:
    """One field in which two readers differ; ours is None where we do not know it.

    why_known: the weakness of pySMART that explains it; empty where one of the two is wrong.
    """

    field: str
    ours: Value | None
    theirs: Value
    why_known: str = ""


def disagreements(our: DriveReport, theirs: Opinion) -> list[Disagreement]:
    """Where they differ; what pySMART has no word for is no disagreement."""
    mine = dict(_values(our))
    found = []
    for field, value in theirs.items():
        own = mine.get(field)
        if not _same(field, own, value):
            found.append(Disagreement(field, own, value, _why_known(our, field, own, value)))
    return found


def _values(our: DriveReport) -> Iterator[tuple[str, Value | None]]:
    """Our values, by the names of an `Opinion`."""
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


#: How far apart two readings of one figure may be; pySMART reads whole hours, and of SCSI's
#: gigabytes a binary fraction.
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
    return abs(own - value) <= _TOLERANCES.get(field, 0.0)


def _why_known(our: DriveReport, field: str, own: Value | None, value: Value) -> str:
    for weak, explains, reason in _WEAKNESSES:
        if field in weak and explains(our, own, value):
            return reason
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
    """Ours may be of the SCT status or the device statistics, which differ by some degrees."""
    if own is None or isinstance(own, str) or isinstance(value, str):
        return False
    return our.identity.protocol is Protocol.ATA and abs(own - value) <= 10.0


_Explains = Callable[[DriveReport, Value | None, Value], bool]

_COUNTS = frozenset(
    {
        *("temperature_celsius", "spare_ratio", "spare_threshold_ratio", "power_on_seconds"),
        *("host_read_bytes", "host_written_bytes", "controller_busy_seconds", "power_cycles"),
        "endurance_used_ratio",
        *("over_temperature_warning_seconds", "over_temperature_critical_seconds"),
    }
)

#: What pySMART 1.4.3 is known to get wrong, by field: read in its source, and seen.
_WEAKNESSES: Sequence[tuple[frozenset[str], _Explains, str]] = (
    (frozenset({"serial"}), _cut_at_space, "pySMART cuts a serial number at its first space"),
    (
        frozenset({"model", "firmware", "family"}),
        _cut_at_colon,
        "pySMART cuts a name at its first colon",
    ),
    (
        frozenset({"model"}),
        _without_vendor,
        "pySMART gives a SCSI drive's product without its vendor",
    ),
    (
        frozenset({"capacity_bytes"}),
        _nvme,
        "pySMART takes the size of namespace 1 for that of an NVMe drive",
    ),
    (
        frozenset({"healthy"}),
        _failing_attribute,
        "pySMART calls a drive failed when an attribute is below its threshold",
    ),
    (
        frozenset({"temperature_celsius"}),
        _other_sensor,
        "pySMART reads the attribute table, we smartctl's best source",
    ),
    (_COUNTS, _zero, 'pySMART takes the zero that stands for "not reported" as a value'),
)


def run(documents: Sequence[PollDocument], program: str, runner: StatusRunner, out: TextIO) -> None:
    """Ask each drive again, for text beside the JSON, and print where the two readers differ."""
    for document in documents:
        address = Address(document.path, document.type)
        out.write(f"\n{address}\n")
        try:
            argv = smartctl.arguments(program, address, smartctl.Logs.DAILY)
            argv = ["--json=co" if each == "--json=c" else each for each in argv]
            found = smartctl.report(runner.complete(argv, _ASK_SECONDS).output.encode())
            differences = disagreements(parse_report(found), second_opinion(found))
        except SourceError as e:
            out.write(f"  no second opinion: {e}\n")
            continue
        if not differences:
            out.write("  pySMART reads the same\n")
        for each in differences:
            why = f"  ({each.why_known})" if each.why_known else "  DISAGREE"
            ours = "not known" if each.ours is None else each.ours
            out.write(f"  {each.field}: {ours}, by pySMART {each.theirs}{why}\n")
