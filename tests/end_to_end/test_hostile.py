"""Extreme hosts: thousands of devices, special characters in names, devices that flap."""

import json
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.duration import ahead_of_other_work, at_most, pressure_seconds, wait_until
from tests.end_to_end.daemon import Daemon, sample_count
from tests.end_to_end.host import Host
from tests.end_to_end.page import Page
from tests.end_to_end.waiting import await_page
from tests.linux import trees

#: Names that the default settings do not exclude. They have no white space, which ends a name in
#: /proc/diskstats.
NAMES = (
    'sd"quoted"',
    "sd'quoted'",
    "sd\\n",
    "sd\\",
    'sd",device="sdz',
    "sd{}",
    "sd}1",
    "sdé",
    "sd#",
    "sd<script>",
    "sd$(reboot)",
    "../../sd",
    "cciss/c0d0",
    "sd" + "x" * 200,
)


@contextmanager
def repeatedly(step: Callable[[int], None], seconds: float) -> Iterator[None]:
    """Calls `step` with 0, 1, 2, ... at random moments, on average at this interval."""
    over = threading.Event()
    chance = random.Random(0)

    def run() -> None:
        number = 0
        while not over.wait(chance.uniform(0.5, 1.5) * seconds):
            step(number)
            number += 1

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def answer(daemon: Daemon, path: str, **headers: str) -> str:
    found = daemon.get(path, **headers)
    assert 200 == found.status
    return found.body.decode()


def test_two_thousand_devices_with_special_names_make_a_valid_page(tmp_path: Path) -> None:
    host = Host(tmp_path)
    names = [*NAMES, *(f"sd{number}q" for number in range(2000 - len(NAMES)))]
    for number, name in enumerate(names):
        host.disk(name, number)
    host.diskstats(names)
    waited = pressure_seconds()
    # The server limits the time of a response, so the daemon must not wait for a CPU.
    with ahead_of_other_work(), Daemon(tmp_path / "daemon", *host.flags) as daemon:
        with at_most(5, "the first page of 2,000 devices"):
            answer(daemon, "/metrics")
        host.diskstats(names, operations=50)
        wanted = sample_count(answer(daemon, "/metrics")) + 2
        wait_until(lambda: sample_count(answer(daemon, "/metrics")) >= wanted, "two more samples")
        page = Page.parse(answer(daemon, "/metrics"))
        openmetrics = answer(daemon, "/metrics", Accept="application/openmetrics-text")
        html = answer(daemon, "/")
        memory = daemon.resident_kilobytes() * 1024

    assert set(names) == page.labels("ssd_device_info", "device")
    writes = page.find("ssd_disk_writes_completed_total")
    assert dict.fromkeys(names, 50) == {labels["device"]: value for labels, value in writes}
    # Other tasks may delay a sample. Each gap means that they waited for longer than an interval.
    assert page.value("ssd_sampler_gaps_total") <= pressure_seconds() - waited
    again = Page.parse(openmetrics, openmetrics=True)
    assert set(names) == again.labels("ssd_disk_io_now", "device")
    assert "<script>" not in html
    assert "sd&lt;script&gt;" in html
    assert [] == daemon.complaints
    assert memory < 400 << 20


def test_names_with_line_breaks_affect_only_their_own_samples(tmp_path: Path) -> None:
    """Models, mountpoints and names of mapped devices keep their line breaks. A row of diskstats
    with a line break in its name is skipped.
    """
    host = Host(tmp_path)
    model, mountpoint = 'X "7"\n\\T\x01', '/srv/a "b"\nc\\d'
    target = trees.sas(host.sys, "sdc").rpartition("/block/")[0]
    host.sys.write(target, {"vendor": "V\nW", "model": model})
    host.sys.disk("devices/virtual/block/sd\nnew")
    host.mounts(trees.mount_line(host.sys.number("sdc"), mountpoint, source="/dev/sdc"))
    host.diskstats(["sdc", "sd\nnew", "sdd"])
    with Daemon(tmp_path / "daemon", *host.flags) as daemon:
        # The first survey may still run.
        page = await_page(
            daemon, lambda page: {"sdc", "sd\nnew"} <= page.labels("ssd_device_info", "device")
        )

    assert {"sdc", "sdd"} == page.labels("ssd_disk_io_now", "device")
    assert {"sdc", "sd\nnew"} == page.labels("ssd_device_info", "device")
    ((info, _),) = page.find("ssd_device_info", device="sdc")
    assert '"7"\n' in info["model"]
    assert {mountpoint} == page.labels("ssd_mount_info", "mountpoint")
    assert 0 == page.value("ssd_collector_success", collector="disk")
    assert page.value("ssd_collector_errors_total", collector="disk", reason="parse") > 0
    # Every log message is one line.
    for line in daemon.log.splitlines():
        assert line.startswith("ts=")


@pytest.mark.parametrize("renewed", [False, True], ids=["same disk", "new disk"])
def test_a_device_that_flaps_ten_times_a_second_costs_no_page_and_no_memory(
    tmp_path: Path, renewed: bool
) -> None:
    """The same disk each time, or a new disk with a new device number in /sys."""
    host = Host(tmp_path)
    for name in ("sda", "sdb"):
        host.sys.disk(f"devices/virtual/block/{name}")
    host.diskstats(["sda", "sdb"])
    link = host.sys.root / "block/sdb"

    def flap(number: int) -> None:
        if number % 2 == 0:
            link.unlink()
            host.diskstats(["sda"], number)
            return
        if renewed:
            host.sys.write("devices/virtual/block/sdb", {"diskseq": str(1000 + number)})
        link.symlink_to("../devices/virtual/block/sdb")
        host.diskstats(["sda", "sdb"], 0 if renewed else number)

    config = "sampler.interval_seconds = 0.1"
    with Daemon(tmp_path / "daemon", *host.flags, config=config) as daemon:
        pages: list[Page] = []
        resident: list[int] = []
        seen: set[int] = set()
        # At a fixed interval, each sample could show the same state.
        with repeatedly(flap, 0.047):
            while seen != {1, 2} or pages[-1].value("ssd_sampler_samples_total") <= 55:
                pages.append(daemon.next_page(2))
                seen.add(len(pages[-1].labels("ssd_disk_io_now", "device")))
                resident.append(daemon.resident_kilobytes() * 1024)
        state = daemon.state / "state.json"
        assert 0 == daemon.stop()

    assert all(page.value("ssd_disk_io_now", device="sda") == 0 for page in pages)
    for page in pages:
        busy = [value for _, value in page.find("ssd_disk_busy_ratio_sum")]
        assert all(0 <= value < 100 for value in busy)
        assert page.value("ssd_collector_success", collector="disk") == 1
    settled = max(resident[: len(resident) // 2])
    assert max(resident) - settled < 2 << 20
    # The journal has at most five lines about the drive.
    assert [] == [line for line in daemon.complaints if 'msg="drive sdb ' not in line]
    lines = [line for line in daemon.log.splitlines() if " takes more than " not in line]
    assert len(lines) < 10
    assert 1 == json.loads(state.read_text())["version"]
