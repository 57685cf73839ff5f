"""The smart-agent as a process, and the daemon that reads its documents."""

import compileall
import json
import os
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path

import psutil
import pytest

import exporter
from exporter.smart.document_directory import DocumentWriter
from exporter.smart.polling.poll_document import Heartbeat, PollDocument
from rigs.devices import smart_reports
from tests.duration import at_most, wait_until
from tests.end_to_end.agent import Agent
from tests.end_to_end.daemon import Daemon
from tests.end_to_end.made_up import MadeUpDrives
from tests.end_to_end.page import Page
from tests.end_to_end.waiting import SOON, await_page, up
from tests.processes import run_program

#: Resident memory of the agent with 24 drives, after three polls of each.
MAX_RESIDENT_KILOBYTES = 20 * 1024

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away and mounts")


@pytest.fixture
def drives(tmp_path: Path) -> MadeUpDrives:
    return MadeUpDrives(tmp_path / "drives", 6)


def agent_of(drives: MadeUpDrives, directory: Path) -> Agent:
    return Agent(directory, drives.directory, *drives.flags, config=drives.config())


def daemon_of(drives: MadeUpDrives, directory: Path) -> Daemon:
    return Daemon(directory, *drives.flags, config=drives.config("directory"))


def successful_polls(page: Page) -> list[float]:
    return [value for _, value in page.find("ssd_smart_polls_total", result="success")]


def success(daemon: Daemon) -> float:
    return daemon.page().value("ssd_collector_success", collector="smart")


def log_lines(daemon: Daemon) -> list[str]:
    return [line for line in daemon.complaints if "collector smart" in line]


def await_log_lines(daemon: Daemon) -> list[str]:
    """A problem is on the page a moment before it is in the log."""
    wait_until(lambda: log_lines(daemon))
    return log_lines(daemon)


def test_the_agent_lists_its_drives_before_it_is_ready(
    drives: MadeUpDrives, tmp_path: Path
) -> None:
    """The unit of the daemon starts after that of the agent, and needs a heartbeat then."""
    agent = agent_of(drives, tmp_path)
    agent.launch_and_await_ready()
    try:
        assert (drives.directory / "agent.json").exists()
    finally:
        agent.stop()


def test_the_agent_polls_24_drives_for_the_page_within_its_memory_limit(tmp_path: Path) -> None:
    """With reports of 20 KB, after at least three polls of each drive."""
    drives = MadeUpDrives(tmp_path / "drives", 24)
    # The packages do this, too. Compiling at the start would use 1 MB of memory.
    compileall.compile_dir(Path(exporter.__file__).parent, quiet=1)
    with agent_of(drives, tmp_path / "agent") as agent:
        agent.settled(24)
        with daemon_of(drives, tmp_path / "daemon") as daemon:
            page = await_page(daemon, lambda page: 24 == sum(up(page).values()))
            for number in range(24):
                labels = {"device": f"rig{number}", "serial": f"RIG{'AN'[number % 2]}{number:06d}"}
                assert 30 + number % 20 == page.value(
                    "ssd_smart_temperature_celsius", sensor="drive", **labels
                )
            beat = page.value("ssd_smart_agent_heartbeat_timestamp_seconds")
            assert pytest.approx(time.time(), abs=SOON) == beat
            agent.wait_until(
                lambda: all(sum(poll["counts"].values()) >= 3 for poll in agent.polls().values()),
                "three polls of each drive",
                30 + SOON,
            )
            assert agent.resident_kilobytes() <= MAX_RESIDENT_KILOBYTES
            # The agent sets the priority of its unit's Nice= itself.
            assert os.getpriority(os.PRIO_PROCESS, agent.process.pid) >= 10
            page = await_page(
                daemon,
                lambda page: (
                    page.value("ssd_smart_agent_heartbeat_timestamp_seconds") > beat
                    and all(polls >= 3 for polls in successful_polls(page))
                ),
            )
            assert 24 == len(successful_polls(page))
            assert 1 == page.value("ssd_collector_success", collector="smart")
        assert [] == daemon.complaints
        assert 0 == agent.stop()
    assert [] == agent.complaints


def test_the_agent_module_imports_the_standard_library_and_its_own_layer_only() -> None:
    package = Path(exporter.__file__).parent
    code = (
        "import sys; sys.path.append(sys.argv[1]); import exporter.agent\n"
        "for name, module in sorted(sys.modules.items()):\n"
        "    print(name, getattr(module, '__file__', None) or '')\n"
    )
    printed = run_program(
        [sys.executable, "-I", "-S", "-c", code, str(package.parent)], check=True
    ).stdout
    library = Path(sysconfig.get_path("stdlib")).resolve(), package.resolve()
    loaded = dict(line.split(" ", 1) for line in printed.splitlines())
    files = {name: Path(file).resolve() for name, file in loaded.items() if file}
    foreign = {
        name: file
        for name, file in files.items()
        if not any(file.is_relative_to(place) for place in library) or "site-packages" in file.parts
    }
    assert {} == foreign
    # Only the C module of socket is imported, for sd_notify.
    unwanted = {"argparse", "http", "socket", "sqlite3", "ssl", "subprocess", "tomllib"}
    assert set() == unwanted & loaded.keys()
    layers = tuple(f"exporter.{name}" for name in ("config", "io", "metrics", "probe", "web"))
    assert [] == [name for name in loaded if name.startswith(layers)]
    # The agent parses the identity of a drive, and not its health.
    assert "exporter.drives.health" not in loaded


def test_the_running_agent_has_no_socket_and_no_file_of_site_packages(
    tmp_path: Path, drives: MadeUpDrives
) -> None:
    with agent_of(drives, tmp_path / "agent") as agent:
        agent.settled(6)
        process = Path("/proc", str(agent.process.pid))
        opened = []
        for file in (process / "fd").iterdir():
            with suppress(FileNotFoundError):  # It was closed after it was listed.
                opened.append(os.readlink(file))
        assert opened
        assert [] == [file for file in opened if file.startswith("socket:")]
        assert "site-packages" not in (process / "maps").read_text()


def test_sigterm_ends_the_agent_within_a_second_while_drives_hang(
    tmp_path: Path, drives: MadeUpDrives
) -> None:
    """The agent kills smartctl processes that ignore SIGTERM, because no other process would."""
    running = [drives.hangs(name) for name in ("rig1", "rig2", "rig4")]
    with agent_of(drives, tmp_path / "agent") as agent:
        agent.wait_until(lambda: all(file.read_text() for file in running), "all hang")
        with at_most(1):
            assert 0 == agent.stop()
    processes = [Path("/proc", file.read_text().strip()) for file in running]
    # A process that was killed ends when it gets a CPU.
    wait_until(lambda: not any(process.exists() for process in processes), "the end of all")
    assert [] == agent.complaints


def test_sighup_reloads_the_settings(tmp_path: Path, drives: MadeUpDrives) -> None:
    """The documents of drives that are now excluded are removed, and no others."""
    with agent_of(drives, tmp_path / "agent") as agent:
        agent.settled(6)
        process = agent.process.pid
        agent.config.write_text(drives.config() + 'exclude = "rig[23]"\n')
        agent.reload()
        seen: list[int] = []

        def is_removed() -> bool:
            seen.append(len(agent.polls()))
            return seen[-1] == 4

        agent.wait_until(is_removed, "two are excluded")
        # The two are removed one after the other.
        assert {4, 5, 6} >= set(seen)
        assert process == agent.process.pid
        assert {"/dev/rig2", "/dev/rig3"}.isdisjoint(agent.polls())
        assert 0 == agent.stop()
    assert [] == agent.complaints


@pytest.mark.slow
def test_reloads_do_not_make_the_agent_larger(tmp_path: Path, drives: MadeUpDrives) -> None:
    """Before, each one added 1 to 2 KiB to its memory."""

    def await_reloads(number: int) -> None:
        # On a busy machine, the file may not be read in time. This is a reload, too.
        ends = "settings reloaded", "was not read within"
        wait_until(lambda: number == sum(map(agent.log.count, ends)), "a reload")

    def reload(first: int, last: int) -> int:
        """Returns the resident memory afterwards in KiB."""
        for number in range(first, last + 1):
            agent.reload()
            await_reloads(number)
        return agent.resident_kilobytes()

    with agent_of(drives, tmp_path / "agent") as agent:
        agent.settled(6)
        sizes = [reload(first, first + 99) for first in (1, 101, 201, 301)]
        # Each reload that adds memory makes all of them larger. Other causes, such as the first
        # read of a log, add steps of up to 90 KiB, several of which may be in a hundred reloads.
        growth = [after - before for before, after in pairwise(sizes)]
        assert sorted(growth)[1] <= 64, sizes


def test_invalid_settings_end_the_agent_with_one_line_and_the_reason(
    tmp_path: Path, drives: MadeUpDrives
) -> None:
    config = drives.config(more="timeout_second = 3\n")
    with Agent(tmp_path / "agent", drives.directory, *drives.flags, config=config) as agent:
        assert 2 == agent.process.wait(SOON)
    (line,) = agent.log.splitlines()
    assert "did you mean timeout_seconds?" in line


def test_a_removed_run_directory_is_created_again(tmp_path: Path, drives: MadeUpDrives) -> None:
    """If its parent is missing too, this is impossible, and the agent logs one warning."""
    with agent_of(drives, tmp_path / "agent") as agent:
        agent.settled(6)
        # Renamed, because the agent may be writing a file in it.
        drives.directory.rename(tmp_path / "removed")
        agent.wait_until(
            lambda: 6 == len(agent.polls()), "the documents are written again", 15 + SOON
        )
        assert [] == agent.complaints
        drives.directory.parent.rename(tmp_path / "removed parent")
        agent.wait_until(lambda: len(agent.complaints) > 0, "the warning", 15 + SOON)
        time.sleep(10)
        (complaint,) = agent.complaints
        assert f"{drives.directory} cannot be written: No such file or directory" in complaint
        drives.directory.parent.mkdir()
        agent.wait_until(lambda: "can be written again" in agent.log, "the recovery", 30 + SOON)
        agent.wait_until(lambda: 6 == len(agent.polls()), "all documents", 30 + SOON)
        assert 1 == agent.log.count("can be written again")


@contextmanager
def small_disk(directory: Path, kilobytes: int) -> Iterator[Callable[[int], None]]:
    """Mounts a tmpfs and yields a function that sets its size in KiB."""
    directory.mkdir()
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k,mode=0750", "rig", directory], check=True
    )

    def resize(kilobytes: int) -> None:
        options = f"remount,size={kilobytes}k"
        subprocess.run(["mount", "-o", options, directory], check=True)

    try:
        yield resize
    finally:
        subprocess.run(["umount", "--lazy", directory], check=True)


@needs_root
def test_a_full_run_directory_loses_only_documents_that_do_not_fit(
    tmp_path: Path, drives: MadeUpDrives
) -> None:
    """The NVMe documents and the heartbeat fit, SATA documents do not. One warning is logged."""
    # With log pages, the NVMe documents would be larger from the second poll on.
    config = drives.config(more="nvme_logs = false\n")
    with (
        small_disk(drives.directory, 44) as resize,
        Agent(tmp_path / "agent", drives.directory, *drives.flags, config=config) as agent,
    ):
        agent.wait_until(lambda: 6 == len(agent.heartbeat()["drives"]), "the heartbeat")
        agent.wait_until(lambda: len(agent.complaints) > 0, "the warning")
        with daemon_of(drives, tmp_path / "daemon") as daemon:
            # Within half a minute each drive is polled again. Only short documents can be written.
            agent.wait_until(
                lambda: any(sum(p["counts"].values()) >= 3 for p in agent.polls().values()),
                "three polls",
                30 + SOON,
            )
            (complaint,) = agent.complaints
            assert "cannot be written: No space left on device" in complaint
            # A document that is being written has a temporary file at this moment.
            agent.wait_until(lambda: not list(drives.directory.glob(".*")), "no temporary file")
            assert "can be written again" not in agent.log
            page = await_page(daemon, lambda page: len(agent.polls()) == sum(up(page).values()))
            assert 0 < len(agent.polls()) < 6
            resize(4096)
            page = await_page(daemon, lambda page: 6 == sum(up(page).values()), 15 + SOON)
            assert 1 == page.value("ssd_collector_success", collector="smart")
        # A drive without a document for half a minute is reported as not answering.
        assert [] == [line for line in daemon.complaints if " does not answer: " not in line]
        agent.wait_until(lambda: "can be written again" in agent.log, "the recovery")


def forge_owner(file: Path) -> str:
    os.chown(file, 12345, -1)
    return "it belongs to user 12345"


def forge_mode(file: Path) -> str:
    file.chmod(0o666)
    return "other users than its owner can write it"


def forge_link(file: Path) -> str:
    elsewhere = file.with_name("elsewhere")
    file.rename(elsewhere)
    file.symlink_to(elsewhere)
    return "symbolic link"


def forge_second_name(file: Path) -> str:
    os.link(file, file.with_name("second"))
    return "it has several names"


@pytest.mark.parametrize(
    "forge",
    [pytest.param(forge_owner, marks=needs_root), forge_mode, forge_link, forge_second_name],
)
def test_a_forged_document_is_rejected_and_logged(
    tmp_path: Path, drives: MadeUpDrives, forge: Callable[[Path], str]
) -> None:
    """The drive keeps its values while the forged document exists, and recovers afterwards."""
    with agent_of(drives, tmp_path / "agent") as agent:
        agent.settled(6)
        agent.kill()  # otherwise it would overwrite the forged document
        # The heartbeat stays valid until the end of the test.
        beat = drives.directory / "agent.json"
        beat.write_text(json.dumps(agent.heartbeat() | {"interval_seconds": 600.0}))
    with daemon_of(drives, tmp_path / "daemon") as daemon:
        await_page(daemon, lambda page: 6 == sum(up(page).values()))
        (file,) = drives.directory.glob("drive-dev-rig3-*[!y].json")
        true = file.read_bytes()
        false = json.loads(true)
        false["report"]["nvme_smart_health_information_log"]["media_errors"] = 666
        false["began_at"] += 1
        new = file.with_name("new")
        new.write_text(json.dumps(false))
        why = forge(new)
        os.replace(new, file)
        await_page(daemon, lambda page: 0 == page.value("ssd_collector_success", collector="smart"))
        time.sleep(5)
        page = daemon.page()
        assert 0 == page.value("ssd_collector_success", collector="smart")
        assert 3 == page.value("ssd_smart_media_errors_total", device="rig3")
        (line,) = await_log_lines(daemon)
        assert why in line
        assert str(file) in line

        new.write_bytes(true)
        new.chmod(0o640)
        os.replace(new, file)
        await_page(daemon, lambda page: 1 == page.value("ssd_collector_success", collector="smart"))
        assert 3 == daemon.page().value("ssd_smart_media_errors_total", device="rig3")
        wait_until(lambda: "recovered; the last problem was" in daemon.log)


def test_no_document_of_a_directory_that_others_can_write_is_trusted(
    tmp_path: Path, drives: MadeUpDrives
) -> None:
    with agent_of(drives, tmp_path / "agent") as agent:
        agent.settled(6)
    drives.directory.chmod(0o777)
    with daemon_of(drives, tmp_path / "daemon") as daemon:
        page = await_page(
            daemon,
            lambda page: (
                [0] == [v for _, v in page.find("ssd_collector_success", collector="smart")]
            ),
        )
        assert {} == up(page)
        (line,) = await_log_lines(daemon)
        assert f"{drives.directory}: other users than its owner can write it: not trusted" in line


def test_values_of_a_killed_agent_are_removed_when_they_are_too_old(
    tmp_path: Path, drives: MadeUpDrives
) -> None:
    """Its last documents are 30 s old; the shortest maximum age is 60 s."""
    polled_at = time.time() - 30
    writer = DocumentWriter(drives.directory)
    drives_in_heartbeat = []
    for number in range(2):
        report = smart_reports.of(number)
        path, kind = report["device"]["name"], report["device"]["type"]
        drives_in_heartbeat.append((path, kind))
        counts = {"success": 9}
        writer.write(
            PollDocument(path, kind, "success", polled_at, 0.1, 10.0, counts=counts, report=report)
        )
    writer.write(Heartbeat(polled_at, 15.0, polled_at, tuple(drives_in_heartbeat)))
    config = drives.config("directory", "max_age_intervals = 1\n")
    with Daemon(tmp_path / "daemon", *drives.flags, config=config) as daemon:
        page = await_page(daemon, lambda page: {"rig0": 1.0, "rig1": 1.0} == up(page))
        assert 1 == page.value("ssd_collector_success", collector="smart")
        assert 2 == len(list(page.find("ssd_smart_healthy")))
        page = await_page(daemon, lambda page: not up(page), 30 + SOON)
        assert time.time() - polled_at > 60
        assert [] == [name for name, _ in page.samples if name.startswith("ssd_ata_attribute")]
        assert [] == list(page.find("ssd_smart_healthy"))
        beat = page.value("ssd_smart_agent_heartbeat_timestamp_seconds")
        assert pytest.approx(polled_at, abs=0.01) == beat
        await_page(daemon, lambda page: 0 == page.value("ssd_collector_success", collector="smart"))
        (line,) = await_log_lines(daemon)
        assert "the agent stopped writing; is it running?" in line


def test_a_reload_of_invalid_settings_keeps_the_old_ones(
    tmp_path: Path, drives: MadeUpDrives
) -> None:
    """The error is logged. A second reload applies the corrected settings."""
    with agent_of(drives, tmp_path / "agent") as agent:
        agent.settled(6)
        agent.config.write_text(drives.config() + "exclud = 1\n")
        agent.reload()
        agent.wait_until(lambda: len(agent.complaints) > 0, "the error")
        (complaint,) = agent.complaints
        assert "the previous settings remain active" in complaint
        assert "did you mean exclude?" in complaint
        agent.config.write_text(drives.config() + 'exclude = "rig[23]"\n')
        agent.reload()
        agent.wait_until(lambda: len(agent.polls()) == 4, "two are excluded")
        assert 0 == agent.stop()


def test_a_reload_reads_the_settings_once(tmp_path: Path, drives: MadeUpDrives) -> None:
    """The settings that were checked are the ones that take effect."""
    with agent_of(drives, tmp_path / "agent") as agent:
        agent.settled(6)
        agent.config.unlink()
        os.mkfifo(agent.config)
        agent.reload()
        agent.config.write_text(drives.config() + 'exclude = "rig[23]"\n')
        agent.config.unlink()
        agent.wait_until(lambda: len(agent.polls()) == 4, "two are excluded")
        assert 0 == agent.stop()
    assert [] == agent.complaints


def test_a_reload_of_a_file_that_hangs_keeps_the_settings_and_delays_no_heartbeat(
    tmp_path: Path, drives: MadeUpDrives
) -> None:
    """Nothing writes to the pipe. After the file is replaced, the next reload applies it."""
    with agent_of(drives, tmp_path / "agent") as agent:
        agent.settled(6)
        agent.config.unlink()
        os.mkfifo(agent.config)
        agent.reload()
        agent.wait_until(lambda: len(agent.complaints) > 0, "the error")
        (complaint,) = agent.complaints
        assert "the previous settings remain active" in complaint
        assert f"{agent.config} was not read within 5 s" in complaint
        failed_at = time.time()
        agent.wait_until(lambda: agent.heartbeat()["at"] > failed_at, "a heartbeat", 15 + SOON)
        agent.config.unlink()
        agent.config.write_text(drives.config() + 'exclude = "rig[23]"\n')
        agent.reload()
        agent.wait_until(lambda: len(agent.polls()) == 4, "two are excluded")
        assert 0 == agent.stop()


def test_the_agent_survives_many_sighups(tmp_path: Path, drives: MadeUpDrives) -> None:
    with agent_of(drives, tmp_path / "agent") as agent:
        agent.settled(6)
        for _ in range(100):
            agent.reload()
            time.sleep(0.02)
        started_at = time.time()
        agent.wait_until(lambda: agent.heartbeat()["at"] > started_at, "a new heartbeat", 15 + SOON)
        assert 0 == agent.stop()
    assert [] == agent.complaints


def test_a_sighup_does_not_cancel_a_stop(tmp_path: Path, drives: MadeUpDrives) -> None:
    with agent_of(drives, tmp_path / "agent") as agent:
        agent.settled(6)
        agent.process.terminate()
        agent.reload()
        assert 0 == agent.process.wait(SOON)


def test_a_second_agent_of_a_directory_logs_an_error_and_ends(
    tmp_path: Path, drives: MadeUpDrives
) -> None:
    with agent_of(drives, tmp_path / "agent") as agent:
        agent.settled(6)
        with agent_of(drives, tmp_path / "second") as second:
            assert 2 == second.process.wait(SOON)
        (line,) = second.log.splitlines()
        assert f"another smart-agent writes to {drives.directory}" in line
        assert agent.process.poll() is None


def test_a_smartctl_that_must_not_be_killed_survives_a_reload_and_is_not_started_twice(
    tmp_path: Path, drives: MadeUpDrives
) -> None:
    """A second smartctl would write to the volume beside the first."""
    go = tmp_path / "go"
    drives.stand_in.does("bridge", f"while [ ! -e {go} ]; do sleep 0.05; done\n")
    bridge = '[[smart.drive]]\npath = "/dev/bridge"\ntype = "jmb39x,0"\n'
    config = drives.config(more=bridge)
    with Agent(tmp_path / "agent", drives.directory, *drives.flags, config=config) as agent:

        def calls() -> int:
            return len([call for call in drives.stand_in.calls() if call.endswith("/dev/bridge")])

        agent.wait_until(lambda: calls() == 1, "it is polled")
        agent.config.write_text(drives.config(more='exclude = "rig[23]"\n' + bridge))
        agent.reload()
        agent.wait_until(lambda: "settings reloaded" in agent.log, "the reload")
        agent.wait_until(lambda: {"/dev/rig2", "/dev/rig3"}.isdisjoint(agent.polls()), "excluded")
        assert 1 == calls(), "the first smartctl still runs"
        go.touch()
        agent.wait_until(lambda: calls() >= 2, "it is polled again")


def smartctl_processes(drives: MadeUpDrives, drive: str) -> list[int]:
    """Returns the numbers of the processes that query a drive, whoever started them.

    A child that the stand-in's shell has forked has the shell's name until it runs `sleep`. It is
    no second smartctl.
    """
    parents = {}
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            argv = process.cmdline()
            if drives.stand_in.program in argv[:2] and f"/dev/{drive}" in argv:
                parents[process.pid] = process.ppid()
    return [number for number, parent in parents.items() if parent not in parents]


#: Runs on after SIGTERM. The shell keeps the name of the program, as smartctl does.
HANGS = "trap '' TERM\nwhile :; do sleep 0.1; done\n"


def test_agents_that_are_killed_leave_no_smartctl_behind(
    tmp_path: Path, drives: MadeUpDrives
) -> None:
    """Before, each of them left a smartctl without a time limit."""
    drives.stand_in.does("rig1", HANGS)
    for number in range(6):
        with agent_of(drives, tmp_path / f"agent{number}") as agent:
            agent.wait_until(
                lambda: bool(smartctl_processes(drives, "rig1")), "the smartctl of rig1"
            )
            agent.kill()
    assert 1 == len(smartctl_processes(drives, "rig1"))
    drives.says("rig1", smart_reports.of(1))
    with agent_of(drives, tmp_path / "last") as agent:
        agent.settled(6)
        assert "1 smartctl processes of a killed exporter or agent were found" in agent.log
        assert [] == agent.heartbeat()["stuck"]
        assert 0 == agent.stop()
    assert [] == smartctl_processes(drives, "rig1")


def test_a_smartctl_of_a_killed_agent_that_must_not_be_killed_is_not_started_twice(
    tmp_path: Path, drives: MadeUpDrives
) -> None:
    """A second smartctl would write to the volume beside the first."""
    go = tmp_path / "go"
    drives.stand_in.does("bridge", f"while [ ! -e {go} ]; do sleep 0.05; done\n")
    bridge = '[[smart.drive]]\npath = "/dev/bridge"\ntype = "jmb39x,0"\n'
    config = drives.config(more=bridge)

    def calls() -> int:
        return len([call for call in drives.stand_in.calls() if call.endswith("/dev/bridge")])

    for number in range(3):
        place = tmp_path / f"agent{number}"
        with Agent(place, drives.directory, *drives.flags, config=config) as agent:
            # The other drives are polled at the same time.
            agent.wait_until(lambda: len(agent.polls()) == 6 and calls() == 1, "all are polled")
            if number:
                agent.wait_until(
                    lambda: ["/dev/bridge", "jmb39x,0"] in agent.heartbeat()["stuck"], "it is known"
                )
            agent.kill()
    assert (1, 1) == (calls(), len(smartctl_processes(drives, "bridge")))
    with Agent(tmp_path / "last", drives.directory, *drives.flags, config=config) as agent:
        agent.wait_until(lambda: "of a killed exporter" in agent.log, "it is found")
        go.touch()
        agent.wait_until(lambda: calls() >= 2, "it is polled again")


def test_a_reload_can_move_the_documents_to_another_directory(
    tmp_path: Path, drives: MadeUpDrives
) -> None:
    elsewhere = tmp_path / "elsewhere"
    with agent_of(drives, tmp_path / "agent") as agent:
        agent.settled(6)
        old = drives.directory
        agent.config.write_text(drives.config().replace(str(old), str(elsewhere)))
        agent.reload()
        agent.documents = elsewhere
        agent.settled(6)
        # The lock of the first directory is released.
        with agent_of(drives, tmp_path / "second") as second:
            second.wait_until(
                lambda: f"it writes to {old}" in second.log, "the start of the second agent"
            )
            assert 0 == second.stop()
        assert 0 == agent.stop()
    assert [] == agent.complaints


def test_a_reload_into_the_directory_of_another_agent_changes_nothing(
    tmp_path: Path, drives: MadeUpDrives
) -> None:
    elsewhere = tmp_path / "elsewhere"
    config = drives.config()
    moved = config.replace(str(drives.directory), str(elsewhere))
    with (
        Agent(tmp_path / "agent", drives.directory, *drives.flags, config=config) as agent,
        Agent(tmp_path / "second", elsewhere, *drives.flags, config=moved) as second,
    ):
        agent.settled(6)
        second.settled(6)
        agent.config.write_text(moved)
        agent.reload()
        agent.wait_until(lambda: len(agent.complaints) > 0, "the error")
        (complaint,) = agent.complaints
        assert f"another smart-agent writes to {elsewhere}" in complaint
        reloaded_at = time.time()
        agent.wait_until(
            lambda: agent.heartbeat()["at"] > reloaded_at, "a new heartbeat", 15 + SOON
        )


def test_settings_for_thousands_of_drives_are_accepted(
    tmp_path: Path, drives: MadeUpDrives
) -> None:
    more = "".join(f'[device."enclosure-{n}"]\nsmart_type = "off"\n' for n in range(5000))
    config = drives.config(more=more)
    with Agent(tmp_path / "agent", drives.directory, *drives.flags, config=config) as agent:
        agent.settled(6)
        assert 0 == agent.stop()
    assert [] == agent.complaints
