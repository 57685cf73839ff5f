"""What a measurement writes is set aside before each run, and charged after it.

To the life of the drive, not to the day of the scheduled probes: a person has seen what it writes.

What every step of a measurement goes by: where it writes, who counts that, what ends it.
"""

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from exporter.clock import Clock
from exporter.config import Settings
from exporter.errors import ConfigError, ReadError
from exporter.linux import files
from exporter.measurement.interruption import InterruptHandler
from exporter.probe.budget import ProbeBudget
from exporter.probe.budget_ledger import FILESYSTEM_FACTOR, Reservation, WriteLimits
from exporter.probe.gate import GateRules
from exporter.probe.location import Location
from exporter.probe.probe_directory import ProbeDirectory
from exporter.report.formatting import quantity


class MeasurementAccount:
    """One drive's, in the file that the daemon has too. charged_bytes: by this process so far."""

    def __init__(
        self, directory: ProbeDirectory, settings: Settings, state: Path, clock: Clock
    ) -> None:
        """Raises ConfigError where this user may not read or write it."""
        try:
            with tempfile.TemporaryFile(dir=state):
                pass
        except OSError as e:
            raise ConfigError(
                f"the written bytes cannot be counted in {state}: {e.strerror or e}",
                "run this as root or as the daemon's user",
            ) from e
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
        return self._budget.remaining(self._drive)

    @property
    def unacknowledged(self) -> Reservation | None:
        """The run during which the host rebooted."""
        return self._budget.unacknowledged

    def recover(self) -> None:
        """Settle what a killed run left; with the host's probe lock held.

        Raises:
            ReadError: the file cannot be read or written.
        """
        try:
            self._budget.recover()
        except OSError as e:
            raise self._unusable(e) from e
        self._budget.refresh()

    def reserve(self, what: str, written_bytes: int) -> int:
        """Set aside what a run may write; with the lock held.

        Raises:
            ConfigError: so much is not left. ReadError: as `recover`.
        """
        try:
            reserved = self._budget.reserve(self._drive, what, written_bytes, on_demand=True)
        except OSError as e:
            raise self._unusable(e) from e
        if reserved is None:
            raise self.too_much(written_bytes)
        return reserved

    def settle(self, fio_bytes: int | None, device_bytes: int | None) -> None:
        """Charge the run that was reserved last. Raises ReadError as `recover`."""
        try:
            self.charged_bytes += self._budget.settle(fio_bytes, device_bytes)
        except OSError as e:
            raise self._unusable(e) from e

    def too_much(self, written_bytes: int) -> ConfigError:
        wanted = quantity(FILESYSTEM_FACTOR * written_bytes, "B")
        left = quantity(self.left.life_bytes, "B")
        return ConfigError(
            f"it may write {wanted}, and {left} are left of what probes may write to"
            f" {self._device} over its life",
            "write less, or raise probe.budget_bytes_per_day, of which that is ten years",
        )

    def _unusable(self, e: OSError) -> ReadError:
        return ReadError(f"{self._budget.path}: {e.strerror or e}")


#: With --anyway production's load no longer ends a run.
_NEVER = 1 << 30


@dataclass(frozen=True, slots=True)
class Conditions:
    """Of one directory, whose place is known. rules: of the gate and of the guard."""

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
    """The rules that were configured, without load as a reason to end where that was said."""
    if not anyway:
        return rules
    return replace(rules, guard_queue=_NEVER, guard_pressure_ratio=float(_NEVER))
