"""Tests of the source of poll documents: the agent's directory, this process, or none."""

import errno
import json
import os
import threading
from pathlib import Path

import pytest

from exporter.config.settings import SmartSource
from exporter.smart.document_directory import HEARTBEAT_FILE
from exporter.smart.polling.poll_document import (
    LARGEST_BYTES,
    PollDocument,
    encoded,
    file_name,
    parse_poll_document,
)
from tests.injected_errors import Failing, descriptors_left
from tests.smart import scripted_smartctl
from tests.smart.scripted_smartctl import ata
from tests.smart.watching import NOBODY, NVME, ROOT, SDA, Watching, watching

pytestmark = pytest.mark.usefixtures("usual_mask")


BOTH = [("sda", "S00001", True), ("nvme0n1", "FW000000", True)]


@pytest.mark.parametrize("source", [SmartSource.AUTO, SmartSource.DIRECTORY])
@pytest.mark.parametrize("status", [ROOT, NOBODY])
def test_documents_of_a_live_agent_are_used_also_by_a_privileged_process(
    tmp_path: Path, source: SmartSource, status: str
) -> None:
    daemon = watching(tmp_path, source, status)
    daemon.agent_says(daemon.document(SDA), daemon.document(NVME))
    assert BOTH == daemon.step().seen()
    assert "" == daemon.problem
    assert not daemon.watch.polls_itself
    assert [] == daemon.smartctl.calls


def test_source_exec_polls_also_beside_a_live_agent(tmp_path: Path) -> None:
    daemon = watching(tmp_path, SmartSource.EXEC)
    daemon.agent_says(daemon.document(SDA, result="timed_out"))
    assert BOTH == daemon.step(5).seen()
    assert daemon.watch.polls_itself
    assert "" == daemon.problem


def test_without_an_agent_a_privileged_process_polls(tmp_path: Path) -> None:
    daemon = watching(tmp_path, SmartSource.AUTO, ROOT)
    assert BOTH == daemon.step(5).seen()
    assert daemon.watch.polls_itself


def test_without_agent_and_privileges_the_problem_is_reported(tmp_path: Path) -> None:
    daemon = watching(tmp_path, SmartSource.AUTO)
    assert [] == daemon.step(3).seen()
    assert "no process polls the drives" in daemon.problem
    assert "start ssd-smart-agent, or run as root" in daemon.problem
    assert [] == daemon.smartctl.calls


def test_source_directory_never_polls_also_with_privileges(tmp_path: Path) -> None:
    daemon = watching(tmp_path, SmartSource.DIRECTORY, ROOT)
    assert [] == daemon.step(3).seen()
    assert "is ssd-smart-agent running?" in daemon.problem
    assert not daemon.watch.polls_itself


def test_the_process_polls_while_the_agent_is_stopped(tmp_path: Path) -> None:
    daemon = watching(tmp_path, SmartSource.AUTO, ROOT)
    daemon.agent_says(daemon.document(SDA), daemon.document(NVME))
    daemon.step()
    daemon.clock.advance(60)
    assert not daemon.step().watch.polls_itself, "four of its heartbeats may be late"
    daemon.clock.advance(1)
    assert daemon.step().watch.polls_itself
    assert BOTH == daemon.step(5).seen()
    daemon.agent_says(daemon.document(SDA), daemon.document(NVME))
    assert not daemon.step().watch.polls_itself
    assert 0 == daemon.children[0].running
    assert BOTH == daemon.seen()


def test_no_drive_leaves_the_page_while_the_source_changes(tmp_path: Path) -> None:
    """Both sources have the same drives, and one of them has not scanned yet."""
    daemon = watching(tmp_path, SmartSource.AUTO, ROOT)
    daemon.agent_says(daemon.document(SDA), daemon.document(NVME))
    daemon.step()
    daemon.clock.advance(61)
    for _ in range(10):
        assert BOTH == daemon.step().seen()


def test_drives_of_a_stopped_agent_are_shown_until_too_old(tmp_path: Path) -> None:
    daemon = watching(tmp_path, SmartSource.DIRECTORY)
    daemon.agent_says(daemon.document(SDA))
    assert 1 == len(daemon.step().seen())
    daemon.clock.advance(3600)
    assert 1 == len(daemon.step().seen())
    assert "the agent stopped writing; is it running?" in daemon.problem
    daemon.clock.advance(1)
    assert [] == daemon.step().seen()


def test_the_problem_of_the_agent_is_reported(tmp_path: Path) -> None:
    daemon = watching(tmp_path, SmartSource.AUTO)
    daemon.agent_says(daemon.document(SDA), problem="scanning for drives failed: no such program")
    assert "scanning for drives failed: no such program" in daemon.step().problem
    daemon.agent_says(daemon.document(SDA))
    assert "" == daemon.step().problem


def test_the_problem_of_the_own_poller_is_reported(tmp_path: Path) -> None:
    daemon = watching(tmp_path, SmartSource.EXEC)
    daemon.smartctl.scan = scripted_smartctl.MISSING
    assert "install smartmontools" in daemon.step(4).problem
    daemon.smartctl.scan = scripted_smartctl.rows((*SDA, "ATA"))
    daemon.clock.advance(30)
    daemon.watch.rescan_soon()
    assert "" == daemon.step(4).problem


def test_a_heartbeat_from_the_future_does_not_count(tmp_path: Path) -> None:
    daemon = watching(tmp_path, SmartSource.AUTO, ROOT)
    daemon.agent_says(daemon.document(SDA))
    daemon.clock.step_wall(-3600)
    assert daemon.step().watch.polls_itself


def test_a_missing_directory_is_a_problem_until_it_exists_again(tmp_path: Path) -> None:
    daemon = watching(tmp_path, SmartSource.DIRECTORY)
    daemon.agent_says(daemon.document(SDA))
    daemon.step()
    for file in daemon.directory.iterdir():
        file.unlink()
    daemon.directory.rmdir()
    assert "is ssd-smart-agent running?" in daemon.step().problem
    daemon.agent_says(daemon.document(SDA))
    assert "" == daemon.step().problem
    assert 1 == len(daemon.seen())


def test_documents_from_before_a_reboot_are_not_current(tmp_path: Path) -> None:
    daemon = watching(tmp_path, SmartSource.AUTO)
    daemon.agent_says(daemon.document(SDA))
    daemon.clock.advance(86_400)
    assert [] == daemon.step().seen()
    assert daemon.problem


def test_a_new_daemon_reads_the_last_daily_documents(tmp_path: Path) -> None:
    daemon = watching(tmp_path, SmartSource.AUTO)
    daemon.agent.write(daemon.document(SDA, is_daily=True))
    daemon.clock.advance(900)
    regular = {key: value for key, value in ata("S00001").items() if key != "ata_smart_error_log"}
    daemon.agent_says(daemon.document(SDA, report=regular))
    daemon.step()
    health = daemon.drives.watched()[0].health
    assert health is not None
    assert 17 == health.error_log_entries


def test_wake_works_during_a_change_of_source(tmp_path: Path) -> None:
    """The survey's thread wakes it; what it would wake may be closed at that moment."""
    daemon = watching(tmp_path, SmartSource.AUTO, ROOT)
    problems: list[BaseException] = []
    is_over = threading.Event()

    def wake() -> None:
        try:
            while not is_over.is_set():
                daemon.watch.rescan_soon()
        except OSError as e:
            problems.append(e)

    waking = threading.Thread(target=wake)
    waking.start()
    for number in range(60):
        daemon.clock.advance(61)
        if number % 2:
            daemon.agent_says()
        daemon.step()
    is_over.set()
    waking.join()
    assert [] == problems
    daemon.watch.close()


def test_a_stuck_drive_is_not_polled_after_a_reload(
    tmp_path: Path,
) -> None:
    daemon = watching(tmp_path, SmartSource.EXEC)
    daemon.smartctl.says(*SDA, scripted_smartctl.STUCK)
    daemon.step(8)
    daemon.watch.restart_polling()
    daemon.step(8)
    assert 1 == len(daemon.smartctl.asked("/dev/sda"))
    daemon.smartctl.says(*SDA, ata("S00001"))
    daemon.children[0].let_go(SDA)
    assert BOTH == daemon.step(8).seen()
    daemon.watch.close()
    assert all(children.is_closed for children in daemon.children)


def test_an_unreadable_directory_does_not_prevent_polling(tmp_path: Path) -> None:
    """As below one that may not be entered, which root does not know."""
    daemon = Watching(tmp_path, SmartSource.AUTO, ROOT, f"{'x' * 300}/run")
    assert BOTH == daemon.step(5).seen()


def refused(name: str, daemon: Watching) -> str:
    """The problem while the file exists. Documents of other drives are still read."""
    problems = {daemon.step().problem for _ in range(3)}
    assert 1 == len(problems), "it is not forgotten after the first look"
    daemon.agent_says(daemon.document(NVME), drives=(SDA, NVME))
    assert [("nvme0n1", "FW000000", True)] == daemon.step().seen()
    (daemon.directory / name).unlink()
    assert "" == daemon.step(2).problem
    return problems.pop()


def sda_file(daemon: Watching) -> Path:
    daemon.agent_says(daemon.document(SDA))
    return daemon.directory / file_name(*SDA, is_daily=False)


def test_a_document_writable_by_others_is_refused(tmp_path: Path) -> None:
    daemon = watching(tmp_path, SmartSource.AUTO)
    file = sda_file(daemon)
    file.chmod(0o666)
    assert "other users than its owner can write it: not trusted" in refused(file.name, daemon)


def test_a_document_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    daemon = watching(tmp_path, SmartSource.AUTO)
    file = sda_file(daemon)
    file.rename(tmp_path / "elsewhere.json")
    file.symlink_to(tmp_path / "elsewhere.json")
    assert file.name in refused(file.name, daemon)


def test_a_document_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    daemon = watching(tmp_path, SmartSource.AUTO)
    file = sda_file(daemon)
    file.write_bytes(b" " * (LARGEST_BYTES + 1))
    assert f"larger than {LARGEST_BYTES} bytes" in refused(file.name, daemon)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"[]",
        b"\xff\xfe\x00",
        b'{"version":2}',
        b'{"version":1}',
        b"[" * 100_000,
    ],
)
def test_an_invalid_document_is_reported_and_affects_only_its_drive(
    tmp_path: Path, text: bytes
) -> None:
    daemon = watching(tmp_path, SmartSource.AUTO)
    file = sda_file(daemon)
    file.write_bytes(text)
    assert f"{file.name}: document:" in refused(file.name, daemon)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("began_at", -1),
        ("began_at", 1e300),
        ("counts", {"success": -1}),
        ("report", []),
        ("result", 7),
        ("path", None),
    ],
)
def test_a_document_with_a_value_of_a_wrong_type_is_refused(
    tmp_path: Path, field: str, value: object
) -> None:
    daemon = watching(tmp_path, SmartSource.AUTO)
    file = sda_file(daemon)
    values = json.loads(encoded(daemon.document(SDA)))
    file.write_text(json.dumps(values | {field: value}))
    assert f"{file.name}: document: {field}" in refused(file.name, daemon)


def test_a_directory_writable_by_others_is_refused(tmp_path: Path) -> None:
    daemon = watching(tmp_path, SmartSource.AUTO)
    daemon.agent_says(daemon.document(SDA))
    daemon.directory.chmod(0o777)
    assert [] == daemon.step().seen()
    assert "other users than its owner can write it: not trusted" in daemon.problem


@pytest.mark.parametrize("source", [SmartSource.AUTO, SmartSource.DIRECTORY])
@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b'{"version":2}', "the daemon and the smart-agent must have the same version"),
        (b"{", "not JSON"),
        (b" " * (LARGEST_BYTES + 1), "larger than"),
    ],
)
def test_a_refused_heartbeat_is_reported_with_the_reason(
    tmp_path: Path, source: SmartSource, text: bytes, why: str
) -> None:
    daemon = watching(tmp_path, source)
    daemon.agent_says(daemon.document(SDA))
    (daemon.directory / HEARTBEAT_FILE).write_bytes(text)
    assert why in daemon.step().problem


@pytest.mark.parametrize("name", ["EIO", "EMFILE", "ENOMEM", "EINTR"])
def test_a_heartbeat_whose_read_fails_once_is_reported_and_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Otherwise a daemon with the privileges would poll the drives beside the agent."""
    daemon = watching(tmp_path, SmartSource.AUTO, ROOT)
    daemon.agent_says(daemon.document(SDA), daemon.document(NVME))
    daemon.step()
    fails = Failing(name, "open", is_meant=lambda path, *_, **__: path == HEARTBEAT_FILE)
    with fails.installed(monkeypatch):
        assert BOTH == daemon.step().seen()
    assert (1, False) == (fails.failed, daemon.watch.polls_itself)
    assert os.strerror(getattr(errno, name)) in daemon.problem
    assert "" == daemon.step().problem


def test_without_free_descriptors_the_drives_stay_and_the_reason_is_reported(
    tmp_path: Path,
) -> None:
    daemon = watching(tmp_path, SmartSource.DIRECTORY)
    daemon.agent_says(daemon.document(SDA), daemon.document(NVME))
    daemon.step()
    with descriptors_left(1):
        daemon.step()
    assert "Too many open files" in daemon.problem
    assert BOTH == daemon.seen()
    assert ("", BOTH) == (daemon.step().problem, daemon.seen())


def test_a_document_for_which_memory_is_missing_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon = watching(tmp_path, SmartSource.DIRECTORY)
    daemon.agent_says(daemon.document(SDA), daemon.document(NVME))
    calls = []

    def parse(text: bytes) -> PollDocument:
        calls.append(text)
        if len(calls) == 1:
            raise MemoryError
        return parse_poll_document(text)

    monkeypatch.setattr("exporter.smart.document_source.parse_poll_document", parse)
    assert "there is not enough memory to read it; it is read again" in daemon.step().problem
    assert ("", BOTH) == (daemon.step().problem, daemon.seen())
    assert 3 == len(calls)


@pytest.mark.parametrize("name", ["EIO", "EMFILE"])
def test_a_daily_document_that_is_read_late_still_brings_its_logs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """It is older than the regular one, which was read before."""
    daemon = watching(tmp_path, SmartSource.AUTO)
    daemon.agent.write(daemon.document(SDA, is_daily=True))
    daemon.clock.advance(900)
    regular = {key: value for key, value in ata("S00001").items() if key != "ata_smart_error_log"}
    daemon.agent_says(daemon.document(SDA, report=regular))
    daily = file_name(*SDA, is_daily=True)
    with Failing(name, "open", is_meant=lambda path, *_, **__: path == daily).installed(
        monkeypatch
    ):
        daemon.step()
    before = daemon.drives.watched()[0].health
    after = daemon.step().drives.watched()[0].health
    assert before is not None
    assert after is not None
    assert (None, 17) == (before.error_log_entries, after.error_log_entries)
