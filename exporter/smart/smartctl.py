"""Builds smartctl's arguments and parses its JSON output. smartctl 7.0 or later is required.

The options are those of smartctl(8) and NEWS of smartmontools 7.0 to 7.5. With an unknown option,
smartctl prints no value and sets bit 0 of its exit status. Only options of version 7.0 are
therefore used. smartctl ignores options that are for another protocol than that of the drive.
"""

import json
import re
from collections.abc import Mapping, Sequence
from enum import Enum
from itertools import pairwise
from typing import NamedTuple

from exporter.drives.fields import Fields, Json
from exporter.runtime.errors import CommandError, ParseError
from exporter.runtime.json_values import require_few_values


class Address(NamedTuple):
    """The address of a drive for smartctl: `-d TYPE PATH`.

    path: the device path.
    type: the device type. Empty means that smartctl detects it.
    """

    path: str
    type: str = ""

    def __str__(self) -> str:
        return f"{self.path} -d {self.type}" if self.type else self.path


class Logs(str, Enum):
    """The logs that a poll reads.

    `REGULAR` are the logs of each poll. `DAILY` are these and the logs that rarely change, such as
    the error and self-test logs.
    """

    REGULAR = "regular"
    DAILY = "daily"


class Form(str, Enum):
    """The form of smartctl's output.

    Text is for SCSI drives with a version of smartctl whose JSON lacks values (docs/smart.md).
    `TEXT_WITH_BACKGROUND` also reads the log of background scans, because smartctl 7.0 and 7.1
    print the power-on time only there.
    """

    JSON = "json"
    TEXT = "text"
    TEXT_WITH_BACKGROUND = "text_with_background"


class _LogArguments(NamedTuple):
    regular: tuple[tuple[str, ...], ...]
    daily: tuple[tuple[str, ...], ...]


_ALWAYS = (("-i",), ("-H",), ("-A",))

#: -x is not used. Up to 7.4 it reads the write cache reordering state, after which the next command
#: fails on some SSDs (smartmontools ticket 1702). It also reads long logs with commands that wait
#: until the drive's command queue is empty.
_ATA = _LogArguments(
    regular=(
        ("-g", "wcache"),
        ("-l", "devstat,1"),  # power-on hours, sectors written and read
        ("-l", "devstat,4"),  # uncorrectable errors
        ("-l", "devstat,5"),  # temperature and its limits
        ("-l", "devstat,6"),  # interface CRC errors
        ("-l", "devstat,7"),  # percentage used endurance indicator
    ),
    daily=(("-c",), ("-l", "error"), ("-l", "selftest"), ("-l", "sataphy")),
)
_SCSI = _LogArguments(
    regular=(("-l", "error"), ("-l", "ssd"), ("-l", "sasphy")),
    daily=(("-l", "selftest"),),
)
#: -c costs nothing: it prints values that -i has read, such as the temperature limits.
_NVME = _LogArguments(regular=(("-c",),), daily=(("-l", "error"), ("-l", "selftest")))

#: The types that start with one of these texts belong to ATA or NVMe drives. A drive with another
#: type can have any protocol: a controller's drives are SATA or SAS, and `sntjmicron/sat` is NVMe
#: or SATA. For such a drive the options of all protocols are used.
_ATA_TYPES = ("ata", "sat", "usb", "jmb39x", "jms56x", "3ware", "hpt", "marvell", "intelliprop")
_NVME_TYPES = ("nvme", "snt")

#: Types of bridges that smartctl accesses by writing to a sector of the volume. smartctl restores
#: the sector at its end, so that it must not be killed. Only an operator may configure these types
#: (smartctl(8)).
_NEVER_KILLED = ("jmb39x", "jms56x")

#: The exit status for a drive in standby, set with `-n standby,3`. It is unambiguous, because
#: smartctl never sets both bit 0 and bit 1.
STANDBY_STATUS = 3

#: The oldest version of smartctl that can be used: the first one with --json.
OLDEST = (7, 0)
#: The first version whose JSON of a SCSI drive has all logs that its text has.
_ALL_SCSI_LOGS = (7, 3)
#: The first version that prints the power-on time of a SCSI drive with -A.
_SCSI_POWER_ON_TIME = (7, 2)
#: What smartctl 7.0 to 7.3 print at their end, with exit status 1, for a SCSI drive with pending
#: defects (scsiPrintPendingDefectsLPage). 7.0 to 7.2 print it as the end of the text too.
JSON_EXCEPTION = b"Smartctl: Exception: json.cpp"

_VERSION = re.compile(r"^smartctl (\d{1,3})\.(\d{1,3})\b", re.MULTILINE)
_TYPE = re.compile(r"[\w+,./:-]{0,64}", re.ASCII)
_MAX_DEVICES = 4096
#: The maximum number of values in a report, counted as in `require_few_values`. The largest of 200
#: real reports has 4,000.
MAX_VALUES = 100_000
#: The start of smartctl's JSON object, and of any object. Text before the first may contain braces.
_REPORT = re.compile(r'\{\s*"json_format_version"')
_OBJECT = re.compile(r"^\{", re.MULTILINE)
#: The message about text outside of the JSON, and the largest number of its characters.
OTHER_TEXT = "smartctl printed other text beside its JSON"
_MAX_OTHER_CHARACTERS = 120
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")


def arguments(
    program: str, address: Address, logs: Logs, *, spins: bool = True, form: Form = Form.JSON
) -> list[str]:
    """Returns smartctl's command line that reads a drive's logs, with the program as first element.

    program: the path or name of smartctl.
    logs: which logs to read.
    spins: True if a drive in standby must not be woken; smartctl then ends with `STANDBY_STATUS`.
        False if the drive is known to be an SSD; its logs are read in every power mode.
    form: the form of the output; text for a SCSI drive only.

    Raises:
        CommandError: the path is not absolute or not printable, or the type is invalid.
    """
    if not address.path.startswith("/") or not address.path.isprintable():
        raise CommandError(f"{address.path!r}: the path of a drive must be absolute")
    if not _TYPE.fullmatch(address.type):
        raise CommandError(f"{address.path}: {address.type!r} is not a device type of smartctl")
    is_text = form is not Form.JSON
    protocols = (_SCSI,) if is_text else _protocols(address.type)
    asked = [*_ALWAYS, *(option for each in protocols for option in each.regular)]
    if logs is Logs.DAILY:
        asked += (option for each in protocols for option in each.daily)
    if form is Form.TEXT_WITH_BACKGROUND:
        asked.append(("-l", "background"))
    argv = [program] if is_text else [program, "--json=c"]
    if address.type:
        argv += ("-d", address.type)
    if protocols == (_NVME,):
        # smartctl's drive database is not read: it contains no NVMe drives, and reading it takes 8
        # of 9.5 ms of CPU time.
        argv += ("-B", "/dev/null")
    else:
        argv += ("-n", f"standby,{STANDBY_STATUS}" if spins else "never")
    for option in dict.fromkeys(asked):
        argv += option
    return [*argv, address.path]


def polled_address(argv: Sequence[str]) -> Address | None:
    """Returns the address of a command line of `arguments`; None if it is another one.

    argv: the command line. An interpreter may come before the program.
    """
    if not argv or not argv[-1].startswith("/") or "-A" not in argv:
        return None
    types = [value for option, value in pairwise(argv) if option == "-d"]
    return Address(argv[-1], types[0] if types else "")


def scan_arguments(program: str) -> list[str]:
    """Returns the command line of a scan that opens each drive.

    The scan hangs at the first drive that hangs.
    """
    return [program, "--json=c", "--scan-open"]


def may_be_killed(device_type: str) -> bool:
    """True if a smartctl process for a drive of this type can be killed without harm."""
    return not any(part.startswith(_NEVER_KILLED) for part in device_type.split("+"))


class Scanned(NamedTuple):
    """A drive that a scan has found.

    address: its path and type.
    protocol: smartctl's name of the protocol; empty if unknown.
    open_error: smartctl's message if the drive could not be opened; else empty.
    """

    address: Address
    protocol: str = ""
    open_error: str = ""


def parse_scan(output: bytes) -> tuple[Scanned, ...]:
    """Returns the drives in the output of `smartctl --scan-open --json=c`, without duplicates.

    Entries with an invalid path are left out. An invalid type is replaced by an empty one.

    Raises:
        ParseError: the output is not smartctl's JSON.
    """
    found = []
    for row in Fields(report(output)).rows("devices", maximum=_MAX_DEVICES):
        path, kind = row.get("name"), row.get("type")
        if not isinstance(path, str) or not path.startswith("/") or not path.isprintable():
            continue
        if not isinstance(kind, str) or not _TYPE.fullmatch(kind):
            kind = ""
        protocol, problem = row.text("protocol") or "", row.text("open_error") or ""
        found.append(Scanned(Address(path, kind), protocol, problem))
    return tuple(dict.fromkeys(found))


def report(output: bytes) -> Json:
    """Returns the JSON object in smartctl's output.

    Other text may be before and after the object, also on the same line: smartctl 7.2 and older
    print some texts in spite of --json. Such text is added to the messages of the report. Bytes
    that are not valid UTF-8 are replaced: smartctl 7.3 and older print any bytes of a drive. Halves
    of surrogate pairs are replaced too. NaN and infinities become None.

    Raises:
        ParseError: there is no JSON object, or it is cut off or invalid.
    """
    text = output.decode("utf-8", "replace")
    start = json_start(text)
    if start is None:
        raise ParseError(f"smartctl printed no JSON: {text[:200]!r}")
    try:
        found, end = decoded(text, start)
    except ParseError as e:
        raise ParseError(f"smartctl's JSON cannot be parsed: {e}") from e
    return with_other_text(found, text[:start], text[end:])


def best_form(output: bytes, found: Json) -> Form:
    """Returns the form in which smartctl prints all values of a drive.

    output: what smartctl printed when JSON was requested. found: the JSON in it; empty if there is
        none.
    """
    fields = Fields(found)
    if fields.text("device", "protocol") == "SCSI":
        major, minor = (fields.integer("smartctl", "version", part) for part in (0, 1))
        if major is None or minor is None or (major, minor) >= _ALL_SCSI_LOGS:
            return Form.JSON
        is_old = (major, minor) < _SCSI_POWER_ON_TIME
        return Form.TEXT_WITH_BACKGROUND if is_old else Form.TEXT
    return Form.TEXT if not found and JSON_EXCEPTION in output else Form.JSON


def json_start(text: str) -> int | None:
    """Returns the position at which smartctl's JSON object starts; None if there is none.

    smartctl prints its key `json_format_version` first. Without it, the object starts a line.
    """
    found = _REPORT.search(text) or _OBJECT.search(text)
    return None if found is None else found.start()


def with_other_text(found: Json, *texts: str) -> Json:
    """Returns a report with a message for the text that smartctl has printed outside of it."""
    other = [" ".join(text[:_MAX_OTHER_CHARACTERS].split()) for text in texts if text.strip()]
    # The banner is printed before JSON by smartctl 7.2 and older, and says nothing new.
    said = [text for text in other if not text.startswith(("smartctl ", "Copyright (C)"))]
    if not said:
        return found
    note = {"string": f"{OTHER_TEXT}: {' ... '.join(said)}", "severity": "information"}
    program = found.get("smartctl")
    program = dict(program) if isinstance(program, Mapping) else {}
    messages = program.get("messages")
    program["messages"] = [*(messages if isinstance(messages, list) else []), note]
    return {**found, "smartctl": program}


def decoded(text: str, start: int = 0) -> tuple[Json, int]:
    """Returns the JSON object that starts at a position of the text, and the position of its end.

    Halves of surrogate pairs are replaced. NaN and infinities become None.

    Raises:
        ParseError: there is no JSON object, or it is cut off or invalid.
    """
    if "\\ud" in text or "\\uD" in text:
        # The replacement has the same length, so the position of the end remains valid.
        text = _SURROGATE.sub(r"\\ufffd", text)
    try:
        require_few_values(text, MAX_VALUES)
        found, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError) as e:
        raise ParseError(str(e)[:200]) from e
    if not isinstance(found, Mapping):
        raise ParseError("it is not a JSON object")
    return found, end


def _finite(text: str) -> float | None:
    number = float(text)
    return number if abs(number) != float("inf") else None


_DECODER = json.JSONDecoder(strict=False, parse_float=_finite, parse_constant=lambda _: None)


def version(text: str) -> tuple[int, int] | None:
    """Returns the version in smartctl's text, for example (7, 3); None if there is none."""
    found = _VERSION.search(text)
    return (int(found[1]), int(found[2])) if found else None


def too_old(found: tuple[int, int]) -> str:
    """Returns the error message for a version of smartctl that is older than `OLDEST`."""
    required = ".".join(str(number) for number in OLDEST)
    return (
        f"smartctl {found[0]}.{found[1]} is too old; version {required} or newer is required:"
        " update smartmontools"
    )


def _protocols(device_type: str) -> tuple[_LogArguments, ...]:
    if device_type.startswith(_NVME_TYPES) and "/" not in device_type:
        return (_NVME,)
    if device_type.startswith(_ATA_TYPES) and not device_type.startswith("sat,auto"):
        return (_ATA,)
    if device_type == "scsi" or device_type.startswith("scsi+"):
        return (_SCSI,)
    return (_ATA, _SCSI, _NVME)
