"""Two stacked loop devices; `rigs.devices.slow_disk` describes their purpose."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from exporter.linux.files import read_attribute
from rigs.devices.cgroup import RigUnavailable
from tests.duration import PATIENCE_SECONDS

#: Space for ext4 metadata.
_METADATA_BYTES = 16 << 20

_PROGRAMS = ("losetup", "mkfs.ext4", "mount", "umount")
_PROGRAM_SECONDS = PATIENCE_SECONDS
_DETACH_SECONDS = PATIENCE_SECONDS


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop device; `token` is a unique part of its file name."""

    path: Path
    token: str

    @property
    def number(self) -> str:
        return Path("/sys/block", self.path.name, "dev").read_text().strip()

    @property
    def attached(self) -> bool:
        """True if the device still uses this file; another rig may have reused its name."""
        return self.token in (read_attribute(self._sysfs / "backing_file") or "")

    @property
    def direct(self) -> bool:
        return read_attribute(self._sysfs / "dio") == "1"

    @property
    def _sysfs(self) -> Path:
        return Path("/sys/block", self.path.name, "loop")


@contextmanager
def layers(directory: Path, size_bytes: int) -> Iterator[tuple[Loop, Loop]]:
    """Opens the lower and the upper device; both detach at the end of the block.

    Raises:
        RigUnavailable: a step failed; all previous steps are undone.
        TimeoutError: another process kept a device open for ten seconds after the block.
    """
    work = Path(tempfile.mkdtemp(prefix=f"ssd-rig-{os.getpid()}-", dir=directory))
    loops: list[Loop] = []
    try:
        with ExitStack() as held:
            try:
                loops.append(_lower(held, work, size_bytes))
                loops.append(_upper(held, work, loops[0], size_bytes))
            finally:
                work.rmdir()
            yield loops[0], loops[1]
    finally:
        _wait_detached(loops)


def _lower(held: ExitStack, work: Path, size_bytes: int) -> Loop:
    image = work / "lower.img"
    with image.open("wb") as f:
        f.truncate(size_bytes + _METADATA_BYTES)
    try:
        lower = _attach(held, image, work.name)
    finally:
        image.unlink()
    # Without a journal no write waits for a commit of another one. Blocks of 4 KiB, because small
    # filesystems default to 1 KiB and then need four times the metadata.
    _run("mkfs.ext4", "-q", "-b", "4096", "-m", "0", "-N", "16", "-O", "^has_journal", lower.path)
    return lower


def _upper(held: ExitStack, work: Path, lower: Loop, size_bytes: int) -> Loop:
    mountpoint = work / "mnt"
    mountpoint.mkdir()
    try:
        _run("mount", "-o", "noatime", lower.path, mountpoint)
        try:
            image = mountpoint / f"{work.name}.img"
            _fill(image, size_bytes)
            upper = _attach(held, image, work.name, "--direct-io=on")
        finally:
            # Removed from the namespace now; the kernel unmounts it when the upper device is
            # closed.
            _run("umount", "--lazy", mountpoint)
    finally:
        mountpoint.rmdir()
    if not upper.direct:
        raise RigUnavailable(f"{upper.path}: the kernel does no direct I/O on this file system")
    return upper


def _fill(image: Path, size_bytes: int) -> None:
    """Writes every block, so that later writes do not cause metadata writes."""
    chunk = bytes(1 << 20)
    with image.open("wb") as f:
        for start in range(0, size_bytes, len(chunk)):
            f.write(chunk[: size_bytes - start])
        f.flush()
        os.fsync(f.fileno())


def _attach(held: ExitStack, image: Path, token: str, *options: str) -> Loop:
    path = _run("losetup", "--find", "--show", *options, image).strip()
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        held.callback(os.close, descriptor)
    finally:
        # For an open device this detaches it at the last close (loop(4), LO_FLAGS_AUTOCLEAR).
        _run("losetup", "--detach", path)
    return Loop(Path(path), token)


def _wait_detached(loops: list[Loop]) -> None:
    until = time.monotonic() + _DETACH_SECONDS
    while attached := [loop for loop in loops if loop.attached]:
        if time.monotonic() >= until:
            names = ", ".join(str(loop.path) for loop in attached)
            raise TimeoutError(
                f"{names}: still open after {_DETACH_SECONDS} s; see lsof, and close"
            )
        time.sleep(0.02)


def require(directory: Path, size_bytes: int) -> None:
    """Raises RigUnavailable if `layers` cannot work on this machine."""
    if os.geteuid() != 0:
        raise RigUnavailable("loop devices and control groups need root; run these tests as root")
    if missing := [name for name in _PROGRAMS if shutil.which(name) is None]:
        raise RigUnavailable(f"not installed: {', '.join(missing)}; apt install mount e2fsprogs")
    wanted, free = size_bytes + 2 * _METADATA_BYTES, shutil.disk_usage(directory).free
    if free < wanted:
        raise RigUnavailable(f"{directory}: {free} bytes free, {wanted} needed")


def _run(*argv: str | Path) -> str:
    try:
        done = subprocess.run(
            [str(word) for word in argv],
            check=True,
            capture_output=True,
            text=True,
            timeout=_PROGRAM_SECONDS,
        )
    except subprocess.CalledProcessError as e:
        raise RigUnavailable(f"{' '.join(e.cmd)}: exit {e.returncode}: {e.stderr.strip()}") from e
    except (subprocess.TimeoutExpired, OSError) as e:
        raise RigUnavailable(f"{argv[0]}: {e}") from e
    return done.stdout
