"""Whether a measurement may begin: the daemon's gate is asked, of what a person wants to write."""

import re
from dataclasses import dataclass, replace
from typing import TextIO

from exporter.background.probe_ledger import FILESYSTEM_FACTOR
from exporter.commands import measured_place
from exporter.commands.conditions import Conditions
from exporter.config import Settings
from exporter.diagnosis.probe_gate import GateState, Reason, Skip, gate
from exporter.errors import ConfigError
from exporter.report.progress import Progress
from exporter.report.words import quantity
from exporter.tools.fio_profiles import Profile

#: Over so long the load is looked at before anything begins.
_LOAD_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Intent:
    """What is to be done.

    written_bytes: what all runs write at most by fio's count, filling included. missing_bytes: what
    their file still takes of the free space.
    """

    profile: Profile
    written_bytes: int
    missing_bytes: int


@dataclass(frozen=True, slots=True)
class Admission:
    """The gate of one directory. anyway: load keeps nothing off. says: where progress goes."""

    conditions: Conditions
    settings: Settings
    anyway: bool
    says: TextIO

    def ask(self, intent: Intent, *, is_stuck: bool) -> None:
        """Come back where it may begin, after two seconds in which the load is looked at.

        is_stuck: a fio cannot be ended.

        Raises:
            ConfigError: it must not run; or should not now, and nobody said --anyway.
            ReadError: the filesystem cannot be looked at.
        """
        skip = gate(self._state(intent, is_stuck=is_stuck), self.conditions.rules)
        if not isinstance(skip, Skip):
            return
        device, account = self.conditions.place.device, self.conditions.account
        if not (skip.is_for_load or skip.reason is Reason.UNOBSERVED):
            if skip.reason is Reason.BUDGET:
                raise account.too_much(intent.written_bytes)
            raise ConfigError(f"{device} is not measured now: {_sizes(skip.detail)}")
        if not self.anyway:
            raise ConfigError(
                f"{device} is not measured now: {skip.detail}",
                "try again when the host is quieter, or add --anyway",
            )

    def _state(self, intent: Intent, *, is_stuck: bool) -> GateState:
        its, account = self.conditions, self.conditions.account
        with its.interruption.leaving():
            busy = self._busy_ratio()
        copy_on_write = self.settings.probe.copy_on_write
        return replace(
            its.directory.gate_state(intent.profile, copy_on_write=copy_on_write),
            is_on_demand=True,
            is_unacknowledged=account.unacknowledged is not None,
            is_stuck=is_stuck,
            writes=intent.written_bytes > 0,
            missing_bytes=intent.missing_bytes,
            needed_bytes=FILESYSTEM_FACTOR * intent.written_bytes,
            budget_bytes=account.left.life_bytes,
            busy_ratio=busy,
            skips=0,
        )

    def _busy_ratio(self) -> float | None:
        its, proc, device = self.conditions, self.settings.path.procfs, self.conditions.place.device
        with Progress(self.says) as progress:
            progress.show(f"looking at the load of {device}", None)
            begun, before = its.clock.monotonic(), measured_place.disk(proc, device)
            its.directory.note_load()
            its.clock.sleep(_LOAD_SECONDS)
            its.directory.note_load()
            seconds, now = its.clock.monotonic() - begun, measured_place.disk(proc, device)
        return measured_place.busy_ratio(before, now, seconds)


def _sizes(words: str) -> str:
    """The gate says bytes to the last one, as a log has them."""
    return re.sub(
        r"\b(\d{5,})\b(?: bytes)?(?! inodes)", lambda found: quantity(int(found[1]), "B"), words
    )
