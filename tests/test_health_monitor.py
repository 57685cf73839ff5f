"""The health of drives on the page, made anew only where it has changed."""

from pathlib import Path

from tests.hosts.host import FOLDERS, Host


def test_what_a_drive_said_is_shown_until_it_says_something_else(tmp_path: Path) -> None:
    host = Host(FOLDERS / "smart-nvme", tmp_path).play()
    health = host.monitor.health
    assert health is not None
    first, second = health.samples(set()), health.samples(set())
    assert first == second
    assert first
    kept = {id(sample) for sample in first}
    assert {True} == {id(s) in kept for s in second if s.desc.name.startswith("ssd_smart_")}
    described = {sample.labels[0] for sample in health.samples({"nvme0n1", "nvme1n1"})}
    assert described
    assert [] == [
        s for s in health.samples({"nvme0n1", "nvme1n1"}) if s.desc.name == "ssd_device_info"
    ]


def test_a_drive_that_falls_silent_is_made_anew(tmp_path: Path) -> None:
    host = Host(FOLDERS / "smart-nvme", tmp_path).play()
    health = host.monitor.health
    assert health is not None
    before = {s.desc.name for s in health.samples(set())}
    host.clock.advance(7 * 86_400.0)
    after = {s.desc.name for s in health.samples(set())}
    assert "ssd_smart_healthy" in before
    assert "ssd_smart_healthy" not in after
