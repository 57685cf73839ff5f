"""Simulated drives behind a stand-in smartctl, for a daemon or an agent under test."""

import json
import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rigs.devices import smart_reports
from tests.duration import PATIENCE_SECONDS
from tests.end_to_end.host import Host
from tests.stand_ins.smartctl import StandIn

VERSION = "smartctl 7.3 2022-02-28 r5338 [x86_64-linux-6.1.0] (local build)"

#: The shortest intervals that the settings accept.
CONFIG = """
[smart]
source = "{source}"
directory = "{directory}"
nvme_interval_seconds = 10
interval_seconds = 10
timeout_seconds = {timeout_seconds}
rescan_seconds = 60
"""


class MadeUpDrives:
    """The drives rig0, rig1, ...: every second one is NVMe, the others are SATA.

    The host has no disks in /sys, so it has no other drives.
    """

    def __init__(self, root: Path, count: int = 0) -> None:
        self._root = root
        self._reports = root / "reports"
        self._reports.mkdir(parents=True)
        self.host = Host(root / "host")
        self.host.disk("vda", 0)
        self.host.diskstats(["vda"])
        self.stand_in = StandIn(root / "smartctl.d")
        self.stand_in.says("--version", VERSION)
        self.directory = root / "run" / "agent"
        self.directory.parent.mkdir()
        self._kinds: dict[str, str] = {}
        for number in range(count):
            self.plug(number, smart_reports.of(number))

    @property
    def names(self) -> list[str]:
        return list(self._kinds)

    @property
    def flags(self) -> tuple[str, ...]:
        """Returns the flags of a daemon or an agent for this host."""
        return (*self.host.flags, f"--smartctl.path={self.stand_in.program}")

    def config(
        self, source: str = "exec", more: str = "", timeout_seconds: float = PATIENCE_SECONDS
    ) -> str:
        """Returns the settings; `more` contains further keys of `smart`, and further sections.

        On a busy machine, any smartctl may take seconds. Only a test with a drive that hangs needs
        a short timeout.
        """
        settings = CONFIG.format(
            source=source, directory=self.directory, timeout_seconds=timeout_seconds
        )
        return settings + more

    def plug(self, number: int, report: Mapping[str, Any]) -> str:
        """Adds a drive and its report for the next scan; returns its name."""
        name = f"rig{number}"
        self.says(name, report)
        self._kinds[name] = str(report["device"]["type"])
        self._scan_finds()
        return name

    def pull(self, name: str) -> None:
        """Removes a drive from the next scan."""
        del self._kinds[name]
        self._scan_finds()

    def says(self, name: str, *reports: Mapping[str, Any]) -> None:
        """Sets the report of a drive; of several reports, one is chosen each time."""
        files = []
        for index, report in enumerate(reports):
            new, file = self._reports / f"{name}.new", self._reports / f"{name}.{index}"
            new.write_text(json.dumps(report, separators=(",", ":")) + "\n")
            os.replace(new, file)
            files.append(shlex.quote(str(file)))
        chosen = " ".join(files)
        script = f"set -- {chosen}\nshift $(( $$ % $# ))\nexec cat $1\n"
        self.stand_in.does(name, script)

    def hangs(self, name: str) -> Path:
        """Makes a drive hang and ignore SIGTERM. The returned file will contain its process id."""
        running = self._root / f"{name}.running"
        self.stand_in.does(name, f"trap '' TERM\necho $$ > {running}\nexec sleep 300\n")
        return running

    def _scan_finds(self) -> None:
        found = smart_reports.scan({f"/dev/{name}": kind for name, kind in self._kinds.items()})
        self.stand_in.says("--scan-open", json.dumps(found))
