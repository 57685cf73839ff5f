"""Writes the plain manifest from the Helm chart: `make kubernetes`."""

import tempfile
from pathlib import Path

from rigs.chart import helm

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        helm.PLAIN.write_text(helm.plain(helm.packed(Path(place))))
