"""The rounds that the daemon has kept of its own runs, and its judgement on them."""

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from exporter.background import probe_rounds
from exporter.background.probe_rounds import Rounds
from exporter.commands.steady_report import RoundDone, Series
from exporter.tools.fio_profiles import Profile, Rw, Sync

#: The parts of `probe_rounds.key` after the drive, whose name may hold what parts them.
_PARTS = 11


def series(kept: Any, profile: str | None) -> Iterator[tuple[str, str, Series]]:
    """Drive, firmware and rounds of each profile; of the one of that name, where one is given.

    kept: "rounds" of what the daemon keeps of its probes.
    """
    rounds = Rounds(kept)
    for key, found in rounds.to_keep().items():
        read = _read(key)
        if read is None or not isinstance(found, dict):
            continue
        drive, firmware, its, engine = read
        judgement = rounds.known(key, lower_is_better=probe_rounds.is_latency(its))
        if judgement is None or profile not in (None, its.name):
            continue
        done = [
            RoundDone(value, is_host_limited=is_host_limited, when=_when(at))
            for at, value, is_host_limited in found["rounds"]
        ]
        yield drive, firmware, Series(its, engine, done, judgement)


def _read(key: str) -> tuple[str, str, Profile, str] | None:
    """What `probe_rounds.key` was made of; None for what is none."""
    parts = key.rsplit("|", _PARTS)
    if len(parts) != _PARTS + 1:
        return None
    drive, firmware, name, engine, rw, block, depth, jobs, direct, sync, size, rate = parts
    try:
        profile = Profile(
            name,
            Rw(rw),
            int(block),
            int(size),
            depth=int(depth),
            jobs=int(jobs),
            direct=direct == "1",
            sync=Sync(sync),
        )
        if rate != "None":
            profile = replace(profile, rate_iops=int(rate))
    except ValueError:
        return None
    return drive, firmware, profile, engine


def _when(at: float) -> str:
    try:
        return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(at))
    except (OverflowError, ValueError, OSError):
        return ""
