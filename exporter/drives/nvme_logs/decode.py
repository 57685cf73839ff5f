"""Decodes one log page of an NVMe drive."""

from exporter.drives.nvme_logs.controller import Controller
from exporter.drives.nvme_logs.drive_latency import DriveLatency
from exporter.drives.nvme_logs.log_layout import LogLayout, read_layout
from exporter.drives.nvme_logs.log_values import NvmeLogValues
from exporter.drives.nvme_logs.nvme_base import ENDURANCE_GROUP, SMART_HEALTH
from exporter.drives.nvme_logs.ocp import OCP_LATENCY, OCP_SMART, ocp_latency, ocp_smart
from exporter.runtime.errors import ParseError

#: The pages that have the same layout on every drive.
_STANDARD: dict[int, LogLayout] = {
    layout.page: layout for layout in (SMART_HEALTH, ENDURANCE_GROUP)
}


def decode(page: int, data: bytes, controller: Controller) -> NvmeLogValues | DriveLatency:
    """Returns the content of a page: `DriveLatency` for the latency monitor of OCP, else values.

    page: the log page identifier. data: the page from its start. controller: the drive.

    Raises:
        ParseError: the page is truncated or empty, its GUID or version is not known, or no layout
            is known for this page of this vendor. The message is the reason.
    """
    del controller
    if page in _STANDARD:
        return NvmeLogValues(**read_layout(_STANDARD[page], data))  # type: ignore[arg-type]
    if page == OCP_SMART.page:
        return ocp_smart(data)
    if page == OCP_LATENCY.page:
        return ocp_latency(data)
    raise ParseError(f"page {page:02X}h: no layout is known for it")
