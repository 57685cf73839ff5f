"""Decodes one log page of an NVMe drive."""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from exporter.drives.nvme_logs.additional_smart import (
    DAPUSTOR,
    DAPUSTOR_EXTENDED,
    SCALEFLUX,
    intel_smart,
    memblaze_smart,
)
from exporter.drives.nvme_logs.controller import Controller
from exporter.drives.nvme_logs.drive_latency import DriveLatency
from exporter.drives.nvme_logs.log_items import read_items
from exporter.drives.nvme_logs.log_layout import Values, has_guid, read_layout
from exporter.drives.nvme_logs.log_values import NvmeLogValues
from exporter.drives.nvme_logs.nvme_base import ENDURANCE_GROUP, SMART_HEALTH
from exporter.drives.nvme_logs.ocp import OCP_LATENCY, OCP_SMART, ocp_latency, ocp_smart
from exporter.drives.nvme_logs.vendor_layouts import (
    MICRON_7300,
    MICRON_7400,
    TOSHIBA,
    WDC_SN840,
    scaleflux_health,
    seagate_smart,
)
from exporter.runtime.errors import ParseError

_Decoder: TypeAlias = Callable[[bytes, Controller], Values]


class VendorPage(NamedTuple):
    """A page of a vendor whose layout is known.

    vendors: the PCI vendor IDs.
    models: the beginnings of the models that have it; () means all models of the vendor.
    """

    page: int
    vendors: frozenset[int]
    models: tuple[str, ...]
    decoder: _Decoder


#: The vendors' pages. The first row that matches is used.
VENDOR_PAGES = (
    VendorPage(0xCA, frozenset({0x8086, 0x025E}), (), lambda data, _: intel_smart(data)),
    VendorPage(
        0xCA, frozenset({0x1C5F}), (), lambda data, drive: memblaze_smart(data, drive.model)
    ),
    VendorPage(0xCA, frozenset({0x1E3B}), (), lambda data, _: read_items(DAPUSTOR, data)),
    VendorPage(0xCB, frozenset({0x1E3B}), (), lambda data, _: read_items(DAPUSTOR_EXTENDED, data)),
    VendorPage(0xCA, frozenset({0xCC53}), (), lambda data, _: read_items(SCALEFLUX, data)),
    VendorPage(0xC2, frozenset({0xCC53}), (), lambda data, _: scaleflux_health(data)),
    VendorPage(0xCA, frozenset({0x1179}), ("KXD5",), lambda data, _: read_layout(TOSHIBA, data)),
    VendorPage(
        0xC0,
        frozenset({0x1B96}),
        ("WUS4BA", "WUS4C6"),
        lambda data, _: read_layout(WDC_SN840, data),
    ),
    VendorPage(0xC4, frozenset({0x1BB1}), ("XM144",), lambda data, _: seagate_smart(data)),
    VendorPage(
        0xD0, frozenset({0x1344}), ("Micron_7300",), lambda data, _: read_layout(MICRON_7300, data)
    ),
    VendorPage(
        0xE1,
        frozenset({0x1344}),
        ("Micron_7400", "Micron_7450"),
        lambda data, _: read_layout(MICRON_7400, data),
    ),
)

#: The pages of the NVMe base specification, which have the same layout on every drive.
_STANDARD = {layout.page: layout for layout in (SMART_HEALTH, ENDURANCE_GROUP)}


def decode(page: int, data: bytes, controller: Controller) -> NvmeLogValues | DriveLatency:
    """Returns the content of a page: `DriveLatency` for the latency monitor of OCP, else values.

    page: the log page identifier. data: the page from its start. controller: the drive.

    Raises:
        ParseError: the page is truncated or empty, its GUID or version is not known, or no layout
            is known for this page of this vendor. The message is the reason.
    """
    if page == OCP_LATENCY.page:
        return ocp_latency(data)
    if page in _STANDARD:
        values = read_layout(_STANDARD[page], data)
    else:
        values = _vendor_values(page, data, controller)
    return NvmeLogValues(**values)  # type: ignore[arg-type]


def _vendor_values(page: int, data: bytes, controller: Controller) -> Values:
    """Returns the values of a page from C0h on.

    Raises:
        ParseError: the page cannot be decoded; the message is the reason.
    """
    if page == OCP_SMART.page and has_guid(OCP_SMART, data):
        return ocp_smart(data)
    for row in VENDOR_PAGES:
        is_model = not row.models or controller.model.startswith(row.models)
        if row.page == page and controller.vendor_id in row.vendors and is_model:
            return row.decoder(data, controller)
    if page == OCP_SMART.page:
        return ocp_smart(data)
    vendor = "unknown" if controller.vendor_id is None else f"{controller.vendor_id:04X}h"
    raise ParseError(f"page {page:02X}h: no layout is known for vendor {vendor}")
