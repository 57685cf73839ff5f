"""SmartCollector caches the samples of drives that did not change."""

from pathlib import Path

from exporter.metrics.smart_collector import SmartCollector
from tests.hosts.host import FOLDERS, Host


def collector(host: Host) -> SmartCollector:
    assert host.monitor.health is not None
    return SmartCollector(host.monitor.health)


def test_samples_of_an_unchanged_drive_come_from_the_cache(tmp_path: Path) -> None:
    smart = collector(Host(FOLDERS / "smart-nvme", tmp_path).play())
    first, second = smart.samples(set()), smart.samples(set())
    assert first == second
    assert first
    first_ids = {id(sample) for sample in first}
    assert {True} == {id(s) in first_ids for s in second if s.desc.name.startswith("ssd_smart_")}


def test_the_identity_of_a_described_device_is_left_to_the_device_collector(
    tmp_path: Path,
) -> None:
    smart = collector(Host(FOLDERS / "smart-nvme", tmp_path).play())
    smart.samples(set())
    described = smart.samples({"nvme0n1", "nvme1n1"})
    assert {sample.labels[0] for sample in described}
    assert [] == [s for s in described if s.desc.name == "ssd_device_info"]


def test_a_drive_whose_values_became_stale_is_rendered_again(tmp_path: Path) -> None:
    host = Host(FOLDERS / "smart-nvme", tmp_path).play()
    smart = collector(host)
    before = {s.desc.name for s in smart.samples(set())}
    host.clock.advance(7 * 86_400.0)
    after = {s.desc.name for s in smart.samples(set())}
    assert "ssd_smart_healthy" in before
    assert "ssd_smart_healthy" not in after
