"""Builds the Prometheus configuration of the stack from the example in alerts/."""

from pathlib import Path

import yaml


def configuration(example: str, rules: Path, exporter: str, alertmanager: str) -> str:
    """Returns the example with absolute rule paths and the two given addresses, as YAML.

    rules: directory of the rule files. exporter, alertmanager: addresses as "host:port".
    """
    document = yaml.safe_load(example)
    document["rule_files"] = [str(rules / "*.yml")]
    document["alerting"]["alertmanagers"] = [{"static_configs": [{"targets": [alertmanager]}]}]
    (job,) = document["scrape_configs"]
    del job["file_sd_configs"]
    job["static_configs"] = [{"targets": [exporter]}]
    text: str = yaml.safe_dump(document, sort_keys=False)
    return text
