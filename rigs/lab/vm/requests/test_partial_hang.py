"""Half of the requests of a device hang, and the kernel's own counters show it."""

import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from rigs.lab.vm import drives
from rigs.lab.vm.host import Host, device, up
from tests.end_to_end.page import Page

#: Sectors of each half of the device. Reads of the second half hang while its target is suspended.
_HALF = (64 << 20) // 512 // 2

#: Readers of each half. One read of each is in flight at a time.
_READERS = 4

_READ_BYTES = 64 << 10

#: Reads at random places, each thread in one half, with pauses: the CPU is emulated, and a program
#: for each read would take all of it. Arguments: the device, readers of each half, sectors of it.
_READ = f"""\
import mmap, os, random, sys, threading, time
path, readers, sectors = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
half = sectors * 512

def read(first):
    disk = os.open(path, os.O_RDONLY | os.O_DIRECT)
    content = mmap.mmap(-1, {_READ_BYTES})
    while True:
        os.preadv(disk, [content], first + random.randrange(half // {_READ_BYTES}) * {_READ_BYTES})
        time.sleep(0.05)

for number in range(2 * readers):
    threading.Thread(target=read, args=(number % 2 * half,)).start()
"""

#: A partial hang counts within this number of samples, one per second.
_MAX_SAMPLES = 10.0

#: The time that the hang lasts after it was found.
_SECONDS = 5.0


def stalled(page: Page, name: str) -> float:
    return page.value("ssd_disk_stalled_seconds_total", device=name)


def samples(page: Page) -> float:
    return page.value("ssd_sampler_samples_total")


def mapped(host: Host, name: str, table: str) -> str:
    """Creates a read-only mapped device; returns the name of its block device."""
    # Without udev's confirmation, which the small guest does not send.
    host.machine.output("dmsetup", "create", "--noudevsync", "--concise", f"{name},,,ro,{table}")
    wanted = ("dmsetup", "info", "-c", "--noheadings", "-o", "blkdevname", name)
    return host.machine.output(*wanted).strip()


def nvme(page: Page) -> str | None:
    """Serial number of the NVMe drive that is present: another test replaces it."""
    answer = up(page)
    return next((one for one in (drives.NVME, drives.NVME_NEXT) if answer.get(one) == 1), None)


@pytest.fixture
def halves(host: Host) -> Iterator[str]:
    """A device with two halves, "free" and "held", and readers of both; its name."""
    with ExitStack() as stack:
        page = host.await_page(lambda page: nvme(page) is not None)
        disk = device(page, nvme(page) or "")
        run = host.machine.run
        host.machine.output("modprobe", "dm_mod")
        for name in ("both", "held", "free"):
            stack.callback(run, "dmsetup", "remove", "--noudevsync", "--force", name)
        free = mapped(host, "free", f"0 {_HALF} linear /dev/{disk} 0")
        held = mapped(host, "held", f"0 {_HALF} linear /dev/{disk} {_HALF}")
        table = f"0 {_HALF} linear /dev/{free} 0,{_HALF} {_HALF} linear /dev/{held} 0"
        both = mapped(host, "both", table)
        stack.callback(run, "systemctl", "stop", "readers")
        stack.callback(run, "dmsetup", "resume", "--noudevsync", "held")
        unit = ("systemd-run", "--unit=readers", "--collect", "/usr/bin/python3", "-c", _READ)
        host.machine.output(*unit, f"/dev/{both}", str(_READERS), str(_HALF))
        yield both


def test_half_of_a_device_that_hangs_counts_as_stalled(host: Host, halves: str) -> None:
    """A suspended target of the device mapper holds half of the requests; the others complete."""

    def reads(page: Page) -> float:
        found = page.find("ssd_disk_reads_completed_total", device=halves)
        return next((value for _, value in found), 0.0)

    calm = host.await_page(lambda page: reads(page) > 0)
    calm = host.await_page(lambda page: samples(page) > samples(calm) + 5)
    assert 0 == stalled(calm, halves)

    host.machine.output("dmsetup", "suspend", "--noudevsync", "--nolockfs", "--noflush", "held")
    before = host.page()
    not_yet, asked = before, time.monotonic()

    def is_hung(page: Page) -> bool:
        nonlocal not_yet, asked
        if stalled(page, halves) == 0:
            not_yet, asked = page, time.monotonic()
            return False
        return True

    hung = host.await_page(is_hung)
    assert reads(hung) > reads(before), "the other half is read on"
    assert samples(not_yet) - samples(before) < _MAX_SAMPLES
    later = host.await_page(lambda page: stalled(page, halves) > stalled(hung, halves) + _SECONDS)
    # On a slow machine, requests that do not hang may take a second, too. The hang then seems to
    # end, and is found again.
    assert samples(later) - samples(hung) <= _SECONDS + _MAX_SAMPLES
    grown = stalled(later, halves) - stalled(hung, halves)
    assert grown <= time.monotonic() - asked + 2, "the page is up to a second old, twice"

    host.machine.output("dmsetup", "resume", "--noudevsync", "held")
    resumed = host.page()
    after = host.await_page(lambda page: samples(page) > samples(resumed) + 3)
    last = host.await_page(lambda page: samples(page) > samples(after) + 5)
    assert stalled(after, halves) == stalled(last, halves)
    assert reads(last) > reads(after)
