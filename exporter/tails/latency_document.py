"""The document in which the agent passes the latencies of requests to the daemon. Pure.

All numbers are sums since the start of the agent. So a document that the daemon did not read costs
nothing, and an agent that has started again is recognised by its `run`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from exporter.runtime.errors import ParseError
from exporter.runtime.json_fields import JsonFields
from exporter.tails.latency_bins import LAST_BIN
from exporter.tails.request_histogram import OPERATIONS

#: The name of the file in the directory of the agent.
LATENCY_FILE = "latency.json"

_VERSION = 1

#: The name of the document in messages.
_WHAT = "latency"

#: The largest number of values that is parsed: 500 devices with 400 bins. The file has a limit of
#: its own (`document_directory`).
_MOST_VALUES = 400_000
_MOST_DEVICES = 2000
_MOST_TEXT = 300
_MOST_COUNT = (1 << 48) - 1


@dataclass(frozen=True, slots=True)
class DeviceRequests:
    """The requests of a device.

    bins: the number of requests in each bin of latency, keyed by operation.
    lost: those that were issued and whose completion was not matched.
    unfinished: those that were still in flight two seconds after their window.
    """

    bins: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    lost: int = 0
    unfinished: int = 0


@dataclass(frozen=True, slots=True)
class LatencyDocument:
    """What the agent has measured since its start.

    run: identifies the start of the agent.
    at, monotonic, boot_id: the time of writing, as in `Moment`.
    period_seconds: the time between two windows.
    windows: the number of windows. observed_seconds: their duration, summed.
    shortened: the number of windows that ended early, because there were too many requests.
    problem: why the last window was not measured; empty if it was.
    devices: keyed by device name.
    """

    run: str
    at: float
    monotonic: float
    boot_id: str
    period_seconds: float
    windows: int = 0
    observed_seconds: float = 0.0
    shortened: int = 0
    problem: str = ""
    devices: Mapping[str, DeviceRequests] = field(default_factory=dict)


def encoded(document: LatencyDocument) -> bytes:
    """Returns the content of the file."""
    values = {
        "version": _VERSION,
        "run": document.run,
        "at": document.at,
        "monotonic": document.monotonic,
        "boot_id": document.boot_id,
        "period_seconds": document.period_seconds,
        "windows": document.windows,
        "observed_seconds": document.observed_seconds,
        "shortened": document.shortened,
        "problem": document.problem[:_MOST_TEXT],
        "devices": encoded_devices(document.devices),
    }
    return json.dumps(values, separators=(",", ":")).encode()


def encoded_devices(devices: Mapping[str, DeviceRequests]) -> dict[str, Any]:
    """Returns the requests of devices as JSON values."""
    return {
        name: {
            "lost": each.lost,
            "unfinished": each.unfinished,
            "bins": {op: [*map(list, sorted(bins.items()))] for op, bins in each.bins.items()},
        }
        for name, each in devices.items()
    }


def parse_latency_document(text: bytes) -> LatencyDocument:
    """Returns the document that a file contains.

    Raises:
        ParseError: it is none of this version, or a field has a wrong type or size.
    """
    values = fields(text)
    values.require_version(_VERSION)
    return LatencyDocument(
        run=values.text("run")[:_MOST_TEXT],
        at=values.seconds("at"),
        monotonic=values.seconds("monotonic"),
        boot_id=values.text("boot_id")[:_MOST_TEXT],
        period_seconds=values.seconds("period_seconds"),
        windows=values.count("windows"),
        observed_seconds=values.seconds("observed_seconds"),
        shortened=values.count("shortened"),
        problem=values.text("problem")[:_MOST_TEXT],
        devices=parse_devices(values.get("devices")),
    )


def fields(text: bytes) -> JsonFields:
    """Returns the fields of the JSON object in a text.

    Raises:
        ParseError: it contains something else, or too many values.
    """
    return JsonFields.parsed(text, _WHAT, _MOST_VALUES, _MOST_COUNT)


def parse_devices(value: Any) -> dict[str, DeviceRequests]:
    """Returns the requests of devices from JSON values.

    Raises:
        ParseError: a value has a wrong type or size.
    """
    if not isinstance(value, dict) or len(value) > _MOST_DEVICES:
        raise ParseError("latency: devices is not an object, or too large")
    found = {}
    for name, each in value.items():
        if not isinstance(each, dict) or not isinstance(each.get("bins"), dict):
            raise ParseError("latency: a device has no bins")
        bins = {op: _bins(pairs) for op, pairs in each["bins"].items() if op in OPERATIONS}
        numbers = JsonFields(each, _WHAT, _MOST_COUNT)
        found[name[:_MOST_TEXT]] = DeviceRequests(
            bins, numbers.count("lost"), numbers.count("unfinished")
        )
    return found


def _bins(pairs: Any) -> dict[int, int]:
    if not isinstance(pairs, list):
        raise ParseError("latency: bins is not a list")
    bins = {}
    numbers = JsonFields({}, _WHAT, _MOST_COUNT)
    for pair in pairs:
        if not isinstance(pair, list) or len(pair) != 2:
            raise ParseError("latency: a bin is not a pair")
        number = numbers.checked_count(pair[0], "bin")
        if number > LAST_BIN:
            raise ParseError(f"latency: there is no bin {number}")
        bins[number] = numbers.checked_count(pair[1], "bin")
    return bins
