"""The Helm chart as an archive: its templates, with the rules and dashboards of this checkout."""

import gzip
import io
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path

from release.programs import ReleaseError

#: The directory of the chart in the repository.
CHART = Path("container") / "helm" / "ssd-exporter"

#: What the archive also contains: directories of the repository, and the files in them.
_ADDED = {"alerts": "*.yml", "dashboards": "*.json"}

_VERSION = re.compile(r"(?m)^(version|appVersion): .*$")


def archive(top: Path, version: str, when: int, out: Path) -> Path:
    """Writes the archive of the chart into a directory, and returns its path.

    top: a checkout. when: the time of all files, in seconds since 1970: equal contents have equal
    bytes.

    Raises:
        ReleaseError: the checkout has no chart, rules or dashboards.
    """
    path = out / f"ssd-exporter-chart-{version}.tgz"
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, data in sorted(_files(top, version)):
            entry = tarfile.TarInfo(f"ssd-exporter/{name}")
            entry.size, entry.mtime, entry.mode = len(data), when, 0o644
            tar.addfile(entry, io.BytesIO(data))
    # Without a file name and a time in the header.
    path.write_bytes(gzip.compress(content.getvalue(), mtime=0))
    return path


def _files(top: Path, version: str) -> Iterator[tuple[str, bytes]]:
    """The files of the chart, by their paths in it."""
    chart = top / CHART
    if not chart.is_dir():
        raise ReleaseError(f"{chart} is missing")
    for path in chart.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            if path.name == "Chart.yaml":
                data = _VERSION.sub(rf"\1: {version}", data.decode()).encode()
            yield str(path.relative_to(chart)), data
    yield "LICENSE", (top / "LICENSE").read_bytes()
    for directory, pattern in _ADDED.items():
        found = sorted((top / directory).glob(pattern))
        if not found:
            raise ReleaseError(f"{top / directory} has no {pattern}")
        for path in found:
            yield f"{directory}/{path.name}", path.read_bytes()
