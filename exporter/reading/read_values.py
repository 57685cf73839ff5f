"""Computes the metrics of one document for the command `read`, and the source of each value."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from exporter.drives.fields import Fields, Json
from exporter.drives.firmware import firmware_issues
from exporter.drives.health import DriveIdentity, DriveReport
from exporter.drives.smart_report import parse_report
from exporter.drives.value_sources import ValueSource, value_sources
from exporter.drives.watched_drive import WatchedDrive
from exporter.families import catalogue, nvme_log_families
from exporter.families import smart_families as metrics
from exporter.metrics import smart_collector
from exporter.reading.read_input import Document

#: The prefix of the metric families whose names are the keys of the output.
PREFIX = "ssd_smart_"

#: The number of labels that every family has: the device and the serial number. Both are left out.
_DRIVE_LABELS = 2

#: The families that `read` leaves out. The source of the wear is part of its value, a document is
#: no poll, and the values that are not used have a list of their own.
_OMITTED = frozenset(
    desc.name
    for desc in (
        metrics.ENDURANCE_SOURCE,
        metrics.LAST_SUCCESS,
        metrics.POLL_DURATION,
        metrics.POLLS,
        metrics.REJECTED,
    )
)

#: The field of `DriveHealth` from which each family is computed.
_FIELDS: Mapping[str, str] = {
    desc.name: field
    for desc, field in (
        *smart_collector.FLAGS,
        *smart_collector.NUMBERS,
        *smart_collector.BYTES,
        (metrics.AVAILABLE, "unreadable"),
        (metrics.FAILURE_CAUSE, "failure_cause"),
        (metrics.ENDURANCE_USED, "endurance"),
        (metrics.TEMPERATURE, "temperatures"),
        (metrics.OVER_TEMPERATURE, "over_temperature_{}_seconds"),
        (metrics.CRITICAL_WARNING, "critical_warnings"),
        (metrics.CORRECTED_ERRORS, "corrected_errors"),
        (metrics.SELF_TEST_PASSED, "self_test"),
        (metrics.SELF_TEST_COMPLETED, "self_test"),
        (metrics.EXIT_BIT, "exit_status"),
        (metrics.POWER_MODE, "power_mode"),
        (metrics.FIRMWARE_ISSUE, "firmware_issues"),
        (metrics.FIRMWARE_ISSUE_LEFT, "firmware_issues"),
    )
}

#: The values are in the order of the families.
_ORDER = {
    desc.name.removeprefix(PREFIX): number
    for number, desc in enumerate(
        (*catalogue.families(metrics), *catalogue.families(nvme_log_families))
    )
}
#: The families whose values are only in log pages.
_LOG_FAMILIES = frozenset(desc.name for desc in catalogue.families(nvme_log_families))
_LOG_PAGES = ValueSource("nvme_log", "log pages other than the SMART log")
_FIRMWARE_LIST = ValueSource("built_in_list", "model, firmware version and power-on time")
_UNKNOWN_SOURCE = ValueSource("unknown", "")


class ReadValue(NamedTuple):
    """One value of a drive.

    metric: the name of the metric family, without the prefix `ssd_smart_`.
    label: the value of the family's own label, such as "drive" for a sensor; empty without one.
        Several own labels are joined by spaces, such as "read 0.005".
    value: the value in the base unit of the metric.
    source, rule: the origin of the value (see `value_sources`).
    """

    metric: str
    label: str
    value: float
    source: str
    rule: str


@dataclass(frozen=True, slots=True)
class ReadDrive:
    """A document that was read, and the values in it.

    watched: the drive as `check` shows it. It has no serial number.
    values: the values, the most important ones first.
    report: the identity, the rejected values and the faults.
    program: the version of smartctl, such as "7.3"; empty if unknown.
    """

    document: Document
    watched: WatchedDrive
    values: tuple[ReadValue, ...]
    report: DriveReport
    program: str


def name_of(document: Document, *, is_only: bool = False) -> str:
    """Returns the name of a document: its file, and its position in the file.

    is_only: True if the file has no other documents. The position is then left out.
    """
    file = "standard input" if document.file == "-" else document.file
    return file if is_only else f"{file}#{document.number}"


def interpreted(document: Document, report: Json) -> ReadDrive | None:
    """Returns the values of the document. None if it contains neither a drive nor a message.

    report: the document in the structure of smartctl's JSON.
    """
    drive = parse_report(report)
    health, identity = drive.health, replace(drive.identity, serial=None, wwn=None)
    if identity == DriveIdentity() and not (health.messages or health.exit_status):
        return None
    watched = WatchedDrive(
        label=name_of(document),
        serial="",
        address="",
        identity=identity,
        up=True,
        has_log_data=True,
        health=health,
        firmware_issues=firmware_issues(identity, health),
    )
    fields = Fields(report)
    version = fields.get("smartctl", "version")
    is_version = isinstance(version, list) and all(type(part) is int for part in version[:2])
    return ReadDrive(
        replace(document, report={}),  # it takes more memory than everything else
        watched,
        tuple(sorted(_values(report, drive, watched), key=lambda each: _ORDER[each.metric])),
        drive,
        ".".join(map(str, version[:2])) if is_version and isinstance(version, list) else "",
    )


def plain(drive: ReadDrive) -> dict[str, Any]:
    """Returns the drive as one JSON object. Unknown values have no key.

    A family with a label of its own is an object with one member for each value of the label.
    """
    result: dict[str, Any] = {"input": plain_input(drive.document), "device": _device(drive)}
    for metric, label, value, source, rule in drive.values:
        shown = {"value": value, "source": source, "rule": rule}
        if label:
            result.setdefault(metric, {})[label] = shown
        else:
            result[metric] = shown
    result["rejected"] = [
        {"metric": each.metric, "value": each.value, "rule": each.rule, "reason": each.reason}
        for each in drive.report.health.rejected
    ]
    result["faults"] = list(drive.report.faults)
    return result


def plain_input(document: Document) -> dict[str, Any]:
    """Returns the file and the position of a document as JSON values."""
    place: dict[str, Any] = {
        "file": document.file,
        "document": document.number,
        "line": document.line,
    }
    if document.form:
        place["format"] = document.form
    return place


def _device(drive: ReadDrive) -> dict[str, Any]:
    identity, health = drive.report.identity, drive.report.health
    described = {
        "model": identity.model,
        "family": identity.family,
        "firmware": identity.firmware,
        "protocol": identity.protocol.value if identity.protocol else None,
        "rotational": identity.rotational,
        "capacity_bytes": identity.capacity_bytes,
        "logical_block_bytes": identity.logical_block_bytes,
        "smartctl_version": drive.program or None,
        "messages": list(health.messages) or None,
        "unreadable": health.unreadable or None,
    }
    return {key: value for key, value in described.items() if value is not None}


def _values(report: Json, drive: DriveReport, watched: WatchedDrive) -> Iterator[ReadValue]:
    sources = value_sources(report, drive)
    has_exit_status = Fields(report).get("smartctl", "exit_status") is not None
    for sample in smart_collector.drive_samples(
        watched, raw_attributes=False, attribute_values=False
    ):
        name = sample.desc.name
        if (
            not name.startswith(PREFIX)
            or name in _OMITTED
            or not isinstance(sample.value, int | float)
        ):
            continue
        if name == metrics.EXIT_BIT.name and not has_exit_status:
            continue
        label = " ".join(sample.labels[_DRIVE_LABELS:])
        source = _source(sources, name, label)
        yield ReadValue(name.removeprefix(PREFIX), label, sample.value, *source)


def _source(sources: Mapping[str, ValueSource], name: str, label: str) -> ValueSource:
    if name in _LOG_FAMILIES:
        return _LOG_PAGES
    field = _FIELDS.get(name, "").format(label)
    if field == "firmware_issues":
        return _FIRMWARE_LIST
    if field == "temperatures" and label != "drive":
        field = "temperature_sensors"
    return sources.get(field, _UNKNOWN_SOURCE)
