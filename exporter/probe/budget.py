"""Stores how many bytes probes have written to each drive, in a file, and enforces a budget.

Before a run, its bytes are reserved in the file. After the run, the reservation is replaced by an
upper bound of the bytes that the device wrote (the charge). A reservation is on the disk before its
run starts, so it remains after a crash during the run.

The daemon and the measuring commands share the file and the budget. Each change is made under a
lock. It replaces the whole file, and then its copy. If the file is lost or damaged, the copy is
used. If both are unusable, no probe writes until a person deletes both. The count of bytes over a
drive's life therefore never restarts by itself.
"""

import contextlib
import errno
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from exporter.probe import budget_ledger
from exporter.probe.budget_ledger import FILESYSTEM_FACTOR, Ledger, Reservation, WriteLimits
from exporter.runtime import kept_copy, lock_file, untrusted_file
from exporter.runtime.clock import Clock
from exporter.runtime.errors import ParseError
from exporter.runtime.untrusted_file import TooLargeFile, UnusableFile

log = logging.getLogger(__name__)

#: Default daily budget of one drive, in bytes. The default profiles write 0.8 GB a day, including
#: what the filesystem adds.
DAY_BYTES = 1 << 30

_DAY_SECONDS = 86_400

#: Maximum size of the budget file, in bytes. One drive takes about 100 bytes.
_MAX_FILE_BYTES = 4 << 20

#: Number of attempts to get the lock of the file, and the time between two attempts: 5 s in total.
#: Another process holds the lock only while it reads and writes the file.
_LOCK_TRIES = 50
_LOCK_INTERVAL_SECONDS = 0.1


class ProbeBudget:
    """Reads and changes the budgets of all drives: the bytes that probes may write to each drive.

    Use an object on one thread only. Other processes may use the same directory.

    directory: the state directory.
    boot_id: the boot id of the running kernel; empty means unknown.
    day_bytes: the configured daily budget of each drive.
    rated_bytes: the configured rated endurance in bytes, keyed by drive identity. The caller may
        change this mapping later.
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
        self._copy = directory / "probe-budget.copy.json"
        self._clock = clock
        self._boot_id = boot_id
        self._day_bytes = day_bytes
        # Do not use `or` here: an empty mapping is false, but the caller may fill it later.
        self._rated_bytes = {} if rated_bytes is None else rated_bytes
        #: The reservation of the current run; None if no run is reserved by this process.
        self._running: Reservation | None = None
        #: The charge of a run in bytes, kept until the charge is in the file.
        self._owed_bytes = 0
        today = self._today()
        self._known = Ledger(day=today, spent_day=today, is_life_unknown=True)
        self._has_read = False
        try:
            self._change(lambda ledger: ledger)
            self._has_read = True
        except OSError as e:
            log.warning("%s cannot be used: %s; no probe runs", self.path, e.strerror or e)

    def limits(self, drive: str) -> WriteLimits:
        """Returns the bytes that probes may write to a drive, per day and over its life."""
        return budget_ledger.write_limits(self._day_bytes, self._rated_bytes.get(drive))

    def remaining(self, drive: str) -> WriteLimits:
        """Returns the remaining bytes of a drive's limits, without reading the file again."""
        known = budget_ledger.rolled_over(self._known, self._today())
        return budget_ledger.remaining(known, drive, self.limits(drive))

    @property
    def unacknowledged(self) -> Reservation | None:
        """The run during which the host rebooted; None without one, or after `acknowledge`."""
        return self._known.unacknowledged

    def refresh(self) -> None:
        """Reads the file again, because other processes may have changed it.

        Call it before `gate` decides whether a probe may run. If the file cannot be read, today's
        budget of all drives counts as spent.
        """
        try:
            self._known = self._read()
        except (OSError, ParseError):
            # The next change logs the error, and replaces the file if possible.
            today = self._today()
            self._known = replace(budget_ledger.rolled_over(self._known, today), spent_day=today)

    def recover(self) -> None:
        """Charges a run that was killed: all its reserved bytes count as written.

        Does nothing if the file contains no such reservation.

        The caller must hold the host lock. Without it, the run may not have ended.

        Raises:
            OSError: the file cannot be read or written.
        """
        self._change(self._recovered)

    def reserve(
        self, drive: str, profile: str, written_bytes: int, *, on_demand: bool = False
    ) -> int | None:
        """Reserves the bytes of a run. Returns the reserved bytes, None if the run must not start.

        The reserved size is twice `written_bytes`, because the filesystem writes more than fio. The
        run must not start in two cases: the budget is too small, or the host rebooted during an
        earlier run and no person has acknowledged the reboot.

        The caller must hold the host lock. The reservation is on the disk when this function
        returns. A run that only reads reserves 0 bytes: if the host crashes during the run, the
        reservation shows that.

        drive: the drive's identity.
        profile: the names of the profiles, for messages.
        written_bytes: upper bound of the bytes that fio writes.
        on_demand: True counts the bytes against the budget for the drive's life only, and not
            against that of the day.

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
        """Replaces the reservation of the last run by its written bytes. Returns these bytes.

        Returns 0 if no run is reserved.

        fio_bytes: the bytes that fio reports as written; None means that it reported nothing.
        device_bytes: the bytes that the device wrote during the run; None means unknown.

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
        """Allows probes again after the host rebooted during a probe.

        Returns True if there was a reboot that was not acknowledged. Call `recover` first if the
        host lock is free. If no daemon has started since the reboot, only `recover` detects the
        reboot.

        Raises:
            OSError: the file cannot be read or written.
        """
        self.refresh()
        was_unacknowledged = self._known.unacknowledged is not None
        self._change(lambda ledger: replace(ledger, unacknowledged=None))
        return was_unacknowledged

    def _recovered(self, ledger: Ledger) -> Ledger:
        """Returns the ledger with the reservation of a killed run charged, and logs the charge."""
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
        """Reads the ledger, changes it with `step` and saves it. Returns the changed ledger."""
        with self._locked():
            is_usable = True
            try:
                before = self._read()
            except ParseError as e:
                before, is_usable = self._without_file(), False
                self._keep_aside(e, before)
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
        """Returns the ledger in the file.

        Without a file, it returns the ledger that this process read last, or that of the copy, or
        an empty one if there is no copy. If the file disappears, the budget is not reset, because
        the bytes were written.

        Raises:
            OSError: the file cannot be read.
            ParseError: the file is not a ledger.
        """
        try:
            content = untrusted_file.read(self.path, _MAX_FILE_BYTES)
        except FileNotFoundError as e:
            if self._has_read:
                return self._known
            if not os.path.lexists(self._copy):
                return Ledger(self._today())
            raise ParseError("it is missing, but its copy exists") from e
        except TooLargeFile as e:
            raise ParseError(e.strerror) from e
        return budget_ledger.parse(content.decode("utf-8", "replace"))

    def _without_file(self) -> Ledger:
        """Returns the ledger to use instead of an unusable file. Today's budget counts as spent.

        It is that of the copy, or the one that this process read last. If there is neither, the
        bytes written over the drives' life are unknown.

        Raises:
            OSError: the copy exists, and reading it failed. It may be readable later.
        """
        today = self._today()
        ledger = Ledger(today, is_life_unknown=True)
        if self._has_read:
            ledger = self._known
        with contextlib.suppress(FileNotFoundError, UnusableFile, ParseError):
            content = untrusted_file.read(self._copy, _MAX_FILE_BYTES)
            ledger = budget_ledger.parse(content.decode("utf-8", "replace"))
        return replace(budget_ledger.rolled_over(ledger, today), spent_day=today)

    def _save(self, ledger: Ledger) -> None:
        # The reservation must survive a power failure, so this waits for the disk.
        content = budget_ledger.serialize(ledger).encode()
        untrusted_file.replace_at(self.path, content, 0o600)
        untrusted_file.replace_at(self._copy, content, 0o600)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        descriptor = lock_file.open_lock_file(self.path.with_suffix(".lock"), 0o600)
        try:
            self._lock(descriptor)
            yield
        finally:
            os.close(descriptor)

    def _lock(self, descriptor: int) -> None:
        for _ in range(_LOCK_TRIES):
            if lock_file.lock(descriptor):
                return
            self._clock.sleep(_LOCK_INTERVAL_SECONDS)
        raise OSError(errno.EWOULDBLOCK, "another process has held the lock for 5 s")

    def _keep_aside(self, why: ParseError, used: Ledger) -> None:
        try:
            # Make a second link instead of renaming: without a file, the full budget would be
            # available.
            aside = kept_copy.next_copy(self.path)
            os.link(self.path, aside, follow_symlinks=False)
            action = f"kept as {aside.name}"
        except OSError as e:
            action = f"overwritten ({e.strerror or e})"
        life = "the count of bytes over the drives' life is continued"
        if used.is_life_unknown:
            life = (
                "the bytes written over the drives' life are unknown, so no probe writes; to start"
                f" a new count, stop the exporter and delete {self.path} and {self._copy}"
            )
        log.warning(
            "%s is not usable: %s; %s; today's budget counts as spent, and %s",
            *(self.path, why, action, life),
        )

    def _today(self) -> int:
        return max(0, int(self._clock.wall() // _DAY_SECONDS))
