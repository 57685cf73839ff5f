"""The six hosts of the demo: their drives, what these do, and what their SMART data says."""

import contextlib
import json
import os
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from exporter.drives.drive_identity import identity_key
from exporter.drives.smart_report import parse_report
from exporter.drives.wear_counter import WearObservation
from exporter.wear.wear_history import WearHistory
from rigs.demo import live_drive
from rigs.demo.live_drive import STEP_SECONDS, LiveDrive
from rigs.devices import smart_reports
from rigs.scenes import kernel
from rigs.scenes.kernel import Cpu
from tests.linux import trees
from tests.stand_ins.smartctl import StandIn

#: The days of the wear history, and the share of its wear that a drive has from that time.
_HISTORY_DAYS, _YEARLY_SHARE = 360, 0.4

#: Attributes that count defects: 5 to 199 as in rigs/devices/smart_reports.
_ERROR_ATTRIBUTES = (5, 169, 171, 172, 184, 187, 196, 197, 199)

#: The priority of the simulation, which uses 3 % of a CPU. A late simulation makes constant
#: throughput look varied.
_NICE = -10

_VERSION = "smartctl 7.3 2022-02-28 r5338 [x86_64-linux-6.1.0] (local build)"

#: Short intervals, so that everything is visible within a minute.
_CONFIG = """# Written by `make demo`.
[web]
listen_address = "127.0.0.1:{port}"

[path]
procfs = "{root}/proc"
sysfs = "{root}/sys"
rootfs = "{root}/root"
smartctl = "{smartctl}"

[state]
directory = "{root}/state"

[smart]
source = "exec"
nvme_interval_seconds = 10
interval_seconds = 10
timeout_seconds = 4
# The simulated drives have no device that a program could ask.
nvme_logs = false

[survey]
interval_seconds = 5

# The counters of the simulation are late while the machine is busy. Those of a kernel are not.
[rules.throttling]
deviation_ratio = 0.15
"""


@dataclass
class Smart:
    """Changes of a healthy SMART report: temperature, health values, and whether it hangs."""

    celsius: int = 38
    health: Mapping[str, int] = field(default_factory=dict)
    is_failing: bool = False
    hangs: bool = False


@dataclass
class DemoDrive:
    """A drive of a host. kind: "nvme" or "sata"; link: the speed of a SATA link."""

    live: LiveDrive
    kind: str = "nvme"
    smart: Smart = field(default_factory=Smart)
    model: str = "Flashworks F900 960GB"
    link: str = "6.0 Gbps"


@dataclass
class Machine:
    """A simulated host. shows: what a person sees there."""

    name: str
    shows: str
    drives: Sequence[DemoDrive]
    has_busy_cpu: bool = False


def machines() -> list[Machine]:
    """Returns the six hosts."""
    return [
        Machine("db1", "healthy", [_nvme(0, live_drive.light), _nvme(1, live_drive.light)]),
        Machine(
            "db2",
            "verdict device; nvme1n1 is 85 % worn",
            [_nvme(0, live_drive.full), _nvme(1, live_drive.light, Smart(health=_used(85)))],
        ),
        Machine(
            "db3",
            "verdict write_cache during a restore; sda has a slow link",
            [
                _nvme(0, live_drive.restores, cached=True),
                DemoDrive(
                    LiveDrive("sda", live_drive.slow_link(), live_drive.restores),
                    "sata",
                    link="1.5 Gbps",
                ),
            ],
        ),
        Machine(
            "db4",
            "verdict thermal: nvme0n1 has 84 °C; nvme1n1 becomes slow (unknown)",
            [
                _nvme(0, live_drive.restores, Smart(celsius=84), cached=True),
                _nvme(1, live_drive.few),
            ],
        ),
        Machine(
            "db5",
            "verdict cpu_softirq; nvme1n1 predicts its failure",
            [
                _nvme(0, live_drive.many_short),
                _nvme(
                    1,
                    live_drive.light,
                    Smart(is_failing=True, health={"media_errors": 7, "available_spare": 4}),
                ),
            ],
            has_busy_cpu=True,
        ),
        Machine(
            "db6",
            "verdict throttled: a cloud volume at its limit; nvme1n1 does not answer",
            [
                DemoDrive(
                    LiveDrive("nvme0n1", live_drive.cloud("db6"), live_drive.limited),
                    model="Amazon Elastic Block Store",
                ),
                _nvme(1, live_drive.light, Smart(hangs=True)),
            ],
        ),
    ]


class LiveMachine:
    """The files of a host below a directory, which a thread keeps up to date."""

    def __init__(self, machine: Machine, root: Path, port: int) -> None:
        self.machine = machine
        self._port = port
        self.root = root
        self.config = root / "config.toml"
        self._proc = root / "proc"
        self._cpus = [Cpu() for _ in range(4)]
        if machine.has_busy_cpu:
            self._cpus[3].softirq, self._cpus[3].block_per_second = 0.95, 50e3
        self._lengths: dict[Path, int] = {}
        self._write_host()
        self.write()

    def advance(self) -> None:
        """Advances the host by `STEP_SECONDS`, and writes its counters."""
        for drive in self.machine.drives:
            drive.live.step()
        for cpu in self._cpus:
            cpu.advance(STEP_SECONDS)
        self.write()

    def write(self) -> None:
        """Writes the counters in place: the exporter keeps the files open."""
        drives = [drive.live for drive in self.machine.drives]
        self._put("diskstats", "".join(drive.line() for drive in drives))
        self._put("stat", kernel.stat_text(self._cpus))
        self._put("softirqs", kernel.softirqs_text(self._cpus))
        waited = max(drive.waited_seconds for drive in drives)
        self._put("pressure/io", kernel.pressure_text(waited))

    def _put(self, name: str, text: str) -> None:
        path = self._proc / name
        # Padded with blanks at the end of the last line, so that a reader never sees an old end.
        self._lengths[path] = max(self._lengths.get(path, 0), len(text))
        whole = f"{text[:-1]:{self._lengths[path] - 1}}\n".encode()
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
        try:
            os.pwrite(descriptor, whole, 0)
        finally:
            os.close(descriptor)

    def _write_host(self) -> None:
        for name in ("proc/pressure", "proc/1", "proc/sys/kernel", "sys", "root/dev", "state"):
            (self.root / name).mkdir(parents=True)
        (self._proc / "sys/kernel/hostname").write_text(f"{self.machine.name}\n")
        for resource in ("cpu", "memory"):
            (self._proc / "pressure" / resource).write_text(kernel.pressure_text(0))
        sys = trees.Sys(self.root / "sys")
        smartctl = StandIn(self.root / "smartctl")
        smartctl.says("--version", _VERSION)
        paths: dict[str, str] = {}
        mounts = ""
        for number, drive in enumerate(self.machine.drives):
            node, kind, serial = self._write_drive(sys, number, drive)
            paths[f"/dev/{node}"] = kind
            (self.root / "root/dev" / node).touch()
            if drive.smart.hangs:
                smartctl.hangs(node)
            else:
                report = _report(number, kind, serial, drive)
                smartctl.says(node, json.dumps(report))
                _write_history(self.root / "state/history.sqlite", report)
            place = "/var/lib/mysql" if number == 0 else "/"
            (self.root / "root" / place.lstrip("/")).mkdir(parents=True, exist_ok=True)
            name = drive.live.name
            mounts += trees.mount_line(sys.number(name), place, source=f"/dev/{name}")
        smartctl.says("--scan-open", json.dumps(smart_reports.scan(paths)))
        (self._proc / "1/mountinfo").write_text(mounts)
        mysqld = ["/usr/sbin/mysqld", "--datadir=/var/lib/mysql"]
        trees.process(self._proc, 4711, mysqld, mounts)
        text = _CONFIG.format(root=self.root, smartctl=smartctl.program, port=self._port)
        self.config.write_text(text)

    def _write_drive(self, sys: trees.Sys, number: int, drive: DemoDrive) -> tuple[str, str, str]:
        """Returns the name of the device node, the type for smartctl and the serial number."""
        if drive.kind == "sata":
            trees.sata(sys, drive.live.name, speed=drive.link)
            return drive.live.name, "sat", "S00001"
        (place,) = trees.nvme(sys, number)
        (self.root / "sys" / place / "../model").write_text(f"{drive.model:40}\n")
        return f"nvme{number}", "nvme", f"FW{number:06}"


def _write_history(path: Path, report: Mapping[str, Any]) -> None:
    """Writes a year of daily wear values, at whose end the drive has the wear of its report."""
    health = report.get("nvme_smart_health_information_log")
    if health is None:
        return
    used, units = health["percentage_used"], health["data_units_written"]
    identity = parse_report(report).identity
    key = identity_key(identity)
    assert key is not None
    history, now = WearHistory.open(path), time.time()
    for day in range(_HISTORY_DAYS, 0, -1):
        share = 1 - _YEARLY_SHARE * day / _HISTORY_DAYS
        seen = WearObservation(
            at=now - day * 86_400,
            power_on_seconds=None,
            used_ratio=int(used * share) / 100,
            step_ratio=0.01,
            host_written_bytes=int(units * share) * 512_000,
        )
        history.record(key, seen)
        if day % 60 == 1:
            history.flush()
    history.close()


def keep_running(live: Sequence[LiveMachine], ended: threading.Event) -> None:
    """Advances the hosts in real time until `ended` is set."""
    # The counters of a kernel do not wait for other programs. Only root can set this priority. On
    # Linux, it is that of this thread alone.
    with contextlib.suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)
    due = time.monotonic()
    while not ended.is_set():
        for each in live:
            each.advance()
        due += STEP_SECONDS
        # After a delay of the machine the lost time is made up in quick steps.
        ended.wait(max(0.0, due - time.monotonic()))


def _nvme(
    number: int, workload: Any, smart: Smart | None = None, *, cached: bool = False
) -> DemoDrive:
    name = f"nvme{number}n1"
    model = live_drive.cached(name) if cached else live_drive.nvme(name)
    return DemoDrive(LiveDrive(name, model, workload), smart=smart or Smart())


def _used(percent: int) -> dict[str, int]:
    return {"percentage_used": percent}


def _report(number: int, kind: str, serial: str, drive: DemoDrive) -> dict[str, Any]:
    """Returns the SMART report of a drive."""
    smart = drive.smart
    report = (smart_reports.nvme if kind == "nvme" else smart_reports.ata)(0, serial=serial)
    node = f"nvme{number}" if kind == "nvme" else drive.live.name
    report["device"] = {**report["device"], "name": f"/dev/{node}", "info_name": f"/dev/{node}"}
    report["temperature"] = {**report["temperature"], "current": smart.celsius}
    report["smart_status"] = {"passed": not smart.is_failing}
    if kind == "nvme":
        report["model_name"] = drive.model
        report["nvme_namespaces"][0]["eui64"]["ext_id"] = number + 1
        log = report["nvme_smart_health_information_log"]
        used = smart.health.get("percentage_used", 23)
        log.update({"percentage_used": used, "media_errors": 0, **smart.health})
        # 1 PB is written when the endurance is used up.
        log["data_units_written"] = int(used / 100 * 1e15 / 512_000)
        log["power_on_hours"] = report["power_on_time"]["hours"] = 21_900 + 17 * number
        size = report["user_capacity"]["bytes"] = report["nvme_total_capacity"] = 960_197_124_096
        report["user_capacity"]["blocks"] = size // 512
        log["temperature"] = smart.celsius
        log["temperature_sensors"] = [smart.celsius, smart.celsius - 4]
        log["warning_temp_time"] = 55 if smart.celsius > 78 else 0
        log["data_units_read"] = 2 * log["data_units_written"]
        # Byte 0 of the log: the spare is below its threshold.
        log["critical_warning"] = 1 if smart.is_failing else 0
        if drive.model.startswith("Amazon"):
            del report["nvme_smart_health_information_log"]
    else:
        for row in report["ata_smart_attributes"]["table"]:
            if row["id"] in _ERROR_ATTRIBUTES:
                row["raw"] = {"value": 0, "string": "0"}
    return report
