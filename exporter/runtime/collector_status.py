"""Runs the readings of collectors and records their success, duration and errors.

A collector is a part of the exporter that reads one kind of data, such as `disk` or `smart`. If a
reading fails, this module catches the exception, so that the other collectors continue. The
failure is counted by reason. It is logged as a warning when it first occurs and when the error
changes, and otherwise at debug level. An exception that is not a SourceError is a mistake in this
program, for example data that no check expects. Its reason is `bug`. It is logged with its
traceback once.
"""

import logging
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from exporter.runtime.clock import Clock
from exporter.runtime.errors import BugError, NotAvailable, Parsed, ReadError, SourceError

T = TypeVar("T")

log = logging.getLogger(__name__)

#: Minimum time between two warnings about the same reading in seconds. It limits the log if the
#: error alternates between two kinds.
_MIN_LOG_INTERVAL_SECONDS = 60.0


#: The maximum number of different mistakes whose tracebacks are logged. It limits the memory.
_MAX_TRACEBACKS = 100


@dataclass(slots=True)
class CollectorResult:
    """The result of the last reading of a collector or of one of its parts.

    success: True if the reading was complete.
    seconds: the duration of the reading.
    errors: the number of failed readings since the start, keyed by reason.
    message: the first problem of the last reading; empty if there was none.
    """

    success: bool = True
    seconds: float = 0.0
    errors: dict[str, int] = field(default_factory=dict)
    message: str = ""


class CollectorStatus:
    """Runs readings and records their results by collector. Any thread may call its methods.

    A collector may read on several occasions, such as when the sampler takes a sample and when the
    page is rendered. Each occasion is a `part`. A collector succeeds if all its parts succeed.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._parts: dict[tuple[str, str], CollectorResult] = {}
        #: The kind and the monotonic time of the last problem that was logged as a warning, keyed
        #: by collector and part.
        self._logged: dict[tuple[str, str], tuple[str, float]] = {}
        #: Collector, part and kind of the mistakes whose traceback was logged.
        self._traced: set[tuple[str, str, str]] = set()

    def collect(
        self, collector: str, part: str, read: Callable[[], Parsed[T]], spent: float = 0.0
    ) -> T | None:
        """Calls `read` and returns its value; None if it raises an exception.

        NotAvailable is not recorded as a failure: it means that this kernel or machine lacks the
        source.

        collector, part: the names under which the result is recorded.
        spent: seconds of earlier work that are added to the duration of this reading.
        """
        start = self._clock.monotonic()
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
            # A test of a path, such as is_dir(), raises this if permission is denied or if the name
            # is too long.
            problems = (ReadError(str(e)),)
        except Exception as e:  # noqa: BLE001  a mistake must cost this collector only
            problems = (BugError(e),)
        self._record(collector, part, problems, spent + self._clock.monotonic() - start)
        return value

    def results(self) -> Iterator[tuple[str, CollectorResult]]:
        """Returns pairs of collector name and result, merged over the parts and sorted by name.

        The results contain no messages.
        """
        merged: dict[str, CollectorResult] = {}
        with self._lock:
            for (name, _), part in sorted(self._parts.items()):
                whole = merged.setdefault(name, CollectorResult())
                whole.success = whole.success and part.success
                whole.seconds += part.seconds
                for reason, count in part.errors.items():
                    whole.errors[reason] = whole.errors.get(reason, 0) + count
        return iter(merged.items())

    def _record(
        self, collector: str, part: str, problems: tuple[SourceError, ...], seconds: float
    ) -> None:
        with self._lock:
            result = self._parts.get((collector, part))
            if result is None:
                result = self._parts[collector, part] = CollectorResult()
            was_successful, result.success = result.success, not problems
            result.seconds = seconds
            if was_successful and not problems:
                result.message = ""
                return
            for reason in {problem.reason for problem in problems}:
                result.errors[reason] = result.errors.get(reason, 0) + 1
            last_message, result.message = result.message, str(problems[0]) if problems else ""
            is_new = bool(problems) and self._is_new((collector, part), problems[0], was_successful)
            cause = self._untraced(collector, part, problems)
        if problems:
            level = logging.WARNING if is_new or cause else logging.DEBUG
            more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
            log.log(level, "collector %s: %s%s", collector, problems[0], more, exc_info=cause)
        elif not was_successful:
            log.info("collector %s: recovered; the last problem was: %s", collector, last_message)

    def _is_new(self, key: tuple[str, str], problem: SourceError, was_successful: bool) -> bool:
        """Returns True if the problem must be logged as a warning; see the module docstring."""
        # Numbers such as line numbers and process IDs are removed before the comparison, because
        # they do not make a problem new.
        kind = _kind(problem)
        now = self._clock.monotonic()
        before = self._logged.get(key)
        if not was_successful and before is not None:
            last_kind, logged_at = before
            if kind == last_kind or now - logged_at < _MIN_LOG_INTERVAL_SECONDS:
                return False
        self._logged[key] = (kind, now)
        return True

    def _untraced(
        self, collector: str, part: str, problems: tuple[SourceError, ...]
    ) -> Exception | None:
        """Returns the first mistake whose traceback was not logged yet; None if there is none."""
        for problem in problems:
            if isinstance(problem, BugError):
                key = collector, part, _kind(problem)
                if key not in self._traced and len(self._traced) < _MAX_TRACEBACKS:
                    self._traced.add(key)
                    return problem.cause
        return None


def _kind(problem: SourceError) -> str:
    return f"{problem.reason} {re.sub('[0-9]+', '#', str(problem))}"
