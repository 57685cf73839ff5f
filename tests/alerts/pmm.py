"""Generates alerts/pmm/ssd-critical.yml, the critical alerts as templates of PMM (`make pmm`).

PMM's vmalert evaluates only recording rules, so each template has the expression of an alert, and
reads the series that thresholds.yml and recording.yml record. Grafana has no template function
`query`, so the texts are short and name the runbook.

Format: https://github.com/percona/saas/blob/main/pkg/alert/template.go
"""

import re
from typing import Any

import yaml

from tests.alerts import rules

FILE = rules.ALERTS / "pmm" / "ssd-critical.yml"

_HEAD = """\
# Alert templates of Percona Monitoring and Management. `make pmm` generates them from the alerts.
# docs/with-pmm.md describes how to load them, and which rule files they need.
"""

#: What each alert says. SSDFailingHostSilent reads the series ALERTS, which Grafana does not write.
TITLES = {
    "SSDDatabaseFilesystemErrors": "Filesystem of a database has new errors",
    "SSDDiskSaturatedSevere": "Saturated drive delays MySQL",
    "SSDDiskStalled": "Drive of MySQL hangs",
    "SSDDriveFailing": "Drive predicts its own failure",
    "SSDDriveLost": "Drive has disappeared",
    "SSDDriveOffline": "Drive is offline",
    "SSDFilesystemReadonly": "Filesystem is read-only",
    "SSDFirmwareFailureNear": "Firmware defect makes the drive fail within days",
    "SSDMediaErrorsRepeated": "Drive has repeated uncorrectable errors",
    "SSDRaidDegraded": "RAID is degraded and not being rebuilt",
    "SSDSpareExhausted": "Spare blocks of the drive are exhausted",
    "SSDTemperatureCritical": "Drive is at its critical temperature",
    "SSDWearoutSoon": "Drive may be worn out within 30 days",
    "SSDZFSPoolDegraded": "ZFS pool is degraded",
}
LEFT_OUT = {"SSDFailingHostSilent"}


def text() -> str:
    """Returns the content of the file."""
    found = [
        _template(alert, TITLES[alert.name])
        for alert in sorted(rules.alerts(), key=lambda each: each.name)
        if alert.name in TITLES
    ]
    return _HEAD + yaml.dump(
        {"templates": found}, Dumper=_Dumper, sort_keys=False, width=1000, allow_unicode=True
    )


def _template(alert: rules.Alert, title: str) -> dict[str, Any]:
    # Comments of PromQL take room in the form of PMM, and explain nothing there.
    lines = [line for line in alert.expr.splitlines() if not line.strip().startswith("#")]
    which = next(
        label
        for label in ("mountpoint", "pool", "device")
        if f"$labels.{label}" in alert.annotations["summary"]
    )
    has_drive = "$labels.serial" in alert.annotations["description"]
    drive = "{{ $labels.model }}, serial {{ $labels.serial }}. " if has_drive else ""
    runbook = f"/usr/share/ssd-exporter/alerts/runbooks/{alert.name}.md"
    return {
        "name": re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=SSD)|(?<=ZFS)", "_", alert.name).lower(),
        "version": 1,
        "summary": f"{alert.name}: {title[0].lower()}{title[1:]}",
        "expr": "\n".join(lines) + "\n",
        "for": alert.duration or "0s",
        "severity": alert.severity,
        "labels": {"ssd_alert": alert.name},
        "annotations": {
            "summary": f"{title}: {{{{ $labels.{which} }}}} on {{{{ $labels.node_name }}}}",
            "description": f"{drive}Runbook: {runbook}",
        },
    }


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks."""


def _string(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = "|" if "\n" in value else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _string)

if __name__ == "__main__":
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(text())
