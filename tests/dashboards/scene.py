"""Samples of fourteen hosts over one hour, from which promtool creates blocks.

The pages are the golden pages of the test hosts (tests/hosts/*/expected.prom), whose counters
increase steadily over the hour, and some pages in this directory for metrics that no test host has.
Together they contain every state that a panel shows. The samples of db4 begin six hours earlier,
and its drive was replaced three and a half hours before the end. The MySQL servers also have two
hours of the week before. The hosts from db8 on belong to a cluster, the others have no such label.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tests.hosts.host import FOLDERS

#: Time of the timestamps on the pages of the machines.
END = 1_700_003_600
START = END - 3600
STEP = 60
REPLACED = END - 12_600

_HERE = Path(__file__).parent
_LINE = re.compile(r"^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$")
_SUFFIX = re.compile(r"_(bucket|sum|count)$")

#: The part of the week before, and the first sample of db4.
_WEEK = 7 * 86_400
_LAST_WEEK = (END - _WEEK - 3600, END - _WEEK + 3600)
EARLIEST = START - 6 * 3600

#: Pages by job and instance.
_TARGETS = {
    ("ssd", "db1:10177"): ("smart-nvme", "probes.prom", "more.prom"),
    ("ssd", "db2:10177"): ("smart-sata", "normalised.prom"),
    ("ssd", "db3:10177"): ("smart-megaraid",),
    ("ssd", "db4:10177"): ("smart-drive-swapped",),
    ("ssd", "db5:10177"): ("usb-pi-softirq",),
    ("ssd", "db6:10177"): ("usb-pi-sequential",),
    ("ssd", "db7:10177"): ("hanging-nvme",),
    ("ssd", "db8:10177"): ("lvm-on-md-raid1", "states.prom"),
    ("ssd", "db9:10177"): ("smart-garbage",),
    ("ssd", "db10:10177"): ("smart-drive-vanishes",),
    ("ssd", "db11:10177"): ("nvme-multipath",),
    ("ssd", "db12:10177"): ("partition-alignment",),
    ("ssd", "db13:10177"): ("slc-cliff-heat",),
    ("ssd", "db14:10177"): ("smart-standby",),
    ("mysqld", "db1:9104"): ("mariadb.prom",),
    ("mysqld", "db2:9104"): ("mysql.prom",),
    # A job of another exporter that is down: it must not count as a target of this one.
    ("other", "db1:9999"): ("down.prom",),
}
_CLUSTER = frozenset(f"db{number}:10177" for number in range(8, 15))
_SWAPPED = ("ssd", "db4:10177")
_OLD, _NEW = "FW9B00000022", "FW9B00000099"

Line = tuple[str, str, str]


def family(name: str) -> str:
    """Histogram name of a sample name."""
    return _SUFFIX.sub("", name)


def page_lines(page: str) -> list[Line]:
    """Name, labels and value of each sample of a page."""
    file = _HERE / page if page.endswith(".prom") else FOLDERS / page / "expected.prom"
    found = (_LINE.match(line) for line in file.read_text(encoding="utf-8").splitlines())
    return [(match[1], match[2] or "", match[3]) for match in found if match]


def openmetrics() -> str:
    """All samples as OpenMetrics text."""
    return "\n".join((*_all_samples(), "# EOF\n"))


def _all_samples() -> Iterator[str]:
    for (job, instance), pages in _TARGETS.items():
        lines = _merged(pages)
        target = f'job="{job}",instance="{instance}"'
        if instance in _CLUSTER:
            target += ',cluster="east"'
        if (job, instance) == _SWAPPED:
            yield from _samples(_before(lines), target, EARLIEST, REPLACED, EARLIEST)
            yield from _samples(lines, target, REPLACED, END, EARLIEST)
        elif job == "mysqld":
            yield from samples_of_mysql(instance, lines)
        else:
            yield from _samples(lines, target, START, END)


def samples_of_mysql(instance: str, lines: Sequence[Line]) -> Iterator[str]:
    """Samples of a target of mysqld_exporter, of the last hour and of the week before."""
    target = f'job="mysqld",instance="{instance}"'
    yield from _samples(lines, target, *_LAST_WEEK, _LAST_WEEK[0])
    yield from _samples(lines, target, START, END)


def _merged(pages: Iterable[str]) -> list[Line]:
    """All lines; later pages override earlier ones."""
    lines = {
        (name, frozenset(labels.split('",'))): (name, labels, value)
        for page in pages
        for name, labels, value in page_lines(page)
    }
    return list(lines.values())


def _before(lines: Iterable[Line]) -> list[Line]:
    """The page with the old drive in the slot."""
    return [
        (name, labels.replace(_NEW, _OLD), value)
        for name, labels, value in lines
        if _OLD not in labels
    ]


def _samples(
    lines: Iterable[Line], target: str, start: int, end: int, origin: int = START
) -> Iterator[str]:
    """Samples from `start` to `end`; counters have the value of the page at `origin`."""
    for name, labels, text in lines:
        # Results of statvfs(3) vary between runs, so the pages do not contain them.
        value = 1e12 if text == "NaN" else float(text)
        series = f"{name}{{{target}{',' if labels else ''}{labels}}}"
        for at in range(start, end + 1 if end == END else end, STEP):
            yield f"{series} {_at(name, value, at - origin):.17g} {at}"


def _at(name: str, value: float, seconds: int) -> float:
    """Value after some seconds: counters increase, gauges are constant."""
    if not _grows(name):
        return value
    return value * (1 + seconds / (END - START))


def _grows(name: str) -> bool:
    if name.startswith("mysql_"):
        gauges = ("running", "pending", "age", "dirty", "_up", "variables", "version", "capacity")
        return not any(word in name for word in gauges)
    return name.endswith(("_total", "_bucket", "_sum", "_count"))
