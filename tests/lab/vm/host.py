"""The guest as a host with ssd-exporter installed from its package, and both units running."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.end_to_end.page import Page
from tests.lab.vm.machine import Machine

_SETTINGS = "--config.file=/etc/ssd-exporter/config.toml"
_PAGE = "http://127.0.0.1:10177/metrics"
_UNITS = ("ssd-smart-agent.service", "ssd-exporter.service")

#: As often as may be, for a test waits for the next look. SATA and SAS drives as seldom as ever:
#: each poll has commands that QEMU's drives do not know, and the kernel counts these as errors.
CONFIG = """\
[survey]
interval_seconds = 5
[smart]
nvme_interval_seconds = 10
"""

#: The agent asks every ten seconds, and a look at what it leaves comes every two; the CPU is
#: emulated, and the runner's cores are at something else too.
SOON = 45.0


@dataclass(frozen=True, slots=True)
class Checked:
    """What `ssd-exporter check` says: its exit status, and its JSON by serial number."""

    status: int
    summary: str
    drives: dict[str, dict[str, Any]]

    def texts(self, serial: str) -> list[str]:
        """What is wrong with a drive, "critical: ..."."""
        return [f"{p['state']}: {p['text']}" for p in self.drives[serial]["problems"]]


class Host:
    """Its page, its commands, and the software drives that it has."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._conditions: dict[str, dict[str, Any]] = {}

    def install(self, package: str) -> None:
        """dpkg, from the share; the units are started by the package."""
        self.machine.write("/etc/ssd-exporter/config.toml", CONFIG)
        self.machine.output(
            *("dpkg", "--install", "--force-confold", f"/mnt/host/{package}"), seconds=120
        )

    def units(self) -> dict[str, str]:
        """Whether each is active, in systemd's word."""
        said = self.machine.run("systemctl", "is-active", *_UNITS).output.split()
        return dict(zip(_UNITS, said, strict=True))

    def journal(self) -> str:
        """What both units have said since the boot."""
        units = [f"--unit={unit}" for unit in _UNITS]
        return self.machine.output("journalctl", "--no-pager", "--boot", *units)

    def page(self) -> Page:
        answer = self.machine.guest.get(_PAGE)
        assert 200 == answer.status, answer
        return Page.parse(answer.output)

    def await_page(self, is_there: Callable[[Page], bool], seconds: float = SOON) -> Page:
        """The first page of which that is true; AssertionError where there is none in time."""
        until = time.monotonic() + seconds
        while True:
            answer = self.machine.guest.get(_PAGE)
            page = Page.parse(answer.output) if answer.status == 200 else None
            if page is not None and is_there(page):
                return page
            said = up(page) if page else answer
            assert time.monotonic() < until, (said, self.journal()[-4000:])
            time.sleep(0.5)

    def check(self) -> Checked:
        done = self.machine.run("ssd-exporter", "check", "--json", _SETTINGS, seconds=120)
        assert done.output, done
        said = json.loads(done.output)
        drives = {row["serial"] or row["device"]: row for row in said["drives"]}
        return Checked(done.status, said["summary"], drives)

    def set(self, serial: str, **fields: Any) -> None:
        """Change what a software drive says of itself; its file is made with the first call."""
        self._conditions.setdefault(serial, {"serial": serial}).update(fields)
        self.machine.write(f"/var/lib/lab/{serial}.json", json.dumps(self._conditions[serial]))


def up(page: Page) -> dict[str, float]:
    """Whether each drive answers, by its serial number."""
    return {labels["serial"]: value for labels, value in page.find("ssd_device_up")}


def device(page: Page, serial: str) -> str:
    """The name under which a drive is on the page."""
    (name,) = {labels["device"] for labels, _ in page.find("ssd_device_up", serial=serial)}
    return name
