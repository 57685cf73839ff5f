"""Defines a part of the input of `read`, before it has a position."""

from typing import NamedTuple

from exporter.drives.fields import Json


class DocumentPart(NamedTuple):
    """A document without a position. report: None if there is an error."""

    line: int
    form: str
    report: Json | None
    error: str = ""
