"""When the problems of a drive were found first, and how damaged state is read."""

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from exporter.drives.health import DriveHealth
from exporter.drives.watched_drive import WatchedDrive
from exporter.smart.problem_times import ProblemTimes
from tests.pages.examples import health

GOOD = WatchedDrive("sda", "S1", "/dev/sda", up=True, polls={"success": 1}, health=DriveHealth())


def ill(errors: int) -> WatchedDrive:
    return replace(GOOD, health=DriveHealth(media_errors=errors))


def test_a_problem_keeps_its_time_while_its_number_changes() -> None:
    times = ProblemTimes()
    for at, errors in (10.0, 1), (20.0, 2), (30.0, 2):
        times.observe(at, [ill(errors)])
    assert {"uncorrectable errors": 10.0} == times.of(GOOD)


def test_a_problem_that_becomes_more_severe_keeps_its_time() -> None:
    times = ProblemTimes()
    for at, wear in (10.0, 0.85), (20.0, 0.95):
        times.observe(at, [replace(GOOD, health=health(wear))])
    assert {"wear": 10.0} == times.of(GOOD)


def test_a_problem_that_comes_back_is_a_new_one() -> None:
    times = ProblemTimes()
    for at, drive in (10.0, ill(1)), (20.0, GOOD), (30.0, ill(1)):
        times.observe(at, [drive])
    assert {"uncorrectable errors": 30.0} == times.of(GOOD)


def test_a_drive_that_does_not_answer_keeps_the_problems_of_its_last_answer() -> None:
    times = ProblemTimes()
    silent = replace(GOOD, up=False, health=None, message="no answer")
    for at, drive in (10.0, ill(1)), (20.0, silent), (30.0, ill(2)):
        times.observe(at, [drive])
        if drive is silent:
            assert {"uncorrectable errors": 10.0, "silent": 20.0} == times.of(GOOD)
    assert {"uncorrectable errors": 10.0} == times.of(GOOD)


def test_the_times_belong_to_the_drive_and_not_to_its_name() -> None:
    times = ProblemTimes()
    times.observe(10.0, [replace(ill(1), key="a")])
    times.observe(20.0, [replace(ill(1), key="b")])
    assert [10.0, 20.0] == [
        times.of(replace(GOOD, key=key))["uncorrectable errors"] for key in "ab"
    ]


def test_the_times_survive_a_restart() -> None:
    times = ProblemTimes()
    times.observe(10.0, [ill(1)])
    again = ProblemTimes(json.loads(json.dumps(times.to_state())))
    again.observe(99.0, [ill(1)])
    assert {"uncorrectable errors": 10.0} == again.of(GOOD)


def test_the_number_of_drives_is_limited() -> None:
    times = ProblemTimes()
    times.observe(10.0, [replace(ill(1), key=str(number)) for number in range(1000)])
    assert len(times.to_state()) == 256
    assert len(ProblemTimes({str(n): {"wear": 1.0} for n in range(1000)}).to_state()) == 256


def test_drives_that_were_replaced_leave_their_place_to_new_ones() -> None:
    times = ProblemTimes()
    times.observe(10.0, [replace(ill(1), key=str(number)) for number in range(256)])
    new = replace(ill(1), key="new")
    times.observe(20.0, [replace(ill(1), key="7"), new])
    assert {"uncorrectable errors": 20.0} == times.of(new)
    assert {"7", "new"} == times.to_state().keys()


_JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=9),
    lambda each: st.lists(each) | st.dictionaries(st.text(max_size=9) | st.just("wear"), each),
    max_leaves=20,
)


@given(kept=_JSON)
def test_damaged_state_is_dropped(kept: object) -> None:
    state = ProblemTimes(kept).to_state()
    assert all(at >= 0 for times in state.values() for at in times.values())
    ProblemTimes(state).observe(1.0, [ill(1)])
