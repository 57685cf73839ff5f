"""The device statistics log (ACS-3 and later, GP log 04h), page by page."""

from exporter.drives.fields import Fields


def statistic(fields: Fields, page: int, offset: int, most: int = (1 << 64) - 1) -> int | None:
    """One statistic; None where the drive does not keep it, or says that it is not valid.

    Takes smartctl's whole report; page numbers and offsets are those of the standard.
    """
    for found in fields.rows("ata_device_statistics", "pages"):
        if found.report.get("number") == page:
            for row in found.rows("table"):
                if row.report.get("offset") == offset and row.get("flags", "valid") is True:
                    return row.integer("value", most=most)
    return None
