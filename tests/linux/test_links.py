"""Link speeds in bytes per second after line encoding: PCIe, SATA, SAS, USB."""

import math
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.linux import links
from exporter.linux.links import LinkSpeed
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
    """The text of each bus becomes bytes per second after line encoding."""
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
    """The maximum of a 16 GT/s x4 drive in an 8 GT/s x8 slot is 8 GT/s x4."""
    sys = Sys(tmp_path)
    port, drive = "0000:00:01.0", "0000:00:01.0/0000:01:00.0"
    trees.pci_link(sys, port, now=("8.0 GT/s", "4"), best=("8.0 GT/s", "8"))
    trees.pci_link(sys, drive, now=("2.5 GT/s", "4"), best=("16.0 GT/s", "4"))
    source = links.find_pcie_link(tmp_path / drive)
    assert source is not None
    assert LinkSpeed(1e9, 4 * (8e9 * (128 / 130) / 8)) == links.read_link(source)


@pytest.mark.parametrize("width", ["0", "63", "255", "-1", "wide", ""])
def test_unknown_width_leaves_the_speed_unknown(tmp_path: Path, width: str) -> None:
    """The speed is None and not 0."""
    sys = Sys(tmp_path)
    trees.pci_link(sys, "0000:01:00.0", now=("8.0 GT/s", width), best=("8.0 GT/s", "4"))
    source = links.find_pcie_link(tmp_path / "0000:01:00.0")
    assert source is not None
    found = links.read_link(source)
    assert found is not None
    assert found.speed_bytes_per_second is None


def test_no_link() -> None:
    """Without the speed file and without a maximum there is no link."""
    gone = links.LinkFiles((Path("/nonexistent/speed"),), links.parse_sata_rate, None)
    assert links.read_link(gone) is None
    assert links.slowest_link([]) is None


def test_bus_without_link_files(tmp_path: Path) -> None:
    """If a bus reports no link of a drive, there are no files to read."""
    assert links.find_pcie_link(tmp_path) is None
    assert links.find_sata_link(tmp_path / "ata1", "0", None) is None
    assert links.find_sas_link(tmp_path / "end_device-0:0", None) is None
    assert links.find_usb_link(tmp_path) is None
    assert links.find_usb_link(tmp_path / "2-1" / "2-1:1.0" / "sdd") is None


def test_slowest_link() -> None:
    """The slowest of several links counts; an unknown speed counts last."""
    slow, fast, unknown = LinkSpeed(1e9, 4e9), LinkSpeed(4e9, 4e9), LinkSpeed(None, 4e9)
    assert slow == links.slowest_link([fast, unknown, slow])


def test_wide_sas_port(tmp_path: Path) -> None:
    """The rates of all phys of a wide port are added, and so are their maxima."""
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
    """Behind a port multiplier the channel selects the drive's link."""
    sys = Sys(tmp_path)
    for name, speed in (("link3", "6.0 Gbps"), ("link3.1", "3.0 Gbps")):
        sys.write(f"ata3/{name}/ata_link/{name}", {"sata_spd": speed})
    fan_out = links.find_sata_link(tmp_path / "ata3", "1", None)
    plain = links.find_sata_link(tmp_path / "ata3", "0", None)
    assert fan_out is not None
    assert plain is not None
    assert LinkSpeed(300e6, None) == links.read_link(fan_out)
    assert LinkSpeed(600e6, None) == links.read_link(plain)


@given(st.text() | st.from_regex(r"-?\d+(\.\d+)? (GT/s|Gbps|Gbit)?", fullmatch=True))
def test_any_text_as_rate(text: str) -> None:
    """Any text is a positive, finite rate or unknown."""
    for rate in (
        links.parse_sata_rate,
        links.parse_sas_rate,
        links.parse_usb_rate,
        links.parse_lane_rate,
    ):
        found = rate(text)
        assert found is None or (found > 0 and math.isfinite(found))
