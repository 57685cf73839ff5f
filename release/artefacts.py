"""Builds all files of a release from a clean copy of its commit."""

import os
import platform
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from release import chart, container_image, oci, sbom
from release.programs import ReleaseError, run
from release.signing import Key
from release.source import Source

_MACHINES = ("x86_64", "aarch64")

#: Directories of the archive for the monitoring host.
_MONITORING = ("alerts", "dashboards", "container/kubernetes", "LICENSE")

SUMS = "SHA256SUMS"
KEY = "ssd-exporter-key.asc"


def build(
    source: Source, out: Path, url: str, key: str | None, *, has_image: bool = True
) -> list[Path]:
    """Builds the files of a release in a new directory; returns them.

    out: must not exist. It appears when all files are complete.
    key: signs the list of the hashes; None: nothing is signed.
    has_image: with the container image, which only root builds.

    Raises:
        ReleaseError: OUT exists, or a step fails. Nothing is left of the release then.
    """
    if os.path.lexists(out):
        raise ReleaseError(f"{out} exists; name a new directory, or remove it")
    if has_image:
        container_image.check()
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=".release-") as name:
        work = Path(name)
        # Files that git does not know cannot become a part of the release.
        run("git", "clone", "--quiet", "--no-hardlinks", source.top, work / "source")
        run("git", "checkout", "--quiet", source.commit, cwd=work / "source")
        files = work / "files"
        files.mkdir()
        os.umask(0o022)
        _packages(source, work / "source")
        _python(source, work / "source")
        for path in sorted((work / "source" / "dist").iterdir()):
            path.rename(files / path.name)
        _say("Helm chart")
        chart.archive(work / "source", source.version, source.when, files)
        debian = _image(source, work, files) if has_image else []
        _bills(source, files, work, url, debian)
        _monitoring(source, work / "source", files)
        (files / "RELEASE-NOTES.md").write_text(source.notes)
        signer = None if key is None else Key(key, source.when)
        if signer:
            signer.public(files / KEY)
        _sums(files)
        if signer:
            signer.detached(files / SUMS)
        files.rename(out)
    return sorted(out.iterdir())


def _environment(source: Source) -> dict[str, str]:
    return {"SOURCE_DATE_EPOCH": str(source.when)}


def _packages(source: Source, top: Path) -> None:
    """Packages and archives, for both architectures."""
    for machine in _MACHINES:
        stage = _stage(top, machine)
        _say(f"packages for {machine}")
        run(
            *(top / "packaging" / "stage.sh", sys.executable, machine, stage),
            environment=_environment(source),
        )
        for script in ("deb.sh", "rpm.sh", "archive.sh"):
            run(
                *(top / "packaging" / script, sys.executable, machine),
                environment={**_environment(source), "STAGE": str(stage)},
            )


def _stage(top: Path, machine: str) -> Path:
    """What packaging/stage.sh makes for a machine."""
    return top / "build" / f"stage-{machine}"


def _image(source: Source, work: Path, files: Path) -> list[dict[str, Any]]:
    """The archive of the container image; returns the packages of Debian in it."""
    _say("container image")
    top = work / "source"
    stage = _stage(top, platform.machine())
    layout = container_image.layout(source, top, stage, work / "image")
    architecture = oci.platform(layout)
    path = files / f"ssd-exporter-image-{source.version}-{architecture}.oci.tar"
    oci.archive(layout, f"ssd-exporter:{source.version}", source.when, path)
    return oci.debian_packages(layout)


def _python(source: Source, top: Path) -> None:
    """Wheel and source archive for pip."""
    _say("wheel and source archive")
    run(
        *(sys.executable, "-m", "build", "--outdir", top / "dist", top),
        environment=_environment(source),
    )


def _bills(source: Source, files: Path, work: Path, url: str, debian: list[dict[str, Any]]) -> None:
    """A list of libraries for each file so far. debian: the packages in the image."""
    _say("lists of libraries")
    (wheel,) = files.glob("*.whl")
    libraries = {machine: _libraries(files, work, machine) for machine in _MACHINES}
    for path in sorted(files.iterdir()):
        if path.suffix == ".whl" or path.name.startswith("ssd_exporter-"):
            found: Sequence[dict[str, Any]] = sbom.required(wheel)
        elif path.suffix == ".tgz":
            found = sbom.started(source.version)
        else:
            machine = _MACHINES["arm64" in path.name or "aarch64" in path.name]
            found = libraries[machine]
            if path.suffix == ".tar":
                found = [*found, *debian]
        text = sbom.document(path, source.version, found, source.when, url)
        (files / f"{path.name}.cdx.json").write_text(text)


def _libraries(files: Path, work: Path, machine: str) -> list[dict[str, Any]]:
    """The libraries in the archive of an architecture; its packages contain the same."""
    (archive,) = files.glob(f"*-{machine}.tar.gz")
    target = work / machine
    target.mkdir()
    run("tar", "-xzf", archive, "-C", target)
    return sbom.bundled(target.glob("*/wheels/*.whl"))


def _monitoring(source: Source, top: Path, files: Path) -> None:
    """Rules, dashboards and manifests, for a host that runs Prometheus and Grafana."""
    _say("rules, dashboards and manifests")
    name = f"ssd-exporter-monitoring-{source.version}"
    tar = files / f"{name}.tar"
    run(
        *("git", "archive", f"--prefix={name}/", f"--output={tar}"),
        *(source.commit, *_MONITORING),
        cwd=top,
    )
    run("gzip", "-9n", tar)


def _sums(files: Path) -> None:
    lines = [f"{sbom.sha256(path)}  {path.name}\n" for path in sorted(files.iterdir())]
    (files / SUMS).write_text("".join(lines))


def _say(text: str) -> None:
    sys.stderr.write(f"release: {text}\n")
