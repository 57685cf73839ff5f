"""Tests the load ratios for the gate, and the samples for the guard."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.linux.mysql.mysqld import MysqlServer
from exporter.probe import production_load
from exporter.probe.gate import GuardSample
from exporter.probe.production_load import GuardSampler, LoadSample, ProductionLoad
from tests.fakes import FakeClock

PRESSURE = "some avg10=0.00 avg60=0.00 avg300=0.00 total={}\nfull avg10=0.00 total={}\n"


def load(*notes: LoadSample) -> ProductionLoad:
    made = ProductionLoad()
    for note in notes:
        made.add(note)
    return made


def test_without_earlier_samples_the_load_is_unknown() -> None:
    for made in (
        ProductionLoad(),
        load(LoadSample(0.0, 0.0, 0.0)),
        load(LoadSample(0.0, 0.0, 0.0), LoadSample(0.5, 0.5, 0.5)),
    ):
        state = made.ratios()
        assert (None, None, None) == (
            state.busy_ratio,
            state.pressure_ratio,
            state.cgroup_pressure_ratio,
        )


def test_busy_time_is_averaged_over_a_minute_and_pressure_over_ten_seconds() -> None:
    notes = [
        LoadSample(at, 0.5 * at, 0.0 if at < 55 else at - 55, {"a": 0.1 * at, "b": 0.0})
        for at in range(0, 66, 5)
    ]
    state = load(*map(_float, notes)).ratios()
    assert 0.5 == pytest.approx(state.busy_ratio)
    assert 1.0 == pytest.approx(state.pressure_ratio)
    assert 0.1 == pytest.approx(state.cgroup_pressure_ratio), "of the worst group"


def _float(note: LoadSample) -> LoadSample:
    return LoadSample(float(note.at), note.busy, note.waiting, note.stalled)


def test_a_counter_that_decreased_gives_no_ratio() -> None:
    state = load(
        LoadSample(0.0, 50.0, 50.0, {"a": 5.0}), LoadSample(60.0, 1.0, 1.0, {"a": 1.0})
    ).ratios()
    assert state.busy_ratio is None
    assert state.pressure_ratio is None
    assert state.cgroup_pressure_ratio is None


NUMBER = st.none() | st.floats(0, 1e9)


@given(st.lists(st.builds(LoadSample, st.floats(0, 1e6), NUMBER, NUMBER, st.just({}))))
def test_all_ratios_are_between_0_and_1(notes: list[LoadSample]) -> None:
    state = load(*notes).ratios()
    for ratio in (state.busy_ratio, state.pressure_ratio):
        assert ratio is None or 0 <= ratio <= 1


def test_the_guard_sample_has_requests_in_flight_and_mysqld_pressure(tmp_path: Path) -> None:
    clock = FakeClock()
    group = tmp_path / "fs/cgroup/system.slice/mysql.service"
    group.mkdir(parents=True)
    groups = production_load.cgroup_paths(
        tmp_path, ["/system.slice/mysql.service", "/", "", None, "/../x"]
    )
    assert (group,) == groups
    watch = GuardSampler(tmp_path, groups, "sda", GuardSample(own_in_flight=4), clock)
    assert GuardSample(own_in_flight=4) == watch.sample(None), "nothing is there"
    (tmp_path / "diskstats").write_text("8 0 sda 0 0 0 0 0 0 0 0 30 0 0\n")
    (group / "io.pressure").write_text(PRESSURE.format(1_000_000, 0))
    assert watch.sample(5).cgroup_pressure_ratio is None
    clock.advance(0.25)
    (group / "io.pressure").write_text(PRESSURE.format(1_125_000, 0))
    sample = watch.sample(5)
    assert (30, 0.5, 5) == (sample.in_flight, sample.cgroup_pressure_ratio, sample.avail_bytes)
    assert [False, True, True] == [look.disk is not None for look in watch.readings]


def test_unreadable_pressure_is_unknown(tmp_path: Path) -> None:
    assert production_load.host_waiting_seconds(tmp_path) is None
    assert {} == production_load.waiting_seconds([tmp_path])
    assert {} == production_load.stalled_seconds([tmp_path])


@pytest.mark.parametrize(
    ("queue", "expected"),
    [
        ({}, 8 * 9),
        ({"max_sectors_kb": 128}, 8 * 9),
        ({"max_sectors_kb": 512}, 8 * 3),
        ({"max_sectors_kb": 1280}, 8 * 2),
        ({"max_sectors_kb": 1280, "max_segments": 128}, 8 * 3),
        ({"max_sectors_kb": 1280, "max_segments": 65_535}, 8 * 2),
        ({"max_sectors_kb": 1280, "chunk_sectors": 256}, 8 * 9),
        ({"max_sectors_kb": 0, "max_segments": 0, "chunk_sectors": 0}, 8 * 9),
    ],
)
def test_the_kernel_splits_a_block_into_several_requests(
    queue: dict[str, int], expected: int, tmp_path: Path
) -> None:
    for name, value in queue.items():
        (tmp_path / name).write_text(f"{value}\n")
    assert expected == production_load.requests_in_flight(8, 1 << 20, tmp_path)
    assert 1 == production_load.requests_in_flight(1, 4096, tmp_path), "one page is one request"


GROUP = "/system.slice/mysql.service"


def threads(proc: Path, pid: int, *states: str) -> None:
    for number, state in enumerate(states, pid):
        place = proc / f"{pid}/task/{number}"
        place.mkdir(parents=True, exist_ok=True)
        (place / "stat").write_text(f"{number} (mysqld) {state} 1 77 77 0 -1 4194560 0 0 0\n")


def server(pid: int, cgroup: str | None = None) -> MysqlServer:
    return MysqlServer(pid, cgroup, (), ())


def test_the_guard_reads_the_threads_of_a_server_without_pressure_information(
    tmp_path: Path,
) -> None:
    """A server whose commits wait has few requests in flight, so the device does not show it."""
    group = tmp_path / "fs/cgroup" / GROUP.strip("/")
    group.mkdir(parents=True)
    (group / "io.pressure").write_text(PRESSURE.format(0, 0))
    servers = [server(70, GROUP), server(80, "/"), server(90)]
    pids = production_load.servers_without_pressure(tmp_path, servers)
    assert (80, 90) == pids
    clock = FakeClock()
    sampler = GuardSampler(tmp_path, (), "sda", GuardSample(), clock, servers=pids)
    samples = []
    for waiting in ("DDDDS", "SSSSS", "DSSSD"):
        for state in waiting:
            threads(tmp_path, 80, "S", "S")
            threads(tmp_path, 90, "S", state)
            sampler.read_servers()
            sampler.read_servers()
            clock.advance(0.25 / sampler.readings_per_sample)
        samples.append(sampler.sample(None).server_waiting_ratio)
    assert [0.8, 0.0, 0.4] == samples
    assert sampler.sample(None).server_waiting_ratio is None, "nothing was read in between"


def test_a_server_with_pressure_information_is_not_read(tmp_path: Path) -> None:
    sampler = GuardSampler(tmp_path, (), "sda", GuardSample(), FakeClock())
    sampler.read_servers()
    assert (1, None) == (sampler.readings_per_sample, sampler.sample(None).server_waiting_ratio)


def test_without_a_view_of_the_servers_the_guard_would_be_blind(tmp_path: Path) -> None:
    proc, sys = tmp_path / "proc", tmp_path / "sys"
    assert "does not show all processes" in production_load.unguarded_reason(proc, sys, [])
    (proc / "2").mkdir(parents=True)
    (proc / "2/comm").write_text("kthreadd\n")
    assert "" == production_load.unguarded_reason(proc, sys, [])
    blind = production_load.unguarded_reason(proc, sys, [server(80)])
    assert "mysqld (process 80) has no I/O pressure information" in blind
    threads(proc, 80, "S")
    assert "" == production_load.unguarded_reason(proc, sys, [server(80)])
    group = sys / "fs/cgroup" / GROUP.strip("/")
    group.mkdir(parents=True)
    (group / "io.pressure").write_text(PRESSURE.format(0, 0))
    assert "" == production_load.unguarded_reason(proc, sys, [server(81, GROUP)])
