"""Stand-ins for the kernel: a directory that looks like tracefs, and one that counts requests."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from exporter.latency import triggers
from exporter.latency.trace_histogram import TraceCounts, parse
from exporter.latency.triggers import Trigger
from tests.fakes import FakeClock

#: What the file of each kind of trigger contains, from Linux 6.1.
INFO = "# event histogram\n#\n# trigger info: hist:{keys}:vals=hitcount:size=2048 [active]\n#\n\n"

ISSUED_KEYS = "name=ssd_exporter_issued:keys=dev"


def table(rows: Sequence[str], keys: str = "keys=dev,op,lat.buckets=4096", dropped: int = 0) -> str:
    """Returns the text of a table as the kernel prints it."""
    end = f"\nTotals:\n    Hits: {len(rows)}\n    Entries: {len(rows)}\n    Dropped: {dropped}\n\n"
    return INFO.format(keys=keys) + "".join(f"{row}\n" for row in rows) + end


def row(dev: int, flags: str, low: int, high: int, count: int) -> str:
    """Returns a row of a histogram of latencies in nanoseconds."""
    return f"{{ dev: {dev:>10}, op: {flags:<50}, lat: ~ {low}-{high} }} hitcount: {count:>10}"


def issued_row(dev: int, count: int) -> str:
    """Returns a row of the issued requests."""
    return f"{{ dev: {dev:>10} }} hitcount: {count:>10}"


def tracefs(sys: Path) -> Path:
    """Creates the files of an idle tracefs below /sys, and returns its directory."""
    tracing = sys / "kernel" / "tracing"
    (tracing / "instances").mkdir(parents=True)
    (tracing / "synthetic_events").write_text("")
    event = tracing / "events" / "block" / "block_rq_issue"
    event.mkdir(parents=True)
    (event / "hist").write_text("")
    return tracing


class CountingKernel:
    """A kernel that completes requests at a rate, and prints what its triggers have counted.

    per_second: requests per second, keyed by device, flags and the latency in nanoseconds.
    stuck: requests per device that are issued and do not complete.
    """

    def __init__(
        self, clock: FakeClock, per_second: Mapping[tuple[int, str, int], float], stuck: int = 0
    ) -> None:
        self._clock = clock
        self._per_second = per_second
        self._stuck = stuck
        self.entries: list[int] = []
        self.removed = 0
        self.on_read: Callable[[], None] = lambda: None

    def create(self, commands: Sequence[Trigger]) -> None:
        sized = [c.command for c in commands if ":t0=" in c.command]
        self.entries.append(int(sized[0].partition("size=")[2].partition(":")[0]))
        self._began = self._ended = None

    def add(self, commands: Sequence[Trigger]) -> None:
        assert all(command.event == triggers.MARKER for command in commands)

    _began: float | None = None
    _ended: float | None = None

    def mark(self, words: str) -> None:
        if words == triggers.START:
            self._began = self._clock.monotonic()
        else:
            self._ended = self._clock.monotonic()

    def read(self, event: str) -> TraceCounts:
        self.on_read()
        assert self._began is not None
        seconds = (self._ended or self._clock.monotonic()) - self._began
        counts = {key: int(rate * seconds) for key, rate in self._per_second.items()}
        if event == triggers.ISSUED:
            rows = [issued_row(dev, n + self._stuck) for (dev, *_), n in counts.items()]
            return parse(table(rows, ISSUED_KEYS)).value
        if event != f"synthetic/{triggers.REQUEST_EVENT}":
            return parse(table([])).value
        rows = [row(dev, f, ns, ns + 4095, n) for (dev, f, ns), n in counts.items() if n]
        return parse(table(rows)).value

    def remove(self) -> bool:
        self.removed += 1
        return True
