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
    allowed = _by_model(controller)
    if supported is not None:
        allowed = [*_by_list(controller, supported), *allowed]
        allowed = [page for page in allowed if page.number in supported]
    by_number = {page.number: page for page in (*pages, *allowed)}
    return tuple(by_number.values())


def _by_list(controller: Controller, supported: frozenset[int]) -> list[LogPage]:
    """Returns the vendor pages that may be read because the drive lists them."""
    # The GUID in the page tells whether C0h is that of OCP.
    pages = [_OCP_SMART]
    if _OCP_SMART.number in supported and controller.vendor_id in _OCP_LATENCY_VENDORS:
        pages.append(_OCP_LATENCY)
    return pages + list(_VENDOR_PAGES.get(controller.vendor_id or 0, ()))


def _by_model(controller: Controller) -> list[LogPage]:
    """Returns the vendor pages that a source states for the model."""
    return [
        page
        for vendor, models, pages in _MODEL_PAGES
        if controller.vendor_id == vendor and controller.model.startswith(models)
        for page in pages
    ]


_ITEMS = LogPage(0xCA, 512, 0, "SMART attributes of the vendor")

#: PCI vendor IDs of makers whose page C3h is the latency monitor of OCP if the drive has C0h:
#: Micron, Samsung, Kioxia, Solidigm (illumos sys/nvme), Western Digital and SanDisk
#: (linux-nvme/nvme-cli plugins/wdc). Page C3h of Memblaze and ScaleFlux has another content.
_OCP_LATENCY_VENDORS = frozenset({0x1344, 0x144D, 0x1E0F, 0x025E, 0x1B96, 0x15B7})

#: Vendor pages with a known layout that may be read if the drive lists them, keyed by PCI vendor
#: ID: Intel, Solidigm, Memblaze, DapuStor and ScaleFlux (linux-nvme/nvme-cli plugins).
_VENDOR_PAGES = {
    0x8086: (_ITEMS,),
    0x025E: (_ITEMS,),
    0x1C5F: (_ITEMS,),
    0x1E3B: (_ITEMS, LogPage(0xCB, 512, 0, "DapuStor extended SMART attributes")),
    0xCC53: (_ITEMS, LogPage(0xC2, 512, 0, "ScaleFlux extended health")),
}

#: Vendor pages of models that do not have page 00h: PCI vendor ID, beginnings of the model, pages.
#: Sources: linux-nvme/nvme-cli plugins/intel (data-centre drives), and illumos solidigm_p5xxx.h;
#: real pages in ristir/nvme-logpage-exporter (Kioxia, Samsung, Micron 7450); illumos micron_7300.h,
#: micron_74x0.h, kioxia_cd8.h and wdc_sn840.h; facebook/CacheLib NandWritesTest (Intel P3600,
#: WUS4BB, Toshiba, Seagate).
_MODEL_PAGES: tuple[tuple[int, tuple[str, ...], tuple[LogPage, ...]], ...] = (
    (0x8086, ("INTEL SSDPE2M", "INTEL SSDPEDM", "INTEL SSDPE2K", "INTEL SSDPEDK"), (_ITEMS,)),
    (0x8086, ("INTEL SSDPF2K",), (_ITEMS,)),
    (0x025E, ("SOLIDIGM SSDPF2K", "INTEL SSDPF2K"), (_ITEMS,)),
    (0x1179, ("KXD5",), (_ITEMS,)),
    (0x1344, ("Micron_7300",), (LogPage(0xD0, 256, 0, "Micron extended SMART"),)),
    (0x1344, ("Micron_7400",), (LogPage(0xE1, 256, 0, "Micron extended SMART"),)),
    (0x1344, ("Micron_7450",), (_OCP_SMART, LogPage(0xE1, 256, 0, "Micron extended SMART"))),
    (0x144D, ("SAMSUNG MZQL2",), (_OCP_SMART,)),
    (0x1B96, ("WUS4BB",), (_OCP_SMART,)),
    (0x1B96, ("WUS4BA", "WUS4C6"), (LogPage(0xC0, 512, 0, "Western Digital end of life"),)),
    (0x1BB1, ("XM144",), (LogPage(0xC4, 512, 0, "Seagate extended SMART"),)),
    (0x1E0F, ("KIOXIA KCD8",), (_OCP_SMART, _OCP_LATENCY)),
)
