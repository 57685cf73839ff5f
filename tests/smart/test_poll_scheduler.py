"""Tests of the schedule of polls, with a fake clock and simulated child processes."""

import gc
import itertools
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.programs.child import End, Finished
from exporter.programs.children import SystemChildren
from exporter.runtime.clock import SystemClock
from exporter.smart.polling.poll_document import PollDocument
from exporter.smart.polling.poll_result import PollResult
from exporter.smart.polling.poll_scheduler import PollScheduler, PollSettings
from exporter.smart.polling.poll_timing import Target
from exporter.smart.smartctl import Address
from tests.duration import PATIENCE_SECONDS, at_most
from tests.fakes import FakeClock, SkippingClock
from tests.fuzz import examples
from tests.stand_ins.children import Behaviour, FakeChildren, answers
from tests.stand_ins.smartctl import StandIn

HOUR = 3600.0
DAY = 24 * HOUR


def target(name: str, interval: float = 60.0, adapter: str = "") -> Target:
    kind = "nvme" if name.startswith("nvme") else "sat"
    return Target(Address(f"/dev/{name}", kind), adapter or name, interval, 10.0)


class Polling:
    """A poll scheduler with fakes that records the time of each poll."""

    def __init__(self, behaviour: Behaviour = answers, **bounds: int) -> None:
        self.clock = FakeClock()
        self.children = FakeChildren(self.clock, behaviour)
        self.poll = PollScheduler(self.children, self.clock, "smartctl", PollSettings(**bounds))
        self.polls: list[tuple[float, PollDocument]] = []

    def of(self, targets: Iterable[Target]) -> "Polling":
        self.poll.set_targets(targets)
        return self

    def go_on(self, seconds: float) -> list[PollDocument]:
        """Let time pass; the polls that ended in it."""
        until, before = self.clock.monotonic() + seconds, len(self.polls)
        while (left := until - self.clock.monotonic()) > 1e-9:
            now = self.clock.monotonic
            self.polls += [(now(), poll) for poll in self.poll.step(left)]
        return [poll for _, poll in self.polls[before:]]

    def began(self, name: str) -> list[float]:
        return [at for at, _, argv in self.children.started if argv[-1] == f"/dev/{name}"]

    def daily(self, name: str) -> list[bool]:
        return [p.is_daily for _, p in self.polls if p.path == f"/dev/{name}"]


def ends(end: End, seconds: float = 0.0, status: int | None = None) -> Behaviour:
    def behaviour(key: Hashable, argv: Sequence[str], limit: float) -> Finished:
        return Finished(key, end, status, seconds=seconds or limit, message=end.value)

    return behaviour


def only_for(name: str, behaviour: Behaviour) -> Behaviour:
    """This for one drive, good answers for the others."""

    def chosen(key: Hashable, argv: Sequence[str], limit: float) -> Finished:
        return (behaviour if f"/dev/{name}" in argv else answers)(key, argv, limit)

    return chosen


def test_every_drive_is_polled_after_the_start_in_the_given_order() -> None:
    polling = Polling(processes=100)
    names = ["sdc", "nvme1", "sda", "nvme0", "sdb"]
    polling.of(target(name, 900) for name in names).go_on(1)
    assert [f"/dev/{name}" for name in names] == [
        argv[-1] for _, _, argv in polling.children.started
    ]
    assert {1000.0} == {at for at, _, _ in polling.children.started}
    assert {PollResult.SUCCESS} == {poll.result for _, poll in polling.polls}


def test_poll_starts_are_spaced_and_results_are_collected_together() -> None:
    polling = Polling()
    polling.children.between_seconds = 0.004
    polling.of(target(f"sd{letter}", 900) for letter in "abcdef").go_on(1)
    began = [at for at, _, _ in polling.children.started]
    assert pytest.approx([1000.0 + 0.004 * n for n in range(6)]) == began
    assert 1 == len({at for at, _ in polling.polls})


def test_a_wake_is_handled_before_other_results_are_gathered() -> None:
    polling = Polling(only_for("sda", ends(End.EXITED, seconds=0.09, status=0)))
    polling.poll.set_targets(target(name, 900) for name in ("sda", "sdb"))
    polling.poll.wake()
    began = polling.clock.monotonic()
    (first,) = polling.poll.step(60.0)
    assert "/dev/sdb" == first.path
    assert pytest.approx(0.04) == polling.clock.monotonic() - began


def test_the_number_of_processes_is_limited() -> None:
    polling = Polling(processes=3, processes_per_adapter=4)
    polling.poll.set_targets(target(f"sd{number}", 900) for number in range(20))
    assert 20 == len(polling.go_on(1))
    assert 3 == polling.children.most_running


def test_concurrent_polls_per_adapter_are_limited() -> None:
    polling = Polling(processes=8, processes_per_adapter=2)
    polling.of(target(f"sd{number}", 900, "hba") for number in range(20)).go_on(0.2)
    assert 2 == polling.children.most_running


def test_a_busy_adapter_does_not_hold_up_another() -> None:
    hangs = ends(End.TIMED_OUT)

    def behaviour(key: Hashable, argv: Sequence[str], limit: float) -> Finished:
        return (hangs if "/dev/sd" in argv[-1] else answers)(key, argv, limit)

    polling = Polling(behaviour, processes=8, processes_per_adapter=2)
    drives = [target(f"sd{n}", 900, "hba") for n in range(10)]
    polling.poll.set_targets([*drives, target("nvme0")])
    done = polling.go_on(1)
    assert ["/dev/nvme0"] == [poll.path for poll in done]


def test_each_drive_is_polled_once_per_interval_without_drift() -> None:
    polling = Polling().of([target("nvme0", 60)])
    polling.go_on(6 * HOUR)
    apart = [b - a for a, b in itertools.pairwise(polling.began("nvme0"))]
    assert 30 <= apart[0] <= 90, "from the first one to the grid"
    grid = [at % 60 for at in polling.began("nvme0")[1:]]
    daily = polling.daily("nvme0").index(True)
    del grid[daily - 1]
    assert max(grid) - min(grid) < 1e-6


def test_drives_of_one_interval_are_spread_over_it() -> None:
    polling = Polling(processes=1000).of(target(f"sd{n}", 900) for n in range(200))
    polling.go_on(1000)
    polling.children.started.clear()
    polling.go_on(900)
    per_minute = Counter(int(at // 60) for at, _, _ in polling.children.started)
    assert len(polling.children.started) >= 200
    assert max(per_minute.values()) <= 40, "200 in 15 minutes are 13 a minute"
    assert len(per_minute) >= 14


def test_a_drive_has_the_same_moment_at_every_start() -> None:
    moments: list[float] = []
    for _ in range(2):
        polling = Polling()
        polling.clock.advance(17.0 * len(moments))
        polling.of([target("sda", 900)]).go_on(5000)
        moments.append(polling.began("sda")[-1] % 900)
    assert pytest.approx(moments[0]) == moments[1]


def test_a_poll_that_outlasts_its_interval_is_not_joined_by_another() -> None:
    """FakeChildren would fail on a second poll. The next poll starts at its regular time."""
    polling = Polling(ends(End.EXITED, seconds=150.0, status=0)).of([target("sda", 60)])
    polling.go_on(HOUR)
    apart = [b - a for a, b in itertools.pairwise(polling.began("sda"))]
    assert min(apart) >= 150
    assert max(apart) <= 150 + 60 + 1


def test_a_drive_that_times_out_is_polled_less_often_until_it_answers() -> None:
    polling = Polling(ends(End.TIMED_OUT)).of([target("sda", 60)])
    polling.go_on(4 * HOUR)
    began = polling.began("sda")
    apart = [b - a for a, b in itertools.pairwise(began)]
    assert [120, 240, 480, 960, 1920, 3600] == [round(each) for each in apart[:6]]
    assert all(each <= 3601 for each in apart)
    polling.children.behaviour = answers
    polling.go_on(HOUR)
    before = len(polling.began("sda"))
    polling.go_on(HOUR)
    assert 60 <= len(polling.began("sda")) - before <= 61


def test_one_sick_drive_costs_one_drive() -> None:
    """The other 23 are as fresh as without it."""
    counts = []
    for behaviour in (answers, only_for("sd3", ends(End.TIMED_OUT))):
        polling = Polling(behaviour).of(target(f"sd{n}", 60, "hba") for n in range(24))
        polling.go_on(HOUR)
        counts.append({n: len(polling.began(f"sd{n}")) for n in range(24) if n != 3})
    assert counts[0] == counts[1]


def test_a_rare_interval_is_not_made_shorter_by_failing() -> None:
    polling = Polling(ends(End.TIMED_OUT)).of([target("sda", 2 * HOUR)])
    polling.go_on(20 * HOUR)
    apart = [b - a for a, b in itertools.pairwise(polling.began("sda"))]
    assert {2 * HOUR} == {round(each) for each in apart}


def test_a_stuck_drive_is_left_alone_until_its_child_is_gone() -> None:
    polling = Polling(only_for("sda", ends(End.STUCK)))
    sda, sdb = target("sda", 60), target("sdb", 60)
    polling.poll.set_targets([sda, sdb])
    done = polling.go_on(10 * HOUR)
    assert 1 == len(polling.began("sda"))
    assert len(polling.began("sdb")) >= 600, "the other one is asked on"
    assert [PollResult.STUCK] == [p.result for p in done if p.path == sda.address.path]
    assert frozenset({sda.address}) == polling.poll.stuck

    polling.children.behaviour = answers
    polling.children.let_go(sda.address)
    polling.go_on(121)
    assert frozenset() == polling.poll.stuck
    assert 2 <= len(polling.began("sda")), "and then it is asked again"


def test_a_stuck_child_does_not_count_as_running() -> None:
    polling = Polling(only_for("sda", ends(End.STUCK)), processes=1)
    polling.of([target("sda", 60), target("sdb", 60)]).go_on(HOUR)
    assert len(polling.began("sdb")) >= 58


def test_the_daily_logs_are_read_soon_after_the_start_and_once_a_day() -> None:
    polling = Polling().of([target("nvme0", 60), target("sda", 900)])
    polling.go_on(400)
    for name in ("nvme0", "sda"):
        asked = polling.daily(name)
        assert (False, 1) == (asked[0], asked.count(True))
    polling.go_on(10 * DAY)
    for name in ("nvme0", "sda"):
        assert 11 == polling.daily(name).count(True)


def test_the_first_daily_sets_are_spread() -> None:
    polling = Polling(processes=1000).of(target(f"sd{n}", 900) for n in range(100))
    polling.go_on(400)
    at = [at for at, poll in polling.polls if poll.is_daily]
    assert 100 == len(at)
    assert max(Counter(int(each // 30) for each in at).values()) <= 25


def standby(key: Hashable, argv: Sequence[str], limit: float) -> Finished:
    text = b'{"smartctl":{"messages":[{"string":"Device is in STANDBY mode, exit(3)"}]}}'
    return Finished(key, End.EXITED, 3, text, seconds=0.01)


def test_a_drive_in_standby_keeps_its_daily_set_for_later_and_its_interval() -> None:
    polling = Polling(standby).of([target("sda", 900)])
    polling.go_on(6 * HOUR)
    assert 24 <= len(polling.began("sda")) <= 27
    assert {PollResult.STANDBY} == {poll.result for _, poll in polling.polls}
    polling.children.behaviour = answers
    polling.go_on(HOUR)
    assert 1 == [p.is_daily for _, p in polling.polls if p.result == PollResult.SUCCESS].count(True)


def test_daily_logs_that_time_out_are_not_read_again_that_day() -> None:
    """Else the logs that hang would cost the regular values too."""

    def behaviour(key: Hashable, argv: Sequence[str], limit: float) -> Finished:
        return (ends(End.TIMED_OUT) if "selftest" in argv else answers)(key, argv, limit)

    polling = Polling(behaviour).of([target("sda", 60)])
    polling.go_on(DAY)
    assert 1 == polling.daily("sda").count(True)
    assert polling.daily("sda").count(False) > 1400


def test_new_drives_are_polled_at_once_and_others_keep_their_times() -> None:
    polling = Polling().of([target("sda", 900)])
    polling.go_on(2000)
    before = polling.began("sda")
    polling.of([target("sda", 900), target("sdb", 900)]).go_on(1)
    assert 1 == len(polling.began("sdb"))
    assert before == polling.began("sda")
    polling.go_on(900)
    assert 1 == len(polling.began("sda")) - len(before)


def test_a_removed_drive_is_not_polled_or_reported() -> None:
    polling = Polling(ends(End.EXITED, seconds=5.0, status=0))
    polling.poll.set_targets([target("sda", 60), target("sdb", 60)])
    list(polling.poll.step(1.0))
    polling.poll.set_targets([target("sdb", 60)])
    done = polling.go_on(HOUR)
    assert 1 == len(polling.began("sda"))
    assert {"/dev/sdb"} == {poll.path for poll in done}


def test_a_consumer_that_stops_early_does_not_stop_the_polls() -> None:
    polling = Polling(ends(End.EXITED, seconds=1.0, status=0))
    polling.poll.set_targets([target("sda", 60), target("sdb", 60)])
    polls = polling.poll.step(5.0)
    taken = next(polls).path.removeprefix("/dev/")
    polls.close()
    polling.go_on(HOUR)
    assert {"sda", "sdb"} > {taken}
    for name in ("sda", "sdb"):
        assert len(polling.began(name)) >= 59


def test_a_drive_that_returns_while_its_child_runs_is_not_polled_twice() -> None:
    polling = Polling(ends(End.EXITED, seconds=50.0, status=0))
    for targets in ([target("sda", 60)], [], [target("sda", 60)]):
        polling.poll.set_targets(targets)
        list(polling.poll.step(1.0))
    done = polling.go_on(60)
    assert 1 == len(done)


def test_a_stuck_drive_that_returns_stays_stuck() -> None:
    polling = Polling(ends(End.STUCK)).of([target("sda", 60)])
    polling.go_on(60)
    polling.of([]).go_on(60)
    polling.of([target("sda", 60)]).go_on(HOUR)
    assert 1 == len(polling.began("sda"))
    assert frozenset({target("sda").address}) == polling.poll.stuck


def test_a_changed_interval_holds_from_now_on() -> None:
    polling = Polling().of([target("sda", 86_400)])
    polling.go_on(1000)
    polling.of([target("sda", 60)]).go_on(600)
    assert len(polling.began("sda")) >= 10


def test_an_address_that_is_given_twice_is_one_drive() -> None:
    polling = Polling().of([target("sda", 60), target("sda", 900)])
    assert 1 == len(polling.go_on(1))


def test_a_drive_that_may_not_be_killed_is_started_so() -> None:
    polling = Polling()
    bridge = replace(target("sda"), address=Address("/dev/sda", "jmb39x,0"))
    polling.of([bridge, replace(target("sdb"), never_kill=True), target("sdc")]).go_on(1)
    may_kill = {str(key): may for key, may in polling.children.may_kill.items()}
    expected = {"/dev/sda -d jmb39x,0": False, "/dev/sdb -d sat": False, "/dev/sdc -d sat": True}
    assert expected == may_kill


def test_an_address_that_smartctl_cannot_be_given_fails_alone() -> None:
    polling = Polling()
    wrong = replace(target("sda"), address=Address("/dev/sda", "no type"))
    polling.poll.set_targets([wrong, target("sdb")])
    done = polling.go_on(1)
    results = {poll.path: poll.result for poll in done}
    assert {"/dev/sda": PollResult.NOT_STARTED, "/dev/sdb": PollResult.SUCCESS} == results


def test_a_poll_has_its_start_in_unix_time() -> None:
    polling = Polling().of([target("sda")])
    (poll,) = polling.go_on(1)
    assert pytest.approx(1_700_000_000.0) == poll.began_at


def test_a_scan_runs_beside_the_polls_and_only_one_at_a_time() -> None:
    polling = Polling().of([target("sda")])
    assert polling.poll.start_scan(30)
    assert not polling.poll.start_scan(30)
    assert polling.poll.take_scan() is None
    assert 1 == len(polling.go_on(1))
    scan = polling.poll.take_scan()
    assert scan is not None
    assert End.EXITED == scan.end
    assert polling.poll.take_scan() is None
    assert polling.poll.start_scan(30)


def test_a_stuck_scan_delays_no_poll_and_no_second_scan_starts() -> None:
    def behaviour(key: Hashable, argv: Sequence[str], limit: float) -> Finished:
        return (ends(End.STUCK) if "--scan-open" in argv else answers)(key, argv, limit)

    polling = Polling(behaviour).of([target("sda", 60)])
    polling.poll.start_scan(30)
    polling.go_on(HOUR)
    assert polling.poll.is_scan_stuck
    assert len(polling.began("sda")) >= 59
    scan = polling.poll.take_scan()
    assert scan is not None
    assert End.STUCK == scan.end
    assert not polling.poll.start_scan(30)
    (key,) = polling.children.stuck()
    polling.children.let_go(key)
    polling.go_on(60)
    assert not polling.poll.is_scan_stuck
    assert polling.poll.start_scan(30)


def test_closing_ends_the_running_children() -> None:
    polling = Polling()
    polling.poll.close()
    assert polling.children.is_closed


def calls_made(work: Callable[[], object]) -> int:
    """Calls of Python and C functions in this thread: steadier than time beside other work."""
    made = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal made
        made += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return made


def test_the_work_is_linear_to_1000_drives() -> None:
    """The calls a poll costs: the same with ten times the drives, but for a heap's logarithm."""
    calls = {}
    for count in (100, 1000):
        polling = Polling().of(target(f"nvme{n}", 60) for n in range(count))
        made = calls_made(lambda polling=polling: polling.go_on(120))  # type: ignore[misc]
        calls[count] = made / len(polling.polls)
    assert calls[1000] < 1.3 * calls[100]


@settings(max_examples=examples(60), deadline=None)
@given(st.data())
def test_bounds_hold_for_any_sequence_of_drives_and_results(data: st.DataObject) -> None:
    """FakeChildren fails if a drive is polled twice at the same time, or while it is stuck."""
    how = st.sampled_from(
        [answers, standby, ends(End.TIMED_OUT), ends(End.STUCK), ends(End.NOT_STARTED, 0.001)]
    )

    def behaviour(key: Hashable, argv: Sequence[str], limit: float) -> Finished:
        return data.draw(how)(key, argv, limit)

    polling = Polling(behaviour, processes=3, processes_per_adapter=2)
    for _ in range(data.draw(st.integers(1, 8))):
        names = data.draw(st.sets(st.sampled_from(["sda", "sdb", "sdc", "sdd", "nvme0"])))
        adapters = data.draw(st.sampled_from(["one", ""]))
        polling.of(target(name, 60, adapters) for name in sorted(names)).go_on(
            data.draw(st.sampled_from([0.01, 5.0, 100.0, 5000.0]))
        )
        for key in sorted(polling.children.stuck(), key=str):
            if data.draw(st.booleans()):
                polling.children.let_go(key)
    assert polling.children.most_running <= 3
    polling.children.behaviour = answers
    for key in sorted(polling.children.stuck(), key=str):
        polling.children.let_go(key)
    polling.poll.set_targets([target("sda", 60), target("sdb", 60)])
    done = polling.go_on(3 * HOUR)
    assert {"/dev/sda", "/dev/sdb"} == {poll.path for poll in done}


def on_processes(stand_in: StandIn, clock: SystemClock) -> PollScheduler:
    children = SystemChildren(clock, grace_seconds=0.2, abandon_seconds=PATIENCE_SECONDS)
    return PollScheduler(children, clock, stand_in.program, PollSettings())


@pytest.fixture
def real(tmp_path: Path) -> tuple[StandIn, PollScheduler]:
    stand_in = StandIn(tmp_path / "bin")
    return stand_in, on_processes(stand_in, SystemClock())


def until(poll: PollScheduler, enough: Callable[[list[PollDocument]], bool]) -> list[PollDocument]:
    done: list[PollDocument] = []
    end = time.monotonic() + PATIENCE_SECONDS
    while not enough(done):
        assert time.monotonic() < end
        done += poll.step(1.0)
    return done


def test_real_processes_are_run_and_a_hanging_one_is_detected(tmp_path: Path) -> None:
    """The others are polled while it hangs, although all are behind one adapter."""
    stand_in, clock = StandIn(tmp_path / "bin"), SkippingClock()
    poll = on_processes(stand_in, clock)
    targets = [
        Target(Address(path, "sat"), "hba", 9000, 1000)
        for path in (
            stand_in.hangs("sdx"),
            *(stand_in.says(f"sd{n}") for n in range(23)),
            stand_in.is_in_standby("sdy"),
        )
    ]
    poll.set_targets(targets)
    # A drive may be polled again before all others have been polled.
    done = until(poll, lambda done: len({each.path for each in done}) == 24)
    results = {each.path: each.result for each in done}
    assert {PollResult.SUCCESS: 23, PollResult.STANDBY: 1} == Counter(results.values())
    clock.skipped_seconds = 1000.0
    # Daily polls of the others are due too.
    done = until(poll, lambda done: any(each.result == PollResult.TIMED_OUT for each in done))
    assert ["/dev/sdx"] == [each.path for each in done if each.result == PollResult.TIMED_OUT]
    assert all("-n standby,3" in call for call in stand_in.calls())
    poll.close()


def test_another_thread_wakes_the_step(real: tuple[StandIn, PollScheduler]) -> None:
    _, poll = real
    begun = time.monotonic()
    with at_most(10):
        threading.Timer(0.1, poll.wake).start()
        assert [] == list(poll.step(60.0))
    assert time.monotonic() - begun > 0.05
    begun = time.monotonic()
    assert [] == list(poll.step(0.1))
    assert time.monotonic() - begun > 0.05, "one wake ends one step"
    gc.collect()  # of files of earlier tests
    before = set(os.listdir("/proc/self/fd"))
    poll.close()
    assert 2 == len(before - set(os.listdir("/proc/self/fd")))


def test_the_slots_of_a_bridge_that_is_polled_by_writes_are_polled_one_by_one() -> None:
    polling = Polling(ends(End.EXITED, seconds=3.0, status=0))
    slots = [
        replace(target("sda"), address=Address("/dev/sda", f"jmb39x,{n}"), adapter="0000:00:14.0")
        for n in range(3)
    ]
    polling.of([*slots, target("sdb")]).go_on(30)
    began = polling.began("sda")
    assert 3 == len(began)
    assert all(b - a >= 3.0 for a, b in itertools.pairwise(began))
    assert 1000.0 == polling.began("sdb")[0]


SCSI = '{"json_format_version":[1,0],"device":{"protocol":"SCSI"},"smartctl":{"version":[%d,%d]}}'
EXCEPTION = "Smartctl: Exception: json.cpp(313): Assertion failed: p->type == nt_array\n"
TEXT = "smartctl 7.2 2020-12-30 r5155 [x86_64-linux-5.10.0] (local build)\nVendor: EXAMPLE\n"


def prints(json: str, text: str) -> Behaviour:
    """A drive for which smartctl prints this with --json, and that without."""

    def behaviour(key: Hashable, argv: Sequence[str], limit: float) -> Finished:
        printed = json if "--json=c" in argv else text
        status = int(printed == EXCEPTION)
        return Finished(key, End.EXITED, status, printed.encode(), seconds=0.04)

    return behaviour


def forms(polling: Polling) -> list[str]:
    """What smartctl was asked for, in the order of the polls."""
    return [
        "json" if "--json=c" in argv else "text, background" if "background" in argv else "text"
        for _, _, argv in polling.children.started
    ]


@pytest.mark.parametrize(
    ("json", "expected"),
    [
        (SCSI % (7, 0), ["json", *3 * ["text, background"]]),
        (SCSI % (7, 2), ["json", *3 * ["text"]]),
        (EXCEPTION, ["json", *3 * ["text"]]),
        (SCSI % (7, 3), 3 * ["json"]),
    ],
    ids=["7.0", "7.2", "exception", "7.3"],
)
def test_a_scsi_drive_is_read_as_text_at_once_if_its_json_lacks_values(
    json: str, expected: list[str]
) -> None:
    polling = Polling(prints(json, TEXT)).of([target("sda")])
    assert [PollResult.SUCCESS] == [poll.result for poll in polling.go_on(1)]
    polling.go_on(120)
    assert expected == forms(polling)
    assert {PollResult.SUCCESS} == {poll.result for _, poll in polling.polls}


@pytest.mark.parametrize("text", ["", EXCEPTION, "usage"], ids=["empty", "exception", "unknown"])
def test_a_drive_whose_text_is_unreadable_stays_with_json(text: str) -> None:
    polling = Polling(prints(SCSI % (7, 1), text)).of([target("sda")])
    (poll,) = polling.go_on(1)
    assert (PollResult.SUCCESS, "SCSI") == (poll.result, poll.report["device"]["protocol"])  # type: ignore[index]
    polling.go_on(120)
    assert ["json", "text, background", "json", "json", "json"] == forms(polling)


def test_a_program_that_prints_json_in_any_case_is_read() -> None:
    polling = Polling(prints(SCSI % (7, 1), SCSI % (7, 1))).of([target("sda")])
    assert [PollResult.SUCCESS] == [poll.result for poll in polling.go_on(1)]


def test_waking_an_ended_poller_does_not_write_to_a_descriptor() -> None:
    """A signal handler may wake it, when its descriptor number already belongs to another file."""
    polling = Polling()
    polling.poll.close()
    reading, writing = os.pipe()
    polling.poll.wake()
    os.close(reading)
    os.close(writing)
