"""USB links: the speed of the bus device that a drive hangs on.

https://docs.kernel.org/admin-guide/abi-testing.html (sysfs-bus-usb)
"""

import re
from pathlib import Path

from exporter.linux import files, link

# A device is <bus>-<port>[.<port>...]; with :<configuration>.<interface> it is an interface.
_DEVICE = re.compile(r"\d+-\d+(?:\.\d+)*", re.ASCII)
_MEGABITS = re.compile(r"\d{1,6}(?:\.\d)?", re.ASCII)


def rate(text: str) -> float | None:
    """Bytes per second for the ``speed`` attribute, Mb/s.

    Up to 480 Mb/s the number is already data (NRZI has no code bits to count off), 5000 is 8b/10b,
    more is 128b/132b.
    """
    if not _MEGABITS.fullmatch(text):
        return None
    megabits = float(text)
    if megabits <= 480:
        return megabits * 1e6 / 8 or None
    code = link.CODE_8B_10B if megabits <= 5000 else link.CODE_128B_132B
    return link.bytes_per_second(megabits / 1000, code)


def nearest_device(path: Path) -> Path | None:
    """The USB device on the way from a drive's directory up to the root."""
    return next((each for each in path.parents if _DEVICE.fullmatch(each.name)), None)


def link_source(path: Path) -> link.LinkSource | None:
    """The link of the USB device above a drive; what it could do at its best, sysfs hides."""
    device = nearest_device(path)
    if device is None or files.attribute(device / "speed") is None:
        return None
    return link.LinkSource((device / "speed",), rate, None)
