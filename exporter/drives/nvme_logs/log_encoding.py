"""Puts log pages that were read into a JSON object, which is part of smartctl's report.

The agent imports this module, which therefore is small. `log_document` reads the object.
"""

from collections.abc import Mapping

from exporter.drives.nvme_logs.controller import Controller

#: The key of the object at the top of smartctl's report.
LOGS_KEY = "ssd_exporter_nvme_logs"


def encode_logs(
    controller: Controller,
    pages: Mapping[int, tuple[float, bytes]],
    missing: Mapping[int, str],
) -> dict[str, object]:
    """Returns the JSON object for the key `LOGS_KEY`.

    pages: when each page was read (Unix time in seconds) and its content, keyed by its number.
    missing: why a page could not be read, as text for people, keyed by its number.
    """
    encoded = {number: encode_page(at, data) for number, (at, data) in pages.items()}
    return join_logs(controller, encoded, missing)


def encode_page(at: float, data: bytes) -> dict[str, object]:
    """Returns the JSON object of one page. The parameters are those of a page of `encode_logs`."""
    return {"at": at, "hex": data.hex()}


def join_logs(
    controller: Controller, pages: Mapping[int, Mapping[str, object]], missing: Mapping[int, str]
) -> dict[str, object]:
    """Does the same as `encode_logs` with pages that `encode_page` has encoded."""
    version = controller.nvme_version
    return {
        "controller": {
            "vendor_id": controller.vendor_id,
            "subsystem_vendor_id": controller.subsystem_vendor_id,
            "model": controller.model,
            "firmware": controller.firmware,
            "nvme_version": None if version is None else list(version),
        },
        "pages": {str(number): page for number, page in pages.items()},
        "missing": {str(number): reason for number, reason in missing.items()},
    }
