"""The container image of a release, for each architecture, as an OCI archive."""

import json
import os
import platform
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from release import oci
from release.emulation import emulated
from release.programs import ReleaseError, run
from release.source import Source

#: Names of Debian, and of OCI, for the machines of a release.
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}

SUITE = "bookworm"

#: Files that the official Debian image omits.
_LEFT_OUT = ("doc", "man", "locale", "info", "groff", "lintian", "linda")

#: Options of mmdebstrap for a base equivalent to debian:bookworm-slim, built from packages.
BASE_OPTIONS = (
    "--mode=root",
    "--variant=minbase",
    '--aptopt=APT::Install-Recommends "false"',
    # Without it, `usrmerge` and Perl would be installed.
    "--include=usr-is-merged",
    "--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr",
    *(f"--dpkgopt=path-exclude=/usr/share/{each}/*" for each in _LEFT_OUT),
    "--dpkgopt=path-include=/usr/share/doc/*/copyright",
)

_BASE = "FROM scratch\nADD base.tar /\nRUN rm -f /var/cache/ldconfig/aux-cache\nCMD bash\n"


def check() -> None:
    """Fails early if this user cannot build images.

    Raises:
        ReleaseError: the user is not root.
    """
    if os.geteuid() != 0:
        raise ReleaseError("only root builds the image; run as root, or with IMAGES=no")


def layouts(source: Source, top: Path, stages: dict[str, Path], work: Path) -> dict[str, Path]:
    """Builds the image for each machine; returns the directories of the OCI layouts.

    top: a checkout. stages: what packaging/stage.sh has made for each machine. work: a new
    directory for temporary files.

    Raises:
        ReleaseError: a step fails.
    """
    work.mkdir()
    builder = _Builder(work, source.when)
    builder.base(platform.machine())
    return {machine: _layout(builder, source, top, machine, stages[machine]) for machine in stages}


def _layout(builder: "_Builder", source: Source, top: Path, machine: str, stage: Path) -> Path:
    here = platform.machine()
    with emulated(machine):
        builder.base(machine)
        arguments = {
            "BASE": _base(machine),
            "BUILD_BASE": _base(here),
            "BASE_NAME": "",
            "MACHINE": machine,
            "SOURCE_DATE_EPOCH": str(source.when),
            "VERSION": source.version,
            "REVISION": source.commit,
            "CREATED": datetime.fromtimestamp(source.when, timezone.utc).isoformat(),
        }
        return builder.image(f"ssd-exporter-{machine}", top, machine, arguments, stage)


def _base(machine: str) -> str:
    return f"localhost/base-{machine}"


@dataclass(frozen=True, slots=True)
class _Builder:
    """buildah with a store of its own below `work`. when: the time of all files."""

    work: Path
    when: int

    def base(self, machine: str) -> None:
        """Makes the image of the base for a machine, once."""
        context = self.work / _base(machine).rpartition("/")[2]
        if context.exists():
            return
        context.mkdir()
        # The time of the files: it is the same in each build.
        run(
            *("mmdebstrap", "--quiet", "--format=tar", *BASE_OPTIONS),
            *(f"--architectures={ARCHITECTURES[machine]}", SUITE, context / "base.tar"),
            environment={"SOURCE_DATE_EPOCH": str(self.when), "TMPDIR": str(self.work)},
        )
        (context / "Dockerfile").write_text(_BASE)
        self._build(_base(machine), context, f"--arch={ARCHITECTURES[machine]}")
        (context / "base.tar").unlink()

    def image(
        self, tag: str, top: Path, machine: str, arguments: dict[str, str], stage: Path
    ) -> Path:
        """Builds the Dockerfile; returns the OCI layout, with the health check."""
        given = [f"--build-arg={name}={value}" for name, value in arguments.items()]
        # Without --arch, which all stages would need: the architecture is that of the base.
        self._build(tag, top, *given, f"--volume={stage}:/staged:ro")
        layout = self.work / f"layout-{machine}"
        self._buildah("push", "--quiet", "--format=oci", tag, f"oci:{layout}")
        found: dict[str, Any] = json.loads(self._buildah("inspect", "--type=image", tag))
        oci.with_health_check(layout, found["Docker"]["config"]["Healthcheck"])
        return layout

    def _build(self, tag: str, context: Path, *options: str) -> None:
        self._buildah(
            *("bud", "--quiet", "--isolation=chroot", "--pull=never", "--network=host"),
            # Docker's format has a health check, OCI's has not.
            *("--format=docker", "--identity-label=false", f"--timestamp={self.when}"),
            *(f"--tag={tag}", *options),
            context,
        )

    def _buildah(self, *arguments: str | Path) -> str:
        store = (f"--root={self.work}/store", f"--runroot={self.work}/run")
        return run("buildah", *store, *arguments)
