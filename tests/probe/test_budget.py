"""Tests the budget over restarts, kills, reboots and clock steps."""

import json
import logging
import random
import signal
import stat
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.probe import budget_ledger
from exporter.probe.budget import DAY_BYTES, ProbeBudget
from exporter.probe.budget_ledger import Ledger, Reservation, SpentBytes, WriteLimits
from exporter.runtime.errors import ParseError
from tests.fakes import FakeClock
from tests.fuzz import examples

MIB = 1 << 20
DAY = 86_400.0


class Machine:
    """A host with a state directory, a clock and a boot id."""

    def __init__(self, directory: Path, day_bytes: int = DAY_BYTES) -> None:
        self.directory = directory
        self.clock = FakeClock()
        self.boot = 1
        self.day_bytes = day_bytes
        self.rated: dict[str, float] = {}

    def start(self) -> ProbeBudget:
        """Returns the budget of a daemon that starts while no probe runs."""
        budget = ProbeBudget(
            self.directory, self.clock, f"boot-{self.boot}", self.day_bytes, self.rated
        )
        budget.recover()
        return budget


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def kept(machine: Machine) -> Any:
    return json.loads((machine.directory / "probe-budget.json").read_text())


def test_a_rating_that_is_added_after_the_start_counts(tmp_path: Path) -> None:
    rated: dict[str, float] = {}
    budget = ProbeBudget(tmp_path, FakeClock(), "boot", rated_bytes=rated)
    rated["sda"] = 150e12
    assert int(150e12 * 0.0005 / 365) == budget.limits("sda").day_bytes


def test_nothing_is_spent_at_first(machine: Machine) -> None:
    assert WriteLimits(1 << 30, (1 << 30) * 3650) == machine.start().remaining("sda")


def test_twice_the_bytes_of_a_run_are_reserved_on_the_disk_before_it_starts(
    machine: Machine,
) -> None:
    budget = machine.start()
    assert 8 * MIB == budget.reserve("sda", "burst", 4 * MIB)
    assert DAY_BYTES - 8 * MIB == budget.remaining("sda").day_bytes
    assert 8 * MIB == kept(machine)["reservation"]["bytes"]
    assert DAY_BYTES == budget.remaining("sdb").day_bytes


@pytest.mark.parametrize(
    ("fio", "device", "charged"),
    [
        (MIB, None, 2 * MIB),
        (MIB, MIB, 2 * MIB),
        (MIB, 3 * MIB, 3 * MIB),
        (0, 0, 0),
        (None, MIB, 8 * MIB),
        (None, 9 * MIB, 9 * MIB),
        (None, None, 8 * MIB),
        (-5, -5, 0),
    ],
)
def test_a_run_is_charged_twice_fios_bytes_or_the_devices_if_greater(
    machine: Machine, fio: int | None, device: int | None, charged: int
) -> None:
    budget = machine.start()
    budget.reserve("sda", "burst", 4 * MIB)
    assert charged == budget.settle(fio, device)
    assert DAY_BYTES - charged == budget.remaining("sda").day_bytes
    assert budget.remaining("sda") == machine.start().remaining("sda")


def test_only_the_owner_can_open_the_files_of_the_budget(machine: Machine) -> None:
    """Everyone who can open the lock file can hold the lock, and so prevent all probes."""
    machine.start().reserve("sda", "burst", 4 * MIB)
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in machine.directory.iterdir()}
    assert {0o600} == set(modes.values()), modes


def test_settling_twice_charges_once(machine: Machine) -> None:
    budget = machine.start()
    budget.reserve("sda", "fsync", MIB)
    budget.settle(MIB, None)
    assert 0 == budget.settle(MIB, None)
    assert 2 * MIB == kept(machine)["spent"]["sda"]["day_bytes"]


def test_a_killed_run_is_charged_in_full_at_the_next_start(
    machine: Machine, caplog: pytest.LogCaptureFixture
) -> None:
    machine.start().reserve("sda", "burst", 4 * MIB)
    budget = machine.start()
    assert DAY_BYTES - 8 * MIB == budget.remaining("sda").day_bytes
    assert budget.unacknowledged is None
    assert "a burst probe of sda was killed" in caplog.text


def test_a_killed_run_is_charged_at_the_next_reservation_too(machine: Machine) -> None:
    budget = machine.start()
    budget.reserve("sda", "burst", 4 * MIB)
    budget.reserve("sda", "fsync", MIB)
    assert DAY_BYTES - 10 * MIB == budget.remaining("sda").day_bytes


def test_when_the_daily_budget_is_spent_nothing_is_reserved_until_the_next_day(
    machine: Machine,
) -> None:
    budget = machine.start()
    assert budget.reserve("sda", "burst", 512 * MIB) is not None
    budget.settle(512 * MIB, None)
    assert 0 == budget.remaining("sda").day_bytes
    assert budget.reserve("sda", "fsync", 1) is None
    assert 0 == budget.reserve("sda", "page_read", 0)
    budget.settle(0, 0)
    machine.clock.advance(DAY)
    assert DAY_BYTES == budget.remaining("sda").day_bytes
    assert DAY_BYTES * 3649 == budget.remaining("sda").life_bytes
    assert 2 == budget.reserve("sda", "fsync", 1)


def test_an_on_demand_run_is_charged_to_the_life_and_not_to_the_day(machine: Machine) -> None:
    budget = machine.start()
    assert 32 << 30 == budget.reserve("sda", "slc", 16 << 30, on_demand=True)
    budget.settle(16 << 30, None)
    assert WriteLimits(DAY_BYTES, DAY_BYTES * 3650 - (32 << 30)) == budget.remaining("sda")
    assert budget.reserve("sda", "bench", DAY_BYTES * 3650, on_demand=True) is None


def test_a_rated_drive_may_be_written_0_05_percent_of_its_endurance_a_year(
    machine: Machine,
) -> None:
    machine.rated = {"sda": 150e12, "sdb": 1e18, "sdc": -1.0}
    budget = machine.start()
    assert int(150e12 * 0.0005 / 365) == budget.limits("sda").day_bytes
    assert pytest.approx(0.005 * 150e12, rel=1e-6) == budget.limits("sda").life_bytes
    assert DAY_BYTES == budget.limits("sdb").day_bytes
    assert WriteLimits(0, 0) == budget.limits("sdc")


def test_after_a_reboot_during_a_probe_nothing_is_reserved_until_acknowledged(
    machine: Machine, caplog: pytest.LogCaptureFixture
) -> None:
    machine.start().reserve("sda", "page_read", 0)
    machine.boot += 1
    budget = machine.start()
    assert budget.unacknowledged is not None
    assert ("sda", "page_read") == (budget.unacknowledged.drive, budget.unacknowledged.profile)
    assert "ssd-exporter probe --acknowledge" in caplog.text
    assert budget.reserve("sda", "page_read", 0) is None
    machine.boot += 1
    assert machine.start().unacknowledged is not None
    # By another process.
    assert machine.start().acknowledge()
    budget.refresh()
    assert budget.unacknowledged is None
    assert not budget.acknowledge()
    assert 0 == budget.reserve("sda", "page_read", 0)


def test_a_reboot_between_probes_needs_no_acknowledgement(machine: Machine) -> None:
    budget = machine.start()
    budget.reserve("sda", "fsync", MIB)
    budget.settle(MIB, None)
    machine.boot += 1
    assert machine.start().unacknowledged is None


def test_without_a_boot_id_a_killed_run_counts_as_a_reboot(tmp_path: Path) -> None:
    clock = FakeClock()
    ProbeBudget(tmp_path, clock, "").reserve("sda", "fsync", MIB)
    budget = ProbeBudget(tmp_path, clock, "")
    budget.recover()
    assert budget.unacknowledged is not None


def test_after_a_clock_step_back_the_daily_budget_is_spent(
    machine: Machine, caplog: pytest.LogCaptureFixture
) -> None:
    budget = machine.start()
    budget.reserve("sda", "fsync", MIB)
    budget.settle(MIB, None)
    machine.clock.advance(-10 * DAY)
    assert 0 == budget.remaining("sda").day_bytes
    again = machine.start()
    assert 0 == again.remaining("sda").day_bytes
    assert "dated in the future" in caplog.text
    assert again.reserve("sda", "fsync", MIB) is None
    machine.clock.advance(DAY)
    assert WriteLimits(DAY_BYTES, DAY_BYTES * 3650 - 2 * MIB) == machine.start().remaining("sda")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("\0" * 4096, "not JSON"),
        ("[]", "version None instead of 1"),
        ('{"version":2,"day":1,"spent":{}}', "version 2 instead of 1"),
        ('{"version":1,"spent":{}}', "day is not a count"),
        ('{"version":1,"day":1,"spent":[]}', "spent"),
        ('{"version":1,"day":1,"spent":{"sda":{"day_bytes":-1,"life_bytes":1}}}', "day_bytes"),
        ('{"version":1,"day":1,"spent":{"sda":7}}', "day_bytes"),
        ('{"version":1,"day":1,"spent":{},"reservation":7}', "on_demand"),
        ('{"version":1,"day":1,"spent":{},"reservation":{"on_demand":true}}', "at is not a time"),
    ],
)
def test_an_invalid_file_is_kept_aside_and_the_count_over_the_life_continues(
    machine: Machine, caplog: pytest.LogCaptureFixture, text: str, why: str
) -> None:
    budget = machine.start()
    budget.reserve("sda", "fsync", MIB)
    budget.settle(MIB, None)
    life = budget.remaining("sda").life_bytes
    (machine.directory / "probe-budget.json").write_text(text)
    budget = machine.start()
    assert 0 == budget.remaining("sda").day_bytes
    assert 0 == machine.start().remaining("sda").day_bytes
    assert life == machine.start().remaining("sda").life_bytes
    assert budget.reserve("sda", "fsync", MIB) is None
    assert why in caplog.text
    [aside] = machine.directory.glob("probe-budget.json.kept-*")
    assert text == aside.read_text()
    machine.clock.advance(DAY)
    assert 2 * MIB == budget.reserve("sda", "fsync", MIB)
    assert life - 2 * MIB == budget.remaining("sda").life_bytes


def test_a_file_that_disappears_does_not_restart_the_count(machine: Machine) -> None:
    budget = machine.start()
    budget.reserve("sda", "fsync", MIB)
    budget.settle(MIB, None)
    life = budget.remaining("sda").life_bytes
    (machine.directory / "probe-budget.json").unlink()
    assert life == machine.start().remaining("sda").life_bytes
    assert life == machine.start().remaining("sda").life_bytes, "also at the next start"


@pytest.mark.parametrize("copy", [None, "", "[]", "{"])
def test_without_file_and_copy_no_probe_writes_until_a_person_deletes_them(
    machine: Machine, caplog: pytest.LogCaptureFixture, copy: str | None
) -> None:
    """Nobody knows how much was written over the life of the drives."""
    file, other = (machine.directory / f"probe-budget{end}.json" for end in ("", ".copy"))
    file.write_text("{")
    if copy is not None:
        other.write_text(copy)
    for _ in range(3):
        budget = machine.start()
        machine.clock.advance(DAY)
        assert (0, 0) == (
            budget.remaining("sda").day_bytes,
            budget.remaining("sda").life_bytes,
        )
        assert budget.reserve("sda", "fsync", MIB) is None
        assert budget.reserve("sda", "slc", MIB, on_demand=True) is None
    assert "no probe writes" in caplog.text
    file.unlink()
    other.unlink()
    assert 2 * MIB == machine.start().reserve("sda", "fsync", MIB)


def test_a_file_that_becomes_unreadable_while_the_daemon_runs_continues_from_memory(
    machine: Machine,
) -> None:
    budget = machine.start()
    budget.reserve("sda", "fsync", MIB)
    budget.settle(MIB, None)
    life = budget.remaining("sda").life_bytes
    for name in ("probe-budget.json", "probe-budget.copy.json"):
        (machine.directory / name).write_text("{")
    budget.refresh()
    assert (0, life) == (
        budget.remaining("sda").day_bytes,
        budget.remaining("sda").life_bytes,
    )
    assert budget.reserve("sda", "fsync", MIB) is None, "today counts as spent"
    machine.clock.advance(DAY)
    assert 2 * MIB == budget.reserve("sda", "fsync", MIB)
    assert life - 2 * MIB == budget.remaining("sda").life_bytes


def test_a_file_that_is_a_link_is_not_followed(machine: Machine, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("precious")
    (machine.directory / "probe-budget.json").symlink_to(other)
    budget = ProbeBudget(machine.directory, machine.clock, "boot-1")
    assert 0 == budget.remaining("sda").day_bytes
    with pytest.raises(OSError, match="it is a symbolic link"):
        budget.reserve("sda", "fsync", MIB)
    assert "precious" == other.read_text()


def test_without_a_directory_nothing_runs(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    budget = ProbeBudget(tmp_path / "gone", FakeClock(), "boot-1")
    assert "no probe runs" in caplog.text
    assert 0 == budget.remaining("sda").day_bytes
    with pytest.raises(FileNotFoundError):
        budget.reserve("sda", "page_read", 0)


def test_a_failed_settlement_is_charged_with_the_next_reservation(machine: Machine) -> None:
    """The disk is full during the settlement. The greater charge is kept in memory."""
    budget = machine.start()
    budget.reserve("sda", "fsync", MIB)
    blocked = machine.directory / ".probe-budget.json.new"
    blocked.mkdir()
    with pytest.raises(OSError, match="directory"):
        budget.settle(MIB, 7 * MIB)
    assert 2 * MIB == kept(machine)["reservation"]["bytes"]
    blocked.rmdir()
    budget.reserve("sda", "fsync", MIB)
    assert 7 * MIB == kept(machine)["spent"]["sda"]["life_bytes"]


def test_a_failed_settlement_can_be_repeated(machine: Machine) -> None:
    budget = machine.start()
    budget.reserve("sda", "fsync", MIB)
    blocked = machine.directory / ".probe-budget.json.new"
    blocked.mkdir()
    with pytest.raises(OSError, match="directory"):
        budget.settle(MIB, None)
    blocked.rmdir()
    assert 2 * MIB == budget.settle(MIB, None)
    assert 2 * MIB == kept(machine)["spent"]["sda"]["life_bytes"]


def test_waiting_for_a_held_lock_has_a_timeout(machine: Machine) -> None:
    budget = machine.start()
    hold = (
        "import fcntl, sys, time; f = open(sys.argv[1], 'r+'); fcntl.flock(f, fcntl.LOCK_EX);"
        " print('held', flush=True); time.sleep(60)"
    )
    argv = [sys.executable, "-c", hold, str(machine.directory / "probe-budget.lock")]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as holder:
        try:
            assert holder.stdout is not None
            holder.stdout.readline()
            with pytest.raises(OSError, match="another process"):
                budget.reserve("sda", "fsync", MIB)
            assert 50 == len(machine.clock.slept)
        finally:
            holder.kill()
    assert 2 * MIB == budget.reserve("sda", "fsync", MIB)


def test_two_processes_charge_one_budget(machine: Machine) -> None:
    first, second = machine.start(), machine.start()
    first.reserve("sda", "fsync", MIB)
    first.settle(MIB, None)
    second.reserve("sda", "fsync", MIB)
    second.settle(MIB, None)
    first.refresh()
    assert DAY_BYTES - 4 * MIB == first.remaining("sda").day_bytes


_SPENDING = """
import random, sys
from pathlib import Path
from exporter.probe.budget import ProbeBudget
from exporter.runtime.clock import SystemClock
budget = ProbeBudget(Path(sys.argv[1]), SystemClock(), "boot", 1 << 60)
budget.recover()
while True:
    size = budget.reserve("sda", "fsync", random.randrange(1, 100))
    print("wrote", size, flush=True)
    print("settled", budget.settle(size // 2, None), flush=True)
"""


def test_after_kill_9_no_written_byte_is_uncounted(tmp_path: Path) -> None:
    """The file contains all bytes that a process reported before it was killed."""
    said = 0
    moments = random.Random(seed := random.randrange(1 << 32))
    print(f"seed {seed}")
    for _ in range(10):
        argv = [sys.executable, "-c", _SPENDING, str(tmp_path)]
        with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            first = child.stdout.readline()
            time.sleep(moments.uniform(0.0, 0.2))
            child.send_signal(signal.SIGKILL)
            lines = [first, *child.stdout]
            said += sum(int(line.split()[1]) for line in lines if line.startswith("wrote "))
    budget = ProbeBudget(tmp_path, FakeClock(wall=time.time()), "boot", 1 << 60)
    budget.recover()
    spent = budget.limits("sda").life_bytes - budget.remaining("sda").life_bytes
    # A killed process has reserved at most one run that it did not print.
    assert said <= spent <= said + 10 * 200
    assert said > 0


@dataclass(frozen=True)
class _Run:
    """A run. share: bytes that the device wrote, divided by the bytes that fio wrote, 0 to 2."""

    drive: str
    size: int
    share: float
    on_demand: bool
    end: str


_RUNS = st.builds(
    _Run,
    st.sampled_from(["sda", "sdb"]),
    st.integers(0, 300),
    st.floats(0, 2),
    st.booleans(),
    st.sampled_from(["settled", "no report", "killed", "rebooted", "never settled"]),
)
#: A run, a step of the clock, or a word.
_STEPS = st.one_of(
    _RUNS, st.floats(-3 * DAY, 3 * DAY), st.sampled_from(["start", "acknowledge", "refresh"])
)


class History:
    """The events on a host, and the bytes that were really written to its drives."""

    def __init__(self, directory: Path) -> None:
        self.machine = Machine(directory, day_bytes=1000)
        self.budget = self.machine.start()
        self.written = {"sda": 0, "sdb": 0}

    def take(self, step: _Run | float | str) -> None:
        if isinstance(step, _Run):
            self.run(step)
        elif isinstance(step, float):
            self.machine.clock.advance(step)
        elif step == "start":
            self.budget = self.machine.start()
        elif step == "acknowledge":
            self.budget.acknowledge()
        else:
            self.budget.refresh()

    def run(self, run: _Run) -> None:
        left = self.budget.remaining(run.drive)
        got = self.budget.reserve(run.drive, "p", run.size, on_demand=run.on_demand)
        if got is None:
            return
        assert got <= (left.life_bytes if run.on_demand else left.day_bytes)
        wrote = int(run.size * run.share)
        self.written[run.drive] += wrote
        if run.end == "settled":
            self.budget.settle(run.size, wrote)
        elif run.end == "no report":
            self.budget.settle(None, None)
        elif run.end != "never settled":
            self.machine.boot += run.end == "rebooted"
            self.budget = self.machine.start()

    def check(self) -> None:
        for drive, size in self.written.items():
            limit = self.budget.limits(drive).life_bytes
            assert size <= limit - self.budget.remaining(drive).life_bytes


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(_STEPS, max_size=15))
def test_in_any_history_all_bytes_are_counted_and_no_limit_is_exceeded(steps: list[Any]) -> None:
    """Runs succeed, are killed, reboot the host or are never settled; the clock steps."""
    logging.disable(logging.CRITICAL)
    try:
        with tempfile.TemporaryDirectory() as directory:
            history = History(Path(directory))
            for step in steps:
                history.take(step)
                history.check()
            history.take("start")
            history.check()
    finally:
        logging.disable(logging.NOTSET)


_RESERVATIONS = st.builds(
    Reservation,
    st.text(),
    st.text(),
    st.integers(0, 1 << 62),
    st.booleans(),
    st.text(),
    st.floats(0, 1e11),
)
_COUNTS = st.integers(0, 1 << 62)
_LEDGERS = st.builds(
    Ledger,
    st.integers(0, 100_000),
    st.dictionaries(st.text(), st.builds(SpentBytes, _COUNTS, _COUNTS)),
    st.none() | _RESERVATIONS,
    st.none() | st.integers(0, 100_000),
    st.none() | _RESERVATIONS,
)


@given(_LEDGERS, st.text(), st.integers(0, 1 << 62))
def test_a_ledger_survives_serialization_also_after_huge_charges(
    ledger: Ledger, boot_id: str, owed: int
) -> None:
    assert ledger == budget_ledger.parse(budget_ledger.serialize(ledger))
    after = budget_ledger.with_recovery(ledger, boot_id, owed)
    assert after == budget_ledger.parse(budget_ledger.serialize(after))
    assert after.reservation is None


@given(st.text() | st.binary().map(lambda raw: raw.decode("utf-8", "replace")))
def test_any_text_is_a_ledger_or_a_parse_error(text: str) -> None:
    try:
        budget_ledger.parse(text)
    except ParseError:
        return
    assert text.lstrip().startswith("{")


@given(_LEDGERS, st.integers(0, 100_000), st.integers(0, 1 << 40), st.integers(0, 1 << 62))
def test_the_remaining_bytes_are_between_0_and_the_limits(
    ledger: Ledger, today: int, day: int, life: int
) -> None:
    most = WriteLimits(day, life)
    left = budget_ledger.remaining(budget_ledger.rolled_over(ledger, today), "sda", most)
    assert 0 <= left.day_bytes <= day
    assert left.day_bytes <= left.life_bytes <= life
