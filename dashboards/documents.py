"""Generates the JSON texts that Grafana loads."""

import json
from pathlib import Path

from grafana_foundation_sdk.cog.encoder import JSONEncoder

from dashboards import drive, fleet, host_io, mysql, probes
from dashboards.frame import Dashboard, built_dashboard

DIRECTORY = Path(__file__).parent

DASHBOARDS: dict[str, Dashboard] = {
    "fleet.json": fleet.DASHBOARD,
    "host-io.json": host_io.DASHBOARD,
    "drive.json": drive.DASHBOARD,
    "probes.json": probes.DASHBOARD,
    "mysql.json": mysql.DASHBOARD,
}


def documents() -> dict[str, str]:
    """Returns the JSON text of every dashboard, by file name. Keys are sorted."""
    return {name: _text(dashboard) for name, dashboard in DASHBOARDS.items()}


def _text(dashboard: Dashboard) -> str:
    text = json.dumps(built_dashboard(dashboard), cls=JSONEncoder, indent=1, sort_keys=True)
    return f"{text}\n"
