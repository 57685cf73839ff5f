"""Runs the month: simulates the hosts in parallel, replays the rules, and collects the alerts."""

import multiprocessing
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.pool import IMapIterator, ThreadPool
from pathlib import Path
from typing import TypeVar

from rigs.month import busy_shop
from rigs.month.demand import DATA, DAY, MIRROR, Demand, nightly_copy, of, replica
from rigs.month.drive import CACHED, NVME, SATA
from rigs.month.faults import BY_NAME, DAYS, Fault
from rigs.month.host import Host
from rigs.month.monitored_drive import DriveIdentity, MonitoredDrive
from rigs.month.replay import DRIVES_AT_ONCE, HEALTH, LOAD, LOAD_OF_FAULTY, REPLAYS, Fired, run

HEALTHY, BUSY = "healthy", "busy-shop"

Say = Callable[[str], None]

T = TypeVar("T")

_SAY_EVERY_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Month:
    """Alerts that fired or were pending, of the healthy and the faulty hosts."""

    seconds: float
    faults: tuple[Fault, ...]
    fired: tuple[Fired, ...]
    has_busy_shop: bool = False

    def of(self, host: str) -> list[Fired]:
        """Alerts of a host, ordered by time."""
        found = [each for each in self.fired if each.host == host and each.severity != "pending"]
        return sorted(found, key=lambda each: each.first)

    @property
    def false_alarms(self) -> list[Fired]:
        """Firing warnings and pages of the healthy host, and of no host."""
        whom = (*self.of(HEALTHY), *self.of(""))
        return [each for each in whom if each.severity in ("critical", "warning")]

    def promised(self, fault: Fault, alert: str = "") -> Fired | None:
        """An expected alert of a fault, by default its main one; None if it did not fire."""
        wanted = alert or fault.alert
        return next((each for each in self.of(fault.host) if each.alert == wanted), None)

    def lost_at(self, fault: Fault) -> float:
        """Time in seconds at which the drive fails."""
        return fault.lost / DAYS * self.seconds

    def days(self, seconds: float) -> float:
        return seconds / DAY


def month(
    days: float,
    faults: Sequence[Fault],
    place: Path,
    say: Say,
    *,
    with_busy_shop: bool = False,
    workers: int = 2,
) -> Month:
    """Simulates all hosts and evaluates the rules."""
    place.mkdir(parents=True, exist_ok=True)
    # The longest one first, so that both cores finish at about the same time.
    whole = [*([BUSY] if with_busy_shop else []), HEALTHY]
    names = [*whole, *(its.name for its in sorted(faults, key=lambda its: not its.works))]
    lived: dict[str, dict[str, Path]] = {}
    # A pool, because it stops its processes when this process stops.
    with multiprocessing.get_context("spawn").Pool(workers) as processes:
        lives = [(name, days * DAY, place) for name in names]
        for name, paths in _ended(processes.imap_unordered(_life, lives), len(lives), say):
            lived[name] = paths
            say(f"{len(lived)} of {len(names)} hosts have lived {days:g} days")
    fired: list[Fired] = []
    is_over = threading.Event()
    runs = [
        (replay, paths, days * DAY, place / f"{replay.name}-{number}.json", is_over)
        for replay in REPLAYS
        for number, paths in enumerate(_batches(names, whole, lived, replay.name))
    ]
    with ThreadPool(workers) as threads:
        try:
            found = threads.imap_unordered(lambda its: run(*its), runs)
            for number, done in enumerate(_ended(found, len(runs), say), start=1):
                fired += done
                say(f"{number} of {len(runs)} replays of the rules are done")
        finally:
            # Stops the processes before their directory is removed.
            is_over.set()
            threads.close()
            threads.join()
    return Month(days * DAY, tuple(faults), tuple(fired), with_busy_shop)


def _ended(work: "IMapIterator[T]", count: int, say: Say) -> Iterator[T]:
    """Yields each result; prints progress while waiting."""
    while count:
        try:
            found = work.next(_SAY_EVERY_SECONDS)
        except multiprocessing.TimeoutError:
            say(f"{count} still to come")
        else:
            count -= 1
            yield found


def _life(its: tuple[str, float, Path]) -> tuple[str, dict[str, Path]]:
    return its[0], live(*its)


def _batches(
    names: Sequence[str], whole: Sequence[str], lived: Mapping[str, Mapping[str, Path]], replay: str
) -> Iterator[list[Path]]:
    """Files of a replay in batches; each host with all its drives is a batch of its own."""
    paths = [lived[name][replay] for name in names if name not in whole and replay in lived[name]]
    for first in range(0, len(paths), DRIVES_AT_ONCE):
        yield paths[first : first + DRIVES_AT_ONCE]
    for name in whole:
        if replay in lived[name]:
            yield [lived[name][replay]]


def live(fault: str, seconds: float, place: Path) -> dict[str, Path]:
    """Simulates a faulty host, the busy shop or the healthy host; returns the series files."""
    its = BY_NAME.get(fault)
    if its is not None:
        host = _faulty(its, seconds, place)
    else:
        host = (_busy_shop if fault == BUSY else _healthy)(seconds, place)
    host.live()
    return {replay: host.path(replay) for replay in host.replays}


def _healthy(seconds: float, place: Path) -> Host:
    identities = [
        DriveIdentity(DATA, "nvme", 1),
        *(DriveIdentity(name, "sata", 10 + n) for n, name in enumerate(MIRROR)),
    ]
    makes = {"nvme": NVME, "sata": SATA}
    return Host(
        HEALTHY,
        # The second drive of the mirror has the same load; only its health is evaluated.
        lambda wear: tuple(
            MonitoredDrive(
                identity, None if identity.name == MIRROR[1] else makes[identity.kind], wear
            )
            for identity in identities
        ),
        seconds=seconds,
        place=place,
        asked=of,
        reboot_at=0.4 * seconds // 300 * 300,
        replays=(LOAD, HEALTH),
    )


def _busy_shop(seconds: float, place: Path) -> Host:
    return Host(
        BUSY,
        lambda wear: tuple(
            MonitoredDrive(identity, NVME if identity.kind == "nvme" else SATA, wear)
            for identity in busy_shop.DRIVES
        ),
        seconds=seconds,
        place=place,
        asked=busy_shop.asked,
        work=busy_shop.WORK,
        replays=(LOAD, HEALTH),
    )


def _faulty(its: Fault, seconds: float, place: Path) -> Host:
    """A host with the faulty drive only; the other drives are evaluated on the healthy host."""
    number = 100 + [*BY_NAME].index(its.name)
    identity = DriveIdentity(DATA if its.kind == "nvme" else MIRROR[0], its.kind, number)
    make = (CACHED if its.cache else NVME) if its.works else None
    return Host(
        its.host,
        lambda wear: (MonitoredDrive(identity, make, wear),),
        seconds=seconds,
        place=place,
        asked=lambda at: _asked_of(its, identity.name, at),
        fault=its,
        replays=(LOAD_OF_FAULTY, HEALTH) if its.slowness else (HEALTH,),
        # A cache falloff requires samples every second; a link fault only requires load.
        interval=1 if its.slowness else 5,
    )


def _asked_of(its: Fault, device: str, at: float) -> Mapping[str, Demand]:
    if its.cache:
        return {device: nightly_copy(at)}
    if its.slowness:
        return {device: replica(at)}
    return of(at) if its.works else {}
