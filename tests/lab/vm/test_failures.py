"""Drives that disappear, fail reads, or do not answer."""

import time
from pathlib import Path

from tests.end_to_end.page import Page
from tests.lab.vm import drives
from tests.lab.vm.alerts import Story
from tests.lab.vm.host import Host, device, up

_STUCK_SECONDS = 60


def test_a_drive_is_replaced(host: Host, tmp_path: Path) -> None:
    gone, new = drives.NVME, drives.NVME_NEXT
    before = host.page()
    slot = device(before, gone)
    host.machine.pull(gone)
    pulled = host.await_page(lambda page: up(page)[gone] == 0)
    host.machine.plug(drives.nvme(new))
    page = host.await_page(lambda page: (up(page).get(new), up(page).get(gone)) == (1, 0))
    assert slot == device(page, new)
    checked = host.check()
    assert 2 == checked.status
    lost = f"critical: it is missing; if it was removed: ssd-exporter forget {gone}"
    assert ([lost], []) == (checked.texts(gone), checked.texts(new))
    story = Story((before, 30), (pulled, 5), (page, 15))
    story.fires("SSDDriveLost", serial=gone).fires(serial=new).check(tmp_path)
    host.machine.output("ssd-exporter", "forget", gone)
    host.await_page(lambda page: gone not in up(page))


def test_failed_reads_are_counted_for_their_drive_only(host: Host, tmp_path: Path) -> None:
    serial, well = drives.SATA_BAD, drives.SATA_HDD
    page = host.page()
    story = Story((page, 30))
    name = device(page, serial)
    # Errors at one time may belong to a poll; these repeat.
    for _ in range(4):
        errors = page.value("ssd_device_io_errors_total", device=name)
        for _ in range(2):
            read = host.machine.run(
                *("dd", f"if=/dev/{name}", "of=/dev/null", "bs=512"),
                *(f"skip={drives.BAD_SECTOR}", "count=1", "iflag=direct"),
            )
            assert "Input/output error" in read.errors, read

        def is_there(page: Page, least: float = errors + 2) -> bool:
            return page.value("ssd_device_io_errors_total", device=name) >= least

        page = host.await_page(is_there)
        story.then(page, 2)
    # The drive does not record these errors, and `check` queries the drive.
    assert [] == host.check().texts(serial)
    story.fires("SSDIOErrors", device=name).fires(device=device(page, well)).check(tmp_path)


def test_a_slow_drive_does_not_delay_others(host: Host, tmp_path: Path) -> None:
    serial = drives.SOFT_SLOW
    before = host.page()
    host.set(serial, health_delay_seconds=_STUCK_SECONDS)
    began = time.monotonic()
    page = host.await_page(
        lambda page: (
            up(page)[serial] == 0
            and any(value == 1 for _, value in page.find("ssd_command_stuck", command="smartctl"))
        ),
        seconds=90,
    )
    host.set(serial, health_delay_seconds=0)
    assert {0.0} == {value for who, value in up(page).items() if who == serial}
    assert {1.0} == {value for who, value in up(page).items() if who != serial}
    asked = time.monotonic()
    host.page()
    assert time.monotonic() - asked < 2
    checked = host.check()
    assert 2 == checked.status
    (text,) = checked.texts(serial)
    assert "hangs in the kernel" in text
    story = Story((before, 10), (page, 35)).fires("SSDDriveNotAnswering", serial=serial)
    story.fires("SSDCommandStuck", command="smartctl").check(tmp_path)
    # The hanging smartctl has its answer; exactly one new poll follows.
    host.await_page(
        lambda page: (
            up(page)[serial] == 1
            and not any(value for _, value in page.find("ssd_command_stuck", command="smartctl"))
        ),
        seconds=90,
    )
    assert time.monotonic() - began >= _STUCK_SECONDS - 10
