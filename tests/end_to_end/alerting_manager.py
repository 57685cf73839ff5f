"""Runs Debian's Alertmanager with the routes of alerts/, and queries its HTTP API."""

import json
import re
import urllib.parse
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from tests.duration import PATIENCE_SECONDS
from tests.end_to_end.server_process import ServerProcess

_LISTENS = re.compile(r'msg="Listening on" address=(127\.0\.0\.1:\d+)')


@dataclass(frozen=True, slots=True)
class Held:
    """An active alert; `by` names the alerts that inhibit it."""

    alert: str
    device: str
    by: frozenset[str]


class Alertmanager(ServerProcess):
    """A context manager that runs an Alertmanager; `config` is the text of its configuration."""

    address: str

    def __init__(self, directory: Path, config: str) -> None:
        directory.mkdir(parents=True)
        file = directory / "alertmanager.yml"
        file.write_text(config)
        places = [f"--config.file={file}", f"--storage.path={directory / 'data'}"]
        listen = ["--web.listen-address=127.0.0.1:0", "--cluster.listen-address="]
        super().__init__(["prometheus-alertmanager", *places, *listen], directory / "log")

    def is_ready(self) -> bool:
        listens = _LISTENS.search(self.log)
        if listens:
            self.address = listens[1]
        return listens is not None

    def holds(self, instance: str) -> list[Held]:
        """Returns the firing alerts of a host, including inhibited ones."""
        asked = urllib.parse.urlencode({"filter": f'instance="{instance}"'})
        with urllib.request.urlopen(
            f"http://{self.address}/api/v2/alerts?{asked}", timeout=PATIENCE_SECONDS
        ) as answer:
            found = json.load(answer)
        names = {each["fingerprint"]: each["labels"]["alertname"] for each in found}
        return [
            Held(
                each["labels"]["alertname"],
                each["labels"].get("device", ""),
                frozenset(names[by] for by in each["status"]["inhibitedBy"] if by in names),
            )
            for each in found
        ]
