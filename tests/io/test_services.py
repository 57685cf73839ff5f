"""The ranking of services: every request is counted once, series only grow, names are stable."""

from collections.abc import Mapping
from dataclasses import replace
from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.io.services import (
    OTHER,
    Amounts,
    DeviceServices,
    GroupDeltas,
    ServiceIo,
    ServiceRate,
    ServiceRules,
)
from exporter.linux.cgroup import ServiceGroup
from tests.fuzz import examples

MB = 1_000_000
RULES = ServiceRules(busiest=2)
DEVICES = {"8:0": "sda"}


def group(
    path: str, read_bytes: int, *, inode: int = 1, number: str = "8:0", reads: int = 0
) -> ServiceGroup:
    *above, name = path.split("/")
    text = f"{number} rbytes={read_bytes} wbytes=0 rios={reads} wios=0\n"
    return ServiceGroup(path, name, "/".join(above) or None, inode, text.encode())


def read_bytes(amounts: Amounts, device: str = "sda") -> dict[str, int]:
    return {name: io.read_bytes for name, io in amounts.get(device, {}).items()}


class Counters:
    """Readings of groups, one after the other."""

    def __init__(self) -> None:
        self._deltas = GroupDeltas()

    def then(self, *groups: ServiceGroup, is_complete: bool = True) -> dict[str, int]:
        return read_bytes(self._deltas.advance(groups, DEVICES, is_complete=is_complete))


def test_the_first_reading_is_the_base() -> None:
    counters = Counters()
    assert {} == counters.then(group("a", 500))
    assert {"a": 20} == counters.then(group("a", 520))
    assert {} == counters.then(group("a", 520))


def test_a_new_group_counts_from_its_creation() -> None:
    counters = Counters()
    counters.then()
    assert {"a": 30} == counters.then(group("a", 30))


def test_a_path_that_is_used_again_counts_from_zero() -> None:
    counters = Counters()
    counters.then(group("a", 100))
    assert {"a": 120} == counters.then(group("a", 120, inode=2))


def test_a_device_that_was_connected_again_counts_from_zero() -> None:
    counters = Counters()
    counters.then(group("a", 100))
    assert {"a": 10} == counters.then(group("a", 10))


def test_the_end_of_a_removed_group_counts_as_that_of_the_slice() -> None:
    counters = Counters()
    counters.then(group("s/a", 100), group("s", 100))
    assert {"a": 20} == counters.then(group("s/a", 120), group("s", 120))
    assert {"s": 7} == counters.then(group("s", 127))


def test_a_slice_that_is_read_early_is_not_counted_twice() -> None:
    counters = Counters()
    counters.then(group("s/a", 0), group("s", 0))
    assert {"a": 10} == counters.then(group("s/a", 10), group("s", 4))
    assert {} == counters.then(group("s/a", 10), group("s", 10))
    assert {"s": 1} == counters.then(group("s/a", 10), group("s", 11))


def test_an_unreadable_group_continues_where_it_was() -> None:
    counters = Counters()
    counters.then(group("a", 100))
    assert {} == counters.then(replace(group("a", 0), io_stat=None))
    assert {"a": 5} == counters.then(group("a", 105))


def test_a_group_that_a_limit_hid_is_not_new() -> None:
    counters = Counters()
    counters.then(group("a", 100), is_complete=False)
    assert {} == counters.then(group("a", 100), group("b", 900), is_complete=False)
    assert {"a": 1} == counters.then(group("a", 101), is_complete=False)
    assert {"b": 2} == counters.then(group("a", 101), group("b", 902), is_complete=False)


def test_a_group_that_a_limit_hid_in_the_previous_reading_is_not_new() -> None:
    counters = Counters()
    counters.then(group("a", 100), is_complete=False)
    assert {} == counters.then(group("a", 100), group("b", 900))
    assert {"b": 2} == counters.then(group("a", 100), group("b", 902))


def test_a_group_whose_counters_are_beyond_a_limit_counts_as_the_one_above() -> None:
    counters = Counters()
    counters.then(group("a/b", 10), group("a", 100))
    hidden = replace(group("a/b", 0), io_stat=None)
    assert {"a": 7} == counters.then(hidden, group("a", 107), is_complete=False)
    # The I/O of b is in the 7 of a, and is subtracted from the next I/O of a.
    assert {"b": 7} == counters.then(group("a/b", 17), group("a", 107))
    assert {"a": 1} == counters.then(group("a/b", 17), group("a", 115))


def test_the_counters_of_omitted_groups_are_kept_up_to_the_size_of_one_reading() -> None:
    """Each of 60 readings has another group of 200 KB. The first of these groups is not kept."""
    counters = Counters()
    line = group("x", 1).io_stat or b""
    for number in range(60):
        large = replace(group(f"g{number}", 1), io_stat=line + b"x" * 200_000)
        counters.then(large, is_complete=False)
    old, new = (replace(group(f"g{n}", 5)) for n in (0, 59))
    assert {"g59": 4} == counters.then(old, new, is_complete=False)


def test_other_devices_are_ignored() -> None:
    counters = Counters()
    counters.then(group("a", 0, number="9:9"))
    assert {} == counters.then(group("a", 10, number="9:9"))


STEP = st.tuples(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 1000) | st.none())),
    st.integers(0, 300),
)


@given(st.lists(STEP))
def test_all_io_of_the_groups_is_counted_once(
    steps: list[tuple[list[tuple[str, int | None]], int]],
) -> None:
    """Services start, do I/O and are removed; the slice is read when its services have done more.

    A number is an amount of I/O; None removes the service. The last reading is exact.
    """
    counters = Counters()
    counters.then(group("s", 0))
    alive: dict[str, tuple[int, int]] = {}
    whole = counted = last = 0
    for number, (events, late) in enumerate([*steps, ([], 0)]):
        for name, amount in events:
            if amount is None:
                alive.pop(name, None)
            else:
                inode, value = alive.get(name, (number, 0))
                alive[name] = inode, value + amount
                whole += amount
        last = max(last, whole - late)
        services = [group(f"s/{n}", v, inode=i) for n, (i, v) in sorted(alive.items())]
        counted += sum(counters.then(*services, group("s", last)).values())
    assert whole == counted


def amounts(**megabytes: float) -> dict[str, ServiceIo]:
    return {name: ServiceIo(int(value * MB)) for name, value in megabytes.items()}


class Device:
    """A device with an interval of ten seconds after the other."""

    def __init__(self, rules: ServiceRules = RULES) -> None:
        self.services = DeviceServices()
        self.rules = rules
        self.now = 0.0

    def then(
        self, given: Mapping[str, ServiceIo], always: tuple[str, ...] = (), times: int = 1
    ) -> dict[str, float]:
        for _ in range(times):
            self.now += 10
            self.services.advance(self.now, 10, given, always, self.rules)
        return {name: io.read_bytes / MB for name, io in self.services.totals()}


def test_a_new_name_starts_at_zero_and_other_has_the_rest() -> None:
    device = Device()
    assert {"a": 0, "b": 0, "other": 6} == device.then(amounts(a=3, b=2, c=1))
    assert {"a": 3, "b": 2, "other": 7} == device.then(amounts(a=3, b=2, c=1))


def test_a_service_with_little_io_gets_no_name() -> None:
    assert {"other": 0.1} == Device().then(amounts(a=0.1))


def test_small_requests_count_as_well() -> None:
    device = Device()
    small = ServiceIo(MB // 10, 0, 5000)
    device.then({"a": ServiceIo(3 * MB), "b": ServiceIo(2 * MB), "log": small})
    assert {"a", "log", "other"} == dict(device.services.totals()).keys()


def test_two_services_that_alternate_do_not_take_the_names_from_each_other() -> None:
    device = Device(ServiceRules(busiest=1))
    device.then(amounts(a=2))
    for _ in range(500):
        device.then(amounts(b=3))
        device.then(amounts(a=2))
    assert {"a", "other"} == dict(device.services.totals()).keys()


def test_a_much_busier_service_takes_the_name_after_a_while() -> None:
    device = Device(ServiceRules(busiest=1))
    device.then(amounts(a=2))
    assert {"a", "other"} == device.then(amounts(b=50), times=29).keys()
    device.then(amounts(b=50))
    assert {"b": 0, "other": 2 + 31 * 50} == device.then(amounts(b=50))


def test_a_name_that_returns_continues_its_series() -> None:
    device = Device(ServiceRules(busiest=1))
    device.then(amounts(a=2), times=2)
    assert "b" in device.then(amounts(b=500), times=62)
    assert 2 == device.then(amounts(a=50_000), times=62)["a"] % 50_000


def test_mysqld_has_a_name_whatever_others_do() -> None:
    device = Device()
    device.then(amounts(a=50, b=50, c=50, mysqld=0.2), ("mysqld",))
    assert 0.2 == device.then(amounts(a=50, b=50, c=50, mysqld=0.2), ("mysqld",))["mysqld"]


def test_an_idle_service_keeps_its_name_for_a_day() -> None:
    device = Device()
    device.then(amounts(a=2))
    assert "a" in device.then({}, times=8639)
    device.then({})
    assert {"other": 2} == device.then({})


def test_fewer_names_after_a_reload() -> None:
    device = Device()
    device.then(amounts(a=3, b=2))
    device.rules = replace(RULES, busiest=1)
    device.then({})
    assert {"a", "other"} == device.then({}).keys()


def test_the_rates_name_the_busiest_services_of_the_interval() -> None:
    device = Device()
    device.then({**amounts(a=10, c=20, d=30), "b": ServiceIo(0, 90 * MB, 0, 5)})
    assert (
        ServiceRate("b", 0, 9 * MB, 0, 0.5),
        ServiceRate("d", 3 * MB, 0, 0, 0),
        ServiceRate(OTHER, 3 * MB, 0, 0, 0),
    ) == device.services.rates
    assert 9 * MB == device.services.rates[0].bytes


def test_an_idle_device_has_no_rates() -> None:
    device = Device()
    device.then(amounts(a=10))
    device.then({})
    assert () == device.services.rates


NAMES = st.sampled_from("abcdefgh")
AMOUNT = st.builds(ServiceIo, *(st.integers(0, 1 << 40) for _ in range(4)))


@given(
    steps=st.lists(
        st.tuples(st.dictionaries(NAMES, AMOUNT), st.frozensets(NAMES, max_size=2)), max_size=30
    ),
    busiest=st.integers(0, 4),
    seconds=st.floats(0.5, 5000),
)
def test_series_only_grow_and_their_sum_is_all_io(
    steps: list[tuple[dict[str, ServiceIo], frozenset[str]]], busiest: int, seconds: float
) -> None:
    device = DeviceServices()
    latest: dict[str, ServiceIo] = {}
    whole, now = ServiceIo(), 0.0
    for given_amounts, always in steps:
        now += seconds
        device.advance(now, seconds, given_amounts, always, ServiceRules(busiest=busiest))
        totals = dict(device.totals())
        for name, total in totals.items():
            earlier = latest.get(name, ServiceIo())
            assert not any(new < old for new, old in zip(total, earlier, strict=True)), name
        latest.update(totals)
        for amount in given_amounts.values():
            whole = whole.plus(amount)
        assert whole == reduce(ServiceIo.plus, latest.values())


@pytest.mark.parametrize("number", [examples(100)])
def test_many_services_keep_the_memory_small(number: int) -> None:
    device = Device()
    for step in range(number):
        device.then(amounts(**{f"s{step * 20 + i}": 1.5 + i for i in range(20)}))
    assert len(device.services.totals()) <= RULES.busiest + 1
