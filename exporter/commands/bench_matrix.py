"""The matrix of a benchmark: block size × jobs × mode, each cell a bounded run. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from exporter.errors import ConfigError
from exporter.measurement.figures import blocks, size, size_bytes
from exporter.probe.profiles import GIB, KIB, MIB, Engine, Profile, Rw

#: In this order they are run: reads first, while no write has given the drive work of its own.
MODES = (Rw.RANDREAD, Rw.READ, Rw.RANDRW, Rw.RANDWRITE, Rw.WRITE)

_BLOCK_BYTES = (4 * KIB, 16 * KIB, 128 * KIB, MIB)
_JOBS = (1, 4)

#: A cell's, at most.
SECONDS = 10.0

#: What fio takes to begin and to end.
_START_SECONDS = 0.7

_MOST_CELLS = 400


@dataclass(frozen=True, slots=True)
class Matrix:
    """What is run. size_bytes: of the file, and what a cell reads or writes at most; seconds: how
    long a cell takes at most; depth: requests in flight of each job.
    """

    block_bytes: tuple[int, ...] = _BLOCK_BYTES
    jobs: tuple[int, ...] = _JOBS
    modes: tuple[Rw, ...] = MODES
    size_bytes: int = GIB
    seconds: float = SECONDS
    depth: int = 1

    def cells(self) -> tuple[Profile, ...]:
        """The cells in the order in which they are run."""
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
    """The matrix that was asked for; what is left out is as in the whole one.

    Each text may be several, with commas.

    Raises:
        ConfigError: something is out of bounds, or no such mode.
    """
    usual = Matrix()
    found = Matrix(
        tuple(_size("--block-size", each) for each in _parts(block_sizes)) or usual.block_bytes,
        tuple(_count("--jobs", each) for each in _parts(jobs)) or usual.jobs,
        tuple(_mode(each) for each in _parts(modes)) or usual.modes,
        _size("--size", size_text) if size_text else usual.size_bytes,
        seconds,
        depth,
    )
    for block in found.block_bytes:
        if not 512 <= block <= 16 * MIB or block % 512:
            raise ConfigError(
                f"--block-size is {blocks(block)}",
                "it must be 512 bytes to 16 MiB, in steps of 512",
            )
    _within("--jobs", min(found.jobs), max(found.jobs), 1, 16)
    _within("--seconds", seconds, seconds, 1, 600)
    _within("--depth", depth, depth, 1, 256)
    least = max(MIB, max(found.block_bytes) * max(found.jobs))
    if not least <= found.size_bytes <= 64 * GIB:
        raise ConfigError(
            f"--size is {blocks(found.size_bytes)}",
            f"it must be {blocks(least)} to 64 GiB: a block for each job at least",
        )
    if len(found.cells()) > _MOST_CELLS:
        raise ConfigError(f"{len(found.cells())} cells are too many", f"ask for {_MOST_CELLS}")
    return found


def seconds_at_most(cells: Iterable[Profile]) -> float:
    return sum(each.runtime_seconds + _START_SECONDS for each in cells)


def written_at_most(cells: Iterable[Profile]) -> int:
    """What fio writes, without what the filesystem adds."""
    return sum(each.written_bytes_at_most for each in cells)


def plan_rows(cells: Sequence[Profile]) -> tuple[tuple[str, ...], ...]:
    """A row for each block size: what is run, and what it writes and takes at most."""
    rows = []
    for block in dict.fromkeys(each.block_bytes for each in cells):
        its = [each for each in cells if each.block_bytes == block]
        rows.append(
            (
                blocks(block),
                ", ".join(str(jobs) for jobs in dict.fromkeys(each.jobs for each in its)),
                ", ".join(mode.value for mode in dict.fromkeys(each.rw for each in its)),
                str(len(its)),
                f"{seconds_at_most(its):.0f} s",
                size(written_at_most(its)),
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
        raise ConfigError(f"{flag} is {text[:40]!r}", "it is a number")
    return int(text)


def _mode(text: str) -> Rw:
    for mode in MODES:
        if mode.value == text.lower():
            return mode
    listed = ", ".join(mode.value for mode in MODES)
    raise ConfigError(f"--mode is {text[:40]!r}", f"modes are {listed}")


def _within(flag: str, low: float, high: float, least: float, most: float) -> None:
    # Not "out of bounds": NaN is neither below nor above.
    if not (low >= least and high <= most):
        wrong = low if not low >= least else high
        raise ConfigError(f"{flag} is {wrong:g}", f"it must be {least:g} to {most:g}")
