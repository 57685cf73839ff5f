"""Writes the JSON files of all dashboards: python -m dashboards [DIRECTORY [IMPORT_DIRECTORY]].

The files in DIRECTORY are for provisioning. Those in IMPORT_DIRECTORY are the same dashboards for
"Import" in Grafana and for grafana.com: they ask for the data source, and list what they require.

Requires Python 3.11, like the SDK. Review the difference before you commit it.
"""

import json
import sys
from pathlib import Path
from typing import Any

from grafana_foundation_sdk.cog.encoder import JSONEncoder

from dashboards import drive, fleet, host_io, mysql, probes
from dashboards.builders.frame import Dashboard, built_dashboard

_HERE = Path(__file__).parent
_IMPORT = _HERE.parent / "docs" / "grafana-import"

DASHBOARDS: dict[str, Dashboard] = {
    "fleet.json": fleet.DASHBOARD,
    "host-io.json": host_io.DASHBOARD,
    "drive.json": drive.DASHBOARD,
    "probes.json": probes.DASHBOARD,
    "mysql.json": mysql.DASHBOARD,
}

#: The oldest supported version. The JSON has the format of this version.
_GRAFANA = "10.4.0"

_INPUT = "DS_PROMETHEUS"


def document(dashboard: Dashboard) -> dict[str, Any]:
    """Returns the JSON document of a dashboard for provisioning."""
    text = json.dumps(built_dashboard(dashboard), cls=JSONEncoder)
    parsed: dict[str, Any] = json.loads(text)
    return parsed


def import_document(provisioned: dict[str, Any]) -> dict[str, Any]:
    """Returns the copy for Grafana's import dialogue, which asks for the data source."""
    copy: dict[str, Any] = json.loads(json.dumps(provisioned))
    (datasource,) = (v for v in copy["templating"]["list"] if v["type"] == "datasource")
    datasource["current"] = {"selected": True, "text": "Prometheus", "value": f"${{{_INPUT}}}"}
    copy["__inputs"] = [
        {
            "name": _INPUT,
            "label": "Prometheus",
            "description": "The Prometheus that scrapes the exporter.",
            "type": "datasource",
            "pluginId": "prometheus",
            "pluginName": "Prometheus",
        }
    ]
    panels = [p for row in copy["panels"] for p in (row, *row.get("panels", []))]
    kinds = sorted({panel["type"] for panel in panels} - {"row"})
    copy["__requires"] = [
        {"type": "grafana", "id": "grafana", "name": "Grafana", "version": _GRAFANA},
        {"type": "datasource", "id": "prometheus", "name": "Prometheus", "version": "1.0.0"},
        *({"type": "panel", "id": kind, "name": kind, "version": ""} for kind in kinds),
    ]
    return copy


def main(directory: Path, import_directory: Path) -> int:
    """Writes the files that have changed and prints their names. Returns 0."""
    for name, dashboard in DASHBOARDS.items():
        provisioned = document(dashboard)
        _write(directory / name, provisioned)
        _write(import_directory / name, import_document(provisioned))
    return 0


def _write(file: Path, content: dict[str, Any]) -> None:
    text = f"{json.dumps(content, indent=1, sort_keys=True)}\n"
    if not file.is_file() or file.read_text(encoding="utf-8") != text:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        sys.stdout.write(f"{file}\n")


if __name__ == "__main__":
    directories = [Path(each) for each in sys.argv[1:]]
    sys.exit(main(*(directories + [_HERE, _IMPORT][len(directories) :])))
