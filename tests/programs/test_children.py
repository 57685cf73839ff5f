"""Tests of running several real processes at once, and of ending those that hang."""

import errno
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from exporter.programs.child import End, Finished
from exporter.programs.children import Children, SystemChildren
from exporter.runtime.clock import Clock, SystemClock
from tests.duration import PATIENCE_SECONDS, at_most, wait_until
from tests.fakes import SkippingClock
from tests.processes import open_files
from tests.required import lacking
from tests.stand_ins.smartctl import GOOD, StandIn


def no_pidfd(pid: int) -> int:
    raise OSError(errno.ENOSYS, "Function not implemented")


def quick(
    open_pidfd: Callable[[int], int] = os.pidfd_open,
    send: Callable[[int, int], None] = os.killpg,
    *,
    clock: Clock | None = None,
    grace_seconds: float = 0.2,
    abandon_seconds: float = PATIENCE_SECONDS,
) -> SystemChildren:
    """A killed child of a busy machine ends after a moment, so it is abandoned late."""
    return SystemChildren(
        clock or SystemClock(),
        grace_seconds=grace_seconds,
        abandon_seconds=abandon_seconds,
        max_output_bytes=100_000,
        open_pidfd=open_pidfd,
        send=send,
    )


@pytest.fixture(params=[os.pidfd_open, no_pidfd], ids=["pidfd", "no pidfd"])
def children(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[SystemChildren]:
    """Yields the children, then asserts that the test left no zombie process and no open file."""
    # A killed process of a busy machine ends late.
    monkeypatch.setattr("exporter.programs.children._LAST_SECONDS", PATIENCE_SECONDS / 3)
    before, zombies = open_files(), set(child_pids("Z"))
    children = quick(request.param)
    yield children
    children.close()
    assert set() == open_files() - before, [thread.name for thread in threading.enumerate()]
    assert set() == set(child_pids("Z")) - zombies


@pytest.fixture
def children_that_do_not_die() -> Iterator[SystemChildren]:
    def send(group: int, number: int) -> None:
        """Sends no signal."""

    children = quick(send=send, abandon_seconds=0.2)
    yield children
    children.close()


@pytest.fixture
def smartctl(tmp_path: Path) -> StandIn:
    return StandIn(tmp_path / "bin")


def child_pids(states: str) -> list[int]:
    """Returns the pids of the child processes in one of these states of /proc/PID/stat."""
    pids = []
    for pid in os.listdir("/proc"):
        try:
            stat = Path("/proc", pid, "stat").read_text() if pid.isdigit() else ""
        except OSError:
            continue
        fields = stat.rpartition(")")[2].split()
        if fields and int(fields[1]) == os.getpid() and fields[0] in states:
            pids.append(int(pid))
    return pids


def is_there(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def all_of(
    children: Children, count: int, timeout: float = PATIENCE_SECONDS
) -> dict[object, Finished]:
    """Waits for `count` children and returns their results by key."""
    done: dict[object, Finished] = {}
    until = time.monotonic() + timeout
    while len(done) < count and (left := until - time.monotonic()) > 0:
        done.update({finished.key: finished for finished in children.wait(left)})
    return done


def only(children: Children) -> Finished:
    (finished,) = all_of(children, 1).values()
    return finished


def test_output_and_exit_status_are_returned(children: SystemChildren, smartctl: StandIn) -> None:
    path = smartctl.does("sda", "echo out; echo err >&2; exit 68")
    children.start("sda", [smartctl.program, "--json=c", path], PATIENCE_SECONDS)
    finished = only(children)
    assert (End.EXITED, 68) == (finished.end, finished.status)
    assert (b"out\n", b"err\n") == (finished.output, finished.errors)
    assert "" == finished.message
    assert 0 < finished.seconds < PATIENCE_SECONDS
    assert 0 == children.running


def test_three_children_start_at_once_and_the_next_one_after_a_delay(
    children: SystemChildren, smartctl: StandIn
) -> None:
    started = time.monotonic()
    for key in range(3):
        assert children.next_start <= time.monotonic()
        children.start(key, [smartctl.program, smartctl.does("sda", "")], PATIENCE_SECONDS)
    assert started + 0.012 <= children.next_start <= time.monotonic() + 0.012
    assert {0, 1, 2} == all_of(children, 3).keys()


def test_a_child_that_keeps_filling_its_pipe_is_not_delayed(smartctl: StandIn) -> None:
    children = SystemChildren(SystemClock())  # with the default limit of the output
    pieces = "for _ in 1 2 3 4 5 6 7 8 9 10 11 12; do head -c 65536 /dev/zero; sleep 0.03; done\n"
    # Reading the pipe only every 0.25 s would take 3 s.
    with at_most(2):
        children.start(1, [smartctl.program, smartctl.does("sda", pieces)], PATIENCE_SECONDS)
        finished = only(children)
    assert 12 * 65536 == len(finished.output)
    children.close()


def test_children_that_end_within_the_gather_time_are_returned_together(
    children: SystemChildren, smartctl: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time ends with a wake after the end of both."""
    monkeypatch.setattr("exporter.programs.children._READ_SECONDS", PATIENCE_SECONDS)
    others = set(child_pids("Z"))
    for key, script in ((1, ""), (2, "sleep 0.05")):
        children.start(key, [smartctl.program, smartctl.does(f"sd{key}", script)], PATIENCE_SECONDS)
    reading, writing = os.pipe()

    def wake_after_both() -> None:
        wait_until(lambda: 2 == len(set(child_pids("Z")) - others), "the end of both")
        os.write(writing, b"x")

    thread = threading.Thread(target=wake_after_both)
    thread.start()
    done = children.wait(PATIENCE_SECONDS, reading, gather=PATIENCE_SECONDS)
    assert {1, 2} == {finished.key for finished in done}
    thread.join()
    os.close(reading)
    os.close(writing)


def test_a_wake_ends_the_gathering(children: SystemChildren, smartctl: StandIn) -> None:
    children.start(1, [smartctl.program, smartctl.does("sda", "exec sleep 1000")], 1000)
    reading, writing = os.pipe()
    os.write(writing, b"x")
    with at_most(2):
        assert [] == children.wait(1000, reading, gather=500.0)
    os.close(reading)
    os.close(writing)


def test_output_larger_than_a_pipe_is_returned_completely(
    children: SystemChildren, smartctl: StandIn
) -> None:
    children.start(
        1, [smartctl.program, smartctl.does("sda", "head -c 99000 /dev/zero")], PATIENCE_SECONDS
    )
    assert bytes(99_000) == only(children).output


def test_a_child_has_no_input_the_c_locale_and_its_own_process_group(
    children: SystemChildren, smartctl: StandIn
) -> None:
    script = 'cat; echo "$LC_ALL $HOME-"; cut -d" " -f5 /proc/$$/stat; echo $$; ls /proc/$$/fd'
    children.start(1, [smartctl.program, smartctl.does("sda", script)], PATIENCE_SECONDS)
    locale, group, pid, *files = only(children).output.decode().splitlines()
    assert "C -" == locale
    assert pid == group
    # The shell's own script is read through a descriptor of 10 or above.
    assert ["0", "1", "2"] == [file for file in files if int(file) < 3]
    assert [] == [file for file in files if 3 <= int(file) < 10]


def test_a_child_does_not_inherit_the_signals_that_python_ignores(
    children: SystemChildren, smartctl: StandIn
) -> None:
    """A child that must not be killed ignores SIGPIPE, so that it can outlive this process."""
    path = smartctl.does("sda", "grep SigIgn /proc/self/status")
    children.start("a", [smartctl.program, path], PATIENCE_SECONDS)
    children.start("b", [smartctl.program, path], 10, may_kill=False)
    done = all_of(children, 2)
    # The C library reserves signals above 31.
    ignored = {key: int(done[key].output.split()[1], 16) % (1 << 31) for key in ("a", "b")}
    pipe = 1 << (signal.SIGPIPE - 1)
    assert {"a": 0, "b": pipe} == ignored


@pytest.mark.parametrize("program", ["/no/such/program", "no-such-program", "/", "bad\0name"])
def test_a_program_that_cannot_be_run_is_reported(children: SystemChildren, program: str) -> None:
    children.start("sda", [program, "x"], PATIENCE_SECONDS)
    assert 0 == children.running
    finished = only(children)
    assert (End.NOT_STARTED, None) == (finished.end, finished.status)
    assert "cannot be run" in finished.message


def test_a_child_is_ended_at_its_timeout(smartctl: StandIn) -> None:
    children = quick(grace_seconds=PATIENCE_SECONDS)
    children.start("sda", [smartctl.program, smartctl.does("sda", "exec sleep 1000")], 0.1)
    finished = only(children)
    assert (End.TIMED_OUT, -signal.SIGTERM) == (finished.end, finished.status)
    assert "longer than 0.1 s" in finished.message
    children.close()


def test_a_child_that_ignores_sigterm_is_killed(smartctl: StandIn, tmp_path: Path) -> None:
    clock, ready = SkippingClock(), tmp_path / "ready"
    children = quick(clock=clock)
    script = f"trap '' TERM\necho > {ready}\nexec sleep 1000\n"
    children.start("sda", [smartctl.program, smartctl.does("sda", script)], 1000)
    wait_until(ready.exists)
    clock.skipped_seconds = 1000.0
    finished = only(children)
    assert (End.TIMED_OUT, -signal.SIGKILL) == (finished.end, finished.status)
    assert frozenset() == children.stuck()
    children.close()


def test_processes_that_a_child_started_end_with_it(smartctl: StandIn, tmp_path: Path) -> None:
    """Whether the child is killed or exits, even if its own child still holds the pipe open."""
    clock = SkippingClock()
    children = quick(clock=clock)
    ready = tmp_path / "ready"
    script = f"sleep 1000 & echo $!; echo > {ready}; [ $1 = wait ] && wait; exit 0"
    path = smartctl.does("sda", script)
    children.start("a", [smartctl.program, "wait", path], 1000)
    wait_until(ready.exists)
    clock.skipped_seconds = 1000.0
    children.start("b", [smartctl.program, "go", path], 1000)
    done = all_of(children, 2)
    assert [End.TIMED_OUT, End.EXITED] == [done["a"].end, done["b"].end]
    for finished in done.values():
        pid = int(finished.output)
        wait_until(lambda pid=pid: not is_there(pid) or "Z" in status_of(pid))  # type: ignore[misc]
    children.close()


def status_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


def test_a_child_that_prints_endlessly_is_ended(
    children: SystemChildren, smartctl: StandIn
) -> None:
    children.start("sda", [smartctl.program, smartctl.prints_forever("sda")], PATIENCE_SECONDS)
    finished = only(children)
    assert End.TOO_MUCH_OUTPUT == finished.end
    assert len(finished.output) <= 100_000
    assert finished.seconds < PATIENCE_SECONDS, "it was ended at its timeout"


def test_a_child_that_prints_endlessly_and_ignores_sigterm_is_killed(
    children: SystemChildren, smartctl: StandIn
) -> None:
    path = smartctl.does("sda", "trap '' TERM PIPE\nwhile :; do echo x; done")
    children.start("sda", [smartctl.program, path], PATIENCE_SECONDS)
    assert End.TOO_MUCH_OUTPUT == only(children).end


def test_the_signal_that_ended_a_child_is_reported(
    children: SystemChildren, smartctl: StandIn
) -> None:
    children.start("sda", [smartctl.program, smartctl.dies("sda", "SEGV")], PATIENCE_SECONDS)
    finished = only(children)
    assert (End.EXITED, -signal.SIGSEGV) == (finished.end, finished.status)
    assert "signal 11" in finished.message


def test_a_child_that_closes_its_output_is_awaited(
    children: SystemChildren, smartctl: StandIn
) -> None:
    path = smartctl.does("sda", "echo all; exec >&- 2>&-; sleep 0.3; exit 7")
    children.start("sda", [smartctl.program, path], PATIENCE_SECONDS)
    finished = only(children)
    assert (7, b"all\n") == (finished.status, finished.output)


def test_fifty_children_run_in_parallel(children: SystemChildren, smartctl: StandIn) -> None:
    with at_most(25):
        for number in range(50):
            path = smartctl.does(f"sd{number}", f"sleep 1; echo {number}")
            children.start(number, [smartctl.program, path], PATIENCE_SECONDS)
        assert 50 == children.running
        done = all_of(children, 50)
        assert {number: f"{number}\n".encode() for number in range(50)} == {
            key: finished.output for key, finished in done.items()
        }


def test_a_child_that_hangs_delays_no_other(children: SystemChildren, smartctl: StandIn) -> None:
    children.start("hangs", [smartctl.program, smartctl.hangs("sda")], 1000)
    good = smartctl.says("sdb")
    for number in range(10):
        children.start(number, [smartctl.program, good], PATIENCE_SECONDS)
        assert f"{GOOD}\n".encode() == only(children).output
    assert 1 == children.running


def test_a_child_that_must_not_be_killed_is_stuck_until_it_ends(
    children: SystemChildren, smartctl: StandIn, tmp_path: Path
) -> None:
    """Its pipe is still read. Otherwise the child would block and never end."""
    go = tmp_path / "go"
    script = f"while [ ! -e {go} ]; do sleep 0.02; done; head -c 300000 /dev/zero; echo > {go}.done"
    children.start("sda", [smartctl.program, smartctl.does("sda", script)], 0.1, may_kill=False)
    finished = only(children)
    assert (End.STUCK, None, b"") == (finished.end, finished.status, finished.output)
    assert "has not ended" in finished.message
    assert (frozenset({"sda"}), 0) == (children.stuck(), children.running)

    assert [] == children.wait(0.1)
    assert frozenset({"sda"}) == children.stuck()
    go.touch()
    with at_most(5, "detecting the end of the child"):
        assert [] == children.wait(PATIENCE_SECONDS), "already reported"
    assert frozenset() == children.stuck()
    assert Path(f"{go}.done").exists(), "the child was interrupted"


def test_a_child_that_must_not_be_killed_may_print_endlessly(
    children: SystemChildren, smartctl: StandIn
) -> None:
    path = smartctl.does("sda", "head -c 400000 /dev/zero; exit 5")
    children.start("sda", [smartctl.program, path], PATIENCE_SECONDS, may_kill=False)
    finished = only(children)
    assert (End.TOO_MUCH_OUTPUT, 5) == (finished.end, finished.status)
    assert len(finished.output) <= 100_000


def test_a_child_that_does_not_die_is_abandoned_and_collected_when_it_ends(
    children_that_do_not_die: SystemChildren, smartctl: StandIn
) -> None:
    """Like a process in uninterruptible sleep."""
    children = children_that_do_not_die
    started = time.monotonic()
    children.start("sda", [smartctl.program, smartctl.hangs("sda")], 0.1)
    (pid,) = child_pids("SDR")
    finished = only(children)
    assert (End.STUCK, None) == (finished.end, finished.status)
    assert 0.5 <= time.monotonic() - started
    assert "hangs in the kernel" in finished.message
    assert str(pid) in finished.message
    assert (frozenset({"sda"}), 0) == (children.stuck(), children.running)
    assert [] == children.wait(0.1)

    children.start("sdb", [smartctl.program, smartctl.says("sdb")], PATIENCE_SECONDS)
    assert "sdb" == only(children).key
    os.kill(pid, signal.SIGKILL)
    assert [] == children.wait(PATIENCE_SECONDS)
    assert frozenset() == children.stuck()


@pytest.mark.real
def test_a_child_in_uninterruptible_sleep_is_abandoned(smartctl: StandIn) -> None:
    """A frozen process (cgroup v1) handles no signal, not even SIGKILL, until it is thawed."""
    group = Path("/sys/fs/cgroup/freezer", f"ssd-exporter-{os.getpid()}")
    try:
        group.mkdir()
    except OSError as e:
        lacking(f"no freezer on this machine: {e}")
    try:
        clock = SkippingClock()
        children = quick(clock=clock, abandon_seconds=0.2)
        children.start("sda", [smartctl.program, smartctl.hangs("sda")], 1000)
        (pid,) = child_pids("SDR")
        (group / "cgroup.procs").write_text(str(pid))
        (group / "freezer.state").write_text("FROZEN")
        # Until it is frozen it can be killed.
        wait_until(lambda: (group / "freezer.state").read_text().strip() == "FROZEN", "the freeze")
        clock.skipped_seconds = 1000.0
        assert End.STUCK == only(children).end
        assert [pid] == child_pids("D")
        (group / "freezer.state").write_text("THAWED")
        assert [] == children.wait(PATIENCE_SECONDS)
        assert frozenset() == children.stuck()
        children.close()
    finally:
        (group / "freezer.state").write_text("THAWED")
        wait_until(lambda: not (group / "cgroup.procs").read_text())
        group.rmdir()


def test_a_wake_ends_the_wait(children: SystemChildren, smartctl: StandIn) -> None:
    wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
    children.start("sda", [smartctl.program, smartctl.hangs("sda")], 1000)
    os.eventfd_write(wake, 1)
    with at_most(5):
        assert [] == children.wait(60, wake)
    os.close(wake)


def test_a_wait_without_children_ends_at_its_timeout(children: SystemChildren) -> None:
    started = time.monotonic()
    with at_most(2):
        assert [] == children.wait(0.05)
        assert [] == children.wait(0.0)
    assert 0.05 <= time.monotonic() - started


def test_closing_ends_the_running_children(
    smartctl: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A killed process of a busy machine ends late.
    monkeypatch.setattr("exporter.programs.children._LAST_SECONDS", PATIENCE_SECONDS / 3)
    before = open_files()
    children = quick()
    children.start("a", [smartctl.program, smartctl.hangs("sda")], 1000)
    children.start("b", [smartctl.program, smartctl.does("sdb", "exec sleep 1000")], 1000)
    pids = child_pids("SDR")
    assert 2 == len(pids)
    with at_most(3):
        children.close()
    assert [] == [pid for pid in pids if is_there(pid)]
    assert set() == open_files() - before


def test_closing_takes_less_than_a_second_for_any_time_limit(
    smartctl: StandIn, tmp_path: Path
) -> None:
    children, ready = SystemChildren(SystemClock(), grace_seconds=PATIENCE_SECONDS), []
    for key in ("a", "b"):
        ready.append(tmp_path / f"{key} is ready")
        script = f"trap '' TERM\necho > '{ready[-1]}'\nexec sleep 1000\n"
        children.start(key, [smartctl.program, smartctl.does(key, script)], 1000)
    wait_until(lambda: all(file.exists() for file in ready))
    pids = child_pids("SDR")
    children.end("a")
    assert [] == children.wait(0.1)  # SIGTERM has been sent to one of them
    with at_most(0.8):
        children.close()
    # A killed process of a busy machine ends late; then nobody has read its status.
    wait_until(lambda: set(pids).isdisjoint(child_pids("SDR")), "the end of both")
    for pid in pids:
        with suppress(ChildProcessError):
            os.waitpid(pid, 0)


def test_closing_does_not_end_a_child_that_must_not_be_killed(
    smartctl: StandIn, tmp_path: Path
) -> None:
    """They run to their end, although their output is no longer read."""
    go = tmp_path / "go"
    script = f"while [ ! -e {go} ]; do sleep 0.02; done; echo lost; echo > {go}.done"
    children = quick()
    children.start("sda", [smartctl.program, smartctl.does("sda", script)], 1000, may_kill=False)
    children.start("sdb", [smartctl.program, smartctl.does("sdb", script)], 0.05, may_kill=False)
    assert "sdb" == only(children).key
    with at_most(1, "close, which waits for no child,"):
        children.close()
    go.touch()
    wait_until(Path(f"{go}.done").exists)
    for _ in range(2):
        os.wait()


def test_pipes_do_not_use_the_three_lowest_descriptors() -> None:
    """Even if the exporter was started with descriptors 0 to 2 closed."""
    pid = os.fork()
    if pid == 0:
        os.closerange(0, 3)
        children = quick()
        children.start(1, ["sh", "-c", "cat; echo out; echo err >&2"], PATIENCE_SECONDS)
        finished = only(children)
        os._exit(0 if (finished.output, finished.errors) == (b"out\n", b"err\n") else 1)
    assert 0 == os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_a_child_collected_elsewhere_is_not_waited_for(smartctl: StandIn) -> None:
    children = quick()
    children.start("sda", [smartctl.program, smartctl.says("sda")], PATIENCE_SECONDS)
    (pid,) = child_pids("SDRZ")
    os.waitpid(pid, 0)
    finished = only(children)
    assert (End.EXITED, None) == (finished.end, finished.status)
    assert "SIGCHLD" in finished.message
    children.close()


def test_a_child_that_must_not_be_killed_stays_in_stuck_until_it_ends(
    smartctl: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their results are not returned."""
    # A killed process of a busy machine ends late.
    monkeypatch.setattr("exporter.programs.children._LAST_SECONDS", PATIENCE_SECONDS / 3)
    children, go = quick(), tmp_path / "go"
    slow = smartctl.does("sda", f"while [ ! -e {go} ]; do sleep 0.02; done\n")
    children.start("sda", [smartctl.program, slow], PATIENCE_SECONDS, may_kill=False)
    children.start("sdb", [smartctl.program, smartctl.hangs("sdb")], PATIENCE_SECONDS)
    children.end_all()
    assert frozenset({"sda"}) == children.stuck()
    assert 0 == children.running
    go.touch()
    children.start("sdc", [smartctl.program, smartctl.says("sdc")], PATIENCE_SECONDS)
    returned_keys = []
    while children.stuck() or children.running:
        returned_keys += [finished.key for finished in children.wait(5)]
    assert ["sdc"] == returned_keys
    children.close()
