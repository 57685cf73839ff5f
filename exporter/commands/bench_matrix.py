"""Computes the matrix of a benchmark: one cell per block size, number of jobs and mode.

A cell is one run of fio with a limit on bytes and time. The module does no I/O.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from exporter.errors import ConfigError
from exporter.measurement.figures import blocks, size, size_bytes
from exporter.probe.profiles import GIB, KIB, MIB, Engine, Profile, Rw

#: The modes, in the order in which they run. The reads run first, because writes cause background
#: work in the drive, which would slow down later reads.
MODES = (Rw.RANDREAD, Rw.READ, Rw.RANDRW, Rw.RANDWRITE, Rw.WRITE)

_BLOCK_BYTES = (4 * KIB, 16 * KIB, 128 * KIB, MIB)
_JOBS = (1, 4)

#: The default time limit of a cell, in seconds.
SECONDS = 10.0

#: The time that fio takes to start and to end, in seconds. It is added to the limit of each cell.
_START_SECONDS = 0.7

#: Maximum number of cells. With the default time limit, so many cells take at most 72 minutes.
_MAX_CELLS = 400


@dataclass(frozen=True, slots=True)
class Matrix:
    """The parameters of a benchmark.

    block_bytes: the block sizes, in bytes.
    jobs: the numbers of concurrent jobs.
    modes: the modes of access, such as random reads.
    size_bytes: the size of the test file, and the maximum that one cell reads or writes.
    seconds: the time limit of one cell.
    depth: the queue depth of each job.
    """

    block_bytes: tuple[int, ...] = _BLOCK_BYTES
    jobs: tuple[int, ...] = _JOBS
    modes: tuple[Rw, ...] = MODES
    size_bytes: int = GIB
    seconds: float = SECONDS
    depth: int = 1

    def cells(self) -> tuple[Profile, ...]:
        """Returns one fio profile per cell, in the order in which they run."""
        return tuple(
            self._cell(mode, block, jobs)
            for mode in MODES
            if mode in self.modes
            for block in sorted(self.block_bytes)
            for jobs in sorted(self.jobs)
        )

    def _cell(self, mode: Rw, block: int, jobs: int) -> Profile:
        return Profile(
            f"{mode.value}_{block}_{jobs}",
            mode,
            block,
            self.size_bytes,
            Engine.LIBAIO if self.depth > 1 else Engine.PSYNC,
            depth=self.depth,
            jobs=jobs,
            number_ios=max(1, self.size_bytes // (block * jobs)),
            runtime_seconds=self.seconds,
        )


def matrix(
    *,
    block_sizes: Sequence[str] = (),
    jobs: Sequence[str] = (),
    modes: Sequence[str] = (),
    size_text: str = "",
    seconds: float = SECONDS,
    depth: int = 1,
) -> Matrix:
    """Returns the matrix for the values of the command's flags.

    block_sizes, jobs, modes: texts that may contain several values each, separated by commas. If
        one of these or `size_text` is empty, the default of `Matrix` applies.
    size_text: the size of the test file, such as "4GiB".
    seconds: the time limit of one cell, 1 to 600.
    depth: the queue depth of each job, 1 to 256.

    Raises:
        ConfigError: a value is invalid or out of bounds.
    """
    default = Matrix()
    requested = Matrix(
        tuple(_size("--block-size", part) for part in _parts(block_sizes)) or default.block_bytes,
        tuple(_count("--jobs", part) for part in _parts(jobs)) or default.jobs,
        tuple(_mode(part) for part in _parts(modes)) or default.modes,
        _size("--size", size_text) if size_text else default.size_bytes,
        seconds,
        depth,
    )
    for block in requested.block_bytes:
        if not 512 <= block <= 16 * MIB or block % 512:
            raise ConfigError(
                f"--block-size is {blocks(block)}",
                "it must be 512 bytes to 16 MiB, and a multiple of 512",
            )
    _within("--jobs", min(requested.jobs), max(requested.jobs), 1, 16)
    _within("--seconds", seconds, seconds, 1, 600)
    _within("--depth", depth, depth, 1, 256)
    minimum = max(MIB, max(requested.block_bytes) * max(requested.jobs))
    if not minimum <= requested.size_bytes <= 64 * GIB:
        raise ConfigError(
            f"--size is {blocks(requested.size_bytes)}",
            f"it must be {blocks(minimum)} to 64 GiB: at least one block per job",
        )
    if len(requested.cells()) > _MAX_CELLS:
        raise ConfigError(
            f"the matrix has {len(requested.cells())} cells", f"use at most {_MAX_CELLS}"
        )
    return requested


def seconds_at_most(cells: Iterable[Profile]) -> float:
    """Returns the longest time that these cells can take together, in seconds."""
    return sum(cell.runtime_seconds + _START_SECONDS for cell in cells)


def written_at_most(cells: Iterable[Profile]) -> int:
    """Returns the maximum number of bytes that fio writes in these cells.

    The filesystem writes more, such as its journal.
    """
    return sum(cell.written_bytes_at_most for cell in cells)


def plan_rows(cells: Sequence[Profile]) -> tuple[tuple[str, ...], ...]:
    """Returns the table rows of the plan, one per block size.

    Columns: block size, jobs, modes, number of cells, maximum time, maximum bytes written by fio.
    """
    rows = []
    for block in dict.fromkeys(cell.block_bytes for cell in cells):
        of_block = [cell for cell in cells if cell.block_bytes == block]
        rows.append(
            (
                blocks(block),
                ", ".join(str(jobs) for jobs in dict.fromkeys(cell.jobs for cell in of_block)),
                ", ".join(mode.value for mode in dict.fromkeys(cell.rw for cell in of_block)),
                str(len(of_block)),
                f"{seconds_at_most(of_block):.0f} s",
                size(written_at_most(of_block)),
            )
        )
    return tuple(rows)


def _parts(texts: Sequence[str]) -> list[str]:
    parts = [part.strip() for text in texts for part in text.split(",")]
    return list(dict.fromkeys(part for part in parts if part))


def _size(flag: str, text: str) -> int:
    return size_bytes(flag, text, "16K or 1M")


def _count(flag: str, text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 4):
        raise ConfigError(f"{flag} is {text[:40]!r}", "it must be a whole number")
    return int(text)


def _mode(text: str) -> Rw:
    for mode in MODES:
        if mode.value == text.lower():
            return mode
    listed = ", ".join(mode.value for mode in MODES)
    raise ConfigError(f"--mode is {text[:40]!r}", f"the modes are {listed}")


def _within(flag: str, low: float, high: float, minimum: float, maximum: float) -> None:
    # Every comparison with NaN is False. `not (low >= minimum ...)` therefore rejects NaN.
    if not (low >= minimum and high <= maximum):
        wrong = low if not low >= minimum else high
        raise ConfigError(f"{flag} is {wrong:g}", f"it must be {minimum:g} to {maximum:g}")
