"""Device letters change after a reboot."""

from pathlib import Path

from rigs.lab.vm import drives
from rigs.lab.vm.host import Host, device, up
from tests.alerts.page_story import Story


def test_a_drive_keeps_its_identity_with_another_letter(host: Host, tmp_path: Path) -> None:
    before = host.page()
    host.machine.shut_down()
    host.machine.start(drives.swapped(host.machine.fleet))
    page = host.await_page(lambda page: up(page) == up(before))
    then = {serial: device(before, serial) for serial in drives.SATA}
    now = {serial: device(page, serial) for serial in drives.SATA}
    assert then != now
    checked = host.check()
    assert [] == [text for serial in drives.SATA for text in checked.texts(serial)]
    story = Story((before, 30), (page, 40))
    for serial in (drives.SATA_SSD, drives.SATA_BAD):
        assert now[serial] == checked.drives[serial]["device"]
        story.fires(serial=serial)
    story.check(tmp_path)
