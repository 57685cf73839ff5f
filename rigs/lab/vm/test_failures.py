"""Drives that disappear, fail reads, or do not answer."""

import time
from pathlib import Path

from rigs.lab.vm import drives
from rigs.lab.vm.host import SOON, Host, device, up
from tests.alerts.page_story import Story
from tests.duration import at_most
from tests.end_to_end.page import Page

#: Longer than all that the test does meanwhile, and shorter than the timeout of the kernel.
_STUCK_SECONDS = 100

#: Longer than the timeout of smartctl and its end, and shorter than the timeout of the kernel.
_FIRST_POLL_SECONDS = 100

#: Longer than two restarts of the agent, which systemd delays by five seconds each.
_KILLS_SECONDS = 60

_AGENT = "ssd-smart-agent.service"

#: In the guest: smartctl that crashes for one device, and the flags of the agent that select it.
_CRASHING = "/usr/local/sbin/crashing-smartctl"
_DEFAULTS = "/etc/default/ssd-exporter"


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
    story.fires("SSDDriveReplaced", serial=gone).fires(serial=new).check(tmp_path)
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
    with at_most(2):
        host.page()
    checked = host.check()
    assert 1 == checked.status
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
        seconds=150,
    )
    assert time.monotonic() - began >= _STUCK_SECONDS - 10


def test_a_drive_that_hangs_before_its_first_answer_is_down(host: Host, tmp_path: Path) -> None:
    serial = drives.SOFT_SLOW
    host.set(serial, health_delay_seconds=_FIRST_POLL_SECONDS)
    host.restart_agent()
    page = host.await_page(lambda page: up(page).get(serial) == 0, seconds=90)
    host.set(serial, health_delay_seconds=0)
    assert {1.0} == {value for who, value in up(page).items() if who != serial}
    (text,) = host.check().texts(serial)
    assert text.startswith("warning: it does not answer")
    Story((page, 35)).fires("SSDDriveNotAnswering", serial=serial).check(tmp_path)
    host.await_page(lambda page: up(page)[serial] == 1, seconds=150)


def test_a_killed_agent_leaves_one_smartctl_for_a_drive_that_hangs(host: Host) -> None:
    """Two agents are killed while a drive hangs; each new one finds the program of the first."""
    serial = drives.SOFT_SLOW
    controller = device(host.page(), serial).partition("n1")[0]

    def running() -> list[str]:
        found = host.machine.run("pgrep", "--full", f"smartctl .*/dev/{controller}").output
        return found.split()

    def agent() -> str:
        show = ("systemctl", "show", "--value", "--property=MainPID", _AGENT)
        return host.machine.output(*show).strip()

    host.set(serial, health_delay_seconds=_KILLS_SECONDS)
    host.restart_agent()
    host.await_page(lambda _page: running() != [])
    first = running()
    for _ in range(2):
        killed = agent()
        host.machine.output("kill", "-KILL", killed)
        host.await_page(lambda _page, killed=killed: agent() not in (killed, "0"))  # type: ignore[misc]
        page = host.await_page(lambda page: 1 in up(page).values())
        assert first == running()
    host.set(serial, health_delay_seconds=0)
    assert {1.0} == {value for who, value in up(page).items() if who != serial}
    host.await_page(lambda _page: first[0] not in running(), seconds=_KILLS_SECONDS + SOON)
    host.await_page(lambda page: up(page).get(serial) == 1 and running() == [])


def test_a_smartctl_that_crashes_concerns_only_its_drive(host: Host, tmp_path: Path) -> None:
    serial = drives.NVME_NEXT if drives.NVME not in up(host.page()) else drives.NVME
    before = host.page()
    controller = device(before, serial).partition("n1")[0]
    script = f'#!/bin/sh\ncase "$*" in */dev/{controller}) kill -SEGV $$ ;; esac\n'
    host.machine.write(_CRASHING, script + 'exec /usr/sbin/smartctl "$@"\n')
    host.machine.output("chmod", "755", _CRASHING)
    defaults = host.machine.output("cat", _DEFAULTS)
    host.machine.write(_DEFAULTS, f'{defaults}\nAGENT_ARGS="--smartctl.path={_CRASHING}"\n')
    host.machine.output("systemctl", "restart", "ssd-smart-agent.service")
    page = host.await_page(lambda page: up(page)[serial] == 0)
    assert {1.0} == {value for who, value in up(page).items() if who != serial}
    (text,) = host.check().texts(serial)
    assert "smartctl was killed by signal 11" in text
    story = Story((before, 5), (page, 35)).fires("SSDDriveNotAnswering", serial=serial)
    story.fires(serial=drives.SATA_SSD).check(tmp_path)
    host.machine.write(_DEFAULTS, defaults)
    host.machine.output("systemctl", "restart", "ssd-smart-agent.service")
    host.await_page(lambda page: up(page)[serial] == 1)
