"""A container engine with a store of its own, on a machine without a registry or systemd."""

import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.lab.vm.cache import PROJECT, digest, made, run

#: Where a machine has its certificates, on Debian.
_CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")

#: What the official image of Debian leaves out.
_LEFT_OUT = ("doc", "man", "locale", "info", "groff", "lintian", "linda")

#: runc: crun knows no cgroups of both versions at once. The limits: root may not raise its own in a
#: container. No network of its own, for that takes more of the kernel than is here.
_RUN = ("--ulimit=nofile=1024:4096", "--ulimit=nproc=1000:1000")

_SECONDS = 60.0


def base() -> Path:
    """An archive that stands for debian:bookworm-slim: of the same packages, the same left out."""
    options = [
        "--mode=root",
        "--variant=minbase",
        '--aptopt=APT::Install-Recommends "false"',
        # Without it `usrmerge` comes, and Perl with it.
        "--include=usr-is-merged",
        "--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr",
        *(f"--dpkgopt=path-exclude=/usr/share/{each}/*" for each in _LEFT_OUT),
        "--dpkgopt=path-include=/usr/share/doc/*/copyright",
    ]
    name = f"image-base-{digest([], *options)}.tar"

    def make(where: Path) -> None:
        run("mmdebstrap", "--quiet", "--format=tar", *options, "bookworm", where)

    return made(name, make)


@dataclass(frozen=True, slots=True)
class Engine:
    """podman and buildah, on a store below `place`."""

    place: Path

    def podman(self, *arguments: str) -> str:
        """What it prints; RuntimeError where it fails."""
        return run("podman", *self._store(), "--runtime=runc", *arguments)

    def build(self, tag: str, *options: str) -> None:
        """The Dockerfile of the tree, as it is. Only where to find certificates is added."""
        pip = self.place / "pip.conf"
        pip.write_text("[global]\ncert = /run/host-ca.crt\n")
        run(
            "buildah",
            *self._store(),
            "bud",
            "--isolation=chroot",
            "--pull=never",
            "--network=host",
            "--format=docker",
            "--layers",
            f"--volume={_CERTIFICATES}:/run/host-ca.crt:ro",
            f"--volume={pip}:/etc/pip.conf:ro",
            f"--tag={tag}",
            *options,
            PROJECT,
        )

    def start(self, name: str, *words: str) -> None:
        """A container in the background, as `docker run` would with these words."""
        self.podman("run", "--detach", f"--name={name}", *_RUN, *words)

    def execute(self, name: str, *words: str) -> "subprocess.CompletedProcess[str]":
        """A command in a container that runs."""
        return subprocess.run(
            ["podman", *self._store(), "--runtime=runc", "exec", name, *words],
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )

    def said(self, name: str) -> str:
        """What a container has logged: it goes where the container's own messages went."""
        return subprocess.run(
            ["podman", *self._store(), "--runtime=runc", "logs", name],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_SECONDS,
            check=False,
        ).stdout

    def remove_all(self) -> None:
        """Containers and their volumes, without a last word."""
        self.podman("rm", "--all", "--force", "--time=0", "--volumes")
        self.podman("volume", "prune", "--force")

    def pid(self, name: str) -> int:
        """Of its process 1, as the host sees it."""
        return int(self.podman("inspect", "--format={{.State.Pid}}", name))

    def size(self, tag: str) -> int:
        """Of an image with its base, in bytes."""
        return int(self.podman("image", "inspect", "--format={{.Size}}", tag))

    def labels(self, tag: str) -> dict[str, str]:
        """Of an image."""
        found: dict[str, str] = json.loads(
            self.podman("image", "inspect", "--format={{json .Labels}}", tag)
        )
        return found

    def _store(self) -> tuple[str, ...]:
        return (f"--root={self.place}/store", f"--runroot={self.place}/run")


@contextmanager
def engine() -> Iterator[Engine]:
    """One with the base in its store, and no image besides."""
    # Of all directories the one that most likely lies on a disk, in a container too.
    place = Path(tempfile.mkdtemp(prefix="ssd-image-", dir="/var/tmp"))
    found = Engine(place)
    try:
        found.podman("import", '--change=CMD ["bash"]', str(base()), "debian:bookworm-slim")
        yield found
    finally:
        found.remove_all()
        # What lies there belongs to other users, and some of it is mounted.
        mounts = Path("/proc/self/mounts").read_text().splitlines()
        for mount in reversed([line.split()[1] for line in mounts if str(place) in line]):
            subprocess.run(["umount", "--lazy", mount], check=False)
        shutil.rmtree(place, ignore_errors=True)
