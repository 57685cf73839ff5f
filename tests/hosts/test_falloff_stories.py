"""Drives that become slower in the middle of a write: what their pages say of the cause."""

import pytest

from tests.hosts.page import Page, Pages


def last(page: Page, device: str) -> tuple[float | None, float | None, float | None]:
    """How often a device fell off, and the last time how far and after how many bytes."""
    return (
        page.value("ssd_disk_write_falloff_events_total", device=device),
        page.value("ssd_disk_write_falloff_last_ratio", device=device),
        page.value("ssd_disk_write_falloff_last_burst_bytes", device=device),
    )


@pytest.mark.parametrize(
    ("name", "cause"), [("slc-cliff", "write_cache"), ("slc-cliff-heat", "thermal")]
)
def test_one_and_the_same_slowness_is_the_cache_or_heat(page: Pages, name: str, cause: str) -> None:
    """540 to 112 MB/s, after 16 seconds and a half."""
    host = page(name)
    events, ratio, burst_bytes = last(host, "nvme1n1")
    assert 1 == events
    assert pytest.approx(107 / 515, rel=0.01) == ratio
    assert pytest.approx(16.5 * 515 * (1 << 20), rel=0.01) == burst_bytes
    assert cause == host.verdict("nvme1n1")


def test_a_drive_that_is_as_fast_as_ever_is_full_and_no_more(page: Pages) -> None:
    host = page("slc-cliff")
    assert (0, None, None) == last(host, "nvme0n1")
    assert "device" == host.verdict("nvme0n1")


def test_a_link_that_was_slowed_down_and_is_full_is_to_blame(page: Pages) -> None:
    host = page("slow-link")
    events, ratio, burst_bytes = last(host, "sda")
    assert 1 == events
    assert pytest.approx(110 / 477, rel=0.01) == ratio
    assert pytest.approx(12 * 477 * (1 << 20), rel=0.01) == burst_bytes
    assert "link" == host.verdict("sda")


def test_what_is_no_ssd_of_its_own_is_not_watched(page: Pages) -> None:
    """A RAID controller's volume, and stacks."""
    volume = page("raid-controller-100-percent-since-boot")
    assert set() == volume.devices("ssd_disk_write_falloff")
    assert {"sda", "sdb"} == page("lvm-on-md-raid1").devices("ssd_disk_write_falloff")
