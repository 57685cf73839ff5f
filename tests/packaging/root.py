"""The root of this host, or another one, with an overlay, which receives all writes."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.duration import PATIENCE_SECONDS
from tests.processes import run_program

#: Separate namespaces: no network, and mounts that disappear when the command ends.
_ENTER = """
set -e
mount -t overlay overlay -o lowerdir="$2",upperdir="$1/layer",workdir="$1/work" "$1/root"
mount --rbind /dev "$1/root/dev"
mount -t proc proc "$1/root/proc"
mount -t tmpfs tmpfs "$1/root/run"
mkdir -p "$1/root/run/lock"
root=$1/root
shift 2
exec chroot "$root" "$@"
"""

_ALONE = "--mount --propagation=private --net --pid --fork --kill-child"

_COMMAND_SECONDS = 3 * PATIENCE_SECONDS


@dataclass(frozen=True, slots=True)
class Root:
    """A root for installations; `layer` contains its changes of `base`."""

    work: Path
    base: Path = Path("/")

    @property
    def layer(self) -> Path:
        return self.work / "layer"

    def run(self, *argv: str) -> "subprocess.CompletedProcess[str]":
        """Runs a command in it, as root, without a network."""
        return run_program(
            ["unshare", *_ALONE.split(), "sh", "-c", _ENTER, "sh", self.work, self.base, *argv],
            timeout=_COMMAND_SECONDS,
            cwd="/",
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive"},
        )

    def do(self, *argv: str) -> str:
        """Output of a command; AssertionError with its messages if it fails."""
        done = self.run(*argv)
        assert done.returncode == 0, f"{argv}: {done.stdout}{done.stderr}"
        return done.stdout

    def install(self, package: Path, *options: str) -> str:
        """Runs dpkg; apt does not prompt and downloads nothing."""
        target = self.layer / "var" / "tmp" / package.name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(package, target)
        try:
            return self.do("dpkg", *options, "--install", f"/var/tmp/{package.name}")
        finally:
            target.unlink()

    def written(self) -> set[str]:
        """New and changed files."""
        found = set()
        for directory, _, names in os.walk(self.layer):
            for name in names:
                path = Path(directory, name)
                # overlayfs represents a deleted file of the lower layer like this.
                if not path.is_char_device():
                    found.add(f"/{path.relative_to(self.layer)}")
        return found

    def text(self, path: str) -> str:
        """Text of a file in the layer."""
        return Path(self.layer, path.lstrip("/")).read_text()

    def write(self, path: str, text: str) -> None:
        where = Path(self.layer, path.lstrip("/"))
        where.parent.mkdir(parents=True, exist_ok=True)
        where.write_text(text)

    def has(self, path: str) -> bool:
        """True if the file was written to the layer and still exists."""
        where = Path(self.layer, path.lstrip("/"))
        return (where.exists() or where.is_symlink()) and not where.is_char_device()


@contextmanager
def layered(of: Root | None = None, *, base: Path = Path("/")) -> Iterator[Root]:
    """A new root above a directory with a system, or a copy of another one of this host."""
    # The upper layer must not be on an overlay, such as the root of a container.
    tmpfs = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    work = Path(tempfile.mkdtemp(prefix="ssd-package-", dir=tmpfs))
    try:
        for name in ("layer", "work", "root"):
            (work / name).mkdir()
            (work / name).chmod(0o755)
        if of is not None:
            # Includes the devices and attributes by which overlayfs marks deleted files.
            subprocess.run(["cp", "-a", f"{of.layer}/.", work / "layer"], check=True)
        yield Root(work, base)
    finally:
        shutil.rmtree(work, ignore_errors=True)
