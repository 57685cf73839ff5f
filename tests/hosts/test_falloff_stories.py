"""Drives whose throughput drops during writes: falloff and verdict on the page."""

import pytest

from tests.hosts.page import Page, Pages


def last_falloff(page: Page, device: str) -> tuple[float | None, float | None, float | None]:
    """Returns the number of falloffs, and the ratio and the burst in bytes of the last one."""
    return (
        page.value("ssd_disk_write_falloff_events_total", device=device),
        page.value("ssd_disk_write_falloff_last_ratio", device=device),
        page.value("ssd_disk_write_falloff_last_burst_bytes", device=device),
    )


@pytest.mark.parametrize(
    ("name", "cause"), [("slc-cliff", "write_cache"), ("slc-cliff-heat", "thermal")]
)
def test_equal_falloff_is_write_cache_or_thermal(page: Pages, name: str, cause: str) -> None:
    """540 to 112 MB/s, after 16.5 s."""
    host = page(name)
    events, ratio, burst_bytes = last_falloff(host, "nvme1n1")
    assert 1 == events
    assert pytest.approx(107 / 515, rel=0.01) == ratio
    assert pytest.approx(16.5 * 515 * (1 << 20), rel=0.01) == burst_bytes
    assert cause == host.verdict("nvme1n1")


def test_saturated_drive_without_falloff(page: Pages) -> None:
    host = page("slc-cliff")
    assert (0, None, None) == last_falloff(host, "nvme0n1")
    assert "device" == host.verdict("nvme0n1")


def test_saturated_link_with_reduced_speed_is_the_cause(page: Pages) -> None:
    host = page("slow-link")
    events, ratio, burst_bytes = last_falloff(host, "sda")
    assert 1 == events
    assert pytest.approx(110 / 477, rel=0.01) == ratio
    assert pytest.approx(12 * 477 * (1 << 20), rel=0.01) == burst_bytes
    assert "link" == host.verdict("sda")


def test_no_falloff_for_volumes_and_stacked_devices(page: Pages) -> None:
    """A volume of a RAID controller, md and dm."""
    volume = page("raid-controller-100-percent-since-boot")
    assert set() == volume.devices("ssd_disk_write_falloff")
    assert {"sda", "sdb"} == page("lvm-on-md-raid1").devices("ssd_disk_write_falloff")
