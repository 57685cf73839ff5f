"""A container engine with its own store, for machines without registry and systemd."""

import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from release.container_image import BASE_OPTIONS, SUITE
from rigs.lab.vm.cache import PROJECT, digest, made, run
from tests.duration import PATIENCE_SECONDS

#: Certificates on Debian.
_CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")

#: runc, because crun does not support mixed cgroup versions. Limits are not raised, because root in
#: a container may not. No separate network, which requires kernel features that are missing here.
_RUN = ("--ulimit=nofile=1024:4096", "--ulimit=nproc=1000:1000")

_SECONDS = PATIENCE_SECONDS


def base() -> Path:
    """An image archive equivalent to debian:bookworm-slim, built from packages."""
    name = f"image-base-{digest([], *BASE_OPTIONS)}.tar"

    def make(where: Path) -> None:
        run("mmdebstrap", "--quiet", "--format=tar", *BASE_OPTIONS, SUITE, where)

    return made(name, make)


@dataclass(frozen=True, slots=True)
class Engine:
    """podman and buildah with a store below `place`."""

    place: Path

    def podman(self, *arguments: str) -> str:
        """Output of a command; RuntimeError if it fails."""
        return run("podman", *self._store(), "--runtime=runc", *arguments)

    def build(self, tag: str, *options: str) -> None:
        """Builds the unmodified Dockerfile; only the location of certificates is added."""
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

    def output(self, *words: str) -> str:
        """Output of a container that ends, like `docker run` with these arguments."""
        return self.podman("run", "--rm", "--pull=never", "--network=none", *_RUN, *words)

    def start(self, name: str, *words: str) -> None:
        """Starts a container in the background, like `docker run` with these arguments."""
        self.podman("run", "--detach", f"--name={name}", *_RUN, *words)

    def execute(self, name: str, *words: str) -> "subprocess.CompletedProcess[str]":
        """Runs a command in a running container."""
        return subprocess.run(
            ["podman", *self._store(), "--runtime=runc", "exec", name, *words],
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )

    def log(self, name: str) -> str:
        """Log of a container, standard output and error."""
        return subprocess.run(
            ["podman", *self._store(), "--runtime=runc", "logs", name],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_SECONDS,
            check=False,
        ).stdout

    def remove_all(self) -> None:
        """Removes containers and their volumes."""
        self.podman("rm", "--all", "--force", "--time=0", "--volumes")
        self.podman("volume", "prune", "--force")

    def pid(self, name: str) -> int:
        """PID of its process 1 on the host."""
        return int(self.podman("inspect", "--format={{.State.Pid}}", name))

    def size(self, tag: str) -> int:
        """Size of an image including its base, in bytes."""
        return int(self.podman("image", "inspect", "--format={{.Size}}", tag))

    def labels(self, tag: str) -> dict[str, str]:
        """Labels of an image."""
        found: dict[str, str] = json.loads(
            self.podman("image", "inspect", "--format={{json .Labels}}", tag)
        )
        return found

    def _store(self) -> tuple[str, ...]:
        return (f"--root={self.place}/store", f"--runroot={self.place}/run")


@contextmanager
def engine() -> Iterator[Engine]:
    """An engine whose store contains only the base image."""
    with empty_engine() as found:
        found.podman("import", '--change=CMD ["bash"]', str(base()), "debian:bookworm-slim")
        yield found


@contextmanager
def empty_engine() -> Iterator[Engine]:
    """An engine without images."""
    # The directory that is most likely on a disk, also in a container.
    place = Path(tempfile.mkdtemp(prefix="ssd-image-", dir="/var/tmp"))
    found = Engine(place)
    try:
        yield found
    finally:
        found.remove_all()
        # Its files belong to other users, and some are mounted.
        mounts = Path("/proc/self/mounts").read_text().splitlines()
        for mount in reversed([line.split()[1] for line in mounts if str(place) in line]):
            subprocess.run(["umount", "--lazy", mount], check=False)
        shutil.rmtree(place, ignore_errors=True)
