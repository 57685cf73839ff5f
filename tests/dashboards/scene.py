"""Samples of seven hosts over one hour, from which promtool creates blocks.

The pages are the golden pages of the test hosts (tests/hosts/*/expected.prom), whose counters
increase steadily over the hour, and some pages in this directory for metrics that no test host has.
After half an hour the drive of db4 is replaced.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.hosts.host import FOLDERS

#: Time of the timestamps on the pages of the machines.
END = 1_700_003_600
START = END - 3600
STEP = 60
REPLACED = START + 1800

_HERE = Path(__file__).parent
_LINE = re.compile(r"^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$")
_SUFFIX = re.compile(r"_(bucket|sum|count)$")

#: Pages by job and instance.
_TARGETS = {
    ("ssd", "db1:10177"): ("smart-nvme", "probes.prom", "more.prom"),
    ("ssd", "db2:10177"): ("smart-sata", "normalised.prom"),
    ("ssd", "db3:10177"): ("smart-megaraid",),
    ("ssd", "db4:10177"): ("smart-drive-swapped",),
    ("ssd", "db5:10177"): ("usb-pi-softirq",),
    ("ssd", "db6:10177"): ("usb-pi-sequential",),
    ("ssd", "db7:10177"): ("hanging-nvme",),
    ("mysqld", "db1:9104"): ("mysqld.prom",),
}
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
        if (job, instance) == _SWAPPED:
            yield from _samples(_before(lines), target, START, REPLACED)
            yield from _samples(lines, target, REPLACED, END)
        else:
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


def _samples(lines: Iterable[Line], target: str, start: int, end: int) -> Iterator[str]:
    for name, labels, text in lines:
        # Results of statvfs(3) vary between runs, so the pages do not contain them.
        value = 1e12 if text == "NaN" else float(text)
        series = f"{name}{{{target}{',' if labels else ''}{labels}}}"
        for at in range(start, end + 1 if end == END else end, STEP):
            yield f"{series} {_at(name, value, at):.17g} {at}"


def _at(name: str, value: float, at: int) -> float:
    """Value at a time: counters increase, gauges are constant."""
    if not _grows(name):
        return value
    return value * (1 + (at - START) / (END - START))


def _grows(name: str) -> bool:
    if name.startswith("mysql_"):
        gauges = ("running", "pending", "checkpoint_age", "buffer_pool_pages", "mysql_up")
        return not any(word in name for word in gauges)
    return name.endswith(("_total", "_bucket", "_sum", "_count"))
