"""fio whose sequential jobs have a part of the file each, as they would have a file each.

On one and the same part, the second job reads what the first has just brought into the drive's own
cache.
"""

from collections.abc import Sequence
from pathlib import Path

from exporter.tools import fio
from exporter.tools.fio_process import SystemFio
from exporter.tools.fio_profiles import Profile, Rw

#: Under which `SystemFio` runs its one program.
_KEY = "fio"


class RegionFio(SystemFio):
    """For runs of one profile that caps its operations."""

    def start(self, profiles: Sequence[Profile], file: Path, limit_seconds: float) -> int | None:
        (profile,) = profiles
        argv = [*fio.arguments(self._program, profiles, file), *regions(profile)]
        self._children.start(_KEY, [*self._dying_with_us(), *argv], limit_seconds)
        return self._children.pid(_KEY)


def regions(profile: Profile) -> list[str]:
    """What follows the arguments of a job, and overrules its size."""
    if profile.jobs == 1 or profile.rw not in (Rw.READ, Rw.WRITE) or profile.number_ios is None:
        return []
    part = profile.number_ios * profile.block_bytes
    return [f"--size={part}", f"--offset_increment={part}"]
