"""Determines the status of the drives and the tasks for the operator. Pure.

The health problems of a drive are those of `ssd-exporter check` (`smart.drive_problems`). This
module adds the bottleneck of the last seconds.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from exporter.io.drive_now import DriveNow
from exporter.io.recent_activity import VERDICTS, verdict_of
from exporter.io.services import OTHER, ServiceRate
from exporter.io.verdict import Verdict
from exporter.pages.page_texts import capitalized, clock, time_or_day
from exporter.pages.views import DriveFacts, DriveView, Todo
from exporter.smart.drive_labels import natural_order
from exporter.smart.drive_problems import INVALID_LOG_ACTION, Problem, Status

if TYPE_CHECKING:
    from exporter.drives.nvme_logs.slow_place import SlowPlaces

#: A saturated drive is critical if it was saturated for at least this share of the last five
#: minutes. The alerts use the same ratio (ssd:threshold:disk_saturated_ratio).
SEVERE_RATIO = 0.5

#: The smallest saturated time that is critical, in seconds. It applies in the first minute.
_SEVERE_SECONDS = 30.0

#: A drive that has been stalled for at least this time in seconds, and still is, is critical.
_STALLED_SECONDS = 3.0

#: Below this busy ratio a drive is called nearly idle.
_IDLE_RATIO = 0.02

#: The largest number of actions in the line of a drive. Actions for less urgent problems are left
#: out: they would contradict those for the most urgent ones.
_MOST_ACTIONS = 2

#: Problems that were found within this time in seconds say only once since when.
_SAME_SECONDS = 60.0

#: The longest interruption of a bottleneck, in samples.
_MOST_GAP = 10

#: The word for each verdict. It is that of the metric, of `top` and of the dashboards.
LABELS = {each: each.word for each in Verdict} | {Verdict.NONE: "no bottleneck"}

_ACTIONS = {
    Verdict.DEVICE: "Move backups and batch jobs to a quiet hour, or a part of the load to another"
    " drive.",
    Verdict.THROTTLED: "Raise the limit of the volume at the provider, or use a larger volume.",
    Verdict.CPU_SOFTIRQ: "Spread the interrupts over more CPUs.",
    Verdict.WRITE_CACHE: "Let the long write finish, or pause it: the cache empties while the drive"
    " is idle.",
    Verdict.THERMAL: "Check the fans and the airflow at its slot.",
    Verdict.LINK: "Check its slot and cable: the link should be faster.",
    Verdict.UNKNOWN: "Check whether one thread works alone or the volume is throttled. Then run"
    " `ssd-exporter self-test {name} short`.",
}

_LEADS = {
    Verdict.DEVICE: "At its limit",
    Verdict.THROTTLED: "At the limit of its provider",
    Verdict.CPU_SOFTIRQ: "A CPU is saturated by interrupts",
    Verdict.WRITE_CACHE: "Write cache full",
    Verdict.THERMAL: "Slowed down by heat",
    Verdict.LINK: "Slowed down by its link",
    Verdict.UNKNOWN: "Slow, cause unknown",
}

_STALLED_LEAD = "Its requests hang."
#: The leads of all tasks that are about a bottleneck.
BOTTLENECK_LEADS = {_STALLED_LEAD, *(f"{lead}." for lead in _LEADS.values())}


def judged(
    facts: DriveFacts,
    now: DriveNow | None,
    window_seconds: float,
    services: tuple[ServiceRate, ...] = (),
    *,
    has_mysql: bool = False,
    at: float = 0.0,
    begin: "Begin | None" = None,
    slow: "SlowPlaces | None" = None,
) -> DriveView:
    """Returns the drive with its status and its tasks for the operator.

    window_seconds: the time that the samples of `now` cover.
    has_mysql: True if a MySQL server is known that stores data on a drive of the host. As in the
        alerts, a bottleneck of another drive is then a warning.
    at: the Unix time; 0 if unknown. Then no problem of the health says since when.
    begin: when the bottleneck began; the result of `began`.
    slow: where slow requests of the drive spent their time; None if unknown.
    """
    todos = [
        *(
            ()
            if now is None
            else _bottleneck(
                facts,
                now,
                window_seconds,
                services,
                most=Status.WARNING if has_mysql and not facts.carries_mysql else Status.CRITICAL,
                since=_since_text(begin, now.verdict),
            )
        ),
        *_health(facts, at),
    ]
    todos.sort(key=lambda todo: -todo.status.urgency)
    return DriveView(facts, now, _status(facts, todos), _merged(todos), services, slow)


def in_order(drives: Iterable[DriveView]) -> list[DriveView]:
    """Returns the drives in the order of the page.

    The drives are sorted by these keys, the most important one first:

    - the status: critical, warning, others.
    - the bottleneck: drives with a bottleneck first.
    - the use: drives of MySQL first.
    - the name.
    """
    return sorted(
        drives,
        key=lambda drive: (
            -max(drive.status.urgency, Status.UNKNOWN.urgency),
            drive.verdict is Verdict.NONE,
            not drive.facts.carries_mysql,
            natural_order(drive.name),
        ),
    )


def needs_attention(drive: DriveView) -> bool:
    """Returns True if the drive is critical or has a warning."""
    return drive.status in (Status.WARNING, Status.CRITICAL)


def why(drive: DriveView, window: str) -> str:
    """Returns a sentence about the current performance of a drive; empty without I/O data.

    window: the time that the samples cover, such as "five minutes".
    """
    now = drive.now
    if now is None:
        return ""
    factor = now.worst_factor or 0.0
    slower = f"; requests take {factor:.0f} times as long as usual" if factor >= 1.5 else ""
    if now.verdict is Verdict.DEVICE and is_stalled(now):
        return "Requests in flight hang."
    reasons = {
        Verdict.DEVICE: f"It is busy all the time and its queue is full{slower}.",
        Verdict.THROTTLED: "Its throughput is constant: the provider of the volume limits it.",
        Verdict.CPU_SOFTIRQ: "A CPU is saturated by interrupts. The drive could do more.",
        Verdict.WRITE_CACHE: "Its write cache is full, so it writes at the speed of its flash.",
        Verdict.THERMAL: "It has slowed down during a write, and it is hot.",
        Verdict.LINK: "It has slowed down, and its link is slower than it should be.",
        Verdict.UNKNOWN: "Requests are slow and tasks wait, but the drive is not full.",
    }
    if now.verdict is not Verdict.NONE:
        return f"{reasons[now.verdict]} {_slow_text(drive)}".rstrip()
    calm = (
        (now.is_probed, "A probe is running. This time does not count as saturated."),
        (
            now.stalled_seconds >= 1,
            f"Requests hung for {now.stalled_seconds:.0f} s in the last {window}.",
        ),
        (not now.peak_bytes, "Idle."),
        (now.busy_ratio < _IDLE_RATIO, "Nearly idle."),
        (now.read_base is now.write_base is None, "Its baseline is not learned yet."),
    )
    return next((text for applies, text in calm if applies), "As fast as usual.")


def _slow_text(drive: DriveView) -> str:
    if drive.slow is None:
        return ""
    # Imported only if it is used, because the daemon's memory is limited.
    from exporter.pages.log_page_table import slow_sentence  # noqa: PLC0415

    return slow_sentence(drive.slow)


def _status(facts: DriveFacts, todos: Sequence[Todo]) -> Status:
    if todos:
        return todos[0].status
    return Status.OK if facts.has_smart_data else Status.UNKNOWN


def is_stalled(now: DriveNow) -> bool:
    """Returns True if requests of the drive, all or some of them, have hung for some seconds."""
    return now.is_stalled and now.stalled_seconds >= _STALLED_SECONDS


def _merged(todos: Sequence[Todo]) -> tuple[Todo, ...]:
    """Returns one line for all that is wrong with a drive; the most urgent comes first."""
    if len(todos) < 2:
        return tuple(todos)
    first, *rest = todos
    texts = [first.text, *(f"{each.lead} {each.text}" for each in rest)]
    urgent = [todo for todo in todos if todo.status is first.status]
    actions = list(dict.fromkeys(todo.action for todo in urgent if todo.action))
    text = " ".join(filter(None, (text.strip() for text in texts)))
    return (replace(first, text=text, action=" ".join(actions[:_MOST_ACTIONS])),)


def _health(facts: DriveFacts, at: float) -> Iterator[Todo]:
    shown = [each for each in facts.problems if _is_shown(each, facts)]
    times = [facts.problem_times.get(each.topic) if at else None for each in shown]
    for problem, found, after in zip(shown, times, [*times, None][1:], strict=True):
        # Of problems that were found at the same time, the last one says when.
        is_told = found is not None and (after is None or abs(after - found) >= _SAME_SECONDS)
        seen = f"Seen since {time_or_day(found or 0.0, at)}." if is_told else ""
        is_invalid = problem.text == _invalid_log(facts)
        action = problem.action or (INVALID_LOG_ACTION if is_invalid else "")
        if facts.is_missing:
            name = facts.serial or facts.name
            lead, text = "Missing.", f"The kernel does not list it any more. {seen}".rstrip()
            action = f"{action} If it was removed: `ssd-exporter forget {name}`"
            yield Todo(problem.status, facts.name, lead, text, action)
        else:
            text = capitalized(problem.text).replace(" C;", " °C;")
            text = f"{text} °C." if text.endswith(" C") else f"{text}."
            yield Todo(problem.status, facts.name, text.replace(" C °C.", " °C."), seen, action)


def _is_shown(problem: Problem, facts: DriveFacts) -> bool:
    return problem.status is not Status.UNKNOWN or problem.text == _invalid_log(facts)


def _invalid_log(facts: DriveFacts) -> str:
    return "" if facts.health is None else facts.health.invalid_log


def _bottleneck(
    facts: DriveFacts,
    now: DriveNow,
    window_seconds: float,
    services: Sequence[ServiceRate],
    *,
    most: Status,
    since: str,
) -> Iterator[Todo]:
    """Yields at most one task. most: the status of a long bottleneck. since: when it began."""
    if now.verdict is Verdict.NONE:
        return
    if is_stalled(now):
        yield Todo(
            most,
            facts.name,
            _STALLED_LEAD,
            f"Requests hung for {now.stalled_seconds:.0f} of the last {window_seconds:.0f} s."
            f" {since}".rstrip(),
            "Read the kernel log: `journalctl -k`. Check its slot and cable.",
        )
        return
    severe = now.verdict is Verdict.DEVICE and now.saturated_seconds >= max(
        SEVERE_RATIO * window_seconds, _SEVERE_SECONDS
    )
    text = ""
    if now.verdict is Verdict.DEVICE:
        saturated, stalled = now.saturated_seconds, now.stalled_seconds
        if saturated >= 1:
            text = f"Saturated for {saturated:.0f} of the last {window_seconds:.0f} s."
        elif stalled >= 1:
            text = f"Requests hung for {stalled:.0f} of the last {window_seconds:.0f} s."
        if facts.carries_mysql:
            text += " MySQL stores data on it."
    yield Todo(
        most if severe else Status.WARNING,
        facts.name,
        f"{_LEADS[now.verdict]}.",
        f"{text} {since}".strip(),
        _culprit(services) + _ACTIONS[now.verdict].format(name=facts.name),
    )


class Begin(NamedTuple):
    """When a bottleneck began, as Unix times. 0 means before the oldest sample.

    at: of the bottleneck. cause_at: of its verdict, which may have been another one before.
    """

    at: float
    cause_at: float


def began(now: DriveNow, window_seconds: float, at: float) -> Begin | None:
    """Returns when the current bottleneck began; None if the last samples do not show one.

    Interruptions of less than ten samples do not count: the verdict is that of ten seconds.

    at: the Unix time of the last sample.
    """
    times = []
    sample_seconds = window_seconds / max(len(now.statuses), 1)
    for its in (VERDICTS[1:], (now.verdict,)):
        place = begin = len(now.statuses)
        while place and begin - place < _MOST_GAP:
            place -= 1
            if verdict_of(now.statuses[place]) in its:
                begin = place
        if begin == len(now.statuses):
            return None
        times.append(at - (len(now.statuses) - begin) * sample_seconds if begin else 0.0)
    return Begin(*times)


def _since_text(begin: Begin | None, verdict: Verdict) -> str:
    if begin is None:
        return ""
    text = f"Since {clock(begin.at)}" if begin.at else "It began before the charts do"
    # The other verdicts say that requests are slow, and not why.
    is_cause = verdict not in (Verdict.DEVICE, Verdict.UNKNOWN)
    if is_cause and begin.cause_at - begin.at >= _MOST_GAP:
        text += f"; its cause is known since {clock(begin.cause_at)}"
    return f"{text}."


def _culprit(services: Sequence[ServiceRate]) -> str:
    total = sum(each.bytes for each in services)
    named = [each for each in services if each.service != OTHER]
    if not total or not named:
        return ""
    busiest = max(named, key=lambda each: each.bytes)
    return f"{busiest.service} causes {100 * busiest.bytes / total:.0f} % of the I/O. "
