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


#: How long Alertmanager collects alerts before the first notification of a group.
_GROUP_WAIT = "5s"


def notifying(example: str, port: int) -> str:
    """Returns the Alertmanager example with all webhooks on a port of this machine, as YAML.

    The receivers keep their names, which are the paths of the webhooks. The first notification of a
    group follows after a few seconds instead of a minute.
    """
    document = yaml.safe_load(example)
    for receiver in document["receivers"]:
        for webhook in receiver.get("webhook_configs", []):
            webhook["url"] = f"http://127.0.0.1:{port}/{receiver['name']}"
    for route in (document["route"], *document["route"]["routes"]):
        route["group_wait"] = _GROUP_WAIT
    text: str = yaml.safe_dump(document, sort_keys=False)
    return text
