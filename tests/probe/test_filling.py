"""Tests the filling of the probes' file: rate, guard, holes and errors."""

import contextlib
from collections.abc import Callable
from pathlib import Path

import pytest

from exporter.measurement import guarded_run
from exporter.probe import filling, probe_file
from exporter.probe.probe_directory import ProbeDirectory
from exporter.runtime.errors import ReadError
from tests.fakes import FakeClock
from tests.probe.probing import Rig


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    rig = Rig(tmp_path)
    rig.directories[0].locate()
    return rig


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def fill(rig: Rig, clock: FakeClock, size: int, on_progress: Callable[[int], None]) -> int:
    """Returns the bytes that are charged."""
    directory: ProbeDirectory = rig.directories[0]
    charged: list[int] = []
    missing = filling.bytes_to_fill(directory.path, "file", size)
    try:
        filling.fill(
            directory,
            "file",
            size,
            missing,
            rules=rig.rules,
            clock=clock,
            on_progress=on_progress,
            settle=charged.append,
        )
    finally:
        assert 1 == len(charged), "settled once, also after an error"
    return charged[0]


def test_a_file_is_filled_at_the_limited_rate(rig: Rig, clock: FakeClock) -> None:
    seen, size = list[int](), 4 << 20
    assert size == filling.bytes_to_fill(rig.path, "file", size)
    with guarded_run.remove_afterwards(rig.path, "file"):
        assert size == fill(rig, clock, size, seen.append)
        assert rig.path / "file" == guarded_run.prepare_length(rig.path, "file", size)
        assert size == (rig.path / "file").stat().st_size
        assert 0 == filling.bytes_to_fill(rig.path, "file", size)
    assert [1 << 20, 2 << 20, 3 << 20, 4 << 20] == seen
    assert sum(clock.slept) == pytest.approx(filling.fill_seconds(size), rel=0.01)
    assert not rig.path.exists(), "a directory that did not exist before is removed"


def test_filling_does_not_catch_up_after_a_stall(rig: Rig, clock: FakeClock) -> None:
    seen = list[float]()

    def stall(length_bytes: int) -> None:
        seen.append(clock.monotonic())
        if length_bytes == 4 << 20:
            clock.advance(60.0)

    fill(rig, clock, 64 << 20, stall)
    # If it did, the rest would be written at once.
    assert seen[-1] - seen[4] > 0.5


def test_a_file_with_holes_is_filled_from_its_start(rig: Rig, clock: FakeClock) -> None:
    probe_file.prepare(rig.path, "file", 4 << 20, fill=False)
    assert 2 << 20 == filling.bytes_to_fill(rig.path, "file", 2 << 20)
    assert 2 << 20 == fill(rig, clock, 2 << 20, lambda _length: None)
    assert 0 == filling.bytes_to_fill(rig.path, "file", 2 << 20)


def test_an_interrupted_filling_leaves_no_file(rig: Rig, clock: FakeClock) -> None:
    def stop(length_bytes: int) -> None:
        if length_bytes > 2 << 20:
            raise ReadError("enough")

    with contextlib.suppress(ReadError), guarded_run.remove_afterwards(rig.path, "file"):
        fill(rig, clock, 4 << 20, stop)
    assert not rig.path.exists()
