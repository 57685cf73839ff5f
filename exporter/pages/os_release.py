"""Reads the name of the operating system from /etc/os-release (os-release(5))."""

from pathlib import Path

from exporter.linux import files

#: The longest name that is returned, in characters. That of Debian 12 has 30.
_MAX_CHARACTERS = 60

#: The maximum number of bytes that are read. The file usually has 300.
_MAX_BYTES = 1 << 14


def read(root: Path) -> str:
    """Returns the name of the system, such as ``Debian GNU/Linux 12 (bookworm)``; empty if unknown.

    root: the root directory of the host.
    """
    for name in ("etc/os-release", "usr/lib/os-release"):
        if text := files.read_start(root / name, _MAX_BYTES):
            return parse(text.decode(errors="replace"))
    return ""


def parse(text: str) -> str:
    """Returns the value of PRETTY_NAME without quotes; empty if missing. A long value is cut."""
    for line in text.splitlines():
        name, equals, value = line.strip().partition("=")
        if name == "PRETTY_NAME" and equals:
            return value.strip("\"'").strip()[:_MAX_CHARACTERS]
    return ""
