"""The one place that catches what a source of data raises.

A failure costs the source its own samples, and becomes a gauge, a counter with a reason, and one
log line when the state changes, or it fails otherwise than it did; repeats are logged at debug.
"""

import logging
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from exporter.clock import Clock
from exporter.errors import NotAvailable, ReadError, SourceError
from exporter.linux.files import Parsed

T = TypeVar("T")

log = logging.getLogger(__name__)


#: What fails in turns for two reasons says so this often.
_SAY_AGAIN_SECONDS = 60.0


@dataclass(slots=True)
class CollectorResult:
    """How one collector fares."""

    success: bool = True
    seconds: float = 0.0
    errors: dict[str, int] = field(default_factory=dict)
    message: str = ""


class CollectorStatus:
    """Runs readings by name and remembers how they went. Safe to use from several threads.

    A collector may read in several places (on the sampler's tick, on the page); each is a `part`,
    and the collector succeeds if all its parts do.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._parts: dict[tuple[str, str], CollectorResult] = {}
        #: What was logged last of a part that fails, and when.
        self._said: dict[tuple[str, str], tuple[str, float]] = {}

    def collect(
        self, collector: str, part: str, read: Callable[[], Parsed[T]], spent: float = 0.0
    ) -> T | None:
        """What `read` returns, or None where it raised a SourceError or an OSError.

        What is not there is no failure: this kernel or machine lacks it. `spent` seconds went
        into it before.
        """
        begin = self._clock.monotonic()
        value: T | None = None
        problems: tuple[SourceError, ...] = ()
        try:
            parsed = read()
            value, problems = parsed.value, parsed.faults
        except NotAvailable as e:
            log.debug("%s: %s", collector, e)
        except SourceError as e:
            problems = (e,)
        except OSError as e:
            # From a look at a path, such as whether it is a directory: closed, or too long a name.
            problems = (ReadError(str(e)),)
        self._note(collector, part, problems, spent + self._clock.monotonic() - begin)
        return value

    def results(self) -> Iterator[tuple[str, CollectorResult]]:
        """One outcome a collector, by name: of all its parts together."""
        merged: dict[str, CollectorResult] = {}
        with self._lock:
            for (name, _), part in sorted(self._parts.items()):
                whole = merged.setdefault(name, CollectorResult())
                whole.success = whole.success and part.success
                whole.seconds += part.seconds
                for reason, count in part.errors.items():
                    whole.errors[reason] = whole.errors.get(reason, 0) + count
        return iter(merged.items())

    def _note(
        self, collector: str, part: str, problems: tuple[SourceError, ...], seconds: float
    ) -> None:
        with self._lock:
            outcome = self._parts.get((collector, part))
            if outcome is None:
                outcome = self._parts[collector, part] = CollectorResult()
            was_good, outcome.success = outcome.success, not problems
            outcome.seconds = seconds
            for reason in {problem.reason for problem in problems}:
                outcome.errors[reason] = outcome.errors.get(reason, 0) + 1
            said, outcome.message = outcome.message, str(problems[0]) if problems else ""
            is_new = bool(problems) and self._is_new((collector, part), problems[0], was_good)
        if problems:
            level = logging.WARNING if is_new else logging.DEBUG
            more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
            log.log(level, "collector %s: %s%s", collector, problems[0], more)
        elif not was_good:
            log.info("collector %s: reads whole again, after %s", collector, said)

    def _is_new(self, which: tuple[str, str], problem: SourceError, was_good: bool) -> bool:
        """Whether to log it: it is the first, or of another kind than was logged of late."""
        # Numbers of lines and processes make no other kind.
        kind = f"{problem.reason} {re.sub('[0-9]+', '#', str(problem))}"
        now = self._clock.monotonic()
        before = self._said.get(which)
        if not was_good and before is not None:
            then, at = before
            if kind == then or now - at < _SAY_AGAIN_SECONDS:
                return False
        self._said[which] = (kind, now)
        return True
