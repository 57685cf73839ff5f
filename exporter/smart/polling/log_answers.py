"""Parses the output of `nvme_log_program`. It does no I/O."""

import re
from dataclasses import dataclass, field
from io import BytesIO

#: The largest number of devices in an output, of characters of a text, and of a page in bytes.
_MOST_DEVICES = 64
_MOST_CHARACTERS = 200
_MOST_BYTES = 4096
_SECONDS = re.compile(r"[0-9]{1,4}\.[0-9]{3}", re.ASCII)


@dataclass(slots=True)
class LogAnswers:
    """The answers of one device.

    identify: Identify Controller; None if it was not asked or not answered.
    pages: the content of each page.
    refused: the NVMe status of each page that the drive refused.
    failed: why the kernel did not return a page, as text for people.
    unanswered: the page whose answer is missing in the output; None if there is none.
    unusable: why the device has no answers; empty if it has.
    began_seconds: the time that the devices before it took, in seconds.
    """

    identify: bytes | None = None
    pages: dict[int, bytes] = field(default_factory=dict)
    refused: dict[int, int] = field(default_factory=dict)
    failed: dict[int, str] = field(default_factory=dict)
    unanswered: int | None = None
    unusable: str = ""
    began_seconds: float = 0.0


def parse_log_answers(output: bytes) -> dict[str, LogAnswers]:
    """Returns the answers of each device, keyed by its path, in the order of the output.

    Lines that are incomplete or have another form are left out.
    """
    answers: dict[str, LogAnswers] = {}
    current: LogAnswers | None = None
    # One line at a time, because the memory of the agent is limited.
    for line in BytesIO(output):
        if not line.endswith(b"\n"):
            break
        kind, _, rest = line[:-1].decode("ascii", "replace").partition(" ")
        if kind == "device":
            if len(answers) >= _MOST_DEVICES:
                break
            current = answers.setdefault(rest, LogAnswers())
        elif current is not None:
            _take(current, kind, rest)
    return answers


def _take(answers: LogAnswers, kind: str, rest: str) -> None:
    if kind == "unusable":
        answers.unusable = rest[:_MOST_CHARACTERS]
        return
    if kind == "began":
        answers.began_seconds = float(rest) if _SECONDS.fullmatch(rest) else 0.0
        return
    if kind == "identify":
        answers.identify = _from_hex(rest)
        return
    number_text, _, value = rest.partition(" ")
    number = _number(number_text, 0xFF)
    if number is None:
        return
    if kind == "ask":
        answers.unanswered = number
        return
    status = _number(value, 0x7FFF)
    if kind == "page" and (content := _from_hex(value)) is not None:
        answers.pages[number] = content
    elif kind == "status" and status is not None:
        answers.refused[number] = status
    elif kind == "error":
        answers.failed[number] = value[:_MOST_CHARACTERS]
    else:
        return
    answers.unanswered = None


def _number(text: str, largest: int) -> int | None:
    if not (text.isascii() and text.isdigit() and len(text) <= 6):
        return None
    return number if (number := int(text)) <= largest else None


def _from_hex(text: str) -> bytes | None:
    if len(text) > 2 * _MOST_BYTES:
        return None
    try:
        return bytes.fromhex(text)
    except ValueError:
        return None
