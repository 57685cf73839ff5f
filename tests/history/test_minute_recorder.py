"""The records of minutes: what is in them, what is left out, and what a clock that jumps does."""

from pathlib import Path

import pytest

from exporter.history import minute_recorder
from exporter.history.io_summary import IDLE, IoSummary, Period
from exporter.history.minute_recorder import MinuteRecorder
from exporter.io.verdict import Verdict
from tests.history.simulated_host import MIDNIGHT, SimulatedHost, identity, io

MINUTE = int(MIDNIGHT // 60)


class Host(SimulatedHost):
    """A host with a recorder whose minutes nobody writes."""

    def start(self) -> None:
        super().start()
        self.recorder = MinuteRecorder(self.sampler)
        self.recording = [self.recorder.take]

    def waiting(self) -> list[Period]:
        self.recorder.take()
        return minute_recorder.periods(self.recorder.waiting(), None)

    def of(self, name: str) -> dict[int, IoSummary | None]:
        """Returns the minutes of a drive, counted from midnight."""
        return {each.ordinal - MINUTE: each.drives.get(identity(name)) for each in self.waiting()}


def test_a_minute_has_the_mean_rates_and_the_median_and_worst_await(tmp_path: Path) -> None:
    its = Host(tmp_path, ["sda"])
    for second in range(60):
        its.second({"sda": io(written=3e6, await_seconds=0.3 if second == 7 else 0.001)})
    its.second({})
    found = its.of("sda")[0]
    assert found is not None
    assert 0.0 == found.read_bytes == found.read_await == found.read_worst
    assert found.written_bytes == pytest.approx(3e6, rel=1e-3)
    assert found.write_await == pytest.approx(0.001, rel=1e-3)
    assert found.write_worst == pytest.approx(0.3, rel=1e-3)


def test_idle_seconds_count_for_the_rate_and_not_for_the_await(tmp_path: Path) -> None:
    its = Host(tmp_path, ["sda"])
    its.seconds(30, {"sda": io(read=2e6, await_seconds=0.004)})
    its.seconds(31, {})
    found = its.of("sda")[0]
    assert found is not None
    assert found.read_bytes == pytest.approx(1e6, rel=0.01)
    assert found.read_await == pytest.approx(0.004, rel=1e-3)


def test_an_idle_drive_is_recorded_and_a_drive_that_is_not_there_is_not(tmp_path: Path) -> None:
    its = Host(tmp_path, ["sda"])
    its.seconds(61, {})
    assert {0: IDLE} == its.of("sda")
    assert {0: None} == its.of("sdb")


def test_the_seconds_of_each_bottleneck_are_counted(tmp_path: Path) -> None:
    its = Host(tmp_path, ["sda"])
    its.seconds(20, {"sda": io(read=1e6)}, {"sda": Verdict.DEVICE})
    its.seconds(5, {"sda": io(read=1e6)}, {"sda": Verdict.THERMAL})
    its.seconds(36, {"sda": io(read=1e6)})
    found = its.of("sda")[0]
    assert found is not None
    assert {Verdict.DEVICE: 20.0, Verdict.THERMAL: 5.0} == found.verdicts


def test_seconds_without_a_sample_are_not_seconds_without_io(tmp_path: Path) -> None:
    its = Host(tmp_path, ["sda"])
    its.seconds(20, {"sda": io(read=4e6)})
    its.clock.advance(20)
    its.sampler.recent.begin((None, None), None, missed=20)
    its.sampler.recent.record("sda", io(read=4e6), Verdict.NONE)
    its.clock.advance(1)
    its.sampler.sampled_at_unix_time = its.clock.wall()
    its.seconds(21, {"sda": io(read=4e6)})
    (minute,) = its.waiting()
    assert minute.seconds == pytest.approx(40, abs=1)
    assert minute.drives[identity("sda")].read_bytes == pytest.approx(4e6, rel=1e-3)


@pytest.mark.parametrize("interval", [0.1, 0.5, 1.0, 10.0])
def test_a_minute_is_a_minute_with_any_sampling_interval(tmp_path: Path, interval: float) -> None:
    its = Host(tmp_path, ["sda"], interval=interval)
    its.seconds(round(200 / interval), {"sda": io(read=1e6, seconds=interval)})
    found = its.waiting()
    assert [0, 1, 2] == [each.ordinal - MINUTE for each in found]
    for each in found:
        assert each.seconds == pytest.approx(60, abs=2 * interval)
        assert each.drives[identity("sda")].read_bytes == pytest.approx(1e6, rel=0.01)


def test_a_recorder_that_was_delayed_records_each_minute(tmp_path: Path) -> None:
    its = Host(tmp_path, ["sda"])
    its.record()
    for _ in range(250):
        its.second({"sda": io(read=1e6)})
    assert [0, 1, 2, 3] == sorted(its.of("sda"))


@pytest.mark.parametrize("step", [-7200, -61, 59, 3600, 3e9, -1.6e9])
def test_a_clock_that_jumps_loses_and_repeats_no_second(tmp_path: Path, step: float) -> None:
    its = Host(tmp_path, ["sda"])
    its.seconds(90, {"sda": io(read=1e6)})
    its.clock.step_wall(step)
    its.seconds(150, {"sda": io(read=1e6)})
    whole = sum(each.seconds for each in its.waiting())
    assert 240 - 60 <= whole <= 240


def test_of_a_thousand_drives_those_with_io_are_recorded(tmp_path: Path) -> None:
    names = [f"sd{number}" for number in range(1000)]
    its = Host(tmp_path, names)
    busy = names[800:1000]
    its.seconds(61, {name: io(read=1e6) for name in busy})
    (minute,) = its.waiting()
    assert 256 == len(minute.drives)
    assert {identity(name) for name in busy} <= {
        name for name, each in minute.drives.items() if each != IDLE
    }


def test_minutes_that_cannot_be_written_take_limited_memory(tmp_path: Path) -> None:
    its = Host(tmp_path, [f"sd{number}" for number in range(256)])
    load = {name: io(read=1e6) for name in its.names}
    its.seconds(40 * 60, load)
    _, kept = its.recorder.waiting()
    assert sum(map(len, kept)) <= 96 << 10
    assert its.sampler.recent.number // 60 + MINUTE >= its.waiting()[-1].ordinal > MINUTE + 30
