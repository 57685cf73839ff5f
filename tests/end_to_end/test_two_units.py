"""Failing drives and a failing agent in the deployment that the package installs: two units.

Each scene checks the page, `ssd-exporter check`, and the alerts that the rules derive from pages.
"""

import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.alerts.page_story import Story
from tests.duration import wait_until
from tests.end_to_end.emulated_drives import EmulatedDrives
from tests.end_to_end.page import Page
from tests.end_to_end.programs import need
from tests.end_to_end.two_units import TwoUnits
from tests.end_to_end.waiting import await_page

#: A drive that timed out is polled again after 20 s, a scan that was requested follows after up to
#: 45 s, and the daemon reads documents every 5 s. The rest is margin for a busy machine.
LIMIT_SECONDS = 120.0

#: The alert for a drive that does not answer requires 30 minutes, that for a lost drive 10.
_MINUTES = 40

Units = TwoUnits[EmulatedDrives]
Fault = Callable[[EmulatedDrives, str], object]


def hangs(drives: EmulatedDrives, node: str) -> None:
    """Smartctl ignores SIGTERM and must be killed."""
    drives.smartctl.hangs(node)


def hangs_until_sigterm(drives: EmulatedDrives, node: str) -> None:
    drives.smartctl.does(node, "exec sleep 300\n")


def crashes(drives: EmulatedDrives, node: str) -> None:
    drives.smartctl.does(node, "kill -SEGV $$\nsleep 300\n")


def prints_garbage(drives: EmulatedDrives, node: str) -> None:
    drives.smartctl.does(node, "head -c 100000 /dev/urandom\nexit 4\n")


def prints_half_a_report(drives: EmulatedDrives, node: str) -> None:
    drives.smartctl.does(node, 'printf \'{"smartctl": {"exit_status": 0}, "dev\'\n')


def does_not_identify_itself(drives: EmulatedDrives, node: str) -> None:
    drives.smartctl.says(node, '{"smartctl":{"version":[7,3],"exit_status":2}}', 2)


#: The fault of each node, and words of the message that names it. The other nodes are healthy.
FAULTS: dict[str, tuple[Fault, str]] = {
    "sda": (hangs, "smartctl was ended: it ran longer than 5 s"),
    "nvme0": (hangs_until_sigterm, "smartctl was ended: it ran longer than 5 s"),
    "sdb": (crashes, "smartctl was killed by signal 11"),
    "nvme1": (prints_garbage, "exit status 4"),
    "sdc": (prints_half_a_report, "smartctl's JSON"),
    "nvme2": (does_not_identify_itself, "the drive did not identify itself"),
}
HEALTHY = ("sdd", "nvme3")
DRIVES = len(FAULTS) + len(HEALTHY)


@pytest.fixture
def units() -> Iterator[Units]:
    # Every user can enter this directory, unlike that of pytest.
    with tempfile.TemporaryDirectory(prefix="ssd-two-units-", dir="/var/tmp") as root:
        drives = EmulatedDrives(Path(root) / "host", DRIVES)
        yield TwoUnits(Path(root), drives, agent_is_ahead=True)


def up(page: Page) -> dict[str, float]:
    """Returns for each drive whether it answers, by serial number."""
    return {labels["serial"]: value for labels, value in page.find("ssd_device_up")}


def settled(units: Units) -> Page:
    """Returns the first page on which every drive answers and the agent works."""
    expected = dict.fromkeys(units.drives.serials.values(), 1.0)

    def is_healthy(page: Page) -> bool:
        return expected == up(page) and 1 == page.value("ssd_collector_success", collector="smart")

    return await_page(units.daemon, is_healthy, LIMIT_SECONDS)


def faulty(units: Units) -> Page:
    """Returns the first page on which exactly the drives with a fault are down."""
    serials = units.drives.serials
    expected = {serial: float(node not in FAULTS) for node, serial in serials.items()}
    return await_page(units.daemon, lambda page: expected == up(page), LIMIT_SECONDS)


def assert_each_fault_is_reported(units: Units, verb: str) -> None:
    """In `check` and in the journal; no other drive is reported."""
    found, log = units.check(), units.daemon.log
    for node, serial in units.drives.serials.items():
        if node not in FAULTS:
            assert [] == found[serial]
            assert f"serial {serial})" not in log
            continue
        (problem,) = found[serial]
        assert problem.startswith(f"warning: {verb}"), problem
        assert FAULTS[node][1] in problem
        (line,) = [line for line in log.splitlines() if f"serial {serial})" in line]
        assert "level=warning" in line
        assert FAULTS[node][1] in line


def expect_not_answering(story: Story, units: Units) -> Story:
    for node, serial in units.drives.serials.items():
        story.fires(*(["SSDDriveNotAnswering"] if node in FAULTS else []), serial=serial)
    return story


def test_drives_that_fail_after_their_first_answer_are_down_until_they_answer_again(
    units: Units, tmp_path: Path
) -> None:
    need("promtool")
    with units:
        before = settled(units)
        for node, (fault, _) in FAULTS.items():
            fault(units.drives, node)
        page = faulty(units)
        assert 1 == page.value("ssd_collector_success", collector="smart")
        assert_each_fault_is_reported(units, "it no longer answers SMART commands: ")
        story = expect_not_answering(Story((before, 5), (page, _MINUTES)), units)

        for node in FAULTS:
            units.drives.answers(node)
        story.then(settled(units), 20)
        for serial in units.drives.serials.values():
            story.fires(serial=serial)
        assert {} == {serial: found for serial, found in units.check().items() if found}
        assert len(FAULTS) == units.daemon.log.count("answers again")
        story.check(tmp_path)
    assert [] == units.agent.complaints


def test_drives_that_never_answered_are_down_with_their_serial_numbers(
    units: Units, tmp_path: Path
) -> None:
    """The serial numbers come from /sys."""
    need("promtool")
    for node, (fault, _) in FAULTS.items():
        fault(units.drives, node)
    with units:
        page = faulty(units)
        assert_each_fault_is_reported(units, "")
        expect_not_answering(Story((page, _MINUTES)), units).check(tmp_path)
        assert 200 == units.daemon.get("/metrics").status


def problems(units: Units) -> list[str]:
    return [each for each in units.daemon.complaints if "collector smart" in each]


def thread_states(pid: int) -> set[str]:
    """Returns the states of the threads of a process in /proc: T is stopped (proc_pid_stat(5))."""
    stats = [(task / "stat").read_text() for task in Path("/proc", str(pid), "task").iterdir()]
    return {stat.rpartition(") ")[2][0] for stat in stats}


def test_a_truncated_document_concerns_only_its_drive(units: Units, tmp_path: Path) -> None:
    """As after a power failure, if the documents are on a disk."""
    need("promtool")
    with units:
        story = Story((settled(units), 5))
        before = up(units.daemon.page())
        units.daemon.stop()
        units.agent.process.send_signal(signal.SIGSTOP)
        # A thread stops later than the signal is sent, and could write a document in between.
        wait_until(lambda: {"T"} == thread_states(units.agent.process.pid), "the stop of the agent")
        damaged = {"sda": 1000, "nvme0": 0}
        for node, size in damaged.items():
            for file in units.documents.glob(f"drive-dev-{node}-*.json"):
                os.truncate(file, size)
        with units.daemon:
            others = {
                serial: 1.0 for node, serial in units.drives.serials.items() if node not in damaged
            }
            page = await_page(
                units.daemon,
                lambda page: (
                    others == up(page)
                    and 0 == page.value("ssd_collector_success", collector="smart")
                ),
                LIMIT_SECONDS,
            )
            # A problem is on the page a moment before it is in the log.
            wait_until(lambda: problems(units))
            (line,) = problems(units)
            assert "drive-dev-" in line
            story.then(page, 30).fires("SSDCollectorFailed")
            units.agent.process.send_signal(signal.SIGCONT)
            await_page(units.daemon, lambda page: before == up(page), LIMIT_SECONDS)
            page = await_page(
                units.daemon,
                lambda page: 1 == page.value("ssd_collector_success", collector="smart"),
                LIMIT_SECONDS,
            )
            story.then(page, 30).fires().check(tmp_path)
            assert {} == {serial: found for serial, found in units.check().items() if found}


def is_without_drives(page: Page) -> bool:
    return {} == up(page)


@pytest.mark.parametrize("ends", ["is stopped", "hangs"])
def test_an_agent_that_ends_for_an_hour_is_an_alert_of_the_host_and_of_no_drive(
    units: Units, tmp_path: Path, ends: str
) -> None:
    """After the maximum age, the page contains no values of the drives."""
    need("promtool")
    with units:
        before = settled(units)
        if ends == "hangs":
            units.agent.process.send_signal(signal.SIGSTOP)
        else:
            units.stop_agent()
        page = await_page(units.daemon, is_without_drives, LIMIT_SECONDS)
        page = await_page(
            units.daemon,
            lambda page: 0 == page.value("ssd_collector_success", collector="smart"),
            LIMIT_SECONDS,
        )
        story = Story((before, 5)).then(page, 60, stopped="ssd_smart_agent_")
        story.fires("SSDAgentDown", "SSDCollectorFailed")
        if os.geteuid() == 0:
            # `check` polls the drives itself.
            assert {} == {serial: found for serial, found in units.check().items() if found}

        if ends == "hangs":
            units.agent.process.send_signal(signal.SIGCONT)
        else:
            units.start_agent()
        story.then(settled(units), 30).fires().check(tmp_path)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=["restart", "kill -9"])
def test_no_drive_disappears_while_the_agent_is_restarted(
    units: Units, tmp_path: Path, number: signal.Signals
) -> None:
    need("promtool")
    with units:
        before = settled(units)
        everything = dict.fromkeys(units.drives.serials.values(), 1.0)
        units.restart_agent(number)
        restarted_at = time.time()

        def is_polled_again(page: Page) -> bool:
            assert everything == up(page)
            return all(
                at > restarted_at for _, at in page.find("ssd_smart_last_success_timestamp_seconds")
            )

        page = await_page(units.daemon, is_polled_again, LIMIT_SECONDS)
        Story((before, 5), (page, 40)).fires().check(tmp_path)
        assert {} == {serial: found for serial, found in units.check().items() if found}
    assert [] == units.daemon.complaints


def test_a_drive_is_pulled_and_replaced(units: Units, tmp_path: Path) -> None:
    need("promtool")
    with units:
        before = settled(units)
        serial = units.drives.serials["nvme1"]
        all_others = {each: 1.0 for each in up(before) if each != serial}
        units.drives.pull("nvme1")

        def is_pulled(page: Page) -> bool:
            known_to_the_kernel = page.labels("ssd_device_info", "serial")
            return all_others | {serial: 0.0} == up(page) and serial not in known_to_the_kernel

        pulled = await_page(units.daemon, is_pulled, LIMIT_SECONDS)
        missing = f"critical: it is missing; if it was removed: ssd-exporter forget {serial}"
        await_missing(units, serial, missing)
        story = Story((before, 30), (pulled, 15)).fires("SSDDriveLost", serial=serial)
        for each in all_others:
            story.fires(serial=each)

        units.drives.plug("nvme1", "REPLACEMENT")
        page = await_page(
            units.daemon,
            lambda page: all_others | {serial: 0.0, "REPLACEMENT": 1.0} == up(page),
            LIMIT_SECONDS,
        )
        assert "nvme1n1" in {
            labels["device"] for labels, _ in page.find("ssd_device_up", serial="REPLACEMENT")
        }
        story.then(page, 30).fires("SSDDriveReplaced", serial=serial).fires(serial="REPLACEMENT")
        for each in all_others:
            story.fires(serial=each)

        assert 0 == units.command("forget", serial).returncode
        page = await_page(units.daemon, lambda page: serial not in up(page), LIMIT_SECONDS)
        assert all_others | {"REPLACEMENT": 1.0} == up(page)
        story.then(page, 30).fires(serial=serial).fires(serial="REPLACEMENT").check(tmp_path)
        # The page shows the inventory before it is saved, and `check` reads the saved one.
        wait_until(lambda: not any(units.check().values()), "the saved inventory")


def await_missing(units: Units, serial: str, expected: str) -> None:
    """Waits until `check` reports the drive as missing; the daemon saves its inventory first."""
    until = time.monotonic() + LIMIT_SECONDS
    while [expected] != (found := units.check().get(serial, [])):
        assert time.monotonic() < until, found
        time.sleep(0.5)


def test_users_and_modes_are_those_of_the_units(units: Units) -> None:
    """The daemon has a user of its own if these tests can change users."""
    with units:
        settled(units)
        daemon, agent = (
            Path("/proc", str(unit.process.pid)) for unit in (units.daemon, units.agent)
        )
        assert os.geteuid() == agent.stat().st_uid
        if units.is_separate:
            assert 0 != daemon.stat().st_uid
            assert "CapEff:\t0000000000000000\n" in (daemon / "status").read_text()
        modes = {file.stat().st_mode & 0o777 for file in units.documents.glob("*.json")}
        assert {0o640} == modes
        assert 0o750 == units.documents.stat().st_mode & 0o777
    assert 0o750 == units.state.stat().st_mode & 0o777
    kept = {place: place.stat().st_mode & 0o777 for place in units.state.rglob("*")}
    assert {0o700} == {mode for place, mode in kept.items() if place.is_dir()}
    assert {0o600} == {mode for place, mode in kept.items() if not place.is_dir()}
