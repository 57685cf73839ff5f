"""Decodes the log pages in a report of smartctl, which `log_encoding` has put there."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from exporter.drives.fields import Fields
from exporter.drives.nvme_logs.controller import Controller
from exporter.drives.nvme_logs.decode import decode
from exporter.drives.nvme_logs.drive_latency import DriveLatency
from exporter.drives.nvme_logs.latency_growth import LatencyGrowth, latency_growth
from exporter.drives.nvme_logs.log_encoding import LOGS_KEY
from exporter.drives.nvme_logs.log_values import NvmeLogValues, combine
from exporter.runtime.errors import ParseError

#: The largest number of pages that are decoded, and their largest size in bytes. A drive has at
#: most ten of these pages, each with up to 4 KiB.
_MAX_PAGES = 32
_MAX_PAGE_BYTES = 16384
_MAX_TEXT = 256
#: No page is read after this Unix time, in seconds.
_MAX_TIME = 1e15

#: The order of the sources of a value, best first: OCP, pages of vendors by number, then those of
#: the NVMe base specification, which are less exact.
_FIRST, _LAST = (0xC0,), (0x09, 0x02)


class MissingReason(str, Enum):
    """Names why a page has no values. The values are those of a label.

    The reader of the pages begins its reasons with the name of one of the first three.
    """

    REFUSED = "refused"  # by the drive
    TIMEOUT = "timeout"  # the drive did not answer
    FAILED = "failed"  # the kernel did not read the page
    INVALID = "invalid"  # the content is not that of the page


@dataclass(frozen=True, slots=True)
class ParsedLogs:
    """The content of the log pages of a drive.

    values: the values of all pages.
    latency: the drive's own latency; None if the drive does not report it.
    latency_at: when it was read, as Unix time in seconds; None if unknown.
    growth: what the drive counted as slow between the last two readings of `latency`; None if it
        was read once, or if the counters do not tell it.
    missing: why a page has no values, as text for people, keyed by the page number.
    at: when the oldest of the decoded pages was read, as Unix time in seconds; None without pages.
    version: distinguishes the content from that of other reports of the drive.
    """

    values: NvmeLogValues = field(default_factory=NvmeLogValues)
    latency: DriveLatency | None = None
    latency_at: float | None = None
    growth: LatencyGrowth | None = None
    missing: Mapping[int, str] = field(default_factory=dict)
    at: float | None = None
    version: object = field(default=None, compare=False)

    def reason(self, page: int) -> MissingReason:
        """Returns why a page has no values. It must be in `missing`."""
        first, _, _ = self.missing[page].partition(":")
        known = MissingReason.REFUSED, MissingReason.TIMEOUT, MissingReason.FAILED
        return next((each for each in known if each.value == first), MissingReason.INVALID)


class _Page(NamedTuple):
    at: float | None
    data: bytes


def parse_logs(report: Mapping[str, object], previous: "ParsedLogs | None" = None) -> ParsedLogs:
    """Returns the content of the log pages in a report. Empty if it has none.

    report: the parsed JSON of smartctl, with or without the key `LOGS_KEY`. It may contain invalid
        values. A page that cannot be decoded is in `missing`. No exception is raised.
    previous: the content of the previous report of the drive. It is returned if it is the same:
        the pages are read less often than the report.
    """
    logs, own_values = report.get(LOGS_KEY), _thermal_management(report)
    if not isinstance(logs, Mapping):
        return ParsedLogs(own_values)
    version = _version(logs, own_values)
    if previous is not None and version is not None and version == previous.version:
        return previous
    missing = {
        number: str(reason)[:_MAX_TEXT] for number, reason in _numbered(logs.get("missing")).items()
    }
    controller = parse_controller(logs.get("controller"))
    values: dict[int, NvmeLogValues] = {}
    latency, latency_at = None, None
    times = []
    for number, content in _numbered(logs.get("pages")).items():
        try:
            page = _page(content)
            decoded = decode(number, page.data, controller)
        except ParseError as e:
            missing[number] = str(e)
            continue
        missing.pop(number, None)
        if page.at is not None:
            times.append(page.at)
        if isinstance(decoded, DriveLatency):
            latency, latency_at = decoded, page.at
        else:
            values[number] = decoded
    ordered = sorted(values, key=_rank)
    return ParsedLogs(
        combine((*(values[number] for number in ordered), own_values)),
        latency,
        latency_at,
        _growth(previous, latency, latency_at),
        missing,
        min(times, default=None),
        version,
    )


def _growth(
    previous: ParsedLogs | None, latency: DriveLatency | None, at: float | None
) -> LatencyGrowth | None:
    if previous is None or latency is None or at is None or previous.latency is None:
        return None
    if at == previous.latency_at:
        return previous.growth
    before = previous.latency_at
    return None if before is None else latency_growth(previous.latency, before, latency, at)


def _version(logs: Mapping[str, object], own_values: NvmeLogValues) -> object:
    """Returns what changes if a page was read again; None if the object is not valid."""
    pages, missing = logs.get("pages"), logs.get("missing")
    if not isinstance(pages, Mapping) or not isinstance(missing, Mapping):
        return None
    times = [
        (number, page.get("at")) for number, page in pages.items() if isinstance(page, Mapping)
    ]
    known = all(isinstance(at, float) for _, at in times)
    return (repr(logs.get("controller")), times, dict(missing), own_values) if known else None


def _thermal_management(report: Mapping[str, object]) -> NvmeLogValues:
    """Returns the counters of page 02h that smartctl's own JSON contains after 7.5."""
    fields = Fields(report)
    return NvmeLogValues(
        thermal_management_1_transitions=_own(fields, "1_transition_count"),
        thermal_management_2_transitions=_own(fields, "2_transition_count"),
        thermal_management_1_seconds=_seconds(_own(fields, "1_total_time")),
        thermal_management_2_seconds=_seconds(_own(fields, "2_total_time")),
    )


def _own(fields: Fields, name: str) -> int | None:
    return fields.integer(
        "nvme_smart_health_information_log",
        f"thermal_mgmt_temperature_{name}",
        maximum=(1 << 32) - 2,
    )


def _seconds(count: int | None) -> float | None:
    return None if count is None else float(count)


def parse_controller(described: object) -> Controller:
    """Returns the controller that `encode_logs` described. Invalid parts are unknown."""
    if not isinstance(described, Mapping):
        return Controller()
    version = described.get("nvme_version")
    is_version = isinstance(version, list) and [type(part) for part in version] == [int, int]
    return Controller(
        _pci_id(described.get("vendor_id")),
        _pci_id(described.get("subsystem_vendor_id")),
        _text(described.get("model")),
        _text(described.get("firmware")),
        (version[0], version[1]) if is_version and isinstance(version, list) else None,
    )


def _rank(page: int) -> tuple[int, int]:
    if page in _FIRST:
        return 0, page
    return (2, _LAST.index(page)) if page in _LAST else (1, page)


def _numbered(described: object) -> dict[int, object]:
    """Returns the members of an object whose keys are page numbers."""
    if not isinstance(described, Mapping):
        return {}
    numbered: dict[int, object] = {}
    for key, value in described.items():
        if len(numbered) == _MAX_PAGES:
            break
        is_number = isinstance(key, str) and len(key) <= 3 and key.isascii() and key.isdecimal()
        if is_number and int(key) <= 0xFF:
            numbered[int(key)] = value
    return numbered


def _page(content: object) -> _Page:
    """Returns the content of a page.

    Raises:
        ParseError: it has no valid content.
    """
    text = content.get("hex") if isinstance(content, Mapping) else None
    if not isinstance(text, str) or len(text) > 2 * _MAX_PAGE_BYTES:
        raise ParseError("the document has no valid content of the page")
    try:
        data = bytes.fromhex(text)
    except ValueError as e:
        raise ParseError("the content of the page in the document is not hexadecimal") from e
    at = content.get("at") if isinstance(content, Mapping) else None
    if isinstance(at, bool) or not isinstance(at, int | float):
        return _Page(None, data)
    # A number of many digits is no time, and a comparison with NaN is false.
    return _Page(float(at) if abs(at) < _MAX_TIME else None, data)


def _pci_id(value: object) -> int | None:
    return value if type(value) is int and 0 <= value <= 0xFFFF else None


def _text(value: object) -> str:
    return value[:_MAX_TEXT].strip() if isinstance(value, str) else ""
