"""Converts the JSON of nvme-cli into the structure of smartctl's JSON, and joins its documents.

nvme-cli prints one document per command, and only that of `nvme id-ctrl` contains the model. So
successive documents of one drive in a file are joined to one report. The keys are those of nvme-cli
1.0 to 3.0 (nvme-print.c, nvme-print-json.c). The versions differ as follows:

- The 128-bit counters are numbers (1.0 to 2.0, and 2.4 and later) or texts (2.3 of Debian).
- With -v, `critical_warning` is an object with the bits and the `value` (1.13 and later).
- A sensor without a temperature has no key. The composite temperature is 0 if there is none.
- The power-on hours of a self-test have different keys.

All temperatures are in kelvin.
"""

from collections.abc import Iterator, Mapping, Sequence

from exporter.drives.fields import Json
from exporter.drives.nvme_logs.log_encoding import LOGS_KEY
from exporter.drives.smartctl_text.text_lines import Report, put
from exporter.reading.document_part import DocumentPart
from exporter.reading.nvme_cli_logs import log_report
from exporter.runtime.errors import ReadError

#: The form of a document that was converted.
FORM = "nvme-cli"

#: The commands whose output is converted, and the keys by which it is recognized.
_SMART_LOG, _ID_CTRL, _SELF_TEST_LOG = "smart-log", "id-ctrl", "self-test-log"
#: The commands that print a log page of OCP or of a vendor (`nvme_cli_logs`), with its number.
_LOG_PAGE = "log page "
_KEYS: Mapping[str, frozenset[str]] = {
    _SMART_LOG: frozenset({"critical_warning", "temperature", "avail_spare", "percent_used"}),
    _ID_CTRL: frozenset({"vid", "sn", "mn", "fr"}),
    _SELF_TEST_LOG: frozenset({"Current Device Self-Test Operation", "List of Valid Reports"}),
}

#: Keys of the lists of `nvme list`, `nvme list-subsys` and `nvme list -v`.
_LIST_KEYS = frozenset({"Devices", "Subsystems"})

#: The difference between a temperature in kelvin and in °C. smartctl and nvme-cli both use this
#: whole number, because the drive reports whole kelvins.
_ZERO_CELSIUS = 273

_HEALTH_LOG = "nvme_smart_health_information_log"

#: The keys of the health log that have other names in smartctl's JSON, and those with the same.
_RENAMED = {
    "avail_spare": "available_spare",
    "spare_thresh": "available_spare_threshold",
    "percent_used": "percentage_used",
    "host_read_commands": "host_reads",
    "host_write_commands": "host_writes",
}
_SAME = (
    *("data_units_read", "data_units_written", "controller_busy_time", "power_cycles"),
    *("power_on_hours", "unsafe_shutdowns", "media_errors", "num_err_log_entries"),
    *("warning_temp_time", "critical_comp_time"),
)
#: The counters of the thermal management, with the names of smartctl after 7.5.
_RENAMED_THERMAL = {
    "thm_temp1_trans_count": "thermal_mgmt_temperature_1_transition_count",
    "thm_temp2_trans_count": "thermal_mgmt_temperature_2_transition_count",
    "thm_temp1_total_time": "thermal_mgmt_temperature_1_total_time",
    "thm_temp2_total_time": "thermal_mgmt_temperature_2_total_time",
}
#: The largest number of temperature sensors in the log.
_MAX_SENSORS = 8
#: The number of entries in the self-test log.
_MAX_SELF_TESTS = 20

#: The limits of the temperature in Identify Controller, and their keys in smartctl's JSON.
_LIMITS = (("wctemp", "warning"), ("cctemp", "critical"))


def is_nvme_cli(document: Json) -> bool:
    """True if the document is the output of a command of nvme-cli that this module converts."""
    return bool(_command(document))


def is_list(document: Json) -> bool:
    """True if the document is a list of drives of nvme-cli."""
    return bool(_LIST_KEYS & document.keys())


def joined(parts: Iterator[DocumentPart]) -> Iterator[DocumentPart]:
    """Yields the parts of a file. Documents of nvme-cli are converted and joined to one per drive.

    The documents of a drive must follow each other, and the first command must be the same for all
    drives: id-ctrl, smart-log, id-ctrl, smart-log. If the first command occurs twice in succession,
    the file has another order. The documents after it are then not joined, because they may be of
    different drives.

    Raises:
        ReadError: the input cannot be read further. The parts before the error were yielded.
    """
    drive = _DriveDocuments()
    first = ""
    is_sorted = True
    try:
        for part in parts:
            command = "" if part.report is None else _command(part.report)
            if part.report is None or not command:
                yield from drive.take()
                yield part
                continue
            first = first or command
            is_sorted = is_sorted and not (command == first and drive.commands == [first])
            if not drive.commands or not is_sorted or command in (first, *drive.commands):
                yield from drive.take()
            drive.add(part, command, _converted(command, part.report))
    except ReadError:
        yield from drive.take()
        raise
    yield from drive.take()


class _DriveDocuments:
    """The documents of one drive that were read until now, as one part."""

    __slots__ = ("_part", "commands")

    def __init__(self) -> None:
        self.commands: list[str] = []
        self._part: DocumentPart | None = None

    def add(self, part: DocumentPart, command: str, report: Report) -> None:
        """Adds a document. report: the document in the structure of smartctl's JSON."""
        before = None if self._part is None else self._part.report
        first = part if self._part is None else self._part
        self._part = first._replace(form=FORM, report=_merged(before or {}, report))
        self.commands.append(command)

    def take(self) -> Iterator[DocumentPart]:
        """Yields the drive if there is one, and starts the next drive."""
        if self._part is not None:
            logs = _mapping(self._part.report or {}).get(LOGS_KEY)
            if logs is not None and not _mapping(logs).get("pages"):
                # Only the controller is known, which is used for pages.
                without = {k: v for k, v in _mapping(self._part.report).items() if k != LOGS_KEY}
                self._part = self._part._replace(report=without)
            yield self._part
        self._part, self.commands = None, []


def _command(document: Json) -> str:
    """Returns the command of nvme-cli that printed the document; empty if it is another one."""
    command = next((name for name, keys in _KEYS.items() if keys <= document.keys()), "")
    logs = None if command else log_report(document)
    return command if logs is None else _LOG_PAGE + ",".join(_mapping(logs["pages"]))


def _merged(before: Json, report: Report) -> Report:
    """Returns a report with the content of both. Of the controller, `nvme id-ctrl` is used."""
    merged: Report = {**before, **report}
    logs = [part[LOGS_KEY] for part in (before, report) if LOGS_KEY in part]
    if len(logs) == 2:
        first, second = (each if isinstance(each, Mapping) else {} for each in logs)
        pages = {**_mapping(first.get("pages")), **_mapping(second.get("pages"))}
        controllers = [_mapping(each.get("controller")) for each in (first, second)]
        named = [each for each in controllers if each.get("model")] or controllers
        merged[LOGS_KEY] = {"controller": named[0], "pages": pages, "missing": {}}
    return merged


def _mapping(value: object) -> Json:
    return value if isinstance(value, Mapping) else {}


def _converted(command: str, document: Json) -> Report:
    report: Report = {"device": {"type": "nvme", "protocol": "NVMe"}}
    if command == _SMART_LOG:
        report[_HEALTH_LOG] = _health_log(document)
    elif command == _ID_CTRL:
        _put_identity(report, document)
    elif command.startswith(_LOG_PAGE):
        report[LOGS_KEY] = log_report(document)
    else:
        report["nvme_self_test_log"] = {"table": _self_tests(document)}
    return report


def _health_log(document: Json) -> Report:
    warning = document.get("critical_warning")
    log: Report = {
        "critical_warning": warning.get("value") if isinstance(warning, Mapping) else warning
    }
    same = ((key, key) for key in _SAME)
    for key, name in (*_RENAMED.items(), *_RENAMED_THERMAL.items(), *same):
        put(log, document.get(key), name)
    put(log, _celsius(document.get("temperature")), "temperature")
    sensors = [
        _celsius(document.get(f"temperature_sensor_{number}"))
        for number in range(1, _MAX_SENSORS + 1)
    ]
    if any(sensor is not None for sensor in sensors):
        log["temperature_sensors"] = sensors
    return log


def _put_identity(report: Report, document: Json) -> None:
    put(report, document["mn"], "model_name")
    put(report, document["sn"], "serial_number")
    put(report, document["fr"], "firmware_version")
    capacity = document.get("tnvmcap")
    # A drive without namespace management reports 0.
    put(report, None if capacity in (0, "0") else capacity, "nvme_total_capacity")
    version = document.get("ver")
    if isinstance(version, int) and version:
        put(report, f"{version >> 16}.{version >> 8 & 0xFF}", "nvme_version", "string")
    major_minor = (
        [version >> 16, version >> 8 & 0xFF] if isinstance(version, int) and version else None
    )
    report[LOGS_KEY] = {
        "controller": {
            "vendor_id": document["vid"],
            "subsystem_vendor_id": document.get("ssvid"),
            "model": document["mn"],
            "firmware": document["fr"],
            "nvme_version": major_minor,
        },
        "pages": {},
        "missing": {},
    }
    for key, level in _LIMITS:
        put(report, _celsius(document.get(key)), "nvme_composite_temperature_threshold", level)


def _self_tests(document: Json) -> object:
    rows = document["List of Valid Reports"]
    if not isinstance(rows, Sequence) or isinstance(rows, str):
        return rows
    return [
        {
            "self_test_code": {"value": row.get("Self test code")},
            "self_test_result": {"value": row.get("Self test result")},
            "power_on_hours": row.get("Power on hours", row.get("Power on hours (POH)")),
        }
        if isinstance(row, Mapping)
        else row
        for row in rows[:_MAX_SELF_TESTS]
    ]


def _celsius(kelvin: object) -> object:
    """Returns a temperature in °C; None if it is missing, or 0, which means that there is none.

    A value that is not a whole number of kelvins is returned as no number, and becomes a fault.
    """
    if isinstance(kelvin, str | float):
        try:
            number = float(kelvin)
        except ValueError:
            return f"{kelvin} K"
        if not number.is_integer():
            return f"{kelvin} K"
        kelvin = int(number)
    if isinstance(kelvin, bool) or not isinstance(kelvin, int):
        return kelvin
    return kelvin - _ZERO_CELSIUS if kelvin else None
