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
    queue = disk / "queue"
    discard_bytes = files.integer(queue / "discard_max_bytes")
    return Queue(
        scheduler=parse_scheduler(files.attribute(queue / "scheduler") or ""),
        write_cache=files.attribute(queue / "write_cache"),
        fua=_flag(queue / "fua"),
        discard=None if discard_bytes is None else discard_bytes > 0,
        rotational=_flag(queue / "rotational"),
        requests=files.integer(queue / "nr_requests"),
        logical_block_bytes=files.integer(queue / "logical_block_size"),
        physical_block_bytes=files.integer(queue / "physical_block_size"),
        optimal_io_bytes=files.integer(queue / "optimal_io_size"),
    )


def _flag(path: Path) -> bool | None:
    return {"0": False, "1": True}.get(files.attribute(path) or "")
