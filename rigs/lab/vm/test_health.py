"""Health data appears on the page, in `check`, and in alerts."""

from pathlib import Path

from rigs.lab.vm import drives
from rigs.lab.vm.host import Host, device
from tests.alerts.page_story import Story
from tests.end_to_end.page import Page


def test_increasing_wear_raises_its_alerts(host: Host, tmp_path: Path) -> None:
    serial = drives.SOFT_WORN
    story = Story()
    for percent, said, expected in (
        (79, None, ()),
        (85, "warning", ("SSDWearHigh",)),
        (95, "warning", ("SSDWearHigh", "SSDWearCritical")),
    ):
        host.set(serial, percentage_used=percent)

        def is_there(page: Page, ratio: float = percent / 100) -> bool:
            # A jump of the wear has no value before three polls confirm it.
            found = page.find("ssd_smart_endurance_used_ratio", serial=serial)
            return [ratio] == [value for _, value in found]

        story.then(host.await_page(is_there), 65).fires(*expected, serial=serial)
        text = f"{said}: {percent} % of its rated endurance is used"
        assert ([text] if said else []) == host.check().texts(serial)
    story.check(tmp_path)
    host.set(serial, percentage_used=0)


def test_media_errors_of_real_reads_are_counted(host: Host, tmp_path: Path) -> None:
    serial = drives.SOFT_BAD
    host.set(serial, bad_blocks=[1000])
    before = host.page()
    path = f"/dev/{device(before, serial)}"
    for _ in range(2):
        read = host.machine.run(
            *("dd", f"if={path}", "of=/dev/null", "bs=512", "skip=1000", "count=1"), "iflag=direct"
        )
        assert 1 == read.status, read
        assert "error reading" in read.errors
    page = host.await_page(
        lambda page: page.value("ssd_smart_media_errors_total", serial=serial) == 2
    )
    assert ["warning: uncorrectable errors (lifetime): 2"] == host.check().texts(serial)
    Story((before, 30), (page, 10)).fires("SSDMediaErrors", serial=serial).check(tmp_path)


def test_a_hot_drive_is_not_reported_as_failing(host: Host, tmp_path: Path) -> None:
    """The limits are 80 and 90 °C; smartctl of Debian 12 does not report them, the kernel does."""
    serial = drives.SOFT_HOT
    story = Story((host.page(), 30))
    hot = ("SSDTemperatureHigh", "SSDOverTemperatureTime")
    for celsius, said, expected in (
        (85, "warning: 85 C; its warning limit is 80 C", hot),
        (95, "critical: 95 C; its critical limit is 90 C", (*hot, "SSDTemperatureCritical")),
    ):
        # Above the first limit a drive sets bit 1, the temperature warning.
        host.set(
            serial, temperature_celsius=celsius, critical_warning=2, warning_temperature_minutes=5
        )

        def is_there(page: Page, celsius: int = celsius) -> bool:
            return celsius == page.value(
                "ssd_smart_temperature_celsius", serial=serial, sensor="drive"
            )

        page = host.await_page(is_there)
        assert 1 == page.value("ssd_smart_critical_warning", serial=serial, warning="temperature")
        assert {said, "warning: it reports a temperature outside its limits"} == set(
            host.check().texts(serial)
        )
        story.then(page, 20).fires(*expected, serial=serial)
    story.check(tmp_path)
    host.set(serial, temperature_celsius=38, critical_warning=0)
