"""The vocabulary of layouts: a layout is a table of fields, and these functions read it.

All numbers in log pages are little endian. A field whose bytes are all FFh is not supported
by the drive, and yields no value.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from exporter.runtime.errors import ParseError

#: Values keyed by the field of `NvmeLogValues`.
Values: TypeAlias = dict[str, int | float]


class LogField(NamedTuple):
    """A number in a log page.

    name: the field of `NvmeLogValues`.
    offset, size: the position and the size in bytes.
    factor: the unit of the number, in the unit of the field.
    maximum: a larger number is not plausible and yields no value; None means no limit.
    absent: a number that means that the drive does not report the value, besides FFh in all bytes.
    saturates: FFh in all bytes is the end of the counter, not a missing value.
    since: the first version of the page that has the field.
    source: the document, if it differs from that of the layout.
    """

    name: str
    offset: int
    size: int
    factor: int | float = 1
    maximum: int | None = None
    absent: int | None = None
    saturates: bool = False
    since: int = 0
    source: str = ""

    def value(self, data: bytes) -> int | float | None:
        """Returns the value in the unit of the field; None if the drive does not report it."""
        number = int.from_bytes(data[self.offset : self.offset + self.size], "little")
        is_full = number == (1 << 8 * self.size) - 1
        if (is_full and not self.saturates) or number == self.absent:
            return None
        if self.maximum is not None and number > self.maximum:
            return None
        return number * self.factor


@dataclass(frozen=True, slots=True)
class LogLayout:
    """The layout of a log page.

    page: the number of the page.
    size: the smallest size of the page, in bytes.
    name: the name of the page for people.
    source: the document or repository that describes the layout.
    fields: the numbers in the page.
    constants: values that follow from the layout, such as the unit of a counter. Each is used if
        the drive reports the value of the given field.
    guid: the last 16 bytes of the page; None if the page has no GUID.
    version: position and size in bytes of the version, and the highest known version; None if the
        page has no version.
    """

    page: int
    size: int
    name: str
    source: str
    fields: tuple[LogField, ...]
    constants: tuple[tuple[str, str, int], ...] = ()
    guid: bytes | None = None
    version: tuple[int, int, int] | None = None


def require_content(data: bytes, size: int, name: str) -> None:
    """Requires that a page is complete and that the drive has filled it.

    Raises:
        ParseError: it is truncated, or all its bytes are 00h or FFh.
    """
    if len(data) < size:
        raise ParseError(f"{name}: truncated: {len(data)} of {size} bytes")
    part = data[:size]
    for byte in (0x00, 0xFF):
        if part.count(byte) == size:
            raise ParseError(f"{name}: empty: all bytes are {byte:02X}h")


def has_guid(layout: LogLayout, data: bytes) -> bool:
    """True if the page has the GUID of the layout, or if the layout has none."""
    return layout.guid is None or data[layout.size - 16 : layout.size] == layout.guid


def page_version(layout: LogLayout, data: bytes) -> int:
    """Returns the version of a page, after the checks of size, content, GUID and version.

    Returns 0 if the page has no version.

    Raises:
        ParseError: the page cannot be decoded; the message is the reason.
    """
    require_content(data, layout.size, layout.name)
    if not has_guid(layout, data):
        raise ParseError(f"{layout.name}: another page: its GUID is not that of the specification")
    if layout.version is None:
        return 0
    offset, size, newest = layout.version
    version = int.from_bytes(data[offset : offset + size], "little")
    if version > newest:
        raise ParseError(f"{layout.name}: version {version} is newer than {newest}, the known one")
    return version


def read_layout(layout: LogLayout, data: bytes) -> Values:
    """Returns the values in a page, keyed by the field of `NvmeLogValues`.

    Raises:
        ParseError: the page cannot be decoded; the message is the reason.
    """
    version = page_version(layout, data)
    values = read_fields(layout.fields, data, version)
    add_constants(values, layout.constants)
    return values


def read_fields(fields: Iterable[LogField], data: bytes, version: int = 0) -> Values:
    """Returns the values of the fields that the version of the page has and the drive reports.

    The first of several fields with the same name is used.
    """
    values: Values = {}
    for field in fields:
        value = field.value(data) if field.since <= version else None
        if value is not None:
            values.setdefault(field.name, value)
    return values


def add_constants(values: Values, constants: Iterable[tuple[str, str, int]]) -> None:
    """Adds constants: for each name and number, if the values contain the given field."""
    for field, name, number in constants:
        if field in values:
            values[name] = number
