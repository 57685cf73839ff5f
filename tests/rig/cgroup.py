"""A control group whose processes get only so much of a block device, in either version."""

import errno
import os
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

_ROOT = Path("/sys/fs/cgroup")

#: Before the owner's process id, so that what a killed session left is told from a living one's.
_PREFIX = "ssd-rig-"

#: A process has to be in the group before its first thread and its first I/O, so it enters by
#: itself and then becomes the program.
_ENTER = (
    "import os, sys\n"
    "with open(sys.argv[1], 'w') as procs: procs.write(str(os.getpid()))\n"
    "os.execvp(sys.argv[2], sys.argv[2:])"
)

_V2_WORDS = {"read_bps": "rbps", "write_bps": "wbps", "read_iops": "riops", "write_iops": "wiops"}

#: How long the kernel may take to let go of processes that have ended.
_LARGEST_WAIT_SECONDS = 5.0


class RigUnavailable(Exception):
    """This machine cannot make the device; the text says what is missing."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a device lets through per second, named as in the kernel's blkio files.

    None is no limit.

    Raises:
        ValueError: a limit below 1, which version 1 would read as no limit.
    """

    read_iops: int | None = None
    write_iops: int | None = None
    read_bps: int | None = None
    write_bps: int | None = None

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if value is not None and value < 1:
                raise ValueError(f"{name}={value}: a limit is at least 1")


#: A control file's name to the text that sets it.
Settings = dict[str, str]


def v1_settings(number: str, limits: Limits) -> Settings:
    """The blkio files of version 1 (Documentation/admin-guide/cgroup-v1/blkio-controller.rst).

    `number` is the device's "major:minor".
    """
    return {
        f"blkio.throttle.{name}_device": f"{number} {value or 0}"
        for name, value in asdict(limits).items()
    }


def v2_settings(number: str, limits: Limits) -> Settings:
    """The one file of version 2 (Documentation/admin-guide/cgroup-v2.rst, "IO")."""
    words = [
        f"{_V2_WORDS[name]}={'max' if value is None else value}"
        for name, value in asdict(limits).items()
    ]
    return {"io.max": " ".join([number, *words])}


@dataclass(frozen=True, slots=True)
class ThrottleGroup:
    """One control group of this process's own."""

    path: Path
    settings: Callable[[str, Limits], Settings]

    @classmethod
    def create(cls, root: Path = _ROOT) -> "ThrottleGroup":
        """A new group; version 1 where it carries blkio, else version 2 with its io controller.

        Raises:
            RigUnavailable: neither is there, or this process may not make groups.
        """
        try:
            if (root / "blkio" / "blkio.throttle.write_iops_device").exists():
                return cls(_new_group(root / "blkio"), v1_settings)
            if "io" in _words(root / "cgroup.controllers"):
                # A child has io.max only where its parent hands the controller down.
                if "io" not in _words(root / "cgroup.subtree_control"):
                    (root / "cgroup.subtree_control").write_text("+io")
                return cls(_new_group(root), v2_settings)
        except OSError as e:
            raise RigUnavailable(f"no control group can be made: {e}; run as root") from e
        raise RigUnavailable(f"{root}: neither blkio (version 1) nor io (version 2) is there")

    @property
    def prefix(self) -> tuple[str, ...]:
        """What stands before a program's arguments to run it, and its children, in the group."""
        return (sys.executable, "-c", _ENTER, str(self.path / "cgroup.procs"))

    def limit(self, number: str, limits: Limits) -> None:
        """Hold the group to `limits` on the device `number`, at once."""
        for name, text in self.settings(number, limits).items():
            (self.path / name).write_text(text)

    def remove(self) -> None:
        """Take the group away; what still runs in it goes on in the parent.

        Raises:
            OSError: the group was still in use after five seconds.
        """
        until = time.monotonic() + _LARGEST_WAIT_SECONDS
        while not _emptied_and_gone(self.path, last=time.monotonic() >= until):
            time.sleep(0.02)


def sweep(root: Path = _ROOT) -> None:
    """Lift the limits of, and remove, groups whose owner was killed before it could.

    Only groups named by this module, of processes that are no more.
    """
    for parent in (root / "blkio", root):
        for group in parent.glob(f"{_PREFIX}*"):
            owner = group.name.removeprefix(_PREFIX).partition("-")[0]
            if not Path("/proc", owner).exists():
                # Another rig may be sweeping the same group, and what is in it may not have
                # ended yet: either way it is the next rig's to remove.
                with suppress(OSError):
                    _lift_all(group)
                    _emptied_and_gone(group, last=False)


def _lift_all(group: Path) -> None:
    names = ["io.max", *v1_settings("", Limits())]
    for file in (group / name for name in names):
        for number in (line.split()[0] for line in _lines(file)):
            kind = v2_settings if file.name == "io.max" else v1_settings
            file.write_text(kind(number, Limits())[file.name])


def _new_group(parent: Path) -> Path:
    return Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=parent))


def _emptied_and_gone(group: Path, *, last: bool) -> bool:
    try:
        for pid in _lines(group / "cgroup.procs"):
            (group.parent / "cgroup.procs").write_text(pid)
        group.rmdir()
    except OSError as e:
        # EBUSY: a process is still on its way out. ESRCH: it ended between reading and moving.
        if last or e.errno not in {errno.EBUSY, errno.ESRCH}:
            raise
        return False
    return True


def _lines(file: Path) -> list[str]:
    return file.read_text().splitlines() if file.exists() else []


def _words(file: Path) -> list[str]:
    return file.read_text().split() if file.exists() else []
