"""Reserves and charges the bytes of a measurement in the budget, which the daemon uses too.

The budget limits the bytes that probes write to a drive, per day and over the drive's life. Before
a run, the largest number of bytes that the run may write is reserved. After the run, the written
bytes are charged. The user has consented to the bytes of a measurement, so they are charged to the
drive's life only. They do not reduce the daily budget of scheduled probes.
"""

from dataclasses import dataclass, replace
from pathlib import Path

from exporter.config.gate_rules import GateRules
from exporter.config.settings import Settings
from exporter.linux import files
from exporter.measurement.interruption import InterruptHandler
from exporter.probe.budget import ProbeBudget
from exporter.probe.budget_ledger import FILESYSTEM_FACTOR, Reservation, WriteLimits
from exporter.probe.location import Location
from exporter.probe.probe_directory import ProbeDirectory
from exporter.report.formatting import quantity
from exporter.runtime import untrusted_file
from exporter.runtime.clock import Clock
from exporter.runtime.errors import ConfigError, ReadError

#: A limit that no load reaches. With --anyway it replaces the guard's limits for load, so that load
#: does not end the run.
_UNREACHABLE = 1 << 30


class MeasurementAccount:
    """The budget of one drive: the bytes that probes and measurements may still write to it.

    charged_bytes: the bytes that this process has counted against the budget so far.
    rated_bytes: the drive's rated endurance in bytes; None means unknown.
    """

    def __init__(
        self, directory: ProbeDirectory, settings: Settings, state: Path, clock: Clock
    ) -> None:
        """Open the budget.

        directory: the directory to measure in. `ProbeDirectory.locate` must have succeeded.
        state: the state directory, which contains the budget's file.

        Raises:
            ConfigError: this user may not write to the state directory.
        """
        if problem := untrusted_file.write_problem(state):
            raise ConfigError(
                f"the written bytes cannot be counted in {state}: {problem}",
                "run this as root or as the daemon's user",
            )
        assert directory.location is not None
        self.charged_bytes = 0
        self.rated_bytes = directory.rated_bytes
        self._drive, self._device = directory.drive, directory.location.device
        self._budget = ProbeBudget(
            state,
            clock,
            files.read_attribute(settings.path.procfs / "sys/kernel/random/boot_id") or "",
            settings.probe.budget_bytes_per_day,
            {} if self.rated_bytes is None else {self._drive: self.rated_bytes},
        )

    @property
    def left(self) -> WriteLimits:
        """The bytes that may still be written to the drive, today and over its life."""
        return self._budget.remaining(self._drive)

    @property
    def unacknowledged(self) -> Reservation | None:
        """The run during which the host rebooted; None if there is none or it was acknowledged."""
        return self._budget.unacknowledged

    def recover(self) -> None:
        """Counts the bytes of a run whose process was killed against the budget of its drive.

        Call it while holding the host lock.

        Raises:
            ReadError: the budget's file cannot be read or written.
        """
        try:
            self._budget.recover()
        except OSError as e:
            raise self._unusable(e) from e
        self._budget.refresh()

    def reserve(self, what: str, written_bytes: int) -> int:
        """Reserves the bytes of a run. Returns the number of reserved bytes.

        It is twice `written_bytes`, because the file system writes additional data. Call this
        method while holding the host lock.

        what: the names of the profiles, joined by "+"; or "filling".
        written_bytes: upper bound of the bytes that fio writes.

        Raises:
            ConfigError: the remaining budget is too small.
            ReadError: the budget's file cannot be read or written.
        """
        try:
            reserved = self._budget.reserve(self._drive, what, written_bytes, on_demand=True)
        except OSError as e:
            raise self._unusable(e) from e
        if reserved is None:
            raise self.too_much(written_bytes)
        return reserved

    def settle(self, fio_bytes: int | None, device_bytes: int | None) -> None:
        """Replaces the reservation of the last run by the bytes that it wrote.

        fio_bytes: the bytes that fio reports as written; None if it reported nothing. Then all
            reserved bytes are counted.
        device_bytes: the bytes that the device wrote during the run; None if unknown.

        Raises:
            ReadError: the budget's file cannot be read or written.
        """
        try:
            self.charged_bytes += self._budget.settle(fio_bytes, device_bytes)
        except OSError as e:
            raise self._unusable(e) from e

    def too_much(self, written_bytes: int) -> ConfigError:
        """Returns the error to raise if a write exceeds the remaining budget for the drive's life.

        written_bytes: upper bound of the bytes that fio would write.
        """
        wanted = quantity(FILESYSTEM_FACTOR * written_bytes, "B")
        left = quantity(self.left.life_bytes, "B")
        return ConfigError(
            f"the run may write {wanted}, but only {left} are left of the budget for the life of"
            f" {self._device}",
            "write less, or raise probe.budget_bytes_per_day; the budget for a drive's life is ten"
            " years of daily budgets",
        )

    def _unusable(self, e: OSError) -> ReadError:
        return ReadError(f"{self._budget.path}: {e.strerror or e}")


@dataclass(frozen=True, slots=True)
class Conditions:
    """The objects that all steps of a measurement share.

    directory: the directory to measure in. `ProbeDirectory.locate` has succeeded.
    account: the budget of the drive below the directory.
    rules: the limits of the gate, above which a run is not started, and of the guard, above which a
        running one is ended.
    interruption: records signals such as Ctrl-C.
    """

    directory: ProbeDirectory
    account: MeasurementAccount
    rules: GateRules
    clock: Clock
    interruption: InterruptHandler

    @property
    def location(self) -> Location:
        assert self.directory.location is not None
        return self.directory.location


def guard_rules(rules: GateRules, *, anyway: bool) -> GateRules:
    """Returns the rules with the limits above which a running measurement is ended.

    anyway: the option --anyway was given. Load then does not end a run; heat and a full filesystem
        still do.
    """
    if not anyway:
        return rules
    return replace(
        rules,
        guard_queue=_UNREACHABLE,
        guard_pressure_ratio=float(_UNREACHABLE),
        guard_waiting_ratio=float(_UNREACHABLE),
    )
