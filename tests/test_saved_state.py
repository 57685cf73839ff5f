"""Any values in the state file: the monitor starts and serves its page, and keeps valid entries.

The file may be damaged, or another user may have written it. A bad entry costs only itself.
"""

import copy
import json
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.config.settings import Paths, ProbeSettings, Settings
from exporter.io.accumulators import MonotonicCounter, counter_state
from exporter.metrics.exposition import render
from exporter.monitor import Monitor
from exporter.probe import budget_ledger, slc_results
from exporter.probe.budget_ledger import Ledger, Reservation, SpentBytes
from exporter.probe.cliff_result import CacheCliff, CliffResult, WritePhase
from exporter.probe.host_lock import ProbePidFile
from exporter.probe.slc_results import SlcResult
from exporter.runtime.errors import ParseError
from exporter.runtime.state import VERSION, StateFile
from exporter.smart.inventory import KnownDrive
from tests.fakes import FakeChildren, FakeClock, FakeRunner
from tests.fuzz import examples

#: Values of which each one is wrong at most places of a file.
_WRONG: tuple[Any, ...] = (
    *(10**400, -(10**400), 10**5000, float("nan"), float("inf"), float("-inf"), 1e300, 1 << 70),
    *(-1, -0.5, 0, True, None, "", "\ud800", "\0", "x" * 1000, [], {}, [[]], [{}], {"": None}),
)

_ANYTHING = st.sampled_from(_WRONG) | st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)

_BOOT_ID = "2f5c1d0e-0000-4000-8000-000000000001"

_DIRECTORY = Path("/srv/probe")


def _drive(serial: str) -> dict[str, Any]:
    known = KnownDrive(f"sd{serial}", f"/dev/sd{serial}", "sat", 1.0, 2.0, "M", serial, "F", None)
    return known.to_state() | {"missing": True}


def _series() -> dict[str, Any]:
    window = {"mean": 1.0, "least": 0.9, "most": 1.1, "deviation": 0.1, "excursion": 0.0}
    rounds = [[1_699_999_000.0 + number, 1.0, False] for number in range(6)]
    return {"rounds": rounds, "baseline": window}


def _baseline() -> dict[str, Any]:
    bins = {"read": [[10, 50.0], [11, 40.0]], "write": [[20, 90.0]]}
    return {**bins, "read_few": [], "write_few": [[30, 5.0]]}


def _role(name: str) -> dict[str, Any]:
    place = {"name": "mysql-data", "directory": f"/{name}/mysql", "mountpoint": f"/{name}"}
    return place | {"cgroup": f"/system.slice/{name}.service", "seen_at": 1_699_999_000.0}


def _state() -> dict[str, Any]:
    """A state in which each kind of entry occurs twice. The second one is changed by the tests."""
    counter = counter_state(MonotonicCounter(90.0, 5.0), _BOOT_ID, at_end=True)
    return {
        "version": VERSION,
        "inventory": [_drive("good"), _drive("bad")],
        "baselines": {"good": _baseline(), "bad": _baseline()},
        "events": {"good": [[20_000, "missing", 1]], "bad": [[20_000, "missing", 1]]},
        "problems": {"good": {"wear": 1_699_999_000.0}, "bad": {"wear": 1_699_999_000.0}},
        "idle": counter,
        "iowait": dict(counter),
        "roles": [_role("good"), _role("bad")],
        "probe": {
            "rounds": {"good": _series(), "bad": _series()},
            "ran_at": {
                str(_DIRECTORY): {"fsync": 1_699_999_000.0, "page_read": 1_699_999_000.0},
            },
        },
    }


#: The second entry of each kind, and the fields in it, as paths in the state.
_BAD_ENTRIES: tuple[tuple[Any, ...], ...] = (
    ("inventory", 1),
    ("baselines", "bad"),
    ("events", "bad"),
    ("problems", "bad"),
    ("iowait",),
    ("roles", 1),
    ("probe", "rounds", "bad"),
    ("probe", "ran_at", str(_DIRECTORY), "page_read"),
)


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yields the path of each value in a JSON document."""
    yield path
    keys: Any = ()
    if isinstance(value, dict):
        keys = value
    elif isinstance(value, list):
        keys = range(len(value))
    for key in keys:
        yield from _paths(value[key], (*path, key))


def _changed(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    changed = copy.deepcopy(document)
    place = changed
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return changed


_PLACES = [
    path for path in _paths(_state()) if any(path[: len(entry)] == entry for entry in _BAD_ENTRIES)
]


class Started:
    """A monitor of a small host, with the values that a state file contains."""

    def __init__(self, state: dict[str, Any], place: Path) -> None:
        (place / "proc/sys/kernel/random").mkdir(parents=True)
        (place / "proc/sys/kernel/random/boot_id").write_text(f"{_BOOT_ID}\n")
        times = "1 0 1 9000 5 0 0 0 0 0"
        (place / "proc/stat").write_text(f"cpu  {times}\ncpu0 {times}\n")
        (place / "proc/diskstats").write_text("8 0 sda 1 0 8 1 1 0 8 1 0 1 1 0 0 0 0 0 0\n")
        (place / "sys").mkdir()
        clock = FakeClock()
        self.monitor = Monitor(
            Settings(
                path=Paths(procfs=place / "proc", sysfs=place / "sys", rootfs=place),
                probe=ProbeSettings(directory=(_DIRECTORY,)),
            ),
            clock,
            FakeRunner(),
            state,
            children=lambda: FakeChildren(lambda _argv: None),
            state_directory=place,
        )
        self.monitor.refresh_host()
        self.monitor.sampler.tick()

    def page(self) -> str:
        render(self.monitor.samples(), openmetrics=True)
        return render(self.monitor.samples(), openmetrics=False).decode()


def _started(text: str, check: Any) -> None:
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        (place / "state.json").write_text(text)
        started = Started(StateFile(place).load(), place)
        check(started)
        # The state can be saved again, and a later start reads it.
        StateFile(place).save(started.monitor.to_state())
        assert VERSION == StateFile(place).load()["version"]


def _check_good_entries(started: Started) -> None:
    page = started.page()
    for collector in ("smart", "probe", "disk", "cpu"):
        assert f'ssd_collector_success{{collector="{collector}"}} 1' in page
    assert 'ssd_device_up{device="sdgood",serial="good"} 0' in page
    saved = started.monitor.to_state()
    assert _baseline() == saved["baselines"]["good"]
    assert _series()["rounds"] == [list(row) for row in saved["probe"]["rounds"]["good"]["rounds"]]
    assert _drive("good") in saved["inventory"]
    assert [[20_000, "missing", 1]] == saved["events"]["good"]
    assert {"wear": 1_699_999_000.0} == saved["problems"]["good"]
    assert saved["idle"]["seconds"] >= 90.0
    assert _role("good") in saved["roles"]


def test_a_valid_state_is_restored() -> None:
    def check(started: Started) -> None:
        _check_good_entries(started)
        saved = started.monitor.to_state()
        assert {"good", "bad"} == set(saved["baselines"]) == set(saved["probe"]["rounds"])
        assert set(_state()) == {"version", *saved}, "the state of this file lacks an entry"

    _started(json.dumps(_state()), check)


@settings(max_examples=examples(150))
@given(path=st.sampled_from(_PLACES), value=_ANYTHING)
def test_a_bad_entry_costs_only_itself(path: tuple[Any, ...], value: Any) -> None:
    _started(_text(_changed(_state(), path, value)), _check_good_entries)


@settings(max_examples=examples(100))
@given(path=st.sampled_from(list(_paths(_state()))), value=_ANYTHING)
def test_any_value_at_any_place_of_the_state_does_not_prevent_the_start(
    path: tuple[Any, ...], value: Any
) -> None:
    _started(_text(_changed(_state(), path, value)), lambda started: started.page())


@settings(max_examples=examples(100))
@given(path=st.sampled_from([path for path in _PLACES if path]), value=_ANYTHING)
def test_the_readers_check_each_number_themselves(path: tuple[Any, ...], value: Any) -> None:
    """Without `StateFile.load`, which replaces numbers that no float represents."""
    with tempfile.TemporaryDirectory() as directory:
        state = _changed(_state(), path, value)
        _check_good_entries(Started(state, Path(directory)))


def _text(document: Any) -> str:
    """Returns the document as JSON. An integer of 5,000 digits is written by hand."""
    text = json.dumps(document, default=str) if not _has_long_integer(document) else None
    return text if text is not None else _with_long_integers(document)


def _has_long_integer(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_long_integer, value.values()))
    if isinstance(value, list):
        return any(map(_has_long_integer, value))
    return isinstance(value, int) and abs(value) >= 10**4000


def _with_long_integers(value: Any) -> str:
    if isinstance(value, dict):
        pairs = (f"{json.dumps(key)}: {_with_long_integers(each)}" for key, each in value.items())
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_with_long_integers, value))}]"
    return "1" + 5000 * "0" if _has_long_integer(value) else json.dumps(value)


_LEDGER = Ledger(
    19_000,
    {"sda": SpentBytes(1, 2)},
    Reservation("sda", "fsync", 8192, on_demand=False, boot_id="b", at=1.5),
)
_SLC = SlcResult(
    ("a drive",),
    "sda",
    1_699_999_000.5,
    CacheCliff(CliffResult.CLIFF, 1 << 33, (WritePhase(0, 5e8), WritePhase(1 << 32, 1e8))),
    {30: 1 << 30},
)


@settings(max_examples=examples(200))
@given(data=st.data(), value=_ANYTHING)
def test_any_value_in_a_ledger_gives_a_ledger_or_a_parse_error(
    data: st.DataObject, value: Any
) -> None:
    document = {"version": 1, **asdict(_LEDGER)}
    path = data.draw(st.sampled_from(list(_paths(document))))
    try:
        ledger = budget_ledger.parse(_text(_changed(document, path, value)))
    except ParseError:
        return
    limits = budget_ledger.write_limits(1 << 30, None)
    left = budget_ledger.remaining(budget_ledger.rolled_over(ledger, 19_001), "sda", limits)
    assert 0 <= left.day_bytes <= limits.day_bytes
    assert ledger == budget_ledger.parse(budget_ledger.serialize(ledger))


@settings(max_examples=examples(200))
@given(data=st.data(), value=_ANYTHING)
def test_any_value_in_a_result_gives_a_result_or_a_parse_error(
    data: st.DataObject, value: Any
) -> None:
    document = json.loads(slc_results.serialize(_SLC))
    path = data.draw(st.sampled_from(list(_paths(document))))
    try:
        parsed = slc_results.parse(_text(_changed(document, path, value)))
    except ParseError:
        return
    assert parsed.value == slc_results.parse(slc_results.serialize(parsed.value)).value


@settings(max_examples=examples(200))
@given(data=st.data(), value=_ANYTHING)
def test_any_value_in_a_pid_file_kills_no_process(data: st.DataObject, value: Any) -> None:
    document = {"child": [1 << 30, 5], "owner": [1 << 30, 6]}
    path = data.draw(st.sampled_from(list(_paths(document))))
    with tempfile.TemporaryDirectory() as directory:
        text = _text(_changed(document, path, value))
        (Path(directory) / "probe-process.json").write_text(text)
        assert ProbePidFile(Path(directory)).kill_leftover()


@pytest.mark.parametrize("value", _WRONG, ids=range(len(_WRONG)))
def test_each_wrong_value_in_each_field_of_the_inventory(value: Any) -> None:
    for path in _PLACES:
        if path[:2] == ("inventory", 1):
            with tempfile.TemporaryDirectory() as directory:
                Started(_changed(_state(), path, value), Path(directory))
