"""Parses a directory tree in one text file, with links and names that git cannot store.

::

    devices/virtual/block/md0/
      size = 1875384832
      stat |
        | 1203 0 9624 118
      slaves/sda -> ../../../../pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block/sda
    block/md0 -> ../devices/virtual/block/md0

A line that ends with a slash is a directory, and the indented lines below it are its content. The
target of a link is as in readlink(2). ``=`` writes the text with the line end that the kernel adds,
``:=`` the bytes in hexadecimal, and ``|`` the lines below that start with ``|``.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_LINE = re.compile(r"(?P<path>\S.*?)(?:/| (?P<what>->|:=|=|\|)(?: (?P<value>.*))?)")


@dataclass(frozen=True, slots=True)
class Directory:
    path: str


@dataclass(frozen=True, slots=True)
class Link:
    path: str
    target: str


@dataclass(frozen=True, slots=True)
class File:
    path: str
    content: bytes


Entry = Directory | Link | File


def parse(text: str) -> Iterator[Entry]:
    """Returns the entries in order. Raises ValueError for a malformed line."""
    above = ""
    for number, line, below in _numbered(text):
        match = _LINE.fullmatch(line.lstrip())
        if match is None:
            raise ValueError(f"line {number}: {line!r} is not a directory, link or file")
        indented = line.startswith("  ")
        what, value = match["what"], match["value"] or ""
        path = f"{above}/{match['path']}" if indented else match["path"]
        match what:
            case None:
                above = above if indented else path
                yield Directory(path)
            case "->":
                yield Link(path, value)
            case ":=":
                yield File(path, bytes.fromhex(value))
            case _:
                yield File(path, "".join(f"{each}\n" for each in below or [value]).encode())


def _numbered(text: str) -> Iterator[tuple[int, str, list[str]]]:
    """Returns each line that is not blank or a comment, its number, and the ``|`` lines below."""
    found: list[tuple[int, str, list[str]]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        stripped = line.lstrip()
        if stripped.startswith("|") and found:
            found[-1][2].append(stripped[1:].removeprefix(" "))
        elif stripped and not stripped.startswith("#"):
            found.append((number, line, []))
    return iter(found)


def create_tree(root: Path, text: str) -> None:
    """Creates the entries below `root`; existing files are replaced."""
    root.mkdir(parents=True, exist_ok=True)
    for entry in parse(text):
        place = root / entry.path
        match entry:
            case Directory():
                place.mkdir(parents=True, exist_ok=True)
            case Link(_, target):
                place.parent.mkdir(parents=True, exist_ok=True)
                place.unlink(missing_ok=True)
                place.symlink_to(target)
            case File(_, content):
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(content)
