"""Recovery of the write cache after idle times."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from exporter.commands import slc_measurement
from exporter.commands.slc_measurement import recovered_by_idle_seconds, recovery_steps, until_slow
from exporter.commands.slc_report import RecoveryStep
from exporter.config.profiles import PROFILES, Profile
from exporter.probe.cache_cliff import MIB, TraceSample
from exporter.probe.cliff_result import CacheCliff, CliffResult
from exporter.probe.slc_watch import StopCondition, WatchedWrite
from tests.fakes import FakeClock
from tests.probe.test_slc_results import CLIFF

PROFILE = PROFILES["slc"]
FAST, SLOW = 540e6, 112.5e6


class Resting:
    """A drive of which `back` bytes of the cache are back at each write, and its measurement."""

    def __init__(self, *back: float) -> None:
        self.back = list(back)
        self.clock = FakeClock()
        self.interruption = SimpleNamespace(is_set=False, words="Ctrl-C")
        self.wrote_others = 0
        self.problems = [""] * len(back)
        self.shown: list[str] = []
        self.begun: list[float] = []

    def show(self, words: str, done: float | None = None) -> None:
        self.shown.append(words)
        assert done is not None
        assert 0 <= done <= 1

    def problem(self, _ended: Any) -> str:
        return self.problems.pop(0)

    def write(self, profile: Profile, may_stop: StopCondition) -> tuple[WatchedWrite, Any]:
        self.begun.append(self.clock.monotonic())
        left, total = self.back.pop(0), 0.0
        samples = []
        while total < profile.size_bytes:
            speed = FAST if total < left else SLOW
            samples.append(TraceSample(0.1, min(speed / 10, profile.size_bytes - total)))
            total += samples[-1].written_bytes
            if may_stop(samples[-1]):
                break
        return WatchedWrite(profile, Path("file"), tuple(samples), was_interrupted=False), None

    def climbed(
        self, *idle: int, device_bytes: Callable[[], int | None] = lambda: None
    ) -> tuple[list[RecoveryStep], str]:
        return recovery_steps(
            self,  # type: ignore[arg-type]
            CLIFF,
            PROFILE,
            idle,
            write=self.write,
            device_bytes=device_bytes,
        )


def test_more_cache_recovers_after_a_longer_idle_time() -> None:
    drive = Resting(1.5e9, 4.3e9, 40e9)
    steps, why = drive.climbed(30, 600, 3600)
    assert "" == why
    assert [30, 600, 3600] == [step.idle_seconds for step in steps]
    first, second, third = steps
    assert pytest.approx(1.5e9, rel=0.1) == first.recovered_bytes
    assert pytest.approx(4.3e9, rel=0.1) == second.recovered_bytes
    assert third.is_whole
    assert third.recovered_bytes == third.written_bytes == PROFILE.size_bytes
    assert not first.is_whole
    assert [1030.0, 1630.0, 5230.0] == pytest.approx(drive.begun)


def test_a_slow_write_stops_as_soon_as_it_is_confirmed() -> None:
    (step,), _ = Resting(1.5e9).climbed(30)
    assert step.written_bytes < 1.5e9 + 1.3 * (1 << 30)


def test_the_remaining_idle_time_is_shown() -> None:
    drive = Resting(1e9)
    drive.climbed(600)
    assert "idle time 1 of 1: 10 min left" == drive.shown[0]
    assert drive.shown[-1].endswith(": 1 s left")


def test_a_drive_with_other_writes_is_not_idle() -> None:
    drive = Resting(1e9, 1e9)
    counts = iter([0, 10**9, 10**9, 10**9 + 1000])
    noisy, quiet = drive.climbed(30, 60, device_bytes=lambda: next(counts))[0]
    assert 10**9 == noisy.others_bytes
    assert quiet.others_bytes is None
    assert {60: quiet.recovered_bytes} == recovered_by_idle_seconds([noisy, quiet])


def test_ctrl_c_stops_the_idle_time() -> None:
    drive = Resting(1e9, 1e9)
    drive.interruption.is_set = True
    assert ([], "ended by Ctrl-C") == drive.climbed(3600)
    assert 0 == len(drive.begun)


def test_steps_before_a_failure_are_kept() -> None:
    drive = Resting(1e9, 1e9)
    drive.problems = ["", "fio: failed"]
    steps, why = drive.climbed(30, 60)
    assert 1 == len(steps)
    assert "fio: failed" == why


def test_unknown_recovery_is_not_saved() -> None:
    assert {30: 5} == recovered_by_idle_seconds(
        [RecoveryStep(30, 9, 5), RecoveryStep(60, 9, None), RecoveryStep(90, 9, 5, others_bytes=1)]
    )


def test_a_write_of_a_small_cache_stops_after_an_eighth() -> None:
    may_stop = until_slow(CLIFF, PROFILE.__class__("slc", PROFILE.rw, MIB, 256 * MIB))
    written = 0.0
    while written < 256 * MIB and not may_stop(TraceSample(0.1, SLOW / 10)):
        written += SLOW / 10
    assert written < 50 * MIB
    assert slc_measurement.until_slow(CLIFF, PROFILE) is not may_stop


@pytest.mark.parametrize(
    ("result", "share", "is_noted"),
    [
        (CliffResult.BUDGET, 0.7, True),
        (CliffResult.BUDGET, 1.0, False),
        (CliffResult.CLIFF, 0.7, False),
        (CliffResult.ABORTED, 0.7, False),
    ],
)
def test_a_write_that_its_time_limit_ended_is_noted(
    result: CliffResult, share: float, is_noted: bool
) -> None:
    profile = replace(PROFILE, size_bytes=1000 * MIB, runtime_seconds=600.0)
    cliff = CacheCliff(result, int(share * profile.size_bytes))
    note = slc_measurement.time_limit_note(profile, cliff)
    assert is_noted == bool(note)
    if is_noted:
        assert note.startswith("The time limit of 10 min ended the write after 734 MB of 1.05 GB.")
