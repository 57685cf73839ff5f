"""Hosts for the pages: values that the exporter's own code turns into pages, without any drive.

The examples are used by the tests and for the pictures in docs/pictures.
"""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count

from exporter.config.drive_class import DriveClass
from exporter.drives.health import (
    AtaAttribute,
    DriveHealth,
    DriveIdentity,
    Endurance,
    EnduranceSource,
    SelfTest,
    UnitSource,
    WrittenBytes,
)
from exporter.drives.watched_drive import WatchedDrive
from exporter.io.drive_events import DriveEvent, EventKind
from exporter.io.drive_now import DriveNow
from exporter.io.recent_activity import SAMPLES, SATURATED, VERDICTS
from exporter.io.services import OTHER, ServiceRate
from exporter.io.verdict import Verdict
from exporter.linux.block import QueueSettings
from exporter.pages import headline, judgement
from exporter.pages.page_texts import counted
from exporter.pages.views import DriveFacts, HostNow, HostView, Mounted
from exporter.smart.drive_problems import CheckThresholds, problems

DAY = 86400.0
#: 2026-11-22 10:02:33 UTC.
AT = 1_795_341_753.0

_QUEUE = QueueSettings("none", "write back", True, True, False, 1023, 512, 4096, None)


@dataclass(frozen=True)
class Load:
    """The load of a drive: rates in MB/s, awaits in ms, a bottleneck in spans of seconds ago."""

    read: float
    written: float
    read_ms: float
    write_ms: float
    verdict: Verdict = Verdict.NONE
    spans: tuple[tuple[int, int], ...] = ()
    factor: float = 1.0
    growth: float = 2.5


def columns(load: Load, seed: int, samples: int, shift: int = 0) -> DriveNow:
    """Returns the last samples of a drive under a load."""
    chance = random.Random(seed)
    read, written, reads, writes = [], [], [], []
    statuses = bytearray()
    code = VERDICTS.index(load.verdict)
    noise = [0.75 + 0.5 * chance.random() for _ in range(4 * SAMPLES)]
    for index in range(SAMPLES - samples, SAMPLES):
        at = (index + shift) % SAMPLES
        wave = 1 + 0.25 * math.sin((index + shift) / 23 + seed)
        is_hot = any(SAMPLES - begin <= index < SAMPLES - end for begin, end in load.spans)
        rate, slow = (load.growth, load.factor) if is_hot else (1.0, 1.0)
        read.append(load.read * 1e6 * rate * wave * noise[at])
        written.append(load.written * 1e6 * rate * wave * noise[SAMPLES + at])
        reads.append(load.read_ms / 1e3 * slow * noise[2 * SAMPLES + at] if load.read else 0.0)
        writes.append(load.write_ms / 1e3 * slow * noise[3 * SAMPLES + at] if load.written else 0.0)
        full = is_hot and load.verdict is Verdict.DEVICE
        statuses.append((code if is_hot else 0) | (SATURATED if full else 0))
    hot = bool(load.spans) and load.spans[-1][1] == 0
    idle = not (load.read or load.written)
    busy = 1.0 if hot else min(0.9, (load.read + load.written) / 300)
    return DriveNow(
        verdict=load.verdict if hot else Verdict.NONE,
        read_bytes=read[-1],
        written_bytes=written[-1],
        reads=read[-1] / 16384,
        writes=written[-1] / 16384,
        read_await=reads[-1] or None,
        write_await=writes[-1] or None,
        flush_await=None if idle else load.write_ms / 2e3,
        read_base=load.read_ms / 1e3,
        write_base=load.write_ms / 1e3,
        read_limit=max(load.read_ms * 3e-3, 0.001),
        write_limit=max(load.write_ms * 3e-3, 0.001),
        busy_ratio=0.0 if idle else busy,
        queue_depth=22.4 if hot else busy * 1.3,
        worst_await=max(*reads, *writes) or None,
        saturated_seconds=float(sum(1 for status in statuses if status & SATURATED)),
        stalled_seconds=0.0,
        peak_bytes=max(*read, *written),
        peak_await=max(*reads, *writes),
        read_column=read,
        written_column=written,
        read_await_column=reads,
        write_await_column=writes,
        statuses=bytes(statuses),
    )


IDLE = DriveNow(read_base=0.0001, write_base=0.0001, read_limit=0.001, write_limit=0.001)


def health(wear: float | None = 0.03, celsius: float = 36.0, **more: object) -> DriveHealth:
    """Returns the health of a good NVMe drive."""
    written = WrittenBytes(18_400_000_000_000, 512_000, UnitSource.STANDARD)
    known: dict[str, object] = {
        "healthy": True,
        "endurance": None if wear is None else Endurance(wear, EnduranceSource.NVME_LOG),
        "spare_ratio": 1.0,
        "spare_threshold_ratio": 0.1,
        "temperatures": {"drive": celsius},
        "temperature_warning_celsius": 82.0,
        "temperature_critical_celsius": 85.0,
        "host_written": written,
        "host_read": replace(written, bytes=31_900_000_000_000),
        "media_errors": 0,
        "power_on_seconds": 1.2 * 365 * DAY,
        "power_cycles": 41,
        "unsafe_shutdowns": 6,
        "error_log_entries": 0,
        "self_test": SelfTest(True, 1.1 * 365 * DAY),
    }
    return DriveHealth(**(known | more))  # type: ignore[arg-type]


def drive(name: str, state: DriveHealth | None = None, **more: object) -> WatchedDrive:
    """Returns a drive that has answered its last poll 40 seconds ago."""
    serial = f"S4EVNX0R{sum(map(ord, name)) * 7919 % 1_000_000:06d}"
    known: dict[str, object] = {
        "label": name,
        "serial": serial,
        "address": f"/dev/{name}",
        "identity": DriveIdentity(model="Samsung SSD 970 EVO Plus 1TB", serial=serial),
        "up": True,
        "health": state if state is not None else health(),
        "last_success_unix_time": AT - 40,
    }
    return WatchedDrive(**(known | more))  # type: ignore[arg-type]


def facts(name: str, watched: WatchedDrive | None = None, **more: object) -> DriveFacts:
    """Returns the facts of an NVMe drive."""
    smart = watched or drive(name)
    known: dict[str, object] = {
        "name": name,
        "kind": DriveClass.NVME if name.startswith("nvme") else DriveClass.SSD,
        "smart": smart,
        "problems": problems(smart, CheckThresholds()),
        "model": smart.identity.model or "",
        "serial": smart.serial,
        "firmware": "2B2QEXM7",
        "capacity_bytes": 1_000_204_886_016,
        "transport": "nvme" if name.startswith("nvme") else "sata",
        "link_bytes_per_second": 3.938e9 if name.startswith("nvme") else 600e6,
        "link_max_bytes_per_second": 3.938e9 if name.startswith("nvme") else 600e6,
        "queue": _QUEUE,
    }
    return DriveFacts(**(known | more))  # type: ignore[arg-type]


def host(
    name: str,
    drives: Sequence[tuple[DriveFacts, DriveNow | None, tuple[ServiceRate, ...]]],
    *,
    number: int = 10_000,
    at: float = AT,
    samples: int = SAMPLES,
    waiting: float = 0.02,
) -> HostView:
    """Returns a host with these drives, judged by the exporter's own code."""
    chance = random.Random(number // SAMPLES)
    transferred = [
        sum(
            now.read_column[index] + now.written_column[index]
            for _, now, _ in drives
            if now is not None and now.statuses
        )
        for index in range(samples)
    ]
    level = [waiting * (1 if value < max(transferred) * 0.6 else 10) for value in transferred]
    noise = [0.9 + 0.2 * chance.random() for _ in range(samples)]
    now = HostNow(
        number=number,
        window=samples,
        hottest=3,
        requests=transferred[-1] / 16384 if transferred else 0.0,
        waiting=[min(a * b, 1.0) for a, b in zip(level, noise, strict=True)],
        stalled=[a * b * 0.35 for a, b in zip(level, noise, strict=True)],
        iowait=[a * b * 0.2 for a, b in zip(level, noise, strict=True)],
        softirq=[0.032 * b for b in noise],
        transferred=transferred,
    )
    has_mysql = any(each.carries_mysql for each, _, _ in drives)
    views = judgement.in_order(
        judgement.judged(
            *(each, its, float(samples), services),
            has_mysql=has_mysql,
            at=at,
            begin=None if its is None else judgement.began(its, float(samples), at),
        )
        for each, its, services in drives
    )
    todos = sorted(
        (todo for view in views for todo in view.todos), key=lambda todo: -todo.status.urgency
    )
    return HostView(
        name=name,
        at=at,
        now=now,
        drives=tuple(views),
        todos=tuple(todos),
        facts=(
            "Debian GNU/Linux 12 (bookworm)",
            "Linux 6.1",
            counted(len(drives), "drive"),
            f"{len(drives)}.00 TB",
            "up 84 days",
        ),
        states=(
            "All collectors work",
            "SMART read 40 s ago",
            "Agent answered 12 s ago",
            "Drives and mounts listed 12 s ago",
            "Sampled every 1 s, no gaps",
            "ssd-exporter 0.1.0",
        ),
        sentence=headline.sentence(views),
    )


def _event(days_ago: int, kind: EventKind, count: int = 1) -> DriveEvent:
    return DriveEvent(int(AT // DAY) - days_ago, kind, count)


#: A year of a drive.
EVENTS = tuple(
    sorted(
        (
            _event(352, EventKind.NEW),
            *(_event(days, EventKind.POWER_LOSS) for days in (340, 201, 77)),
            *(_event(days, EventKind.LINK_ERRORS, 3) for days in (260, 259, 255)),
            _event(254, EventKind.MISSING),
            _event(254, EventKind.RETURNED),
            *(_event(days, EventKind.THERMAL, 4) for days in range(118, 92, -2)),
            *(_event(days, EventKind.WRITE_CACHE, 1) for days in range(364, 0, -7)),
            *(_event(days, EventKind.DEVICE, 2) for days in (58, 57, 31, 12, 11, 3, 0)),
        ),
        key=lambda event: event.day,
    )
)


def one(shift: int = 0) -> HostView:
    """A host with one healthy drive."""
    load = Load(12, 18, 0.12, 0.08)
    mysql = facts(
        "nvme0n1",
        roles=("mysql-data", "mysql-redo"),
        mounts=(Mounted("/var/lib/mysql", "ext4", used_ratio=0.61),),
    )
    return host(
        "db1.example.net", [(mysql, columns(load, 1, SAMPLES, shift), ())], number=10_000 + shift
    )


def one_in_trouble(shift: int = 0) -> HostView:
    """A host whose only drive is at its limit and worn."""
    load = Load(34, 17, 0.3, 0.5, Verdict.DEVICE, ((220, 180), (112, 0)), 9.0)
    smart = drive(
        "nvme0n1",
        health(0.86, 61.0),
        wearout_seconds=(60 * DAY, 92 * DAY, 140 * DAY),
        wearout_method="steps",
    )
    mysql = facts(
        "nvme0n1",
        smart,
        roles=("mysql-data", "mysql-redo"),
        mounts=(Mounted("/var/lib/mysql", "ext4", used_ratio=0.61),),
    )
    return host(
        "db1.example.net",
        [(mysql, columns(load, 2, SAMPLES, shift), ())],
        number=10_000 + shift,
        waiting=0.05,
    )


def six(shift: int = 0) -> HostView:
    """A host with most of what can happen."""
    year = 365 * DAY
    mysql = facts(
        "nvme1n1",
        drive("nvme1n1", health(0.03, 61.0)),
        roles=("mysql-data", "mysql-redo"),
        mounts=(Mounted("/var/lib/mysql", "ext4", used_ratio=0.61),),
    )
    failing = drive(
        "sdc",
        health(0.48, 39.0, healthy=False, spare_ratio=0.06, media_errors=118),
        identity=DriveIdentity(model="INTEL SSDSC2BB480G4"),
    )
    gone = drive(
        "nvme2n1", health(0.04, 44.0), up=False, is_missing=True, last_success_unix_time=AT - 13_800
    )
    worn = drive(
        "sdb",
        health(0.85, 34.0, temperature_warning_celsius=70.0, power_on_seconds=3.1 * year),
        identity=DriveIdentity(model="Samsung SSD 860 EVO 1TB"),
        wearout_seconds=(60 * DAY, 92 * DAY, 140 * DAY),
        wearout_method="steps",
    )
    crucial = drive(
        "sda",
        health(0.11, 52.0, temperature_warning_celsius=70.0, spare_threshold_ratio=0.05),
        identity=DriveIdentity(model="Crucial MX500 2TB"),
    )
    asleep = drive(
        "sdd", DriveHealth(power_mode="standby"), identity=DriveIdentity(model="ST4000NM0035")
    )
    services = (
        ServiceRate("mysqld.service", 84.1e6, 38.6e6, 900.0, 400.0),
        ServiceRate("xtrabackup.service", 15.8e6, 6.9e6, 900.0, 400.0),
        ServiceRate("cron.service", 1.0e6, 1.1e6, 900.0, 400.0),
        ServiceRate(OTHER, 0.1e6, 0.4e6, 900.0, 400.0),
    )
    device = Load(40, 20, 0.3, 0.5, Verdict.DEVICE, ((235, 198), (112, 0)), 9.0)
    cache = Load(0.4, 320, 0.4, 0.9, Verdict.WRITE_CACHE, ((79, 0),), 41.0, 0.3)
    drives = [
        (mysql, columns(device, 3, SAMPLES, shift), services),
        (
            facts("sdc", failing, mounts=(Mounted("/backup", "xfs", used_ratio=0.71),)),
            columns(Load(7, 3, 0.5, 0.9), 4, SAMPLES, shift),
            (),
        ),
        (facts("nvme2n1", gone, kind=None), None, ()),
        (
            facts("sda", crucial, roles=("restore",), mounts=(Mounted("/restore", "xfs"),)),
            columns(cache, 5, SAMPLES, shift),
            (ServiceRate("restore.service", 0.4e6, 101e6, 900.0, 400.0),),
        ),
        (
            facts(
                "sdb",
                worn,
                roles=("mysql-binlog",),
                mounts=(Mounted("/var/log/mysql", "ext4", used_ratio=0.44),),
            ),
            columns(Load(2.7, 42, 0.3, 0.8), 6, SAMPLES, shift),
            (),
        ),
        (
            facts("nvme0n1", mounts=(Mounted("/", "ext4"),)),
            columns(Load(0.1, 0.4, 0.1, 0.1), 7, SAMPLES, shift),
            (),
        ),
        (facts("sdd", asleep, link_bytes_per_second=None), IDLE, ()),
    ]
    return host("db1.example.net", drives, number=10_000 + shift, waiting=0.04)


def many(number: int, shift: int = 0, *, in_trouble: bool = True) -> HostView:
    """A host with this many drives, some of them in trouble."""
    chance = random.Random(number)
    drives: list[tuple[DriveFacts, DriveNow | None, tuple[ServiceRate, ...]]] = []
    for index in count():
        if index == number:
            break
        name = f"nvme{index}n1"
        load = Load(20 + 30 * chance.random(), 10 + 20 * chance.random(), 0.12, 0.07)
        watched = drive(name, health(0.01 + 0.3 * chance.random(), 34 + 10 * chance.random()))
        if in_trouble and index == 7:
            load = replace(load, verdict=Verdict.DEVICE, spans=((160, 0),), factor=9.4)
        elif in_trouble and index == 13:
            load = replace(load, verdict=Verdict.THERMAL, spans=((210, 150), (110, 0)), factor=9.0)
            watched = drive(name, health(0.3, 84.0))
        elif in_trouble and index == 19:
            load = replace(load, verdict=Verdict.UNKNOWN, spans=((120, 0),), factor=7.0, growth=0.7)
        elif in_trouble and index == 4:
            watched = drive(
                name,
                health(0.88),
                wearout_seconds=(78 * DAY, 110 * DAY, 192 * DAY),
                wearout_method="steps",
            )
        mount = Mounted(f"/data/{index:02d}", "xfs", used_ratio=chance.random())
        if in_trouble and index == 21:
            gone = drive(name, up=False, is_missing=True)
            drives.append((facts(name, gone, kind=None), None, ()))
            continue
        drives.append(
            (facts(name, watched, mounts=(mount,)), columns(load, index, SAMPLES, shift), ())
        )
    waiting = 0.04 if in_trouble else 0.0005
    return host("store7.example.net", drives, number=10_000 + shift, waiting=waiting)


def bare(shift: int = 0) -> HostView:
    """A host with a virtual disk a minute after the start: no SMART data, names and baselines."""
    virtual = WatchedDrive(
        "vda", "", "/dev/vda", message="vda is virtual; check SMART on its host", is_known=False
    )
    known = facts(
        "vda", virtual, model="", serial="", link_bytes_per_second=None, transport="virtio"
    )
    now = replace(columns(Load(1, 2, 0.5, 0.9), 8, 60, shift), read_base=None, write_base=None)
    return host("vm1", [(known, now, ())], samples=60, number=60 + shift)


ATTRIBUTES = (
    AtaAttribute(5, "Reallocated_Sector_Ct", 12, "12", 100, 100, 10),
    AtaAttribute(9, "Power_On_Hours", 27150, "27150", 94, 94, 0),
    AtaAttribute(177, "Wear_Leveling_Count", 1820, "1820", 15, 15, 0),
    AtaAttribute(199, "CRC_Error_Count", 3, "3", 99, 99, 0),
    AtaAttribute(241, "Total_LBAs_Written", 1000000000000, "1000000000000", 99, 99, 0),
)


def long_names(shift: int = 0) -> HostView:
    """A host whose names are as long as they can be."""
    name = "mapper/" + "x" * 40
    watched = drive(name, health(0.85), identity=DriveIdentity(model="Model " + "M" * 60))
    place = "/a/very/long/path/" + "y" * 80
    known = facts(
        name,
        watched,
        roles=("mysql-data", "mysql-redo", "mysql-undo", "z" * 40),
        mounts=tuple(Mounted(f"{place}{n}", "xfs", used_ratio=0.5) for n in range(5)),
    )
    services = (ServiceRate("s" * 90 + ".service", 1e9, 1e9, 1.0, 1.0),)
    load = Load(40, 20, 0.3, 0.5, Verdict.THROTTLED, ((112, 0),), 9.0)
    drives = [(known, columns(load, 3, SAMPLES, shift), services)]
    return host("h" * 63 + ".example.net", drives, number=10_000 + shift)
