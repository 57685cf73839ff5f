"""A control group that limits its processes on a block device, with cgroup v1 or v2."""

import errno
import os
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.duration import PATIENCE_SECONDS

_ROOT = Path("/sys/fs/cgroup")

#: Prefix of the process ID of the owner, which identifies groups of killed sessions.
_PREFIX = "ssd-rig-"

#: A process must be in the group before its first thread and first I/O, so it joins the group
#: itself and then executes the program.
_ENTER = (
    "import os, sys\n"
    "with open(sys.argv[1], 'w') as procs: procs.write(str(os.getpid()))\n"
    "os.execvp(sys.argv[2], sys.argv[2:])"
)

_V2_WORDS = {"read_bps": "rbps", "write_bps": "wbps", "read_iops": "riops", "write_iops": "wiops"}

#: Time in seconds that the kernel may need to release exited processes.
_LARGEST_WAIT_SECONDS = PATIENCE_SECONDS


class RigUnavailable(Exception):
    """This machine cannot create the device; the message contains the reason."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits per second of a device, named like the blkio files of the kernel.

    None is no limit.

    Raises:
        ValueError: a limit below 1, which version 1 would interpret as no limit.
    """

    read_iops: int | None = None
    write_iops: int | None = None
    read_bps: int | None = None
    write_bps: int | None = None

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if value is not None and value < 1:
                raise ValueError(f"{name}={value}: a limit is at least 1")


#: Settings: control file name and content.
Settings = dict[str, str]


def v1_settings(number: str, limits: Limits) -> Settings:
    """The blkio files of version 1 (Documentation/admin-guide/cgroup-v1/blkio-controller.rst).

    `number` is "major:minor" of the device.
    """
    return {
        f"blkio.throttle.{name}_device": f"{number} {value or 0}"
        for name, value in asdict(limits).items()
    }


def v2_settings(number: str, limits: Limits) -> Settings:
    """The io.max file of version 2 (Documentation/admin-guide/cgroup-v2.rst, "IO")."""
    words = [
        f"{_V2_WORDS[name]}={'max' if value is None else value}"
        for name, value in asdict(limits).items()
    ]
    return {"io.max": " ".join([number, *words])}


@dataclass(frozen=True, slots=True)
class ThrottleGroup:
    """A control group of this process."""

    path: Path
    settings: Callable[[str, Limits], Settings]

    @classmethod
    def create(cls, root: Path = _ROOT) -> "ThrottleGroup":
        """Creates a group: with version 1 if it has the blkio controller, else with version 2.

        Raises:
            RigUnavailable: neither is available, or this process may not create groups.
        """
        try:
            if (root / "blkio" / "blkio.throttle.write_iops_device").exists():
                return cls(_new_group(root / "blkio"), v1_settings)
            if "io" in _words(root / "cgroup.controllers"):
                # A child group has io.max only if its parent enables the controller.
                if "io" not in _words(root / "cgroup.subtree_control"):
                    (root / "cgroup.subtree_control").write_text("+io")
                return cls(_new_group(root), v2_settings)
        except OSError as e:
            raise RigUnavailable(f"no control group can be made: {e}; run as root") from e
        raise RigUnavailable(f"{root}: neither blkio (version 1) nor io (version 2) is there")

    @property
    def prefix(self) -> tuple[str, ...]:
        """Command prefix that runs a program and its children in the group."""
        return (sys.executable, "-c", _ENTER, str(self.path / "cgroup.procs"))

    def limit(self, number: str, limits: Limits) -> None:
        """Applies `limits` to the group for the device `number`."""
        for name, text in self.settings(number, limits).items():
            (self.path / name).write_text(text)

    def remove(self) -> None:
        """Removes the group; its processes move to the parent.

        Raises:
            OSError: the group was still in use after five seconds.
        """
        until = time.monotonic() + _LARGEST_WAIT_SECONDS
        while not _emptied_and_gone(self.path, last=time.monotonic() >= until):
            time.sleep(0.02)


def sweep(root: Path = _ROOT) -> None:
    """Removes groups of killed sessions and their limits.

    Only groups of this module whose process no longer exists.
    """
    for parent in (root / "blkio", root):
        for group in parent.glob(f"{_PREFIX}*"):
            owner = group.name.removeprefix(_PREFIX).partition("-")[0]
            if not Path("/proc", owner).exists():
                # Another rig may remove the same group, or its processes may not have exited yet.
                # In both cases the next rig removes it.
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
        # EBUSY: a process is still exiting. ESRCH: it exited between reading and moving.
        if last or e.errno not in {errno.EBUSY, errno.ESRCH}:
            raise
        return False
    return True


def _lines(file: Path) -> list[str]:
    return file.read_text().splitlines() if file.exists() else []


def _words(file: Path) -> list[str]:
    return file.read_text().split() if file.exists() else []
