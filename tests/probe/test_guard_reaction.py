"""The time in which the guard ends fio after a server without pressure information starts to wait.

The clock is simulated, so the result does not depend on the speed of the machine.
"""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import pytest

from exporter.config.gate_rules import GateRules
from exporter.config.profiles import PROFILES
from exporter.probe.fio import Fio
from exporter.probe.fio_run import RunOutcome, run_fio
from exporter.probe.gate import GuardSample, Reason
from exporter.probe.host_lock import HostLock, ProbePidFile
from exporter.probe.production_load import GuardSampler
from exporter.programs.child import End, Finished
from tests.fakes import FakeClock

PID = 80

#: fio ends this long after SIGTERM, in seconds: measured with 8 requests of 1 MiB in flight on a
#: device with 40 MB/s.
FIO_ENDS_SECONDS = 0.2


class Lock:
    """Stands in for the host lock, which the kernel gives to one process only."""

    @contextmanager
    def inheritable(self) -> Iterator[None]:
        yield


class Server:
    """Runs fio on a simulated clock, beside a server that waits from `since` on.

    share: the share of the readings in which a thread of the server waits.
    """

    is_stuck = False
    problem = ""

    def __init__(self, proc: Path, clock: FakeClock, since: float, share: float) -> None:
        self._stat = proc / f"{PID}/task/{PID}/stat"
        self._stat.parent.mkdir(parents=True)
        self._clock, self._since, self._share = clock, since, share
        self._random = random.Random(f"{since} {share}")
        self._ends_at: float | None = None

    def engines(self) -> frozenset[str] | None:
        return frozenset()

    def start(self, _profiles: object, _file: Path, _limit_seconds: float) -> int | None:
        return 1

    def wait(self, seconds: float) -> Finished | None:
        self._clock.advance(seconds)
        now = self._clock.monotonic()
        waits = now >= self._since and self._random.random() < self._share
        self._stat.write_text(f"{PID} (mysqld) {'D' if waits else 'S'} 1 77 77 0 -1 0 0 0 0\n")
        if self._ends_at is not None and now >= self._ends_at:
            return Finished(None, End.EXITED, 0, b"", seconds=now)
        return None

    def end(self) -> None:
        self._ends_at = self._clock.monotonic() + FIO_ENDS_SECONDS

    def close(self) -> None:
        pass


def ended(place: Path, since: float, share: float, limit: float = 30.0) -> tuple[RunOutcome, float]:
    """Returns the outcome, and the time from the server's first wait until fio has ended."""
    clock = FakeClock()
    begun = clock.monotonic()
    fio = Server(place, clock, begun + since, share)
    sampler = GuardSampler(place, (), "sda", GuardSample(), clock, servers=(PID,))
    outcome = run_fio(
        cast("Fio", fio),
        (PROFILES["slc"],),
        place / "file",
        lock=cast("HostLock", Lock()),
        pid_file=ProbePidFile(place),
        sampler=sampler,
        avail=lambda: None,
        rules=GateRules(),
        clock=clock,
        is_stopping=lambda: clock.monotonic() - begun > limit,
    )
    return outcome, clock.monotonic() - begun - since


@pytest.mark.parametrize("phase", [0.0, 0.05, 0.1, 0.2])
@pytest.mark.parametrize("share", [0.85, 0.9, 1.0])
def test_fio_ends_within_two_seconds_after_a_server_starts_to_wait(
    tmp_path: Path, phase: float, share: float
) -> None:
    outcome, seconds = ended(tmp_path, 5.0 + phase, share)
    assert Reason.CGROUP_PRESSURE is outcome.reason
    assert seconds <= (1.1 if share == 1.0 else 2.0)


@pytest.mark.parametrize("share", [0.0, 0.2, 0.3])
def test_a_server_that_waits_a_third_of_the_time_or_less_does_not_end_fio(
    tmp_path: Path, share: float
) -> None:
    outcome, _ = ended(tmp_path, 1.0, share)
    assert outcome.reason is None
