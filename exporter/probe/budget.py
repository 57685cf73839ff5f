"""Stores the budget of bytes that probes may write in a file that is updated before and after runs.

All processes share the file: the measuring commands charge the same budget. Each change is made
under a lock and replaces the whole file. A reservation is on the disk before its run starts, so it
is still there after a crash during the run.
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

#: Default daily budget of one drive. The default profiles write 0.8 GB a day, filesystem included.
DAY_BYTES = 1 << 30

_DAY_SECONDS = 86_400

#: Maximum size of the file. One drive takes about 100 bytes.
_MAX_FILE_BYTES = 4 << 20

#: The lock is tried this many times, with this time between tries: 5 s in total. Another process
#: holds it only while it reads and writes the file.
_LOCK_TRIES = 50
_LOCK_INTERVAL_SECONDS = 0.1


class ProbeBudget:
    """The budgets of all drives. One thread uses it; other processes may use the same directory.

    directory: the state directory. boot_id: the boot id of the running kernel; empty if unknown.
    day_bytes: the setting of the daily budget. rated_bytes: the configured rated endurance in
    bytes, by drive.
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
        # Not "or": the caller may fill an empty mapping later.
        self._rated_bytes = {} if rated_bytes is None else rated_bytes
        #: The run under way, and its charge in bytes while that is not on the disk.
        self._running: Reservation | None = None
        self._owed_bytes = 0
        self._known = self._all_spent()
        self._has_read = False
        try:
            self._change(lambda ledger: ledger)
            self._has_read = True
        except OSError as e:
            log.warning("%s cannot be used: %s; no probe runs", self.path, e.strerror or e)

    def limits(self, drive: str) -> WriteLimits:
        """Returns the bytes that may be written to a drive, per day and over its life."""
        return budget_ledger.write_limits(self._day_bytes, self._rated_bytes.get(drive))

    def remaining(self, drive: str) -> WriteLimits:
        """Returns what is left of a drive's limits as of the last read, without reading a disk."""
        known = budget_ledger.rolled_over(self._known, self._today())
        return budget_ledger.remaining(known, drive, self.limits(drive))

    @property
    def unacknowledged(self) -> Reservation | None:
        """The run during which the host rebooted, until a person acknowledges it."""
        return self._known.unacknowledged

    def refresh(self) -> None:
        """Read what other processes charged or acknowledged. Call before the gate."""
        try:
            self._known = self._read()
        except (OSError, ParseError):
            # The next change logs it, and replaces the file if possible.
            self._known = self._all_spent()

    def recover(self) -> None:
        """Charge a run that was killed.

        The caller holds the host lock; otherwise the run may still be under way.

        Raises:
            OSError: the file cannot be read or written.
        """
        self._change(self._recovered)

    def reserve(
        self, drive: str, profile: str, written_bytes: int, *, on_demand: bool = False
    ) -> int | None:
        """Reserve twice the bytes that a run writes; returns the reserved bytes.

        None if the budget is too small or a reboot is not acknowledged. The caller holds the host
        lock. The reservation is on the disk when this returns. A run that only reads reserves 0
        bytes: if it crashes the host, the reservation shows that.

        profile: the names of the profiles, for messages. on_demand: as in `Reservation`.

        Raises:
            OSError: the file cannot be read or written; the run must not start.
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
        """Charge the last reserved run; returns the charged bytes, 0 if no run is reserved.

        fio_bytes, device_bytes: as in `budget_ledger.charge`.

        Raises:
            OSError: the file cannot be written. The reservation remains in the file, and the next
                `reserve` or `recover` charges it.
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
        """Allow probes again after a reboot during one; returns False if there was no such reboot.

        Call `recover` first if the host lock is free: if no daemon has started since the reboot, it
        is not detected yet.

        Raises:
            OSError: the file cannot be read or written.
        """
        self.refresh()
        was_unacknowledged = self._known.unacknowledged is not None
        self._change(lambda ledger: replace(ledger, unacknowledged=None))
        return was_unacknowledged

    def _recovered(self, ledger: Ledger) -> Ledger:
        """Returns the ledger with an open reservation charged, and logs that."""
        run = ledger.reservation
        if run is None:
            return ledger
        after = budget_ledger.with_recovery(ledger, self._boot_id, self._owed_bytes)
        log.warning(
            "a %s probe of %s was killed: all of its reserved bytes are charged",
            run.profile,
            run.drive,
        )
        if after.unacknowledged is run:
            log.error(
                "the host rebooted during a probe: no probe runs until you have found out why and"
                " run ssd-exporter probe --acknowledge"
            )
        return after

    def _change(self, step: Callable[[Ledger], Ledger]) -> Ledger:
        """Read the ledger, change it by `step` and save it; returns the saved ledger."""
        with self._locked():
            is_usable = True
            try:
                before = self._read()
            except ParseError as e:
                self._keep_aside(e)
                before, is_usable = self._all_spent(), False
            today = self._today()
            if today < before.day:
                log.warning("%s is dated in the future: today's budget counts as spent", self.path)
            after = step(budget_ledger.rolled_over(before, today))
            if after != before or not is_usable:
                self._save(after)
            self._known = after
            if after.reservation is None:
                self._owed_bytes = 0
            return after

    def _read(self) -> Ledger:
        """Returns the ledger of the file; without a file, the last known one.

        If the file disappears while this process runs, the budget is not reset, because the bytes
        were written.

        Raises:
            OSError: the file cannot be read.
            ParseError: the file is not a ledger.
        """
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            descriptor = os.open(self.path, flags)
        except FileNotFoundError:
            return self._known if self._has_read else Ledger(self._today())
        with os.fdopen(descriptor, "rb") as file:
            content = file.read(_MAX_FILE_BYTES + 1)
        if len(content) > _MAX_FILE_BYTES:
            raise ParseError(f"larger than {_MAX_FILE_BYTES} bytes")
        return budget_ledger.parse(content.decode("utf-8", "replace"))

    def _save(self, ledger: Ledger) -> None:
        # A fixed name: the next save replaces what a kill left half-written.
        temporary = self.path.with_name(f".{self.path.name}.new")
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(temporary, flags, 0o600), "w", encoding="utf-8") as file:
            file.write(budget_ledger.serialize(ledger))
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, self.path)
        # The directory entry too: a reservation must survive a power loss.
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
            self._clock.sleep(_LOCK_INTERVAL_SECONDS)
        raise OSError(errno.EWOULDBLOCK, "another process has held the lock for 5 s")

    def _keep_aside(self, why: ParseError) -> None:
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(max(0.0, self._clock.wall())))
        aside = self.path.with_name(f"{self.path.name}.kept-{stamp}")
        action = f"kept as {aside.name}"
        try:
            # A second link, not a rename: without a file the budget would start in full.
            os.link(self.path, aside, follow_symlinks=False)
        except OSError as e:
            action = f"overwritten ({e.strerror or e})"
        log.warning(
            "%s is not usable: %s; %s; today's budget counts as spent, and the count of bytes over"
            " the drives' life starts at 0",
            self.path,
            why,
            action,
        )

    def _all_spent(self) -> Ledger:
        today = self._today()
        return Ledger(day=today, spent_day=today)

    def _today(self) -> int:
        return max(0, int(self._clock.wall() // _DAY_SECONDS))
