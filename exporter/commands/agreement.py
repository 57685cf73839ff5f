"""A person agrees to what is written before it is; other probes do not wait for who thinks."""

from collections.abc import Callable
from dataclasses import dataclass

from exporter.background.probe_ledger import FILESYSTEM_FACTOR
from exporter.commands import consent
from exporter.commands.conditions import Conditions
from exporter.commands.consent import Plan, Streams
from exporter.commands.turn import Turn

#: What the gate said is believed for so long, while a person thinks.
_BELIEVED_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Agreement:
    """yes: it was agreed to beforehand. admit: asks the gate again."""

    conditions: Conditions
    turn: Turn
    streams: Streams
    yes: bool
    admit: Callable[[], None]

    def seek(self, written_bytes: int, seconds: float, *, always: bool) -> None:
        """Say what is written at most and how long it takes; come back where that is agreed to.

        Without `always` it is asked only for more than today's scheduled probes may still write.

        Raises:
            ConfigError: nobody agreed, or the device is in use by then. ReadError: as `Turn.take`.
        """
        its, account = self.conditions, self.conditions.account
        plan = Plan(
            f"{its.directory.path} on {its.place.device}",
            FILESYSTEM_FACTOR * written_bytes,
            seconds,
            account.rated_bytes,
            account.left.day_bytes,
        )
        if always or plan.charge_bytes > plan.left_bytes:
            self._ask(plan)

    def _ask(self, plan: Plan) -> None:
        if self.yes:
            consent.ask(plan, self.streams, yes=True)
            return
        clock = self.conditions.clock
        begun = clock.monotonic()
        self.turn.lock.release()
        with self.conditions.interruption.leaving():
            consent.ask(plan, self.streams, yes=False)
        self.turn.take()
        if clock.monotonic() - begun > _BELIEVED_SECONDS:
            self.admit()
