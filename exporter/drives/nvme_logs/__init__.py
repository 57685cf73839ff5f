"""Decodes the log pages of NVMe drives that smartctl does not decode. Pure: bytes in, records out.

These are pages of the NVMe base specification, of the OCP Datacenter NVMe SSD Specification and of
vendors. docs/nvme-logs.md lists them with their sources.

`allowed_pages` says which pages may be read from a drive, and `log_encoding` puts pages that were
read into smartctl's JSON. The agent uses these two, so they import little. `log_document` decodes
the pages in such a report. `decode` decodes one page to `NvmeLogValues` (`log_values`) or to
`DriveLatency` (`drive_latency`). A layout is a table of fields (`log_layout`); each module with
layouts covers one specification or vendor.

`latency_growth` compares two readings of a drive's latency, and `slow_place` compares the result
with the latency that the host saw.
"""
