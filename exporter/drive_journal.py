"""Decides which changes of drives become lines of the log: they are then in the host's journal.

The journal answers what happened to a drive, also if no Prometheus scraped the host at that time. A
line is written when a drive disappears, returns, is replaced, predicts its own failure, is worn out
or recovers, when its SMART log becomes invalid or valid or a value of it becomes impossible, and
when a verdict lasts or ends.

`DriveJournal` uses no files, no clock and no logs. `exporter.daemon` logs the lines.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from exporter.drives.assessment.failure_cause import (
    FailureCause,
    failure_cause,
    worn_out_text,
)
from exporter.drives.health import DriveHealth, RejectedValue, RejectionKind
from exporter.drives.watched_drive import WatchedDrive
from exporter.io.verdict import Verdict


@dataclass(frozen=True, slots=True)
class JournalRules:
    """When a change becomes a line of the log.

    verdict_seconds: a verdict is sustained if it lasts at least this time. It has ended if another
        verdict, or none, lasts that long.
    changes_per_hour: the number of lines about a device that disappears, returns or is replaced,
        and the number of lines about values of a drive that are not used. Further changes are not
        logged, so that a loose contact does not fill the journal.
    """

    verdict_seconds: float = 300.0
    changes_per_hour: int = 4


_HOUR = 3600.0


#: The text of the last line about a device within an hour.
_MANY_CHANGES = "disappears and returns repeatedly: check its cable and slot. Further changes"
_MANY_UNUSED = "reports impossible values repeatedly: see `ssd-exporter check`. Further ones"

#: The causes of a reported failure that are logged: those of which an alert exists.
_LOGGED = (FailureCause.FAILING, FailureCause.WORN_OUT)

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
    _changed_at: dict[str, list[float]] = field(default_factory=dict)
    _causes: dict[str, FailureCause] = field(default_factory=dict)
    _unused: dict[str, frozenset[tuple[str, str]]] = field(default_factory=dict)
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
            *self._limited(now, self._changed_disks(disks)),
            *self._changed_health(drives),
            *self._limited(now, self._changed_values(drives), _MANY_UNUSED),
            *self._changed_verdicts(now, verdicts),
        ]

    def _limited(
        self, now: float, changes: Iterable[tuple[str, Line]], many: str = _MANY_CHANGES
    ) -> Iterator[Line]:
        """Yields the lines of changes, at most `changes_per_hour` for each name and one more.

        many: the text of that line.
        """
        most = self.rules.changes_per_hour
        within_an_hour = {
            name: [at for at in times if now - at < _HOUR]
            for name, times in self._changed_at.items()
        }
        self._changed_at = {name: times for name, times in within_an_hour.items() if times}
        for name, line in changes:
            times = self._changed_at.setdefault(name, [])
            if len(times) > most:
                continue
            times.append(now)
            if len(times) <= most:
                yield line
            else:
                yield logging.WARNING, f"drive {name} {many} are not logged for an hour"

    def _changed_disks(self, disks: Mapping[str, str]) -> Iterator[tuple[str, Line]]:
        """Yields the name of each device that has changed, and the line about it."""
        before, self._disks = self._disks, dict(disks)
        if before is None:
            return
        present = set(disks.values())
        for name, identity in before.items():
            after = disks.get(name)
            if after is None and identity not in present:
                self._gone[name] = identity
                yield name, (logging.WARNING, f"drive {name} ({identity}) has disappeared")
            elif after is not None and after != identity:
                yield name, (logging.WARNING, f"drive {name} was replaced: {identity} by {after}")
        for name, identity in disks.items():
            if name in before:
                continue
            last = self._gone.pop(name, None)
            if last is None:
                yield name, (logging.INFO, f"drive {name} ({identity}) was added")
            elif last == identity:
                yield name, (logging.INFO, f"drive {name} ({identity}) has returned")
            else:
                yield name, (logging.WARNING, f"drive {name} was replaced: {last} by {identity}")

    def _changed_health(self, drives: Sequence[WatchedDrive]) -> Iterator[Line]:
        for drive in drives:
            health = drive.health
            if health is None or health.healthy is None:
                continue
            key, name = _key(drive), _name(drive)
            cause, before = failure_cause(health), self._causes.get(key)
            if cause not in _LOGGED:
                cause = None
            if cause is before:
                continue
            if cause is None:
                del self._causes[key]
                yield logging.INFO, f"{name} no longer predicts its failure"
                continue
            self._causes[key] = cause
            yield logging.WARNING, f"{name} {_cause_text(cause, health)}"
        known = set(map(_key, drives))
        self._causes = {key: cause for key, cause in self._causes.items() if key in known}

    def _changed_values(self, drives: Sequence[WatchedDrive]) -> Iterator[tuple[str, Line]]:
        """Yields the label of each drive whose unused values have changed, and the line about it.

        Values of which another value of the drive is better are not logged: this does not change.
        """
        before, self._unused = self._unused, {}
        for drive in drives:
            key, health = _key(drive), drive.health
            known = before.get(key, frozenset())
            if health is None or not drive.up:
                self._unused[key] = known
                continue
            unused = {
                (each.metric, each.kind.value): each
                for each in health.rejected
                if each.kind is not RejectionKind.CONTRADICTED
            }
            self._unused[key] = frozenset(unused)
            new = [each for what, each in unused.items() if what not in known]
            if new:
                yield drive.label, (logging.WARNING, f"{_name(drive)}: {_unused_text(new)}")
            elif known and not unused:
                text = f"{_name(drive)}: all values of its SMART log are used again"
                yield drive.label, (logging.INFO, text)

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


def _key(drive: WatchedDrive) -> str:
    return drive.key or f"{drive.label} {drive.serial}"


def _name(drive: WatchedDrive) -> str:
    return f"drive {drive.label} (serial {drive.serial or 'unknown'})"


def _cause_text(cause: FailureCause, health: DriveHealth) -> str:
    if cause is FailureCause.FAILING:
        return "predicts its own failure: replace it"
    return f"is worn out: {worn_out_text(health)}. Replace it in the next weeks"


def _unused_text(values: Sequence[RejectedValue]) -> str:
    first = values[0]
    if first.kind is RejectionKind.LOG_INVALID:
        return f"{first.reason}. No value of it is used"
    more = f" (and {len(values) - 1} more)" if len(values) > 1 else ""
    return f"{first.metric} {first.value:.6g} is not used: {first.reason}{more}"
