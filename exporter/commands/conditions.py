"""What every step of a measurement goes by: where it writes, who counts that, what ends it."""

from dataclasses import dataclass, replace

from exporter.background.probe_directory import ProbeDirectory
from exporter.background.probe_place import Place
from exporter.clock import Clock
from exporter.commands.account import Account
from exporter.commands.interruption import Interruption
from exporter.diagnosis.probe_gate import GateRules

#: With --anyway production's load no longer ends a run.
_NEVER = 1 << 30


@dataclass(frozen=True, slots=True)
class Conditions:
    """Of one directory, whose place is known. rules: of the gate and of the guard."""

    directory: ProbeDirectory
    account: Account
    rules: GateRules
    clock: Clock
    interruption: Interruption

    @property
    def place(self) -> Place:
        assert self.directory.place is not None
        return self.directory.place


def guard_rules(rules: GateRules, *, anyway: bool) -> GateRules:
    """The rules that were configured, without load as a reason to end where that was said."""
    if not anyway:
        return rules
    return replace(rules, guard_queue=_NEVER, guard_pressure_ratio=float(_NEVER))
