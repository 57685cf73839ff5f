"""What happened to the drives and when, as a list with times. Pure.

A bottleneck is an event with a begin and an end: the minutes in which it lasted for at least ten
seconds. It ends with two minutes without. An event whose end is not known yet is written when it
begins, and again when it ends.
"""

import json
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from exporter.history.io_summary import IoSummary
from exporter.io.verdict import Verdict
from exporter.runtime import untrusted_file

#: A bottleneck counts in a minute if it lasts for at least this number of seconds of it.
_BOTTLENECK_SECONDS = 10.0

#: A bottleneck has ended after this number of minutes without it.
_CALM_MINUTES = 2

#: The most events that wait to be written, usually for ten minutes, and the most that are read of
#: the files. Of more events, the newest are kept.
MAX_WAITING, MAX_EVENTS = 100, 20_000

#: Limits of the values in a file: characters of a text, seconds of a bottleneck and of an await.
_MAX_CHARACTERS, _MAX_SECONDS = 256, 1e9

#: The kind of the event that the exporter was started.
STARTED = "started"

_MINUTE_SECONDS = 60


class HistoryEvent(NamedTuple):
    """Something that happened to a drive, or to the exporter.

    at: the Unix time at which it happened or began. The time of a bottleneck is a whole minute.
    end: the Unix time at which it ended; None for an event without a duration, and for a bottleneck
        whose end is not recorded.
    name, identity: those of the drive then; empty for an event of the exporter.
    kind: the value of a `Verdict` or an `EventKind`, or `STARTED`.
    number: the seconds of a bottleneck, or how often it happened.
    worst: the longest await of a second during a bottleneck, in seconds; 0 if unknown.
    """

    at: float
    end: float | None
    name: str
    identity: str
    kind: str
    number: float = 1.0
    worst: float = 0.0

    @property
    def is_bottleneck(self) -> bool:
        """True for a bottleneck, which has a duration."""
        return self.kind in _BOTTLENECKS

    @property
    def key(self) -> tuple[float, str, str]:
        """Equal for the two records of an event: when it began, and when it has ended."""
        return self.at, self.identity, self.kind


_BOTTLENECKS = {verdict.value for verdict in Verdict if verdict is not Verdict.NONE}


class _Open(NamedTuple):
    event: HistoryEvent
    last_minute: int


class Bottlenecks:
    """Turns the minutes of the drives into events: a bottleneck began, or has ended."""

    def __init__(self) -> None:
        self._open: dict[str, _Open] = {}

    def observe(
        self, minute: int, drives: Mapping[str, IoSummary], names: Mapping[str, str]
    ) -> Iterator[HistoryEvent]:
        """Yields what began or ended with a minute.

        minute: minutes since 1970. drives: keyed by identity. names: of the drives, likewise.
        """
        at = float(minute * _MINUTE_SECONDS)
        for identity, each in drives.items():
            verdict, seconds = _main(each.verdicts)
            known = self._open.get(identity)
            is_same = known is not None and known.event.kind == verdict.value
            if known is not None and not is_same and verdict is not Verdict.NONE:
                yield self._ended(identity)
                known = None
            if verdict is Verdict.NONE:
                continue
            if known is None:
                name = names.get(identity, "")
                event = HistoryEvent(at, None, name, identity, verdict.value, seconds, each.worst)
                yield event
            else:
                event = known.event._replace(
                    number=known.event.number + seconds, worst=max(known.event.worst, each.worst)
                )
            self._open[identity] = _Open(event, minute)
        # A clock that was set back ends all of them.
        calm = [
            identity
            for identity, known in self._open.items()
            if not 0 <= minute - known.last_minute < _CALM_MINUTES
        ]
        yield from map(self._ended, calm)

    def end(self) -> list[HistoryEvent]:
        """Returns all bottlenecks that have not ended, as ended now. Call it at the end."""
        return [self._ended(identity) for identity in list(self._open)]

    def lasting(self, limited: Container[str]) -> list[HistoryEvent]:
        """Returns the bottlenecks whose end is not recorded yet, with their seconds until now.

        limited: the identities of the drives that have a bottleneck now. The bottleneck of another
            drive has an end, which changes if it comes back within two minutes.
        """
        return [
            known.event if identity in limited else _ended(known)
            for identity, known in list(self._open.items())
        ]

    def _ended(self, identity: str) -> HistoryEvent:
        return _ended(self._open.pop(identity))


def _ended(known: _Open) -> HistoryEvent:
    return known.event._replace(end=float((known.last_minute + 1) * _MINUTE_SECONDS))


def encoded_events(events: Sequence[HistoryEvent]) -> bytes:
    """Returns events as they are in the body of a block."""
    rows = [
        (
            *(round(each.at), None if each.end is None else round(each.end)),
            *(each.name, each.identity, each.kind, round(each.number, 1), round(each.worst, 6)),
        )
        for each in events
    ]
    return json.dumps(rows, separators=(",", ":")).encode()


def decoded_events(bodies: Iterable[bytes], most: int = MAX_EVENTS) -> list[HistoryEvent]:
    """Returns the events of the bodies of blocks, in the order of time.

    Of an event that was written twice, the later one with its end is returned. Of more events than
    `most`, those that were written last are returned.
    """
    found: dict[tuple[float, str, str], HistoryEvent] = {}
    for plain in bodies:
        try:
            rows = json.loads(plain)
        except (ValueError, RecursionError):
            continue
        for row in rows if isinstance(rows, list) else ():
            event = _event(row)
            if event is not None:
                found[event.key] = event
                if len(found) > most:
                    del found[next(iter(found))]
    return sorted(found.values(), key=lambda event: event.at)


def _event(row: Any) -> HistoryEvent | None:
    if not isinstance(row, list) or len(row) != len(HistoryEvent._fields):
        return None
    at = untrusted_file.number(row[0], 0, untrusted_file.MAX_UNIX_TIME)
    end = untrusted_file.number(row[1], 0, untrusted_file.MAX_UNIX_TIME)
    number, worst = (untrusted_file.number(each, 0, _MAX_SECONDS) for each in row[5:])
    name, identity, kind = texts = row[2:5]
    if at is None or number is None or worst is None:
        return None
    if not all(isinstance(each, str) and len(each) <= _MAX_CHARACTERS for each in texts):
        return None
    return HistoryEvent(at, end, name, identity, kind, number, worst)


def _main(verdicts: Mapping[Verdict, float]) -> tuple[Verdict, float]:
    """Returns the bottleneck that lasted longest and its seconds; NONE if it was short."""
    verdict = max(verdicts, key=lambda each: verdicts[each], default=Verdict.NONE)
    seconds = verdicts.get(verdict, 0.0)
    return (verdict, seconds) if seconds >= _BOTTLENECK_SECONDS else (Verdict.NONE, 0.0)
