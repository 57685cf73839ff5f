"""Each field of each layout: a number at its place becomes a value in its unit."""

from collections.abc import Iterator

import pytest

from exporter.drives.nvme_logs import additional_smart, vendor_layouts
from exporter.drives.nvme_logs.controller import Controller
from exporter.drives.nvme_logs.decode import VENDOR_PAGES, decode
from exporter.drives.nvme_logs.log_items import ItemLayout
from exporter.drives.nvme_logs.log_layout import LogField, LogLayout
from exporter.drives.nvme_logs.log_values import VALUE_NAMES, NvmeLogValues
from exporter.drives.nvme_logs.nvme_base import ENDURANCE_GROUP, SMART_HEALTH
from exporter.drives.nvme_logs.ocp import OCP_SMART
from tests.drives.nvme_logs import pages
from tests.drives.nvme_logs.pages import page

#: Every layout of fixed positions, and a drive that has it.
FIXED: tuple[tuple[LogLayout, Controller], ...] = (
    (SMART_HEALTH, Controller()),
    (ENDURANCE_GROUP, Controller()),
    (OCP_SMART, Controller()),
    (vendor_layouts.MICRON_7300, pages.MICRON_7300),
    (vendor_layouts.MICRON_7400, pages.MICRON_7450),
    (vendor_layouts.TOSHIBA, pages.TOSHIBA),
    (vendor_layouts.WDC_SN840, pages.WDC_SN840),
    (vendor_layouts.SCALEFLUX_HEALTH, pages.SCALEFLUX),
)
ITEMS: tuple[tuple[ItemLayout, Controller], ...] = (
    (additional_smart.INTEL, pages.SOLIDIGM),
    (additional_smart.DAPUSTOR, pages.DAPUSTOR),
    (additional_smart.DAPUSTOR_EXTENDED, pages.DAPUSTOR),
    (additional_smart.SCALEFLUX, pages.SCALEFLUX),
    (additional_smart.MEMBLAZE, pages.MEMBLAZE),
    (additional_smart.MEMBLAZE_2, pages.MEMBLAZE),
    (additional_smart.MEMBLAZE_OLD, pages.MEMBLAZE_OLD),
    (vendor_layouts.SEAGATE, pages.SEAGATE),
)
LAYOUTS = [layout for layout, _ in FIXED + ITEMS]

Case = tuple[LogLayout | ItemLayout, LogField, int, Controller]


def place(layout: LogLayout | ItemLayout, field: LogField, identifier: int) -> int:
    """The position of a field in the page."""
    if isinstance(layout, LogLayout):
        return field.offset
    number = identifier if layout.by_position else 0
    return layout.start + number * layout.item_bytes + field.offset


def content(layout: LogLayout | ItemLayout, field: LogField, identifier: int, number: int) -> bytes:
    """A page with this number in this field, and 1 in a byte of which no field is."""
    parts = [(place(layout, field, identifier), field.size, number)]
    if isinstance(layout, LogLayout):
        data = bytearray(page(parts, layout.size))
        if layout.guid is not None and layout.version is not None:
            data[-16:] = layout.guid
            data[layout.version[0]] = layout.version[2]
        elif not any(data):
            data[1] = 1  # a page of zeros is empty
    else:
        data = bytearray(page(parts, layout.size))
        at = place(layout, field, identifier) - field.offset
        data[at] = 1 if layout.by_position else identifier
        if layout is vendor_layouts.SEAGATE:
            data[0] = 2
        if layout is additional_smart.MEMBLAZE_2:
            data[511] = 2
    return bytes(data).ljust(512, b"\0")


def cases() -> Iterator[Case]:
    for layout, controller in FIXED:
        for field in layout.fields:
            yield layout, field, 0, controller
    for item_layout, controller in ITEMS:
        for identifier, field in item_layout.fields:
            yield item_layout, field, identifier, controller


CASES = list(cases())


def name_of(case: object) -> str | None:
    if isinstance(case, LogLayout | ItemLayout):
        return case.name
    return f"{case.name}@{case.offset}" if isinstance(case, LogField) else None


def decoded(layout: LogLayout | ItemLayout, data: bytes, controller: Controller) -> NvmeLogValues:
    values = decode(layout.page, data, controller)
    assert isinstance(values, NvmeLogValues)
    return values


@pytest.mark.parametrize(("layout", "field", "identifier", "controller"), CASES, ids=name_of)
def test_a_number_becomes_a_value_in_the_unit_of_the_field(
    layout: LogLayout | ItemLayout, field: LogField, identifier: int, controller: Controller
) -> None:
    number = min(field.maximum or 200, 3)
    values = decoded(layout, content(layout, field, identifier, number), controller)
    factor = 10**9 if field.name == "endurance_estimate_bytes" else field.factor
    assert number * factor == pytest.approx(getattr(values, field.name))


@pytest.mark.parametrize(("layout", "field", "identifier", "controller"), CASES, ids=name_of)
def test_a_field_that_is_not_supported_has_no_value(
    layout: LogLayout | ItemLayout, field: LogField, identifier: int, controller: Controller
) -> None:
    number = (1 << 8 * field.size) - 1
    data = content(layout, field, identifier, number)
    if isinstance(layout, ItemLayout):
        data = beside(layout, data, identifier)
    value = getattr(decoded(layout, data, controller), field.name)
    assert value == (number * field.factor if field.saturates else None)


def beside(layout: ItemLayout, data: bytes, identifier: int) -> bytes:
    """The page with another item, because a page without any value is another page."""
    other = next(key for key, _ in layout.fields if key != identifier)
    at = layout.start + (other if layout.by_position else 20) * layout.item_bytes
    return data[:at] + bytes([1 if layout.by_position else other]) + data[at + 1 :]


@pytest.mark.parametrize(
    ("layout", "field", "identifier", "controller"),
    [case for case in CASES if case[1].maximum is not None and case[1].maximum < 255],
    ids=name_of,
)
def test_a_number_above_the_maximum_has_no_value(
    layout: LogLayout | ItemLayout, field: LogField, identifier: int, controller: Controller
) -> None:
    assert field.maximum is not None
    data = content(layout, field, identifier, field.maximum + 1)
    if isinstance(layout, ItemLayout):
        data = beside(layout, data, identifier)
    assert getattr(decoded(layout, data, controller), field.name) is None


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_a_layout_names_values_and_its_source_and_no_field_exceeds_the_page(
    layout: LogLayout | ItemLayout,
) -> None:
    assert len(layout.source) > 20
    fields = [each for each in layout.fields if isinstance(each, LogField)]
    fields += [each[1] for each in layout.fields if not isinstance(each, LogField)]
    assert {each.name for each in fields} <= set(VALUE_NAMES)
    assert {name for _, name, _ in layout.constants} <= set(VALUE_NAMES)
    size = layout.size if isinstance(layout, LogLayout) else layout.item_bytes
    assert [] == [each for each in fields if each.offset + each.size > size]


def test_the_fields_of_a_layout_do_not_overlap() -> None:
    for layout, _ in FIXED:
        taken: set[int] = set()
        for field in layout.fields:
            place_of = set(range(field.offset, field.offset + field.size))
            assert not taken & place_of, (layout.name, field.name)
            taken |= place_of


def test_every_vendor_page_is_tested() -> None:
    tested = {(layout.page, controller.vendor_id) for layout, controller in FIXED + ITEMS}
    untested = {
        (row.page, row.vendors)
        for row in VENDOR_PAGES
        if not any((row.page, vendor) in tested for vendor in row.vendors)
    }
    assert set() == untested


def test_every_value_has_a_layout_that_reports_it() -> None:
    reported = {"thermal_throttling_level", "bad_blocks", "bad_blocks_spare_percent"}
    for layout, _ in FIXED:
        reported |= {field.name for field in layout.fields}
    for item_layout, _ in ITEMS:
        reported |= {field.name for _, field in item_layout.fields}
    for each in LAYOUTS:
        reported |= {name for _, name, _ in each.constants}
    assert set(VALUE_NAMES) == reported
