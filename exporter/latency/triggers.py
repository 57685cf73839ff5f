"""The triggers with which the kernel measures each request. Pure.

https://docs.kernel.org/trace/histogram.html describes triggers. They are in an own tracing
instance, so that no other user of tracing sees them.

- A request is recognised by its device, first sector and number of sectors. The time of its issue
  is stored in a map, and its completion on any CPU reads it, once.
- A flush has no sectors. In its completion the first sector is 2^64 - 1, but 0 at its issue
  (Linux 6.1). It is recognised by its device: a hardware queue has at most one flush at a time.
- Front merges change the first sector of a queued request, and another request that is merged into
  it is not issued. The time in the queue is recognised by the first sector only, because a back
  merge changes the number of sectors.
- A request that is requeued is issued again. Its time until then is counted apart, because its
  latency begins with the last issue.
- The kernel refuses ``pause``, ``continue`` and ``clear`` for triggers with variables. The triggers
  of the issue are therefore created as paused. A text that is written to trace_marker starts all of
  them, and another one stops them. Both are at one time for all devices.
- The number of issued requests is counted apart: reading the large map would take the kernel a
  tenth of a second. Its table is printed with that of the requeued requests, by its name.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

#: The names of the instance and of the synthetic events. Nothing else is removed.
INSTANCE = "ssd_exporter"
REQUEST_EVENT = "ssd_exporter_request"
QUEUE_EVENT = "ssd_exporter_queue"
REQUEUE_EVENT = "ssd_exporter_requeue"
SYNTHETIC_EVENTS = (REQUEST_EVENT, QUEUE_EVENT, REQUEUE_EVENT)

#: Definition of each synthetic event: nanoseconds, the kernel's device number, and flags.
FIELDS = "u64 lat; u32 dev; char op[8];"

#: Directory of the trace points below the events of an instance.
BLOCK = "block"
_ISSUE, _INSERT, _COMPLETE = "block_rq_issue", "block_rq_insert", "block_rq_complete"
_MERGE, _REQUEUE = "block_rq_merge", "block_rq_requeue"
#: The event of a text in trace_marker.
MARKER = "ftrace/print"
#: Its `hist` file has the requeued and the issued requests.
ISSUED = f"{BLOCK}/{_REQUEUE}"

START, STOP = "ssd-exporter: start", "ssd-exporter: stop"

#: All clocks are of CLOCK_MONOTONIC: the default clock takes a lock that all CPUs share.
_CLOCK = "clock=mono"

#: The ends of the ranges of latencies in nanoseconds, and the width of the buckets in the range
#: below. From 16 µs on a bucket is at most an eighth of its lower end wide, or 12.5 %.
_RANGES = (
    (1 << 15, 1 << 10),
    (1 << 19, 1 << 12),
    (1 << 23, 1 << 16),
    (1 << 27, 1 << 20),
    (1 << 31, 1 << 24),
    (None, 1 << 28),
)

#: The number of entries of the maps of results, for each range, keyed by synthetic event. A range
#: has up to 120 buckets per device and kind of request.
_RESULT_ENTRIES = {REQUEST_EVENT: 2048, QUEUE_EVENT: 1024, REQUEUE_EVENT: 128}
_DEVICE_ENTRIES = 512

_DATA = "nr_sector > 0"
#: The number is compared first, because a pattern takes the kernel much longer.
_FLUSH = 'nr_sector == 0 && rwbs ~ "FF*"'
#: No request has so many sectors: the trigger counts nothing, and prints the table of its name.
_NEVER = "nr_sector == 4294967295"


@dataclass(frozen=True, slots=True)
class Trigger:
    """A trigger: the event, such as "block/block_rq_issue", and the command."""

    event: str
    command: str


def measuring(entries: int, devices: Sequence[int] = ()) -> tuple[Trigger, ...]:
    """Returns the triggers in the order of their creation. They count from `START` on.

    entries: the number of entries of each of the four maps of requests, a power of two. A request
        for which no entry is left is not measured.
    devices: the measured devices, as numbers of the kernel's type dev_t; empty for all.
    """
    size = f"size={entries}"
    data = _filter(_DATA, devices)
    flush = _filter(_FLUSH, devices)
    issue, complete = f"{BLOCK}/{_ISSUE}", f"{BLOCK}/{_COMPLETE}"
    request = "keys=dev,sector,nr_sector"
    name = "name=ssd_exporter_issued:keys=dev:size=512:pause"
    inserted = f"onmatch({BLOCK}.{_INSERT})"
    issued = f"onmatch({BLOCK}.{_ISSUE})"
    return (
        *(
            Trigger(f"synthetic/{event}", command)
            for event, results in _RESULT_ENTRIES.items()
            for command in _results(results)
        ),
        Trigger(
            f"{BLOCK}/{_INSERT}",
            f"hist:keys=dev,sector:q0=common_timestamp:{size}:{_CLOCK}:pause if {data}",
        ),
        Trigger(issue, f"hist:{request}:t0=common_timestamp:{size}:{_CLOCK}:pause if {data}"),
        Trigger(
            issue,
            f"hist:keys=dev:f0=common_timestamp:size={_DEVICE_ENTRIES}:{_CLOCK}:pause if {flush}",
        ),
        Trigger(
            issue,
            f"hist:keys=dev,sector:queued=common_timestamp-$q0:{size}:{_CLOCK}"
            f":{inserted}.{QUEUE_EVENT}($queued,dev,rwbs) if {data}",
        ),
        # It reads the time of a request that is merged and will not be issued. A time is read once.
        Trigger(
            f"{BLOCK}/{_MERGE}",
            f"hist:keys=dev,sector:merged=common_timestamp-$q0:{_CLOCK} if {data}",
        ),
        Trigger(
            complete,
            f"hist:{request}:took=common_timestamp-$t0:{size}:{_CLOCK}"
            f":{issued}.{REQUEST_EVENT}($took,dev,rwbs) if {data}",
        ),
        Trigger(
            complete,
            f"hist:keys=dev:flushed=common_timestamp-$f0:size={_DEVICE_ENTRIES}:{_CLOCK}"
            f":{issued}.{REQUEST_EVENT}($flushed,dev,rwbs) if {flush}",
        ),
        Trigger(
            ISSUED,
            f"hist:{request}:failed=common_timestamp-$t0:{_CLOCK}"
            f":{issued}.{REQUEUE_EVENT}($failed,dev,rwbs) if {data}",
        ),
        Trigger(issue, f"hist:{name} if {_filter(f'({_DATA} || ({_FLUSH}))', devices)}"),
        Trigger(ISSUED, f"hist:{name} if {_NEVER}"),
        *(
            Trigger(MARKER, f'enable_hist:{BLOCK}:{event} if buf ~ "{START}*"')
            for event in (_INSERT, _ISSUE)
        ),
    )


def stopping() -> tuple[Trigger, ...]:
    """Returns the triggers to create before `STOP`. An event has one of each kind at a time."""
    changes = []
    for event in (_INSERT, _ISSUE):
        changes.append(Trigger(MARKER, f"!enable_hist:{BLOCK}:{event}"))
        stop = f'disable_hist:{BLOCK}:{event} if buf ~ "{STOP}*"'
        changes.append(Trigger(MARKER, stop))
    return tuple(changes)


def bucket_of(nanoseconds: int) -> tuple[int, int]:
    """Returns the lowest latency of a bucket in nanoseconds, and that of the next bucket."""
    width = next(width for high, width in _RANGES if high is None or nanoseconds < high)
    low = nanoseconds // width * width
    return low, low + width


def removal(line: str) -> str:
    """Returns the command that removes a trigger; empty for a line that is no trigger.

    line: a line of a ``trigger`` file.
    """
    line = line.strip()
    if line.startswith("hist:"):
        return "!" + line.removesuffix(" [active]").removesuffix(" [paused]")
    kind, _, rest = line.partition(":")
    if kind in ("enable_hist", "disable_hist"):
        return f"!{kind}:" + ":".join(rest.split(":")[:2])
    return ""


def events() -> tuple[str, ...]:
    """Returns all events that have triggers; those that refer to others first."""
    block = (_COMPLETE, _REQUEUE, _MERGE, _ISSUE, _INSERT)
    return (
        MARKER,
        *(f"{BLOCK}/{name}" for name in block),
        *(f"synthetic/{name}" for name in SYNTHETIC_EVENTS),
    )


def _results(entries: int) -> Iterator[str]:
    low = 0
    for high, width in _RANGES:
        bounds = [f"lat >= {low}"] if low else []
        bounds += [f"lat < {high}"] if high else []
        yield f"hist:keys=dev,op,lat.buckets={width}:size={entries} if {' && '.join(bounds)}"
        low = high or 0


def _filter(condition: str, devices: Sequence[int]) -> str:
    if not devices:
        return condition
    return f"{condition} && ({' || '.join(f'dev == {number}' for number in devices)})"
