"""Line rates after encoding: PCIe, SATA, SAS, USB."""

import math
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.errors import ParseError
from exporter.linux import links, pcie
from exporter.linux.files import Parsed
from exporter.linux.links import LinkSpeed
from exporter.linux.pcie import AerFiles, PcieErrors
from tests.linux import trees
from tests.linux.trees import Sys


@pytest.mark.parametrize(
    ("rate", "text", "expected"),
    [
        (links.parse_sata_rate, "1.5 Gbps", 150e6),  # TV-10
        (links.parse_sata_rate, "3.0 Gbps", 300e6),
        (links.parse_sata_rate, "6.0 Gbps", 600e6),
        (links.parse_sata_rate, "<unknown>", None),
        (links.parse_sas_rate, "1.5 Gbit", 150e6),
        (links.parse_sas_rate, "3.0 Gbit", 300e6),
        (links.parse_sas_rate, "12.0 Gbit", 1200e6),
        (links.parse_sas_rate, "22.5 Gbit", 2400e6),
        (links.parse_sas_rate, "Phy disabled", None),
        (links.parse_sas_rate, "Unknown", None),
        (links.parse_usb_rate, "1.5", 187_500.0),
        (links.parse_usb_rate, "480", 60e6),
        (links.parse_usb_rate, "5000", 500e6),  # TV-10
        (links.parse_usb_rate, "10000", 10e9 * 128 / 132 / 8),
        (links.parse_usb_rate, "unknown", None),
        (links.parse_usb_rate, "0", None),
        (links.parse_lane_rate, "2.5 GT/s PCIe", 250e6),
        (links.parse_lane_rate, "5 GT/s", 500e6),
        (links.parse_lane_rate, "8.0 GT/s PCIe", 8e9 * 128 / 130 / 8),
        (links.parse_lane_rate, "64.0 GT/s PCIe", 64e9 * 242 / 256 / 8),
        (links.parse_lane_rate, "Unknown", None),
        (links.parse_lane_rate, "0.0 GT/s", None),
    ],
)
def test_rates(rate: Callable[[str], float | None], text: str, expected: float | None) -> None:
    """Each bus's own words for its speed become bytes per second after its line code."""
    assert expected == pytest.approx(rate(text))


@pytest.mark.parametrize(("speed", "gigabytes"), [("8.0 GT/s PCIe", 3.94), ("16.0 GT/s", 7.88)])
def test_four_lanes(tmp_path: Path, speed: str, gigabytes: float) -> None:
    """Third-generation PCIe x4 carries about 3.9 GB/s, the fourth 7.9 (TV-10)."""
    sys = Sys(tmp_path)
    trees.pci_link(sys, "0000:01:00.0", now=(speed, "4"), best=(speed, "4"))
    source = links.find_pcie_link(tmp_path / "0000:01:00.0")
    assert source is not None
    found = links.read_link(source)
    assert found is not None
    assert found.speed_bytes_per_second == pytest.approx(gigabytes * 1e9, rel=0.01)
    assert found.max_bytes_per_second == found.speed_bytes_per_second


def test_port_limits_speed_and_device_width(tmp_path: Path) -> None:
    """The best of a 16 GT/s x4 drive in an 8 GT/s x8 slot is 8 GT/s x4."""
    sys = Sys(tmp_path)
    port, drive = "0000:00:01.0", "0000:00:01.0/0000:01:00.0"
    trees.pci_link(sys, port, now=("8.0 GT/s", "4"), best=("8.0 GT/s", "8"))
    trees.pci_link(sys, drive, now=("2.5 GT/s", "4"), best=("16.0 GT/s", "4"))
    source = links.find_pcie_link(tmp_path / drive)
    assert source is not None
    assert LinkSpeed(1e9, 4 * (8e9 * (128 / 130) / 8)) == links.read_link(source)


@pytest.mark.parametrize("width", ["0", "63", "255", "-1", "wide", ""])
def test_width_that_is_none(tmp_path: Path, width: str) -> None:
    """A width that stands for unknown leaves the speed unknown, not zero."""
    sys = Sys(tmp_path)
    trees.pci_link(sys, "0000:01:00.0", now=("8.0 GT/s", width), best=("8.0 GT/s", "4"))
    source = links.find_pcie_link(tmp_path / "0000:01:00.0")
    assert source is not None
    found = links.read_link(source)
    assert found is not None
    assert found.speed_bytes_per_second is None


def test_no_link() -> None:
    """A source that is gone, with no maximum known, is no link at all."""
    gone = links.LinkFiles((Path("/nonexistent/speed"),), links.parse_sata_rate, None)
    assert links.read_link(gone) is None
    assert links.slowest_link([]) is None


def test_no_source(tmp_path: Path) -> None:
    """Where a bus shows no link of a drive there is no source, and nothing is read for it."""
    assert links.find_pcie_link(tmp_path) is None
    assert links.find_sata_link(tmp_path / "ata1", "0", None) is None
    assert links.find_sas_link(tmp_path / "end_device-0:0", None) is None
    assert links.find_usb_link(tmp_path) is None
    assert links.find_usb_link(tmp_path / "2-1" / "2-1:1.0" / "sdd") is None


def test_slowest_way() -> None:
    """Of several ways to a drive the slowest counts, and an unknown one least."""
    slow, fast, unknown = LinkSpeed(1e9, 4e9), LinkSpeed(4e9, 4e9), LinkSpeed(None, 4e9)
    assert slow == links.slowest_link([fast, unknown, slow])


def test_wide_sas_port(tmp_path: Path) -> None:
    """The phys of a wide port add up, and the maximum is that of all of them."""
    sys = Sys(tmp_path)
    for phy, rate in (("phy-0:0", "12.0 Gbit"), ("phy-0:1", "6.0 Gbit")):
        sys.write(
            f"port-0:0/{phy}/sas_phy/{phy}",
            {"negotiated_linkrate": rate, "maximum_linkrate_hw": "12.0 Gbit"},
        )
    source = links.find_sas_link(tmp_path / "port-0:0" / "end_device-0:0", None)
    assert source is not None
    assert LinkSpeed(1800e6, 2400e6) == links.read_link(source)


def test_sata_port_multiplier(tmp_path: Path) -> None:
    """Behind a port multiplier the drive's own link counts, by its channel."""
    sys = Sys(tmp_path)
    for name, speed in (("link3", "6.0 Gbps"), ("link3.1", "3.0 Gbps")):
        sys.write(f"ata3/{name}/ata_link/{name}", {"sata_spd": speed})
    fan_out = links.find_sata_link(tmp_path / "ata3", "1", None)
    plain = links.find_sata_link(tmp_path / "ata3", "0", None)
    assert fan_out is not None
    assert plain is not None
    assert LinkSpeed(300e6, None) == links.read_link(fan_out)
    assert LinkSpeed(600e6, None) == links.read_link(plain)


def errors_of(function: Path) -> Parsed[PcieErrors | None]:
    names = ("aer_dev_correctable", "aer_dev_nonfatal", "aer_dev_fatal")
    return pcie.read_aer_errors(AerFiles(*(function / name for name in names)))


def test_aer_totals(tmp_path: Path) -> None:
    """The three files give their totals, and a file without one is a fault of its own."""
    sys = Sys(tmp_path)
    trees.aer(sys, "f", 7, 2, 0)
    assert PcieErrors(7, 2, 0) == errors_of(tmp_path / "f").value
    sys.write("f", {"aer_dev_nonfatal": "Undefined 0\nTOTAL"})
    parsed = errors_of(tmp_path / "f")
    assert PcieErrors(7, None, 0) == parsed.value
    assert len(parsed.faults) == 1
    assert "aer_dev_nonfatal" in str(parsed.faults[0])


def test_unreadable_aer(tmp_path: Path) -> None:
    """A file that fails with an I/O error, as an unplugged function's does, is not known."""
    (tmp_path / "aer_dev_correctable").mkdir()
    Sys(tmp_path).write("", {"aer_dev_fatal": "TOTAL_ERR_FATAL 1"})
    assert PcieErrors(None, None, 1) == errors_of(tmp_path).value


def test_no_aer(tmp_path: Path) -> None:
    """A function that counts nothing has no errors, rather than none."""
    assert errors_of(tmp_path).value is None
    assert pcie.find_aer_files(tmp_path) is None


@given(st.text())
def test_any_text_as_total(text: str) -> None:
    """Any text is a total that is not negative, or a ParseError."""
    with suppress(ParseError):
        assert pcie.parse_aer_total(text) >= 0


@given(st.text() | st.from_regex(r"-?\d+(\.\d+)? (GT/s|Gbps|Gbit)?", fullmatch=True))
def test_any_text_as_rate(text: str) -> None:
    """Any text is a positive finite rate, or unknown."""
    for rate in (
        links.parse_sata_rate,
        links.parse_sas_rate,
        links.parse_usb_rate,
        links.parse_lane_rate,
    ):
        found = rate(text)
        assert found is None or (found > 0 and math.isfinite(found))
