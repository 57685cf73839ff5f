"""Any bytes, of any page and drive: values, or ParseError with one reason."""

import contextlib
import dataclasses
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.drives.nvme_logs.controller import Controller
from exporter.drives.nvme_logs.decode import VENDOR_PAGES, decode
from exporter.drives.nvme_logs.log_values import NvmeLogValues, combine
from exporter.runtime.errors import ParseError
from tests.drives.nvme_logs import pages
from tests.drives.nvme_logs.pages import REAL_PAGES, item, items, packed

DRIVES = sorted(
    {
        *(drive for drive in vars(pages).values() if isinstance(drive, Controller)),
        *(Controller(vendor) for row in VENDOR_PAGES for vendor in row.vendors),
        Controller(),
    },
    key=repr,
)
NUMBERS = sorted({2, 9, 0xC0, 0xC3, *(row.page for row in VENDOR_PAGES)})


def checked(number: int, data: bytes, controller: Controller) -> None:
    with contextlib.suppress(ParseError):
        decoded = decode(number, data, controller)
        if isinstance(decoded, NvmeLogValues):
            for value in dataclasses.asdict(decoded).values():
                assert value is None or (value >= 0 and math.isfinite(value))


@given(
    st.sampled_from(NUMBERS) | st.integers(0, 255),
    st.binary(max_size=600) | st.binary(min_size=512, max_size=512),
    st.sampled_from(DRIVES),
)
def test_any_bytes_yield_values_or_a_reason(
    number: int, data: bytes, controller: Controller
) -> None:
    checked(number, data, controller)


@given(st.sampled_from(REAL_PAGES), st.data())
def test_a_damaged_page_yields_values_or_a_reason(
    real: pages.RealPage, data: st.DataObject
) -> None:
    content = bytearray(real.data)
    for at, byte in data.draw(
        st.lists(st.tuples(st.integers(0, len(content) - 1), st.integers(0, 255)), max_size=20)
    ):
        content[at] = byte
    checked(real.page, bytes(content), real.controller)
    checked(real.page, bytes(content[: data.draw(st.integers(0, 512))]), real.controller)


def reason(number: int, data: bytes, controller: Controller) -> str:
    with pytest.raises(ParseError) as raised:
        decode(number, data, controller)
    return str(raised.value)


def test_a_page_of_an_unknown_vendor_has_a_reason() -> None:
    data = items(item(0xAB, 1))
    assert "page CAh: no layout is known for vendor 1234h" == reason(0xCA, data, Controller(0x1234))
    assert "page CAh: no layout is known for vendor unknown" == reason(0xCA, data, Controller())
    assert "no layout is known" in reason(0xD0, data, Controller(0x1344, model="Micron_9300"))


@pytest.mark.parametrize("row", VENDOR_PAGES, ids=lambda row: f"{row.page:02X}h")
def test_an_empty_or_truncated_vendor_page_has_a_reason(row: object) -> None:
    for each in VENDOR_PAGES:
        if each is not row:
            continue
        controller = Controller(min(each.vendors), model=(*each.models, "")[0])
        assert "all bytes are 00h" in reason(each.page, bytes(512), controller)
        assert "all bytes are FFh" in reason(each.page, bytes([0xFF] * 512), controller)
        assert "truncated: 40 of" in reason(each.page, bytes(range(40)), controller)


def test_a_page_without_a_known_item_is_another_page() -> None:
    assert "none of the known items" in reason(0xCA, items(item(0x55, 1)), pages.INTEL)


def values(data: bytes, controller: Controller, number: int = 0xCA) -> NvmeLogValues:
    decoded = decode(number, data, controller)
    assert isinstance(decoded, NvmeLogValues)
    return decoded


def test_the_items_have_no_fixed_order() -> None:
    found = values(items(item(0xF4, 3), item(0, 0), item(0xAB, 7)), pages.SOLIDIGM)
    assert (3 << 25, 7) == (found.nand_written_bytes, found.program_failures)
    assert 32 << 20 == found.nand_written_unit_bytes


@pytest.mark.parametrize("identifier", [0xE7, 0xE8])
def test_beside_pcie_counters_c7_does_not_count_crc_errors(identifier: int) -> None:
    assert 5 == values(items(item(0xC7, 5), item(0xAB, 0)), pages.SOLIDIGM).link_crc_errors
    newer = items(item(0xC7, 5), item(0xAB, 0), item(identifier, 0))
    assert values(newer, pages.SOLIDIGM).link_crc_errors is None


def test_the_model_or_the_version_selects_the_format_of_memblaze() -> None:
    data = items(item(0xF0, 4), item(0xED, 3), item(0xEE, 5), item(0xAD, packed(1, 3, 2)))
    old = values(data, pages.MEMBLAZE_OLD)
    assert (4, 8, 2) == (
        old.erase_failures,
        old.pcie_correctable_errors,
        old.erase_count_average,
    )
    new = values(data, pages.MEMBLAZE)
    assert (None, None, 2) == (
        new.erase_failures,
        new.pcie_correctable_errors,
        new.erase_count_average,
    )
    second = items(item(0xF4, 4), item(0xEA, 1 | 6 << 8))[:511] + b"\x02"
    assert values(second, pages.MEMBLAZE).nand_written_bytes is None
    assert (1, 6) == (
        values(second, pages.MEMBLAZE).thermal_throttling_level,
        values(second, pages.MEMBLAZE).thermal_throttling_events,
    )
    assert "version 3" in reason(0xCA, second[:511] + b"\x03", pages.MEMBLAZE)


def test_an_ocp_page_of_a_drive_with_an_own_page_c0_is_that_of_ocp() -> None:
    found = values(pages.ocp((0, 16, 77), (76, 4, 9)), pages.WDC_SN840, 0xC0)
    assert (77, None) == (found.nand_written_bytes, found.bad_blocks)
    own = values(pages.page(((76, 4, 9),)), pages.WDC_SN840, 0xC0)
    assert (None, 9) == (own.nand_written_bytes, own.bad_blocks)


def test_scaleflux_reports_compression_and_throttling() -> None:
    data = pages.page(((24, 4, 7), (80, 8, 1000), (88, 8, 400), (100, 4, 250)))
    found = values(data, pages.SCALEFLUX, 0xC2)
    assert 2.5 == pytest.approx(found.compression_ratio)
    assert (512_000, 204_800) == (found.physical_capacity_bytes, found.physical_free_bytes)
    assert 1 == found.thermal_throttling_level


def test_seagate_pages_of_another_version_are_not_decoded() -> None:
    real = next(each for each in REAL_PAGES if each.page == 0xC4)
    other = b"\x01" + real.data[1:]
    assert "version 1 has another layout" in reason(0xC4, other, pages.SEAGATE)


def test_the_first_source_of_a_value_is_used() -> None:
    first = NvmeLogValues(bad_blocks=0, xor_recoveries=None)
    second = NvmeLogValues(bad_blocks=5, xor_recoveries=6)
    assert NvmeLogValues(bad_blocks=0, xor_recoveries=6) == combine((first, second))
    assert NvmeLogValues() == combine(())
