"""The guest with the installed package and both units running."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rigs.lab.vm import cache
from rigs.lab.vm.machine import Machine
from tests.end_to_end.page import Page
from tests.required import lacking

_SETTINGS = "--config.file=/etc/ssd-exporter/config.toml"
_PAGE = "http://127.0.0.1:10177/metrics"
_UNITS = ("ssd-smart-agent.service", "ssd-exporter.service")

#: Minimum intervals, because tests wait for the next poll. SATA and SAS drives keep the default:
#: each poll sends commands that QEMU rejects, and the kernel counts these as errors.
LOG_SECONDS = 20
CONFIG = f"""\
[survey]
interval_seconds = 5
[smart]
nvme_interval_seconds = 10
nvme_log_interval_seconds = {LOG_SECONDS}
"""

#: Timeout for what takes up to 35 s on an idle machine: the agent polls every ten seconds, the
#: daemon reads documents every five, and some values need three polls. The CPU is emulated, and the
#: runner has other load. No test waits until it has passed.
SOON = 150.0


@dataclass(frozen=True, slots=True)
class Checked:
    """Result of `ssd-exporter check`: exit status, and JSON by serial number."""

    status: int
    summary: str
    drives: dict[str, dict[str, Any]]

    def texts(self, serial: str) -> list[str]:
        """Problems of a drive, such as "critical: ..."."""
        return [f"{p['state']}: {p['text']}" for p in self.drives[serial]["problems"]]


class Host:
    """The guest: page, commands, and software drives."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._conditions: dict[str, dict[str, Any]] = {}

    def install(self, package: str, seconds: float = 300) -> None:
        """Installs the package; it starts the units. `seconds` is a timeout."""
        self.machine.write("/etc/ssd-exporter/config.toml", CONFIG)
        self.machine.output(
            *("dpkg", "--install", "--force-confold", f"/mnt/host/{package}"), seconds=seconds
        )

    def restart_agent(self) -> None:
        """Restarts the agent as after a boot: without documents and the node of smartctl."""
        agent = _UNITS[0]
        self.machine.output("systemctl", "stop", agent)
        self.machine.output("rm", "-rf", "/dev/megaraid_sas_ioctl_node", "/run/ssd-smart-agent")
        self.machine.output("systemctl", "daemon-reload")
        self.machine.output("systemctl", "start", agent)

    def units(self) -> dict[str, str]:
        """State of each unit."""
        said = self.machine.run("systemctl", "is-active", *_UNITS).output.split()
        return dict(zip(_UNITS, said, strict=True))

    def journal(self) -> str:
        """Log of both units since boot."""
        units = [f"--unit={unit}" for unit in _UNITS]
        return self.machine.output("journalctl", "--no-pager", "--boot", *units)

    def page(self) -> Page:
        """The next page. On a busy machine, a page of the emulated CPU may take too long (503)."""
        return self.await_page(lambda _page: True)

    def await_page(self, is_there: Callable[[Page], bool], seconds: float = SOON) -> Page:
        """First page that fulfils a condition; AssertionError after the timeout."""
        until = time.monotonic() + seconds
        while True:
            answer = self.machine.guest.get(_PAGE)
            page = Page.parse(answer.output) if answer.status == 200 else None
            if page is not None and is_there(page):
                return page
            said = up(page) if page else answer
            assert time.monotonic() < until, (said, self.journal()[-4000:])
            time.sleep(1)

    def check(self) -> Checked:
        done = self.machine.run("ssd-exporter", "check", "--json", _SETTINGS, seconds=300)
        assert done.output, done
        said = json.loads(done.output)
        drives = {row["serial"] or row["device"]: row for row in said["drives"]}
        return Checked(done.status, said["summary"], drives)

    def set(self, serial: str, **fields: Any) -> None:
        """Changes the health data of a software drive; the first call creates its file."""
        self._conditions.setdefault(serial, {"serial": serial}).update(fields)
        self.machine.write(f"/var/lib/lab/{serial}.json", json.dumps(self._conditions[serial]))


def newest_package() -> Path:
    """The package of the last `make deb`; the test is skipped, or fails in CI, without one."""
    directory = cache.PROJECT / "dist"
    packages = sorted(directory.glob("*_amd64.deb"), key=lambda path: path.stat().st_mtime)
    if not packages:
        lacking("no package in dist: run make deb")
    return packages[-1]


def up(page: Page) -> dict[str, float]:
    """SMART poll result by serial number."""
    return {labels["serial"]: value for labels, value in page.find("ssd_device_up")}


def device(page: Page, serial: str) -> str:
    """Device label of a drive."""
    (name,) = {labels["device"] for labels, _ in page.find("ssd_device_up", serial=serial)}
    return name
