"""A page is read only if the drive lists it, or a source states it for the model."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.drives.nvme_logs.allowed_pages import allowed_pages, supported_pages
from exporter.drives.nvme_logs.controller import Controller
from exporter.drives.nvme_logs.decode import VENDOR_PAGES
from tests.drives.nvme_logs import pages

ALL = frozenset(range(256))


def numbers(
    controller: Controller,
    supported: frozenset[int] | None,
    *,
    groups: bool = False,
    thermal: bool = True,
) -> list[int]:
    found = allowed_pages(
        controller, supported, endurance_groups=groups, thermal_management=thermal
    )
    return [page.number for page in found]


def test_page_00_lists_the_supported_pages() -> None:
    entries = [0] * 256
    for number, entry in ((0, 1), (2, 3), (9, 0x10001), (0xC0, 1), (0xC3, 2), (0xFF, 1)):
        entries[number] = entry
    data = b"".join(entry.to_bytes(4, "little") for entry in entries)
    assert {0, 2, 9, 0xC0, 0xFF} == supported_pages(data)
    assert {0, 2, 9} == supported_pages(data[:40])
    assert frozenset() == supported_pages(b"")


@pytest.mark.parametrize("controller", [Controller(), Controller(0x1234, model="Unknown")])
def test_an_unknown_drive_is_asked_only_for_pages_of_standards(controller: Controller) -> None:
    assert [2] == numbers(controller, None)
    assert [2, 9] == numbers(controller, None, groups=True)
    assert [2, 9, 0xC0] == numbers(controller, ALL, groups=True)
    assert [2] == numbers(controller, frozenset(), groups=True)
    assert [] == numbers(controller, None, thermal=False)


def test_the_latency_monitor_requires_a_vendor_and_both_pages_in_the_list() -> None:
    micron = Controller(0x1344, model="Micron_9550_MTFDLAL3T8TGN")
    assert [2, 0xC0, 0xC3] == numbers(micron, frozenset({2, 0xC0, 0xC3}))
    assert [2] == numbers(micron, frozenset({2, 0xC3}))
    assert 0xC3 not in numbers(pages.MEMBLAZE, ALL)
    assert 0xC3 not in numbers(pages.SCALEFLUX, ALL)


@pytest.mark.parametrize(
    ("controller", "expected"),
    [
        (pages.INTEL, [2, 0xCA]),
        (pages.SOLIDIGM, [2, 0xCA]),
        (pages.KIOXIA, [2, 0xC0, 0xC3]),
        (pages.SAMSUNG, [2, 0xC0]),
        (pages.WDC_SN640, [2, 0xC0]),
        (pages.WDC_SN840, [2, 0xC0]),
        (pages.MICRON_7300, [2, 0xD0]),
        (pages.MICRON_7450, [2, 0xC0, 0xE1]),
        (pages.TOSHIBA, [2, 0xCA]),
        (pages.SEAGATE, [2, 0xC4]),
        (pages.MEMBLAZE, [2]),
        (pages.DAPUSTOR, [2]),
        (pages.SCALEFLUX, [2]),
        (Controller(0x144D, model="SAMSUNG MZVLB512HAJQ-00000"), [2]),
        (Controller(0x8086, model="INTEL SSDPEKKW512G8"), [2]),
        (Controller(0x8086, model="INTEL SSDPED1K375GA"), [2]),
    ],
    ids=lambda each: each.model if isinstance(each, Controller) else "",
)
def test_a_drive_without_a_list_is_asked_for_the_pages_of_its_model(
    controller: Controller, expected: list[int]
) -> None:
    assert expected == numbers(controller, None)


def test_a_page_that_the_list_lacks_is_never_asked_for() -> None:
    for controller in vars(pages).values():
        if isinstance(controller, Controller):
            assert [2] == numbers(controller, frozenset({0, 1, 2, 3}))


@given(
    controller=st.builds(
        Controller,
        st.sampled_from([None, 0x8086, 0x1344, 0x144D, 0x1B96, 0x1C5F, 0x1E0F, 0x1E3B, 0xCC53]),
        st.none(),
        st.sampled_from(["", "Micron_7450", "KIOXIA KCD8", "WUS4BA", "SAMSUNG MZQL2", "INTEL SSD"]),
    ),
    supported=st.none() | st.frozensets(st.integers(0, 255)),
    groups=st.booleans(),
    thermal=st.booleans(),
)
def test_each_page_is_listed_once_with_a_size(
    controller: Controller, supported: frozenset[int] | None, *, groups: bool, thermal: bool
) -> None:
    found = allowed_pages(
        controller, supported, endurance_groups=groups, thermal_management=thermal
    )
    assert thermal == (2 in [page.number for page in found])
    assert len(found) == len({page.number for page in found})
    for page in found:
        assert page.size_bytes in (256, 512)
        assert (1 if page.number == 9 else 0) == page.specific
        assert page.name
        if page.number != 2 and supported is not None:
            assert page.number in supported


def test_every_vendor_page_that_is_asked_for_can_be_decoded() -> None:
    known = {(row.page, vendor) for row in VENDOR_PAGES for vendor in row.vendors}
    for controller in vars(pages).values():
        if not isinstance(controller, Controller):
            continue
        for supported in (None, ALL):
            for number in numbers(controller, supported):
                is_standard = number in (2, 9, 0xC0, 0xC3)
                assert is_standard or (number, controller.vendor_id) in known


def test_the_agent_loads_few_modules_for_it() -> None:
    program = (
        "import sys; before = set(sys.modules); "
        "import exporter.drives.nvme_logs.allowed_pages, exporter.drives.nvme_logs.log_encoding; "
        "print(*sorted(m for m in set(sys.modules) - before if m.startswith('exporter.')))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ended.stdout.split() == [
        "exporter.drives",
        "exporter.drives.nvme_logs",
        *(f"exporter.drives.nvme_logs.{name}" for name in ("allowed_pages", "controller")),
        "exporter.drives.nvme_logs.log_encoding",
    ]
