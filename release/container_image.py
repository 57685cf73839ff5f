"""The container image of a release, for the architecture of this machine, as an OCI layout."""

import json
import os
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from release import oci
from release.programs import ReleaseError, run
from release.source import Source

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

_BASE_NAME = "localhost/base"

_BASE = "FROM scratch\nADD base.tar /\nRUN rm -f /var/cache/ldconfig/aux-cache\nCMD bash\n"


def check() -> None:
    """Fails early if this user cannot build images.

    Raises:
        ReleaseError: the user is not root.
    """
    if os.geteuid() != 0:
        raise ReleaseError("only root builds the image; run as root, or with IMAGE=no")


def layout(source: Source, top: Path, stage: Path, work: Path) -> Path:
    """Builds the image for this machine; returns the directory of its OCI layout.

    top: a checkout. stage: what packaging/stage.sh has made for this machine. work: a new directory
    for temporary files.

    Raises:
        ReleaseError: a step fails.
    """
    work.mkdir()
    builder = _Builder(work, source.when)
    builder.base()
    arguments = {
        "BASE": _BASE_NAME,
        "BASE_NAME": "",
        "SOURCE_DATE_EPOCH": str(source.when),
        "VERSION": source.version,
        "REVISION": source.commit,
        "CREATED": datetime.fromtimestamp(source.when, timezone.utc).isoformat(),
    }
    return builder.image(top, arguments, stage)


@dataclass(frozen=True, slots=True)
class _Builder:
    """buildah with a store of its own below `work`. when: the time of all files."""

    work: Path
    when: int

    def base(self) -> None:
        """Makes the image of the base."""
        context = self.work / "base"
        context.mkdir()
        # The time of the files: it is the same in each build.
        run(
            *("mmdebstrap", "--quiet", "--format=tar", *BASE_OPTIONS, SUITE),
            context / "base.tar",
            environment={"SOURCE_DATE_EPOCH": str(self.when), "TMPDIR": str(self.work)},
        )
        (context / "Dockerfile").write_text(_BASE)
        self._build(_BASE_NAME, context)
        (context / "base.tar").unlink()

    def image(self, top: Path, arguments: dict[str, str], stage: Path) -> Path:
        """Builds the Dockerfile; returns the OCI layout, with the health check."""
        tag = "localhost/ssd-exporter"
        given = [f"--build-arg={name}={value}" for name, value in arguments.items()]
        self._build(tag, top, *given, f"--volume={stage}:/staged:ro")
        layout = self.work / "layout"
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
