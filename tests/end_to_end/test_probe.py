"""Real fio under a real daemon: the scheduled profiles, and kill -9 during a probe.

The environment variable SSD_PROBE_ROUNDS sets the number of rounds; the default is 5.
"""

import dataclasses
import json
import os
import random
import signal
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import pytest

from exporter.probe.results import Round
from rigs.devices.slow_disk import SlowDisk
from rigs.devices.write_cache import mounted
from tests.commands.measured import GATE, fios, require_drive
from tests.duration import (
    PATIENCE_SECONDS,
    ahead_of_other_work,
    at_most,
    avoid_midnight,
    wait_until,
)
from tests.end_to_end.daemon import Daemon
from tests.end_to_end.page import Page
from tests.end_to_end.programs import need
from tests.end_to_end.waiting import await_page

pytest_plugins = ("rigs.devices.fixtures",)
pytestmark = pytest.mark.real

ROUNDS = int(os.environ.get("SSD_PROBE_ROUNDS", "5"))
PROFILES = ("fsync", "page_read", "page_write")
STEADY = "ssd_probe_steady_state_info"


#: What others write to the drive during a probe is charged, too. On a busy machine, the default
#: budget would suffice for a few probes.
BUDGET_BYTES = 1 << 40


def settings(directory: Path, often: str = "") -> str:
    """Returns the settings; `often` contains further keys of each profile."""
    small = "".join(f"[probe.profile.{name}]\nsize_bytes = 8388608\n{often}\n" for name in PROFILES)
    return f"""
        [disk]
        device_exclude = "^$"
        [probe]
        directory = "{directory}"
        first_delay_seconds = 1.5
        budget_bytes_per_day = {BUDGET_BYTES}
        {small}{GATE}
    """


@pytest.fixture
def flags(tmp_path: Path) -> tuple[str, ...]:
    """A separate lock directory: another probe may run on this host."""
    need("fio")
    avoid_midnight()  # at which the budget of a new day begins
    require_drive(tmp_path)
    root = tmp_path / "root"
    (root / "run" / "lock").mkdir(parents=True)
    return f"--path.rootfs={root}", "--no-collector.smart"


def has_run(page: Page, times: int = 1) -> bool:
    found = list(page.find("ssd_probe_runs_total", result="success"))
    return len(found) == len(PROFILES) and all(value >= times for _, value in found)


def host_limited(state: Path) -> set[str]:
    """Returns the profiles with a run that lost most of its time to other processes."""
    series = json.loads((state / "state.json").read_text())["probe"]["rounds"]
    fields = [field.name for field in dataclasses.fields(Round)]
    return {
        key.split("|")[2]
        for key, saved in series.items()
        if any(dict(zip(fields, row, strict=True))["is_host_limited"] for row in saved["rounds"])
    }


def is_charged(page: Page) -> bool:
    """Returns True if the bytes of the runs are charged: a moment after their results are known.

    The charge is at least twice the file and all writes: the rest is the reserve for the
    filesystem. A run that reaches its time limit on a busy machine writes less.
    """
    ((_, written),) = page.find("ssd_probe_written_bytes_total")
    ((_, budget),) = page.find("ssd_probe_write_budget_bytes", period="day")
    ((_, left),) = page.find("ssd_probe_write_budget_remaining_bytes", period="day")
    done = page.find("ssd_probe_latency_seconds_count")
    operations = {(labels["profile"], labels["op"]): count for labels, count in done}
    syncs, writes = operations["fsync", "sync"], operations["page_write", "write"]
    least = 2 * (8_388_608 + syncs * 4096 + writes * 16_384)
    return budget - written == left and written >= least


#: Families of each profile and of the drive after the first run.
FAMILIES = (
    *("runs_total", "skipped_total", "last_run_timestamp_seconds", "duration_seconds"),
    *("last_success_timestamp_seconds", "last_latency_seconds", "latency_seconds_count"),
    *("steady_state_info", "info"),
)
OF_THE_DRIVE = ("running", "written_bytes_total", "write_budget_bytes")
#: Families after five runs.
JUDGED = ("steady_state", "steady_range_ratio", "steady_slope_ratio", "steady_state_info")


def test_every_scheduled_profile_has_its_families_and_is_judged_after_five_runs(
    tmp_path: Path, flags: tuple[str, ...]
) -> None:
    directory = tmp_path / "probe"
    config = settings(directory, "interval_seconds = 10")
    with Daemon(tmp_path / "daemon", *flags, config=config) as daemon:
        before = await_page(daemon, lambda page: bool(list(page.find("ssd_command_stuck"))))
        page = await_page(daemon, lambda page: has_run(page) and is_charged(page))
        later = await_page(daemon, lambda page: has_run(page, 5), 400.0)
    # A disk that other processes keep busy for five minutes is in the log, too.
    assert [] == [line for line in daemon.complaints if ": bottleneck " not in line]
    assert [0] == [value for _, value in before.find("ssd_command_stuck", command="fio")]
    for name in FAMILIES:
        assert set(PROFILES) == {labels["profile"] for labels, _ in page.find(f"ssd_probe_{name}")}
    for name in OF_THE_DRIVE:
        assert list(page.find(f"ssd_probe_{name}"))
    for profile, op, least in (("fsync", "sync", 150), ("page_read", "read", 500)):
        # After five runs. A run that reaches its time limit on a busy machine has fewer.
        ((_, count),) = later.find("ssd_probe_latency_seconds_count", profile=profile, op=op)
        assert count >= least
        ((_, p99),) = page.find(
            "ssd_probe_last_latency_seconds", profile=profile, op=op, stat="p99"
        )
        assert 0 < p99 < 10
    assert [] == list(page.find("ssd_probe_iops")), "a rate cap is no measurement"
    phases = {labels["profile"]: labels["phase"] for labels, _ in page.find(STEADY)}
    assert dict.fromkeys(PROFILES, "too_few") == phases
    # A run that lost its time to other processes, as on a host without a free CPU, is not a round.
    expected = set(PROFILES) - host_limited(daemon.state)
    assert expected >= {"fsync"}
    for name in JUDGED:
        assert expected <= {labels["profile"] for labels, _ in later.find(f"ssd_probe_{name}")}
    for labels, _ in later.find(STEADY):
        if labels["profile"] in expected:
            assert labels["phase"] in {"transition", "steady", "unsteady"}
            ((_, is_steady),) = later.find("ssd_probe_steady_state", profile=labels["profile"])
            assert (labels["phase"] == "steady") == is_steady


@pytest.mark.parametrize("delay_seconds", [0, 1])
def test_sigterm_ends_the_probe_and_charges_its_bytes(
    tmp_path: Path, flags: tuple[str, ...], slow_disk: SlowDisk, delay_seconds: float
) -> None:
    """Also if fio needs a second to end, as on a busy disk.

    All files are in memory, because another program may use the disk.
    """
    with (
        mounted(slow_disk, tmp_path / "mnt") as mountpoint,
        tempfile.TemporaryDirectory(dir="/dev/shm") as state,
        ahead_of_other_work(),
    ):
        directory = mountpoint / "probe"
        more = (*flags, f"--state.directory={state}")
        with Daemon(tmp_path / "daemon", *more, config=settings(directory)) as daemon:
            _await_fio(directory)
            with at_most(2):
                if delay_seconds:
                    _signal_all(fios(directory), signal.SIGSTOP)
                daemon.signal(signal.SIGTERM)
                time.sleep(delay_seconds)
                _signal_all(fios(directory), signal.SIGCONT)
                assert 0 == daemon.process.wait(PATIENCE_SECONDS)
        wait_until(lambda: not fios(directory), "the end of fio")
        kept = json.loads(Path(state, "probe-budget.json").read_text())
    assert kept["reservation"] is None


def test_kill_9_leaves_no_fio_process_and_all_bytes_charged(
    tmp_path: Path, flags: tuple[str, ...]
) -> None:
    directory, place = tmp_path / "probe", tmp_path / "daemon"
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    moments = random.Random(seed)
    owed = 0
    for _ in range(ROUNDS):
        with Daemon(place, *flags, config=settings(directory)) as daemon:
            _await_fio(directory)
            assert _spent(daemon.state) >= owed
            time.sleep(moments.uniform(0.0, 2.0))
            daemon.kill()
        wait_until(lambda: not fios(directory), f"the end of fio (seed {seed})")
        # Reserved bytes count as spent until the next start settles them.
        owed = _spent(place / "state")
    with Daemon(place, *flags, config=settings(directory)) as daemon:
        await_page(daemon, has_run)
        assert _spent(daemon.state) > owed


def _await_fio(directory: Path) -> None:
    wait_until(lambda: fios(directory), "the start of a probe")


def _signal_all(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def _spent(state: Path) -> int:
    """Returns the charged bytes, including reserved ones."""
    kept = json.loads((state / "probe-budget.json").read_text())
    charged: int = sum(each["life_bytes"] for each in kept["spent"].values())
    reservation = kept["reservation"]
    return charged + (reservation["bytes"] if reservation else 0)
