"""Prometheus' configuration for the stack: the example of alerts/, with this checkout's places."""

from pathlib import Path

import yaml


def configuration(example: str, rules: Path, exporter: str, alertmanager: str) -> str:
    """The example's text with rule files by absolute path, and these two addresses.

    rules: the directory that holds the rule files that the example names.
    """
    document = yaml.safe_load(example)
    document["rule_files"] = [str(rules / name) for name in document["rule_files"]]
    document["alerting"]["alertmanagers"] = [{"static_configs": [{"targets": [alertmanager]}]}]
    (job,) = document["scrape_configs"]
    del job["file_sd_configs"]
    job["static_configs"] = [{"targets": [exporter]}]
    text: str = yaml.safe_dump(document, sort_keys=False)
    return text
