"""/sys/block/<disk>/queue: how the kernel treats a disk.

https://docs.kernel.org/block/queue-sysfs.html
"""

import re
from dataclasses import dataclass
from pathlib import Path

from exporter.linux import files

_CHOSEN = re.compile(r"\[([^\[\]]+)\]")


@dataclass(frozen=True, slots=True)
class Queue:
    """A disk's queue; None is what this kernel does not say.

    `write_cache` is ``write back`` (the drive has a volatile cache and gets flushes) or
    ``write through``. `requests` is the most that wait per hardware queue. A USB bridge may claim
    any `optimal_io_bytes`, 33553920 for one: never align to it.
    """

    scheduler: str | None
    write_cache: str | None
    fua: bool | None
    discard: bool | None
    rotational: bool | None
    requests: int | None
    logical_block_bytes: int | None
    physical_block_bytes: int | None
    optimal_io_bytes: int | None


def parse_scheduler(text: str) -> str | None:
    """The scheduler in use: ``mq-deadline`` of ``none [mq-deadline] kyber``.

    Devices that let no one choose, as dm and md, print the one word ``none``.
    """
    match = _CHOSEN.search(text)
    if match:
        return match[1]
    words = text.split()
    return words[0] if len(words) == 1 and not set("[]") & set(text) else None


def read(disk: Path) -> Queue:
    """The queue of a disk's sysfs directory; reading fails attribute by attribute."""
    # Text and not Path: on a host of 24 drives to join them was a third of each survey.
    queue = f"{disk}/queue"
    return refreshed(
        disk,
        Queue(
            scheduler=None,
            write_cache=None,
            fua=_flag(f"{queue}/fua"),
            discard=None,
            rotational=None,
            requests=None,
            logical_block_bytes=files.integer(f"{queue}/logical_block_size"),
            physical_block_bytes=files.integer(f"{queue}/physical_block_size"),
            optimal_io_bytes=files.integer(f"{queue}/optimal_io_size"),
        ),
    )


def refreshed(disk: Path, known: Queue) -> Queue:
    """The queue of the same disk again: only what somebody can set is read."""
    queue = f"{disk}/queue"
    discard_bytes = files.integer(f"{queue}/discard_max_bytes")
    return Queue(
        scheduler=parse_scheduler(files.attribute(f"{queue}/scheduler") or ""),
        write_cache=files.attribute(f"{queue}/write_cache"),
        fua=known.fua,
        discard=None if discard_bytes is None else discard_bytes > 0,
        rotational=_flag(f"{queue}/rotational"),
        requests=files.integer(f"{queue}/nr_requests"),
        logical_block_bytes=known.logical_block_bytes,
        physical_block_bytes=known.physical_block_bytes,
        optimal_io_bytes=known.optimal_io_bytes,
    )


def _flag(path: str) -> bool | None:
    return {"0": False, "1": True}.get(files.attribute(path) or "")
