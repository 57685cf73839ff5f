"""The page, `top` and the saturation alert name the services that cause the I/O: `make services`.

MariaDB and a backup share a throttled drive. The reference is io.stat of the guest's kernel over
the same seconds.
"""

import json
import math
import re
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from rigs.lab.database.database import BACKUP, DEVICE, SERVER, Database, running
from rigs.lab.vm.host import newest_package
from tests.alerts.page_story import Story
from tests.end_to_end.page import Page
from tests.end_to_end.programs import need

#: The emulated CPU is slow, so the drive must be slower.
_BYTES_PER_SECOND = 2_400_000

_SERVICES = (SERVER, BACKUP)
_PACKAGE = "ssd-exporter.deb"
_RECORD = Path(__file__).parent / "guest" / "record.py"

#: Timeout of the test and of a command in the guest, in seconds, beside other work.
_TEST_SECONDS, _SECONDS = 1800, 600.0

#: Time between two scrapes, and interval of `top`, in seconds.
_SCRAPE_SECONDS, _TOP_SECONDS = 60, 5

#: Largest difference between the shown and the counted share of a service.
_SHARE = 0.05

#: Time in which the daemon's interval begins or ends before the record notices it, in seconds. The
#: record itself adds the time between two readings.
_STEP_SECONDS = 0.25

#: Readings of the page that are compared at least.
_READINGS = 4

#: A row of the page: <th scope="row">name</th><td><b>1.2</b> <i>MB/s</i></td><td><b>0.3</b> ...
_ROW = re.compile(r'<th scope="row">([a-z]+\.service)</th><td><b>([0-9.]+)</b>.*?<b>([0-9.]+)</b>')
_NAMED = re.compile(r"([a-z]+\.service) ([0-9.]+) MB/s")

_ALERTS = ("SSDDiskSaturatedSevere", "SSDDiskSaturated")

#: Megabytes, or megabytes per second, by service.
Amounts = dict[str, float]


@dataclass(frozen=True, slots=True)
class Reading:
    """What the kernel has counted, and what the page shows.

    at: time of the guest in seconds.
    """

    at: float
    counted: Amounts
    shown: Amounts


@dataclass(frozen=True, slots=True)
class Record:
    """All readings in the order of time."""

    readings: Sequence[Reading]

    def share(self, start: float, end: float) -> float:
        """Share of the server in the bytes between these times."""
        return share(self.per_second(start, end))

    def per_second(self, start: float, end: float) -> Amounts:
        """Megabytes per second between these times."""
        first, last = self._at(start), self._at(end)
        return {name: (last[name] - first[name]) / (end - start) for name in _SERVICES}

    def _at(self, time: float) -> Amounts:
        """Counters at a time, interpolated."""
        for before, after in pairwise(self.readings):
            if before.at <= time <= after.at:
                part = (time - before.at) / (after.at - before.at)
                return {
                    name: before.counted[name] * (1 - part) + after.counted[name] * part
                    for name in _SERVICES
                }
        raise AssertionError(f"{time} is not recorded")

    def bounds(self, starts: Sequence[float], ends: Sequence[float]) -> tuple[float, float]:
        """Smallest and largest share of the server from one of the starts to one of the ends."""
        shares = [self.share(start, end) for start in starts for end in ends]
        return min(shares), max(shares)

    def shown(self) -> list[tuple[float, tuple[float, float]]]:
        """The share of the server in each interval of the page, and the bounds of what is counted.

        The times at which an interval begins and ends are known up to the time between two
        readings.
        """
        changes = [
            (steps(before.at, after.at), after)
            for before, after in pairwise(self.readings)
            if before.shown != after.shown and set(_SERVICES) <= after.shown.keys()
        ]
        return [
            (share(reading.shown), self.bounds(starts, ends))
            for (starts, _), (ends, reading) in pairwise(changes)
        ]


def steps(start: float, end: float) -> list[float]:
    """Times from one to the other."""
    count = max(1, math.ceil((end - start) / _STEP_SECONDS))
    return [start + (end - start) * i / count for i in range(count + 1)]


def is_within(shown: float, bounds: tuple[float, float]) -> bool:
    """True if a shown share agrees with what the kernel counted."""
    return bounds[0] - _SHARE <= shown <= bounds[1] + _SHARE


def share(amounts: Amounts) -> float:
    """Share of the server in the bytes of both services."""
    return amounts[SERVER] / sum(amounts[name] for name in _SERVICES)


def parse(text: str) -> Record:
    """The record of the guest."""
    found = []
    # The last line may be incomplete.
    for line in text.splitlines(keepends=True):
        if not line.endswith("\n"):
            break
        record = json.loads(line)
        counted = {name: sum(both) / 1e6 for name, both in record["bytes"].items()}
        rows = _ROW.findall(record["page"])
        shown = {name: float(read) + float(written) for name, read, written in rows}
        found.append(Reading(record["at"], counted, shown))
    return Record(found)


def named(page: Page) -> bool:
    """True if both services have series."""
    return set(_SERVICES) <= page.labels("ssd_service_io_read_bytes_total", "service")


def top(database: Database, *options: str) -> str:
    """Output of `top`."""
    command = ("ssd-exporter", "top", f"--interval={_TOP_SECONDS}", *options)
    return database.machine.output("env", "COLUMNS=200", *command, seconds=_SECONDS)


def now(database: Database) -> float:
    """Time of the guest."""
    return float(database.machine.output("date", "+%s.%N"))


@dataclass(frozen=True, slots=True)
class Measured:
    """What the guest showed and counted.

    first, second: pages of metrics, at the times `begun` and `ended` of the guest. document, text:
    output of `top`. shown_from, shown_until: when the text was made.
    """

    record: Record
    first: Page
    second: Page
    begun: float
    ended: float
    document: dict[str, Any]
    text: str
    shown_from: float
    shown_until: float


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    """The server and a backup run in the guest."""
    need("qemu-system-x86_64", "mmdebstrap", "busybox", "depmod", "mke2fs", "promtool")
    need("mariadbd", "mariadb-install-db", "sysbench")
    began = time.monotonic()
    files = tmp_path_factory.mktemp("share")
    shutil.copyfile(newest_package(), files / _PACKAGE)
    shutil.copyfile(_RECORD, files / _RECORD.name)
    with running(files) as database:
        host, output = database.host, database.machine.output
        host.install(_PACKAGE, seconds=_SECONDS)
        database.limit(bytes_per_second=_BYTES_PER_SECOND)
        database.start_load()
        database.start_backup()
        number = output("cat", f"/sys/block/{DEVICE}/dev").strip()
        output(
            *("systemd-run", "--unit=record", "/usr/bin/python3", f"/mnt/host/{_RECORD.name}"),
            *("/mnt/host/record.jsonl", number, *_SERVICES),
        )
        host.await_page(named, seconds=_SECONDS)
        while not (files / "record.jsonl").exists() or not (files / "record.jsonl").stat().st_size:
            time.sleep(1)
        first, begun = host.page(), now(database)
        print(f"\nready after {time.monotonic() - began:.0f} s")
        document = json.loads(top(database, "--json"))
        shown_from = now(database)
        text = top(database, "--once")
        shown_until = now(database)
        while now(database) < begun + _SCRAPE_SECONDS:
            time.sleep(1)
        second, ended = host.page(), now(database)
        while (record := parse((files / "record.jsonl").read_text())).readings[-1].at <= ended:
            time.sleep(1)
    print(f"measured after {time.monotonic() - began:.0f} s")
    return Measured(record, first, second, begun, ended, document, text, shown_from, shown_until)


pytestmark = pytest.mark.timeout(_TEST_SECONDS)


def test_the_page_names_the_services_in_proportion(measured: Measured) -> None:
    intervals = measured.record.shown()
    print(", ".join(f"{s:.0%} of {a:.0%} to {b:.0%}" for s, (a, b) in intervals))
    assert len(intervals) >= _READINGS
    assert all(is_within(*each) for each in intervals)


def test_the_json_of_top_names_the_services_in_proportion(measured: Measured) -> None:
    (drive,) = (each for each in measured.document["drives"] if each["device"] == DEVICE)
    rates = {
        each["service"]: each["read_bytes_per_second"] + each["written_bytes_per_second"]
        for each in drive["services"]
    }
    end = measured.document["unix_time"]
    start = end - measured.document["interval_seconds"]
    counted = measured.record.bounds(steps(start - 1, start + 1), steps(end - 1, end))
    print(f"{share(rates):.0%} of {counted}; {drive['verdict']}")
    assert is_within(share(rates), counted)


def test_the_text_of_top_names_the_services_in_proportion(measured: Measured) -> None:
    (line,) = (each for each in measured.text.splitlines() if f"{DEVICE} I/O of" in each)
    rates = {name: float(number) for name, number in _NAMED.findall(line)}
    # Which seconds it shows is not known.
    shares = [
        measured.record.share(at, at + _TOP_SECONDS)
        for at in steps(measured.shown_from, measured.shown_until - _TOP_SECONDS)
    ]
    counted = min(shares), max(shares)
    print(f"{share(rates):.0%} of {counted}: {line.strip()}")
    assert is_within(share(rates), counted)


def test_the_saturation_alert_names_the_services(measured: Measured, tmp_path: Path) -> None:
    """The counters of the page continue to grow for half an hour, and promtool evaluates."""
    seconds = measured.ended - measured.begun
    story = Story().growing(measured.first, measured.second, seconds, minutes=30)
    descriptions = story.descriptions(tmp_path, *_ALERTS)
    saturated = [
        page.value("ssd_disk_saturated_seconds_total", device=DEVICE)
        for page in (measured.first, measured.second)
    ]
    print(f"saturated for {saturated[1] - saturated[0]:.0f} of {seconds:.0f} s")
    assert descriptions, "no saturation alert fires"
    description = next(iter(descriptions.values()))
    rates = {name: float(number) for name, number in _NAMED.findall(description)}
    print(description)
    counted = measured.record.per_second(measured.begun, measured.ended)
    print(f"kernel, MB/s: {counted}")
    assert set(_SERVICES) == rates.keys()
    # Whole megabytes. The daemon's counters are up to ten seconds behind.
    for name in _SERVICES:
        assert rates[name] == pytest.approx(counted[name], abs=0.5 + 0.2 * counted[name])
