"""The daemon polls drives itself: failing, replaced and hanging drives, and no smartctl."""

import json
import os
import shlex
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from rigs.devices import smart_reports
from tests.duration import EXTENSION, ahead_of_other_work, at_most, pressure_seconds, wait_until
from tests.end_to_end.daemon import Daemon
from tests.end_to_end.made_up import MadeUpDrives
from tests.end_to_end.page import Page
from tests.end_to_end.waiting import SOON, await_page, up

#: The timeout of a smartctl that hangs, in seconds.
TIMEOUT = 4

#: Time until a hanging drive is down, in seconds: the timeout, and 2 s until SIGKILL.
KNOWN_TO_HANG = TIMEOUT + 2.0

#: Maximum time until the next poll of a drive that hung, in seconds. Each poll that hung doubles
#: the interval of 10 s. On a busy machine several polls hang before the test goes on.
HEALED = 320.0 + SOON

LAST_SUCCESS = "ssd_smart_last_success_timestamp_seconds"


@pytest.fixture(autouse=True)
def ahead() -> Iterator[None]:
    """A poll has a time limit of seconds, so the processes of smartctl must not wait for a CPU."""
    with ahead_of_other_work():
        yield


@pytest.fixture
def drives(tmp_path: Path) -> MadeUpDrives:
    return MadeUpDrives(tmp_path / "drives", 24)


@pytest.fixture
def end_later() -> Iterator[list[Path]]:
    """Yields a list for files with process ids. These processes are killed after the test."""
    files: list[Path] = []
    yield files
    for file in files:
        with suppress(OSError, ValueError):
            os.kill(int(file.read_text()), signal.SIGKILL)


def test_a_hanging_drive_affects_only_itself_until_it_answers(
    tmp_path: Path, drives: MadeUpDrives
) -> None:
    drives.hangs("rig7")
    others = dict.fromkeys(drives.names, 1.0)
    del others["rig7"]
    # On a busy machine, a poll of another drive may take longer than this timeout.
    config = drives.config(more=f"[device.rig7]\nsmart_timeout_seconds = {TIMEOUT}\n")
    begun, waited = time.monotonic(), pressure_seconds()
    with Daemon(tmp_path / "daemon", *drives.flags, config=config) as daemon:
        page = await_page(daemon, lambda page: others.items() <= up(page).items())
        # The hanging drive delayed no other poll and no scrape.
        extension = EXTENSION * (pressure_seconds() - waited)
        assert time.monotonic() - begun < 10 + extension
        with at_most(50 * 0.05, "50 scrapes"):
            assert {200} == {daemon.get("/metrics").status for _ in range(50)}

        page = await_page(daemon, lambda page: others | {"rig7": 0.0} == up(page))
        extension = EXTENSION * (pressure_seconds() - waited)
        assert time.monotonic() - begun < 10 + KNOWN_TO_HANG + extension
        assert 1 == page.value("ssd_smart_polls_total", device="rig7", result="timed_out")
        assert [] == list(page.find("ssd_smart_healthy", device="rig7"))

        drives.says("rig7", smart_reports.of(7))
        page = await_page(daemon, lambda page: 24 == sum(up(page).values()), HEALED)
        now = time.time()
        assert 7 == page.value("ssd_smart_media_errors_total", device="rig7", serial="RIGN000007")
        # The other drives were polled every 10 s throughout.
        limit = 15 + EXTENSION * (pressure_seconds() - waited)
        ages = {labels["device"]: now - at for labels, at in page.find(LAST_SUCCESS)}
        assert {} == {device: age for device, age in ages.items() if age > limit}
        assert {0.0} == {value for _, value in page.find("ssd_command_stuck")}
    (complaint,) = daemon.complaints
    assert "/dev/rig7 -d nvme does not answer: smartctl was ended" in complaint
    assert 1 == daemon.log.count("serial RIGN000007) answers again")


def test_empty_bays_of_a_controller_are_no_lost_drives_until_one_was_used(tmp_path: Path) -> None:
    """The settings name the bays 0 to 3. A drive is in bay 1, and leaves it."""
    drives = MadeUpDrives(tmp_path / "drives", 1)
    report = shlex.quote(json.dumps(smart_reports.ata(9)))
    answers = f"case $* in *cciss,1*) printf '%s' {report}; exit 0 ;; esac\nexit 2\n"
    bays = '[[smart.drive]]\npath = "/dev/bays"\ntype = "cciss,0-3"\n'
    drives.stand_in.does("bays", answers)
    with Daemon(tmp_path / "daemon", *drives.flags, config=drives.config(more=bays)) as daemon:
        polls = "ssd_smart_polls_total"
        page = await_page(daemon, lambda page: 5 == len(list(page.find(polls))))
        assert {"rig0": 1.0, "bays:cciss,1": 1.0} == up(page)
        assert {"rig0", "bays:cciss,1"} == {
            labels["device"] for labels, _ in page.find("ssd_device_info")
        } - {"vda"}
        drives.stand_in.does("bays", "exit 2\n")
        await_page(daemon, lambda page: up(page) == {"rig0": 1.0, "bays:cciss,1": 0.0}, 2 * SOON)
    assert [] == [line for line in daemon.complaints if "cciss,1 " not in line]


def growth(before: Page, after: Page) -> dict[str, float]:
    """Returns Prometheus's increase() over two scrapes for the counters of drives."""
    found = {}
    for (name, labels), value in after.samples.items():
        family = name.removesuffix("_total")
        if not name.startswith("ssd_smart_") or after.kinds.get(family) != "counter":
            continue
        last = before.samples.get((name, labels))
        if last is not None:
            # A counter that decreased was reset. A series with one sample has no increase.
            found[f"{name}{sorted(labels)}"] = value - last if value >= last else value
    return found


def test_a_replaced_drive_has_new_series_and_causes_no_increase(
    tmp_path: Path, drives: MadeUpDrives
) -> None:
    """The new drive's counters are lower or higher than those of the old one."""
    swapped = {
        "rig0": (smart_reports.ata(0, age=90_000), smart_reports.ata(0, serial="SWAP0")),
        "rig1": (smart_reports.nvme(1), smart_reports.nvme(1, age=90_000, serial="SWAP1")),
    }
    for name, (old, _) in swapped.items():
        drives.says(name, old)
    with Daemon(tmp_path / "daemon", *drives.flags, config=drives.config()) as daemon:
        before = await_page(daemon, lambda page: 24 == sum(up(page).values()))
        for name, (_, new) in swapped.items():
            drives.says(name, new)
        new_ones = {"SWAP0", "SWAP1"}
        after = await_page(
            daemon, lambda page: new_ones <= page.labels("ssd_smart_healthy", "serial"), 15 + SOON
        )
        assert {"RIGA000000", "RIGN000001"}.isdisjoint(after.labels("ssd_smart_healthy", "serial"))
        asked = "ssd_smart_polls_total"
        later = await_page(
            daemon,
            lambda page: all(
                page.value(asked, serial=serial, result="success")
                > after.value(asked, serial=serial, result="success")
                for serial in new_ones
            ),
            15 + SOON,
        )
    for earlier, then in ((before, after), (after, later), (before, later)):
        grown = growth(earlier, then)
        assert len(grown) > 100
        assert {} == {
            series: by for series, by in grown.items() if by and not series.startswith(asked)
        }
    # A removed drive is missing until `ssd-exporter forget`.
    for name, serial in (("rig0", "RIGA000000"), ("rig1", "RIGN000001")):
        assert 0 == later.value("ssd_device_up", device=name, serial=serial)


@pytest.mark.parametrize(
    ("scan", "said"),
    [
        (None, ["No such file", "install smartmontools or set --smartctl.path"]),
        ("echo 'smartctl 6.6 2016-05-31 r4324'; echo '=> UNRECOGNIZED OPTION: json'; exit 1",
         ["smartctl 6.6", "version 7.0 or newer is required"]),
        ("exec yes", ["more than 1048576 bytes"]),
        ("kill -SEGV $$", ["killed by signal 11"]),
        ("echo '{\"smartctl\":'", ["smartctl's JSON"]),
        ("exit 0", ["printed no JSON"]),
    ],
    ids=["missing", "too old", "prints for ever", "dies", "cut off", "silent"],
)  # fmt: skip
def test_an_unusable_smartctl_costs_only_smart_values_and_is_logged(
    tmp_path: Path, drives: MadeUpDrives, scan: str | None, said: list[str]
) -> None:
    flags = [*drives.flags]
    if scan is None:
        flags.append("--smartctl.path=/nowhere/smartctl")
    else:
        drives.stand_in.does("--scan-open", f"{scan}\n")
    with Daemon(tmp_path / "daemon", *flags, config=drives.config()) as daemon:

        def is_known(page: Page) -> bool:
            return 0 in [
                value for _, value in page.find("ssd_collector_success", collector="smart")
            ]

        page = await_page(daemon, is_known)
        assert {} == up(page)
        assert daemon.next_page(3).value("ssd_sampler_samples_total") > 3

        def about_smart() -> list[str]:
            return [line for line in daemon.complaints if "collector smart" in line]

        # A problem is on the page a moment before it is in the log.
        wait_until(about_smart, "the log line")
        (complaint,) = about_smart()
        assert [] == [words for words in said if words not in complaint], complaint


def test_a_failure_of_one_drive_affects_only_that_drive(
    tmp_path: Path, drives: MadeUpDrives
) -> None:
    drives.stand_in.prints_forever("rig1")
    drives.stand_in.dies("rig2", "SEGV")
    drives.stand_in.says("rig3", "no JSON at all")
    drives.stand_in.is_in_standby("rig4")
    drives.stand_in.does("rig5", "exit 2\n")
    results = {
        "rig1": "too_much_output",
        "rig2": "killed",
        "rig3": "unreadable",
        "rig4": "standby",
        "rig5": "unreadable",
    }
    with Daemon(tmp_path / "daemon", *drives.flags, config=drives.config()) as daemon:
        page = await_page(daemon, lambda page: 24 == len(up(page)))
    polls = page.find("ssd_smart_polls_total")
    assert results == {
        labels["device"]: labels["result"] for labels, _ in polls if labels["result"] != "success"
    }
    assert {name: float(name == "rig4" or name not in results) for name in up(page)} == up(page)
    assert 1 == page.value("ssd_collector_success", collector="smart")
    said = [line for line in daemon.complaints if " does not answer: " in line]
    assert daemon.complaints == said
    logged = {name for name in results if any(f"/dev/{name} " in line for line in said)}
    assert results.keys() - {"rig4"} == logged


def test_a_first_survey_that_hangs_is_logged_and_its_results_follow(
    tmp_path: Path, drives: MadeUpDrives
) -> None:
    drives.stand_in.does("--version", "exec sleep 300\n")
    config = drives.config(timeout_seconds=TIMEOUT)
    with Daemon(tmp_path / "daemon", *drives.flags, config=config) as daemon:
        assert "the page is served without them until it has ended" in daemon.log
        surveyed = "ssd_survey_last_success_timestamp_seconds"
        await_page(daemon, lambda page: [] != list(page.find(surveyed)), HEALED)
    assert [] == daemon.complaints


def test_sigterm_ends_the_daemon_within_a_second_while_a_poll_hangs(
    tmp_path: Path, drives: MadeUpDrives, end_later: list[Path]
) -> None:
    end_later += [drives.hangs(name) for name in ("rig2", "rig9")]
    heeding = tmp_path / "heeding"
    drives.stand_in.does("rig4", f"echo $$ >> {heeding}\nexec sleep 300\n")
    with Daemon(tmp_path / "daemon", *drives.flags, config=drives.config()) as daemon:
        wait_until(lambda: all(file.exists() for file in (*end_later, heeding)))
        with at_most(1):
            assert 0 == daemon.stop()
    assert [] == daemon.complaints
    # The process that reacts to SIGTERM must end, too. On a busy machine this takes a moment.
    polls = [Path("/proc", pid) for pid in heeding.read_text().split()]
    wait_until(lambda: not any(poll.exists() for poll in polls), "its end")
