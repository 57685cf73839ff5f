"""How much probes may still write: a file that is changed before a run and after it.

The file is the truth, not this process: `ssd-exporter probe` spends from the same. Each change is
made under a lock, written whole, and on the disk before a run begins: a host that the run brings
down finds it there.
"""

import contextlib
import errno
import fcntl
import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from exporter.clock import Clock
from exporter.errors import ParseError
from exporter.probe import budget_ledger
from exporter.probe.budget_ledger import FILESYSTEM_FACTOR, Ledger, Reservation, WriteLimits

log = logging.getLogger(__name__)

#: For the scheduled profiles of one drive; the default ones take 0.8 GB, filesystem included.
DAY_BYTES = 1 << 30

_DAY_SECONDS = 86_400
_LARGEST_BYTES = 4 << 20
_LOCK_TRIES = 50
_LOCK_SECONDS = 0.1


class ProbeBudget:
    """The budgets of all drives. For one thread; other processes may use the same directory.

    rated_bytes: what a drive's maker lets be written over its life, where it is configured.
    boot_id: of the running kernel; empty where it is not known.
    """

    def __init__(
        self,
        directory: Path,
        clock: Clock,
        boot_id: str,
        day_bytes: int = DAY_BYTES,
        rated_bytes: Mapping[str, float] | None = None,
    ) -> None:
        self.path = directory / "probe-budget.json"
        self._clock = clock
        self._boot_id = boot_id
        self._day_bytes = day_bytes
        # Not "or": one that is empty yet is filled once the drives are known.
        self._rated_bytes = {} if rated_bytes is None else rated_bytes
        #: What runs, and what it has cost where that could not be written down.
        self._running: Reservation | None = None
        self._owed_bytes = 0
        self._known = self._all_spent()
        self._has_looked = False
        try:
            self._change(lambda ledger: ledger)
            self._has_looked = True
        except OSError as e:
            log.warning("%s cannot be used: %s; probes are off", self.path, e.strerror or e)

    def limits(self, drive: str) -> WriteLimits:
        return budget_ledger.write_limits(self._day_bytes, self._rated_bytes.get(drive))

    def remaining(self, drive: str) -> WriteLimits:
        """What is left, as far as this process has looked; it never waits for a disk."""
        known = budget_ledger.rolled_over(self._known, self._today())
        return budget_ledger.remaining(known, drive, self.limits(drive))

    @property
    def unacknowledged(self) -> Reservation | None:
        """The run during which the host rebooted, and which nobody has acknowledged."""
        return self._known.unacknowledged

    def refresh(self) -> None:
        """See what another process has spent or acknowledged; before the gate is asked."""
        try:
            self._known = self._read()
        except (OSError, ParseError):
            # Said, and mended where that can be done, at the next change.
            self._known = self._all_spent()

    def recover(self) -> None:
        """Settle what a killed run left. Only with the host's probe lock held: else it may run.

        Raises:
            OSError: the file cannot be read or written.
        """
        self._change(self._recovered)

    def reserve(
        self, drive: str, profile: str, written_bytes: int, *, on_demand: bool = False
    ) -> int | None:
        """Set aside twice what a run writes; None where so much is not left, or must not run.

        Only with the host's probe lock held. What is returned is on the disk. For a run that only
        reads as well, with 0 bytes: it may bring the host down too.

        Raises:
            OSError: the file cannot be read or written; the run must not begin.
        """
        size = FILESYSTEM_FACTOR * max(0, written_bytes)
        at = max(0.0, self._clock.wall())
        wanted = Reservation(drive, profile, size, on_demand, self._boot_id, at)

        def step(ledger: Ledger) -> Ledger:
            ledger = self._recovered(ledger)
            left = budget_ledger.remaining(ledger, drive, self.limits(drive))
            enough = size <= (left.life_bytes if on_demand else left.day_bytes)
            if ledger.unacknowledged is not None or not enough:
                return ledger
            return replace(ledger, reservation=wanted)

        after = self._change(step)
        self._running = wanted if after.reservation is wanted else None
        return None if self._running is None else size

    def settle(self, fio_bytes: int | None, device_bytes: int | None) -> int:
        """Charge the run that was reserved last, and return how much: see `probe_ledger.charge`.

        Raises:
            OSError: it could not be written down. What was reserved stands, so nothing is lost;
                the next reservation tries again.
        """
        run = self._running
        if run is None:
            return 0
        size = budget_ledger.charge(fio_bytes, device_bytes, run.bytes)
        self._owed_bytes = size
        self._change(lambda ledger: budget_ledger.with_charge(ledger, run, size))
        self._running = None
        return size

    def acknowledge(self) -> bool:
        """Let probes run again after a reboot during one; False where nothing was to acknowledge.

        After `recover`, where the probe lock can be had: a daemon that has not started since the
        reboot has not seen it.

        Raises:
            OSError: the file cannot be read or written.
        """
        self.refresh()
        was = self._known.unacknowledged is not None
        self._change(lambda ledger: replace(ledger, unacknowledged=None))
        return was

    def _recovered(self, ledger: Ledger) -> Ledger:
        run = ledger.reservation
        if run is None:
            return ledger
        after = budget_ledger.with_recovery(ledger, self._boot_id, self._owed_bytes)
        words = "a %s probe of %s did not end: the bytes that it may have written are counted"
        log.warning(words, run.profile, run.drive)
        if after.unacknowledged is run:
            log.error(
                "the host rebooted during a probe: probes are off until someone has looked why;"
                " then: ssd-exporter probe --acknowledge"
            )
        return after

    def _change(self, step: Callable[[Ledger], Ledger]) -> Ledger:
        """The ledger after a step, which is then on the disk."""
        with self._locked():
            is_usable = True
            try:
                found = self._read()
            except ParseError as e:
                self._keep_aside(e)
                found, is_usable = self._all_spent(), False
            today = self._today()
            if today < found.day:
                log.warning("%s is of a day to come: today is held to be spent", self.path)
            after = step(budget_ledger.rolled_over(found, today))
            if after != found or not is_usable:
                self._save(after)
            self._known = after
            if after.reservation is None:
                self._owed_bytes = 0
            return after

    def _read(self) -> Ledger:
        """Raises OSError, ParseError; where there is no file, what is known stands.

        Nothing at the start; later it was taken away, and its bytes were written all the same.
        """
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            descriptor = os.open(self.path, flags)
        except FileNotFoundError:
            return self._known if self._has_looked else Ledger(self._today())
        with os.fdopen(descriptor, "rb") as file:
            content = file.read(_LARGEST_BYTES + 1)
        if len(content) > _LARGEST_BYTES:
            raise ParseError(f"larger than {_LARGEST_BYTES} bytes")
        return budget_ledger.parse(content.decode("utf-8", "replace"))

    def _save(self, ledger: Ledger) -> None:
        # One name, so that what a kill leaves half written is written over the next time.
        temporary = self.path.with_name(f".{self.path.name}.new")
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(temporary, flags, 0o600), "w", encoding="utf-8") as file:
            file.write(budget_ledger.serialize(ledger))
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, self.path)
        # The name too: a reservation must outlive a power cut.
        directory = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(self.path.with_suffix(".lock"), flags, 0o600)
        try:
            self._lock(descriptor)
            yield
        finally:
            os.close(descriptor)

    def _lock(self, descriptor: int) -> None:
        for _ in range(_LOCK_TRIES):
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            self._clock.sleep(_LOCK_SECONDS)
        raise OSError(errno.EWOULDBLOCK, "another process has held its lock for 5 s")

    def _keep_aside(self, why: ParseError) -> None:
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(max(0.0, self._clock.wall())))
        aside = self.path.with_name(f"{self.path.name}.kept-{stamp}")
        said = f"kept as {aside.name}"
        try:
            # A second name, not another: without a file the budget would be whole.
            os.link(self.path, aside, follow_symlinks=False)
        except OSError as e:
            said = f"written over ({e.strerror or e})"
        words = "%s is not usable: %s; %s; today is held to be spent, the life's count begins anew"
        log.warning(words, self.path, why, said)

    def _all_spent(self) -> Ledger:
        today = self._today()
        return Ledger(day=today, spent_day=today)

    def _today(self) -> int:
        return max(0, int(self._clock.wall() // _DAY_SECONDS))
