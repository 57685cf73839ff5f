"""Ranks the services of a host by their I/O on each device, and counts the I/O of the busiest ones.

Pure: it takes the counters of control groups and returns totals. Each request is counted in exactly
one series of a device: in that of its service while the service is named, and otherwise in `OTHER`.
So every series only grows, and their sum is the I/O of all groups.

A service is named if it is among the busiest of its device. The ranking is slow on purpose: a
series that appears and disappears is of no use in a graph, and a new name is a new time series.
"""

import operator
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from exporter.linux.cgroup import MAX_BYTES, MAX_GROUPS, CgroupIo, ServiceGroup, parse_io_stat

#: The name of the series with the I/O of all services that are not named.
OTHER = "other"

#: The maximum number of totals of formerly named services that are kept for each device.
_MAX_FORMER = 32

#: The maximum number of groups that are remembered while a limit omits some of them. The size of
#: their counters has the limit of one reading.
_MAX_KNOWN = 2 * MAX_GROUPS


@dataclass(frozen=True, slots=True)
class ServiceRules:
    """When a service is named.

    busiest: the number of named services of each device. Services of MySQL servers and of the
        setting `cgroup.groups` are named in addition.
    request_bytes: a request counts as much as this number of bytes, because a device is also
        limited by the number of requests.
    half_life_seconds: after this time I/O counts half.
    least_bytes: a service with less is not named.
    replace_factor: a service replaces a named one if it has this many times its I/O.
    hold_seconds: a service stays named for at least this time.
    forget_seconds: a named service without I/O in this time is no longer named.
    """

    busiest: int = 5
    request_bytes: int = 16384
    half_life_seconds: float = 300.0
    least_bytes: int = 1 << 20
    replace_factor: float = 2.0
    hold_seconds: float = 300.0
    forget_seconds: float = 86400.0


class ServiceIo(NamedTuple):
    """An amount of I/O: bytes and numbers of requests."""

    read_bytes: int = 0
    written_bytes: int = 0
    reads: int = 0
    writes: int = 0

    def plus(self, other: "ServiceIo") -> "ServiceIo":
        """Returns the sum."""
        return ServiceIo(*map(operator.add, self, other))

    def minus(self, other: "ServiceIo") -> "ServiceIo":
        """Returns the difference, whose values may be negative."""
        return ServiceIo(*map(operator.sub, self, other))


class ServiceRate(NamedTuple):
    """The I/O of one service on one device in the last interval between two readings.

    service: the name, or `OTHER`.
    read_bytes, written_bytes: bytes per second.
    reads, writes: requests per second, as `linux.cgroup.CgroupIo` defines them.
    """

    service: str
    read_bytes: float
    written_bytes: float
    reads: float
    writes: float

    @property
    def bytes(self) -> float:
        """The bytes per second read and written."""
        return self.read_bytes + self.written_bytes


_NOTHING = ServiceIo()

#: The I/O of each service on each device: keyed by the device, then by the name of the service.
Amounts = dict[str, dict[str, ServiceIo]]


class GroupDeltas:
    """Turns readings of the groups' counters into the I/O between two readings."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, bytes]] = {}
        self._debts: dict[tuple[str, str], ServiceIo] = {}
        #: False before the first reading, too: all groups of it may be old.
        self._was_complete = False

    def advance(
        self, groups: Sequence[ServiceGroup], devices: Mapping[str, str], *, is_complete: bool
    ) -> Amounts:
        """Returns the I/O since the previous reading; nothing at the first one.

        The I/O of a group that was removed since then counts as that of the group above.

        groups: each one after the groups below it.
        devices: the names of the devices, keyed by "major:minor". Other devices are ignored.
        is_complete: False means that groups are missing, so that a new one may be an old one.
        """
        known: dict[str, tuple[int, bytes]] = {}
        hidden: set[str] = set()
        amounts: Amounts = {}
        below: dict[str, dict[str, ServiceIo]] = {}
        for group in groups:
            path, before = group.path, self._known.get(group.path)
            if group.io_stat is None:
                hidden.add(path)
                continue
            known[path] = group.inode, group.io_stat
            if before is None:
                # A group that the previous or this reading may have omitted is not new.
                old = b"" if self._was_complete and is_complete else group.io_stat
            else:
                old = before[1] if before[0] == group.inode else b""
            deltas = {} if group.io_stat == old else _deltas(old, group.io_stat, devices)
            if group.parent is not None and deltas:
                above = below.setdefault(group.parent, {})
                for device, delta in deltas.items():
                    above[device] = above.get(device, _NOTHING).plus(delta)
            for device, delta in self._own(path, deltas, below.pop(path, {})):
                if any(delta):
                    by_name = amounts.setdefault(device, {})
                    by_name[group.name] = by_name.get(group.name, _NOTHING).plus(delta)
        self._keep_hidden(known, hidden if is_complete else self._known.keys())
        self._debts = {key: debt for key, debt in self._debts.items() if key[0] in known}
        self._known, self._was_complete = known, is_complete
        return amounts

    def _keep_hidden(self, known: dict[str, tuple[int, bytes]], paths: Collection[str]) -> None:
        """Adds the earlier counters of groups that could not be read, up to a total size."""
        size = sum(len(content) for _, content in known.values())
        for path, before in self._known.items():
            if path in known or path not in paths:
                continue
            size += len(before[1])
            if len(known) >= _MAX_KNOWN or size > MAX_BYTES:
                return
            known[path] = before

    def _own(
        self, path: str, whole: Mapping[str, ServiceIo], parts: Mapping[str, ServiceIo]
    ) -> Iterator[tuple[str, ServiceIo]]:
        """Yields the I/O of a group on each device, without that of the groups below.

        The counters of the groups are not read at the same moment. If those below are ahead, the
        difference is kept and subtracted at the next readings.
        """
        for device in whole.keys() | parts.keys():
            debt = self._debts.pop((path, device), _NOTHING)
            rest = whole.get(device, _NOTHING).minus(parts.get(device, _NOTHING)).minus(debt)
            missing = ServiceIo(*(max(-value, 0) for value in rest))
            if any(missing):
                self._debts[path, device] = missing
            yield device, ServiceIo(*(max(value, 0) for value in rest))


@dataclass(slots=True)
class _Named:
    """A named service. `total` is what its series counted, `since` and `used_at` are times."""

    total: ServiceIo
    since: float
    used_at: float


class DeviceServices:
    """The services of one device.

    other: the I/O of the services that are not named, since the start.
    rates: the busiest services of the last interval, those with the most bytes first, then `OTHER`
        if it had I/O. They need not be the named ones.
    """

    def __init__(self) -> None:
        self._scores: dict[str, float] = {}
        self._named: dict[str, _Named] = {}
        self._leaving: set[str] = set()
        self._former: dict[str, ServiceIo] = {}
        self.other = _NOTHING
        self.rates: tuple[ServiceRate, ...] = ()

    def totals(self) -> tuple[tuple[str, ServiceIo], ...]:
        """Returns the totals of the named services, sorted by name, then that of `OTHER`."""
        named = ((name, self._named[name].total) for name in sorted(self._named))
        return (*named, (OTHER, self.other))

    def advance(
        self,
        now: float,
        seconds: float,
        amounts: Mapping[str, ServiceIo],
        always: Collection[str],
        rules: ServiceRules,
    ) -> None:
        """Adds the I/O of an interval.

        now: the monotonic time at the end of the interval, which lasted `seconds`.
        amounts: the I/O of each service, keyed by its name.
        always: the services that are named whenever they have I/O.
        """
        for name in self._leaving & self._named.keys():
            self._demote(name)
        for name, amount in amounts.items():
            if (named := self._named.get(name)) is None:
                # A service that gets a name now is counted there from the next interval on. Its
                # series starts at 0, because rate() ignores the first value of a series.
                self.other = self.other.plus(amount)
            else:
                named.total, named.used_at = named.total.plus(amount), now
        self._score(seconds, amounts, rules)
        self._choose(now, always, rules)
        self.rates = _rates(seconds, amounts, rules) if seconds > 0 else ()

    def _score(self, seconds: float, amounts: Mapping[str, ServiceIo], rules: ServiceRules) -> None:
        kept = 0.5 ** (seconds / rules.half_life_seconds)
        scores = {name: score * kept for name, score in self._scores.items()}
        for name, amount in amounts.items():
            scores[name] = scores.get(name, 0.0) + _cost(amount, rules)
        least = rules.least_bytes / 16
        self._scores = {name: score for name, score in scores.items() if score >= least}

    def _choose(self, now: float, always: Collection[str], rules: ServiceRules) -> None:
        """Names services while there is room, and selects those that leave.

        A service leaves at the start of the next interval, so that its series has all of this one.
        """
        named, scores = self._named, self._scores
        for name in always:
            if name not in named and name in scores:
                self._promote(name, now)
        ranked = sorted(named.keys() - set(always), key=lambda n: (-scores.get(n, 0.0), n))
        unused = (n for n in ranked if now - named[n].used_at >= rules.forget_seconds)
        self._leaving = {*ranked[rules.busiest :], *unused}
        candidates = sorted(
            (n for n, score in scores.items() if n not in named and score >= rules.least_bytes),
            key=lambda n: (-scores[n], n),
        )
        room = max(rules.busiest - len(ranked), 0)
        for name in candidates[:room]:
            self._promote(name, now)
        # Services that were named recently keep their place.
        old = [n for n in ranked if now - named[n].since >= rules.hold_seconds]
        for name, weakest in zip(candidates[room:], reversed(old), strict=False):
            if scores[name] < rules.replace_factor * scores.get(weakest, 0.0):
                break
            self._leaving.add(weakest)

    def _promote(self, name: str, now: float) -> None:
        self._named[name] = _Named(self._former.pop(name, _NOTHING), now, now)

    def _demote(self, name: str) -> None:
        self._former[name] = self._named.pop(name).total
        if len(self._former) > _MAX_FORMER:
            del self._former[next(iter(self._former))]


def _deltas(old: bytes, new: bytes, devices: Mapping[str, str]) -> dict[str, ServiceIo]:
    before = parse_io_stat(old.decode("utf-8", "replace")).value
    after = parse_io_stat(new.decode("utf-8", "replace")).value
    return {
        devices[number]: _growth(before.get(number), io)
        for number, io in after.items()
        if number in devices and io != before.get(number)
    }


def _growth(before: CgroupIo | None, after: CgroupIo) -> ServiceIo:
    """Returns the I/O between two readings. A counter that decreased was set to 0 in between."""
    new = _amount(after)
    old = _NOTHING if before is None else _amount(before)
    if any(n < o for n, o in zip(new, old, strict=True)):
        return new
    return new.minus(old)


def _amount(io: CgroupIo) -> ServiceIo:
    return ServiceIo(io.read_bytes, io.written_bytes, io.reads or 0, io.writes or 0)


def _cost(amount: ServiceIo, rules: ServiceRules) -> float:
    requests = amount.reads + amount.writes
    return amount.read_bytes + amount.written_bytes + requests * rules.request_bytes


def _rates(
    seconds: float, amounts: Mapping[str, ServiceIo], rules: ServiceRules
) -> tuple[ServiceRate, ...]:
    ranked = sorted(amounts, key=lambda name: (-_cost(amounts[name], rules), name))
    busiest, rest = ranked[: rules.busiest], ranked[rules.busiest :]
    rates = [ServiceRate(name, *(v / seconds for v in amounts[name])) for name in busiest]
    rates.sort(key=lambda rate: (-rate.bytes, rate.service))
    other = _NOTHING
    for name in rest:
        other = other.plus(amounts[name])
    if any(other):
        rates.append(ServiceRate(OTHER, *(v / seconds for v in other)))
    return tuple(rates)
