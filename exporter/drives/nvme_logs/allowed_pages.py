"""Lists the log pages that may be read from an NVMe drive.

A page that a drive does not support is refused, and the drive adds an entry to its error log.
Reading some vendor pages has effects. So a page is listed only if the drive says that it has it, or
if a public source says so for the model, and if reading it changes nothing. The reader sets the bit
Retain Asynchronous Event (RAE). The agent imports this module, which therefore is small.
"""

from typing import NamedTuple

from exporter.drives.nvme_logs.controller import Controller


class LogPage(NamedTuple):
    """A log page that may be read.

    number: the log page identifier.
    size_bytes: the number of bytes to read from its start.
    specific: the Log Specific Identifier (LSI); for page 09h the endurance group.
    name: the name of the page for people.
    """

    number: int
    size_bytes: int
    specific: int = 0
    name: str = ""


#: The page that lists the supported pages, since NVMe 2.0. It is not in the result of
#: `allowed_pages`, which requires its content.
SUPPORTED_PAGES = LogPage(0x00, 1024, 0, "Supported Log Pages")

_SMART_HEALTH = LogPage(0x02, 512, 0, "SMART / Health Information")
#: Most drives have one endurance group, and its number is 1. With several, the values of one group
#: are not those of the drive.
_ENDURANCE_GROUP = LogPage(0x09, 512, 1, "Endurance Group Information")
_OCP_SMART = LogPage(0xC0, 512, 0, "OCP SMART / Health Information Extended")
_OCP_LATENCY = LogPage(0xC3, 512, 0, "OCP Latency Monitor")


def supported_pages(data: bytes) -> frozenset[int]:
    """Returns the numbers of the pages that page 00h lists as supported.

    data: page 00h, four bytes for each page number. Bit 0 means that the page is supported (LSUPP,
        NVM Express Base Specification 2.0, Supported Log Pages). Missing bytes mean not supported.
    """
    count = min(len(data) // 4, 256)
    return frozenset(number for number in range(count) if data[4 * number] & 1)


def allowed_pages(
    controller: Controller,
    supported: frozenset[int] | None,
    *,
    endurance_groups: bool,
    thermal_management: bool,
) -> tuple[LogPage, ...]:
    """Returns the pages that may be read, each once.

    controller: the identity of the drive.
    supported: the page numbers that page 00h lists (`supported_pages`); None if the drive does not
        have page 00h.
    endurance_groups: whether the drive has endurance groups (Identify Controller, CTRATT bit 4).
    thermal_management: whether the drive has a host-controlled thermal management (HCTMA bit 0).
        Only its counters are used of page 02h.
    """
    pages = [_SMART_HEALTH] if thermal_management else []
    if endurance_groups and (supported is None or _ENDURANCE_GROUP.number in supported):
        pages.append(_ENDURANCE_GROUP)
    if supported is not None and _OCP_SMART.number in supported:
        # The GUID in the page tells whether it is that of OCP.
        pages.append(_OCP_SMART)
        if _OCP_LATENCY.number in supported and controller.vendor_id in _OCP_VENDORS:
            pages.append(_OCP_LATENCY)
    return tuple(pages)


#: PCI vendor IDs of makers whose page C3h is known to be that of OCP, if the drive has C0h.
_OCP_VENDORS = frozenset({0x1344})
