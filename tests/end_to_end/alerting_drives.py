"""The drives of a simulated host: output of smartctl and files of the kernel."""

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from exporter.linux import scsi_sysfs
from rigs.devices import smart_reports
from tests.end_to_end.alerting_counters import Counters, replace_whole
from tests.hosts.host import FOLDERS
from tests.stand_ins.smartctl import StandIn

VERSION = "smartctl 7.3 2022-02-28 r5338 [x86_64-linux-6.1.0] (local build)"


class Drives:
    """The drives by the last part of their device path; `program` is the stand-in smartctl.

    reports: the file in tests/hosts with the report of each healthy drive. Name, model and serial
    number are replaced by those that the kernel reports.
    """

    def __init__(self, place: Path, reports: Mapping[str, str], counters: Counters) -> None:
        self._place = place
        self._counters = counters
        self._stand_in = StandIn(place / "smartctl.d")
        self._stand_in.says("--version", VERSION)
        self._pulled: dict[str, tuple[list[str], list[tuple[Path, str]]]] = {}
        self._reports = {
            drive: self._own(drive, json.loads((FOLDERS / f"{file}.json").read_text()))
            for drive, file in reports.items()
        }
        for drive in self._reports:
            self.says(drive)
        self._scan_finds(self._reports)

    @property
    def program(self) -> str:
        return self._stand_in.program

    def identity(self, drive: str) -> tuple[str, str]:
        """Returns the model and the serial number of a drive."""
        report = self._reports[drive]
        return report["model_name"], report["serial_number"]

    def says(self, drive: str, **changes: Any) -> None:
        """Sets the report: healthy except for these values, by key or as `part__key`."""
        report = json.loads(json.dumps(self._reports[drive]))
        for name, value in changes.items():
            *parts, key = name.split("__")
            within = report
            for part in parts:
                within = within[part]
            within[key] = value
        file = self._place / f"{drive}.json"
        replace_whole(file, json.dumps(report) + "\n")
        self._stand_in.does(drive, f"cat {file}\nexit {report['smartctl']['exit_status']}\n")

    def counts(self, drive: str, attribute: int, more: int) -> None:
        """Increases the raw value of a SATA drive's attribute."""
        table = json.loads(json.dumps(self._reports[drive]["ata_smart_attributes"]["table"]))
        for row in table:
            if row["id"] == attribute:
                row["raw"] = {"value": row["raw"]["value"] + more, "string": ""}
        self.says(drive, ata_smart_attributes__table=table)

    def hangs(self, drive: str) -> None:
        """Makes smartctl hang at this drive and ignore SIGTERM."""
        self._stand_in.hangs(drive)

    def pull(self, device: str, drive: str) -> None:
        """Removes the drive from the bus."""
        sys = self._place / "sys"
        links = [
            link
            for directory in ("block", "class/block", "class/nvme")
            if (sys / directory).is_dir()
            for link in sorted((sys / directory).iterdir())
            if link.name == drive or link.name.startswith(device)
        ]
        rows = (self._place / "proc/diskstats").read_text().splitlines(keepends=True)
        gone = [row for row in rows if row.split()[2].startswith(device)]
        self._pulled[device] = gone, [(link, os.readlink(link)) for link in links]
        self._counters.rows(lambda text: _without(text, device))
        for link in links:
            link.unlink()
        self._scan_finds(each for each in self._reports if each != drive)

    def plug(self, device: str, drive: str, serial: str = "") -> None:
        """Inserts the drive again; a serial number makes it another drive of the same model."""
        rows, links = self._pulled.pop(device)
        if serial:
            self._reports[drive]["serial_number"] = serial
            self._tell_kernel(device, drive, serial, dict(links))
        self.says(drive)
        for link, target in links:
            link.symlink_to(target)
        self._counters.rows(lambda text: text + "".join(rows))
        self._scan_finds(self._reports)

    def _own(self, drive: str, report: dict[str, Any]) -> dict[str, Any]:
        """Returns a report with the identity that the kernel reports for this drive."""
        report["device"]["name"] = report["device"]["info_name"] = f"/dev/{drive}"
        # These keys also identify the drive.
        for name in ("wwn", "nvme_namespaces"):
            report.pop(name, None)
        if drive.startswith("nvme"):
            of_kernel = self._place / "sys/class/nvme" / drive
            report["model_name"] = (of_kernel / "model").read_text().strip()
            report["serial_number"] = (of_kernel / "serial").read_text().strip()
        else:
            told = scsi_sysfs.parse_ata_page(
                scsi_sysfs.read_vpd_page(self._place / "sys/block" / drive / "device/vpd_pg89")
            )
            report["model_name"], report["serial_number"] = told.model, told.serial
        return report

    def _tell_kernel(self, device: str, drive: str, serial: str, links: Mapping[Path, str]) -> None:
        places = {link.name: link.parent / target for link, target in links.items()}
        disk = places[device]
        if drive.startswith("nvme"):
            (places[drive] / "serial").write_text(f"{serial:20}\n")
            (disk / "wwid").write_text(f"eui.{serial:0>16}\n")
        else:
            scsi = disk / "device"
            page = serial.rjust(20).encode()
            (scsi / "vpd_pg80").write_bytes(bytes((0, 0x80, 0, len(page))) + page)
            for gone in ("vpd_pg89", "wwid"):
                (scsi / gone).unlink(missing_ok=True)
            self._reports[drive]["model_name"] = (scsi / "model").read_text().strip()
        (disk / "diskseq").write_text(f"{int((disk / 'diskseq').read_text()) + 100}\n")

    def _scan_finds(self, drives: Iterable[str]) -> None:
        kinds = {f"/dev/{each}": "nvme" if "nvme" in each else "sat" for each in drives}
        self._stand_in.says("--scan-open", json.dumps(smart_reports.scan(kinds)))


def _without(diskstats: str, device: str) -> str:
    rows = diskstats.splitlines(keepends=True)
    return "".join(row for row in rows if not row.split()[2].startswith(device))
