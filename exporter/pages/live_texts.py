"""Builds the texts of the page that change each second. Pure.

The key of a text is the attribute `data-k` of its element. The HTML and live.json contain the same
texts, so the script only replaces texts.
"""

from collections.abc import Iterable, Iterator, Sequence

from exporter.io.drive_now import DriveNow
from exporter.io.services import OTHER, ServiceRate
from exporter.pages.page_texts import NO_VALUE, megabytes, milliseconds, operations, percent
from exporter.pages.views import HostNow

#: Columns of the live data are sent in these units: kB/s and microseconds, as whole numbers.
_KILO, _MICRO = 1e-3, 1e6

#: A smaller share of the time is shown as none.
_LEAST_SHARE = 0.0005

#: The most services of a drive that are shown by name.
_MOST_SERVICES = 3


def host_texts(now: HostNow) -> dict[str, str]:
    """Returns the texts about the host, keyed as in `data-k`."""
    requests, unit = operations(now.requests)
    some, full, iowait = (_last(each) for each in (now.waiting, now.stalled, now.iowait))
    softirq = _last(now.softirq)
    return {
        **_answer("h:some", "h:of", some, "of the time"),
        "h:full": _waiting_words(some, full, iowait),
        **_answer("h:irq", "h:cpu", softirq, f"of CPU {now.hottest}"),
        "h:mb": megabytes(_last(now.transferred) or 0.0),
        "h:rq": f"{requests} {unit.replace('/s', '').replace('k', 'k ')}".strip(),
    }


def drive_texts(key: str, now: DriveNow) -> dict[str, str]:
    """Returns the texts about one drive. key: the beginning of each key."""
    reads, reads_unit = operations(now.reads)
    writes, writes_unit = operations(now.writes)
    return {
        f"{key}:rb": megabytes(now.read_bytes),
        f"{key}:wb": megabytes(now.written_bytes),
        f"{key}:ro": reads,
        f"{key}:ru": reads_unit,
        f"{key}:wo": writes,
        f"{key}:wu": writes_unit,
        f"{key}:ra": milliseconds(now.read_await),
        f"{key}:wa": milliseconds(now.write_await),
        f"{key}:rx": factor(now.read_factor),
        f"{key}:wx": factor(now.write_factor),
        f"{key}:x": factor(now.worst_factor),
        f"{key}:bz": percent(now.busy_ratio),
        f"{key}:qd": f"{now.queue_depth:.1f}"
        if now.queue_depth < 99.95
        else f"{now.queue_depth:.0f}",
        f"{key}:fl": milliseconds(now.flush_await),
        f"{key}:sa": f"{now.saturated_seconds:.0f}",
        f"{key}:st": f"{now.stalled_seconds:.0f}",
        f"{key}:pk": megabytes(max(now.peak_bytes, 0.0)),
        f"{key}:pa": milliseconds(now.peak_await or None),
    }


def slow_keys(key: str, now: DriveNow) -> Iterator[str]:
    """Yields the keys of the texts that have another colour because requests are slow."""
    if now.is_read_slow:
        yield f"{key}:rx"
    if now.is_write_slow:
        yield f"{key}:wx"
    if now.is_read_slow or now.is_write_slow:
        yield f"{key}:x"


def factor(value: float | None) -> str:
    """Returns a multiple as text, such as ``1.3`` or ``41``; a dash if it is unknown."""
    if value is None:
        return NO_VALUE
    return f"{value:.1f}" if value < 9.95 else f"{value:.0f}"


def drive_columns(now: DriveNow, samples: int) -> list[object]:
    """Returns the last samples of a drive, one column per value, the oldest sample first.

    - the read and the written kB/s.
    - the read and the write await in µs.
    - a text with one digit per sample: the position of its bottleneck in `VERDICTS`.
    """
    if not now.statuses:
        zeros = [0] * samples
        return [zeros, zeros, zeros, zeros, "0" * samples]
    return [
        _whole(now.read_column[-samples:] if samples else (), _KILO),
        _whole(now.written_column[-samples:] if samples else (), _KILO),
        _whole(now.read_await_column[-samples:] if samples else (), _MICRO),
        _whole(now.write_await_column[-samples:] if samples else (), _MICRO),
        "".join(str(status & 15) for status in now.statuses[-samples:]) if samples else "",
    ]


def host_columns(now: HostNow, samples: int) -> list[list[int]]:
    """Returns the last samples of the host, one column per value, the oldest sample first.

    - the share of the time in which at least one task waited for I/O, in permille.
    - the share of interrupts on the CPU with the most, in permille.
    - the bytes of all drives, in kB/s.
    """
    if not samples:
        return [[], [], []]
    return [
        _whole(now.waiting[-samples:], 1000),
        _whole(now.softirq[-samples:], 1000),
        _whole(now.transferred[-samples:], _KILO),
    ]


def service_rows(rates: Sequence[ServiceRate]) -> list[tuple[str, str, str, int]]:
    """Returns the busiest services of a drive, and a row for all others.

    A row contains the name, the read MB/s, the written MB/s, and the percentage of the I/O of all
    services.
    """
    total = sum(each.bytes for each in rates)
    if not total:
        return []
    named = sorted((e for e in rates if e.service != OTHER), key=lambda each: -each.bytes)
    rest = [*named[_MOST_SERVICES:], *(each for each in rates if each.service == OTHER)]
    rows = [(e.service, e.read_bytes, e.written_bytes) for e in named[:_MOST_SERVICES]]
    if rest:
        rows.append(("others", sum(e.read_bytes for e in rest), sum(e.written_bytes for e in rest)))
    return [
        (name, megabytes(read), megabytes(written), round(100 * (read + written) / total))
        for name, read, written in rows
    ]


def _answer(key: str, unit_key: str, ratio: float | None, unit: str) -> dict[str, str]:
    """Returns the texts of a share of the time: a percentage, or "no" if it is 0."""
    if ratio is None or ratio != ratio:  # noqa: PLR0124  NaN
        return {key: "unknown", unit_key: "the kernel does not report it"}
    if ratio < _LEAST_SHARE:
        return {key: "no", unit_key: ""}
    return {key: f"{percent(ratio)} %", unit_key: unit}


def _waiting_words(some: float | None, full: float | None, iowait: float | None) -> str:
    words = []
    if full is not None and full >= _LEAST_SHARE:
        words.append(f"all tasks wait {percent(full)} %")
    if iowait is not None and iowait >= _LEAST_SHARE:
        words.append(f"iowait {percent(iowait)} % (no bottleneck by itself)")
    is_calm = some is not None and some < _LEAST_SHARE
    return "; ".join(words) or ("the disks keep up" if is_calm else "")


def _whole(values: Iterable[float], scale: float) -> list[int]:
    return [round(value * scale) if value == value else 0 for value in values]  # noqa: PLR0124


def _last(values: Sequence[float]) -> float | None:
    return values[-1] if values else None
