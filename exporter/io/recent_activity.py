"""The last 300 samples of the host and of each drive, for the live page.

The sampler writes here once per interval and busy drive. A drive needs 5 KB, and only drives with
recent I/O have an entry, so 24 drives need 130 KB. They are recorded all the time, because a page
that is opened during an incident must show how it began. The module uses no files, no clock and no
locks. Use it only while the sampler is locked (`Sampler.flushed`).
"""

from array import array
from collections.abc import Iterator

from exporter.io.interval import CpuInterval, DiskInterval
from exporter.io.verdict import Verdict

#: The number of samples that are kept: five minutes at the default interval of a second.
SAMPLES = 300

#: The maximum number of drives with recent samples. With all of them the module needs 1.3 MB.
MAX_DRIVES = 256

#: Drives without I/O are looked for and dropped each time this number of samples was taken.
_SWEEP_SAMPLES = 60

#: Bits of a status byte. The lowest three are the position of the verdict in `VERDICTS`.
VERDICTS = tuple(Verdict)
SATURATED, STALLED, PROBED = 16, 32, 64
_VERDICT_BITS = 15
_CODES = {verdict: code for code, verdict in enumerate(VERDICTS)}

#: For each bit, a table that translates a status byte with the bit to 1 and any other one to 0.
_HAS_BIT = {
    bit: bytes(bool(status & bit) for status in range(256)) for bit in (SATURATED, STALLED, PROBED)
}

_NO_VALUE = float("nan")


class _Columns:
    """Columns of the last `SAMPLES` values, as one block of memory.

    values: the columns, one after the other.
    number: the serial number of the last sample; the first has 0.
    """

    __slots__ = ("number", "values")

    def __init__(self, count: int, number: int) -> None:
        self.values = array("f", bytes(4 * count * SAMPLES))
        self.number = number

    def column(self, index: int, samples: int) -> "array[float]":
        """Returns the last `samples` values of a column, the oldest first."""
        begin, end = index * SAMPLES, (self.number + 1) % SAMPLES
        whole = self.values[begin + end : begin + SAMPLES] + self.values[begin : begin + end]
        return whole[SAMPLES - samples :]

    def _write(self, slot: int, values: tuple[float, ...]) -> None:
        stored = self.values
        for value in values:
            stored[slot] = value
            slot += SAMPLES


class DriveSamples(_Columns):
    """The last samples of one drive.

    status: a byte for each sample: the position of the verdict in `VERDICTS`, and flags.
    last: the last interval with I/O; it is the current one if its sample has the number `number`.
    last_number: the number of the sample of `last`.
    """

    __slots__ = ("last", "last_number", "status")

    def __init__(self, number: int, interval: DiskInterval) -> None:
        super().__init__(4, number)
        self.status = bytearray(SAMPLES)
        self.last = interval
        self.last_number = number

    def advance(self, number: int) -> None:
        """Stores zeros for all samples up to this number, because the drive had no I/O."""
        idle = min(number - self.number, SAMPLES)
        for each in range(number - idle + 1, number + 1):
            slot = each % SAMPLES
            self._write(slot, (0.0, 0.0, 0.0, 0.0))
            self.status[slot] = 0
        self.number = max(number, self.number)

    def statuses(self, samples: int) -> bytes:
        """Returns the last `samples` status bytes, the oldest first."""
        end = (self.number + 1) % SAMPLES
        return bytes(self.status[end:] + self.status[:end])[SAMPLES - samples :]


class RecentActivity(_Columns):
    """The last samples of the host and of its drives.

    Columns, with their indices. NaN means unknown:

    - 0: the share of the time in which at least one task waited for I/O.
    - 1: the share of the time in which all tasks waited for I/O.
    - 2: the share of iowait in the time of all CPUs.
    - 3: the share of interrupts in the time of the CPU `hottest`.
    - 4: the bytes per second of all drives together.

    hottest: the number of the CPU that spent the largest share of its time on interrupts in the
        last sample; None means unknown.
    requests: the reads and writes per second of all drives in the last sample.
    taken: the number of samples since the start, including missed ones, at most `SAMPLES`.
    """

    __slots__ = ("_drives", "_is_sampled", "hottest", "requests", "taken")

    def __init__(self) -> None:
        super().__init__(5, 0)
        self._drives: dict[str, DriveSamples] = {}
        self._is_sampled = bytearray(SAMPLES)
        self.hottest: int | None = None
        self.requests = 0.0
        self.taken = 0

    def begin(
        self,
        pressures: tuple[float | None, float | None],
        shares: CpuInterval | None,
        missed: int = 0,
    ) -> None:
        """Starts the next sample with the values of the host.

        pressures: the shares of the time in which some and all tasks waited; None means unknown.
        shares: how the CPUs spent the time; None means unknown.
        missed: the number of samples before this one that were not taken.
        """
        for _ in range(min(missed, SAMPLES)):
            self._next((_NO_VALUE,) * 5, is_sampled=False)
        some, full = pressures
        self.hottest = None if shares is None else shares.hottest
        softirq = (
            _NO_VALUE
            if shares is None or self.hottest is None
            else shares.cpus[self.hottest].softirq
        )
        self.requests = 0.0
        self._next(
            (
                _NO_VALUE if some is None else some,
                _NO_VALUE if full is None else full,
                _NO_VALUE if shares is None else shares.host.iowait,
                softirq,
                0.0,
            ),
            is_sampled=True,
        )
        if not self.number % _SWEEP_SAMPLES:
            oldest = self.number - SAMPLES
            idle = [name for name, each in self._drives.items() if each.number <= oldest]
            for name in idle:
                del self._drives[name]

    def record(self, device: str, interval: DiskInterval, verdict: Verdict, flags: int = 0) -> None:
        """Stores the interval of a drive in the current sample.

        flags: the sum of those of `SATURATED`, `STALLED` and `PROBED` that apply.
        """
        number = self.number
        samples = self._drives.get(device)
        if samples is None:
            if len(self._drives) >= MAX_DRIVES:
                return
            samples = self._drives[device] = DriveSamples(number - 1, interval)
        elif number > samples.number + 1:
            samples.advance(number - 1)
        samples.number = samples.last_number = number
        samples.last = interval
        seconds, reads, read_seconds, read_bytes, writes, write_seconds, written_bytes = interval[
            :7
        ]
        slot = number % SAMPLES
        # Single assignments take half the time of `_write`. This runs for every busy drive and
        # second.
        values = samples.values
        values[slot] = read_bytes / seconds
        values[slot + SAMPLES] = written_bytes / seconds
        values[slot + 2 * SAMPLES] = read_seconds / reads if reads else 0.0
        values[slot + 3 * SAMPLES] = write_seconds / writes if writes else 0.0
        # Looking up an enum member takes as long as the assignments.
        samples.status[slot] = flags if verdict is Verdict.NONE else flags | _CODES[verdict]
        self.values[slot + 4 * SAMPLES] += (read_bytes + written_bytes) / seconds
        self.requests += (reads + writes) / seconds

    def forget(self, device: str) -> None:
        """Drops the samples of a device that disappeared, or whose name another one has now."""
        self._drives.pop(device, None)

    def drive(self, device: str) -> DriveSamples | None:
        """Returns the samples of a drive up to the current one; None if it had no recent I/O."""
        samples = self._drives.get(device)
        if samples is not None:
            samples.advance(self.number)
        return samples

    def sampled(self, samples: int) -> bytes:
        """Returns a byte for each of the last `samples` intervals: 1 with a sample, 0 without."""
        end = (self.number + 1) % SAMPLES
        return bytes(self._is_sampled[end:] + self._is_sampled[:end])[SAMPLES - samples :]

    def _next(self, values: tuple[float, ...], *, is_sampled: bool) -> None:
        self.number += 1
        self.taken = min(self.taken + 1, SAMPLES)
        slot = self.number % SAMPLES
        self._write(slot, values)
        self._is_sampled[slot] = is_sampled


def verdict_of(status: int) -> Verdict:
    """Returns the verdict of a status byte."""
    return VERDICTS[status & _VERDICT_BITS]


def verdicts(statuses: bytes) -> Iterator[Verdict]:
    """Yields the verdict of each status byte."""
    return map(verdict_of, statuses)


def counted(statuses: bytes, bit: int) -> int:
    """Returns the number of status bytes with this bit, such as `SATURATED`."""
    return statuses.translate(_HAS_BIT[bit]).count(1)
