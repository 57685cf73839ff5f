"""Decides which changes of drives become lines of the log: they are then in the host's journal.

The journal answers what happened to a drive, also if no Prometheus scraped the host at that time. A
line is written when a drive disappears, returns, is replaced, predicts its own failure or recovers,
and when a verdict lasts or ends.

`DriveJournal` uses no files, no clock and no logs. `exporter.daemon` logs the lines.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from exporter.drives.watched_drive import WatchedDrive
from exporter.io.verdict import Verdict


@dataclass(frozen=True, slots=True)
class JournalRules:
    """When a verdict becomes a line of the log.

    verdict_seconds: a verdict is sustained if it lasts at least this time. It has ended if another
        verdict, or none, lasts that long.
    """

    verdict_seconds: float = 300.0


#: A line of the log: its level, as in `logging`, and its text.
Line = tuple[int, str]


@dataclass(slots=True)
class _Sustained:
    """The verdict of one device: the logged one, and the one that was observed since `since`."""

    logged: Verdict = Verdict.NONE
    current: Verdict = Verdict.NONE
    since: float = 0.0


@dataclass(slots=True)
class DriveJournal:
    """Compares each observation of the host with the one before."""

    rules: JournalRules = field(default_factory=JournalRules)
    _disks: Mapping[str, str] | None = None
    _gone: dict[str, str] = field(default_factory=dict)
    _failing: set[str] = field(default_factory=set)
    _verdicts: dict[str, _Sustained] = field(default_factory=dict)

    def observe(
        self,
        now: float,
        disks: Mapping[str, str],
        drives: Sequence[WatchedDrive],
        verdicts: Mapping[str, Verdict],
    ) -> list[Line]:
        """Returns the lines for what has changed since the last call.

        The first call reports no disk and no verdict, because nothing is known before.

        now: monotonic time in seconds.
        disks: the identity of each drive that the kernel lists, keyed by device name.
        drives: the monitored drives with their health.
        verdicts: the current verdict of each device.
        """
        return [
            *self._changed_disks(disks),
            *self._changed_health(drives),
            *self._changed_verdicts(now, verdicts),
        ]

    def _changed_disks(self, disks: Mapping[str, str]) -> Iterator[Line]:
        before, self._disks = self._disks, dict(disks)
        if before is None:
            return
        present = set(disks.values())
        for name, identity in before.items():
            after = disks.get(name)
            if after is None and identity not in present:
                self._gone[name] = identity
                yield logging.WARNING, f"drive {name} ({identity}) has disappeared"
            elif after is not None and after != identity:
                yield logging.WARNING, f"drive {name} was replaced: {identity} by {after}"
        for name, identity in disks.items():
            if name in before:
                continue
            last = self._gone.pop(name, None)
            if last is None:
                yield logging.INFO, f"drive {name} ({identity}) was added"
            elif last == identity:
                yield logging.INFO, f"drive {name} ({identity}) has returned"
            else:
                yield logging.WARNING, f"drive {name} was replaced: {last} by {identity}"

    def _changed_health(self, drives: Sequence[WatchedDrive]) -> Iterator[Line]:
        for drive in drives:
            if drive.health is None or drive.health.healthy is None:
                continue
            name = f"drive {drive.label} (serial {drive.serial or 'unknown'})"
            key = f"{drive.label} {drive.serial}"
            if not drive.health.healthy and key not in self._failing:
                self._failing.add(key)
                yield logging.WARNING, f"{name} predicts its own failure: replace it"
            elif drive.health.healthy and key in self._failing:
                self._failing.remove(key)
                yield logging.INFO, f"{name} no longer predicts its failure"
        known = {f"{drive.label} {drive.serial}" for drive in drives}
        self._failing &= known

    def _changed_verdicts(self, now: float, verdicts: Mapping[str, Verdict]) -> Iterator[Line]:
        for name in self._verdicts.keys() - verdicts.keys():
            del self._verdicts[name]
        for name, verdict in verdicts.items():
            state = self._verdicts.setdefault(name, _Sustained(since=now))
            if verdict is not state.current:
                state.current, state.since = verdict, now
            lasted = now - state.since
            if verdict is state.logged or lasted < self.rules.verdict_seconds:
                continue
            state.logged = verdict
            if verdict is Verdict.NONE:
                yield logging.INFO, f"drive {name} is no longer a bottleneck"
            else:
                yield (
                    logging.WARNING,
                    f"drive {name}: bottleneck {verdict.value} for {lasted / 60:.0f} minutes",
                )
