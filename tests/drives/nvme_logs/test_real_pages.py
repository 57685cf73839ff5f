"""Pages of real drives yield the values that their sources state."""

import pytest

from exporter.drives.nvme_logs.controller import Controller
from exporter.drives.nvme_logs.decode import decode
from exporter.drives.nvme_logs.log_values import VALUE_NAMES, NvmeLogValues
from exporter.runtime.errors import ParseError
from tests.drives.nvme_logs.pages import OTHER_PAGES, REAL_PAGES, RealPage


def values(real: RealPage) -> NvmeLogValues:
    decoded = decode(real.page, real.data, real.controller)
    assert isinstance(decoded, NvmeLogValues)
    return decoded


@pytest.mark.parametrize("real", REAL_PAGES, ids=lambda real: real.source)
def test_the_values_are_those_of_the_source(real: RealPage) -> None:
    decoded = values(real)
    assert real.expected == {name: pytest.approx(getattr(decoded, name)) for name in real.expected}


@pytest.mark.parametrize("real", REAL_PAGES, ids=lambda real: real.source)
def test_the_values_are_plausible(real: RealPage) -> None:
    decoded = values(real)
    for name in VALUE_NAMES:
        value = getattr(decoded, name)
        if value is None:
            continue
        assert 0 <= value <= (10**17 if name.endswith("_bytes") else 10**7), name
    if decoded.nand_written_bytes and decoded.host_written_bytes:
        assert 1 < decoded.nand_written_bytes / decoded.host_written_bytes < 4
    if decoded.erase_count_min is not None and decoded.erase_count_max is not None:
        average = decoded.erase_count_average
        assert decoded.erase_count_min <= (average or decoded.erase_count_max)
        assert (average or decoded.erase_count_min) <= decoded.erase_count_max


@pytest.mark.parametrize(("source", "start", "controller"), OTHER_PAGES)
def test_another_page_c0_of_a_real_drive_has_no_values(
    source: str, start: str, controller: Controller
) -> None:
    data = bytes.fromhex(start).ljust(512, b"\0")
    with pytest.raises(ParseError, match="GUID"):
        decode(0xC0, data, controller)


def test_a_drive_without_a_counter_does_not_report_zero_bytes() -> None:
    (without,) = [real for real in REAL_PAGES if "issue 245" in real.source]
    assert values(without).nand_written_bytes is None
    assert values(without).nand_written_unit_bytes is None
