"""Pages of one host, scrape by scrape, as promtool takes them: a line of values a series."""

import json
from collections.abc import Iterable
from pathlib import Path

from exporter.metrics.desc import MetricDesc, Sample
from exporter.metrics.exposition import render
from tests.month.replay import Named

#: Of a scrape that failed, and of a series that a page no longer has.
_GONE, _ABSENT = "stale", "_"


class _Runs:
    """The values of one series; a value that stays is kept once."""

    __slots__ = ("_last", "_parts", "_times", "length")

    def __init__(self, missed: int) -> None:
        self._parts: list[str] = []
        self._last, self._times = _ABSENT, missed
        self.length = missed

    def add(self, value: str) -> None:
        self.length += 1
        if value == self._last:
            self._times += 1
            return
        self._close()
        self._last, self._times = value, 1

    def miss(self) -> None:
        self.add(_ABSENT if self._last in (_GONE, _ABSENT) else _GONE)

    def values(self) -> str:
        self._close()
        self._times = 0
        return " ".join(self._parts)

    def _close(self) -> None:
        if self._times == 1:
            self._parts.append(self._last)
        elif self._times:
            # "5x3" is four fives, "_x3" three gaps, as promtool has it.
            absent = self._last == _ABSENT
            self._parts.append(f"{self._last}x{self._times if absent else self._times - 1}")


class Series:
    """What Prometheus keeps of one host's pages, as far as `wanted` names it."""

    def __init__(self, host: str, wanted: Named) -> None:
        self._target = f'instance="{host}",job="ssd"'
        self._wanted = wanted
        self._series: dict[str, _Runs | None] = {}
        self._families: dict[MetricDesc, bool] = {}
        self._scrapes = 0

    def take(self, samples: Iterable[Sample] | None) -> None:
        """One scrape; None is one that failed."""
        # With `up` the page has a series that it lacks when the scrape fails.
        lines = ["up 0"]
        if samples is not None:
            kept = (sample for sample in samples if self._names(sample.desc))
            page = render(kept, openmetrics=False).decode()
            lines = [line for line in page.splitlines() if line[0] != "#"]
            lines.append("up 1")
        for line in lines:
            name, _, value = line.rpartition(" ")
            try:
                runs = self._series[name]
            except KeyError:
                runs = self._series[name] = _Runs(self._scrapes) if self._keeps(name) else None
            if runs is not None:
                runs.add(value)
        self._scrapes += 1
        for known in self._series.values():
            if known is not None and known.length < self._scrapes:
                known.miss()

    def write(self, path: Path) -> None:
        """One JSON object a line: a series and its values."""
        with path.open("w") as out:
            for name, runs in self._series.items():
                if runs is not None:
                    out.write(json.dumps({"series": self._whole(name), "values": runs.values()}))
                    out.write("\n")

    def _names(self, desc: MetricDesc) -> bool:
        known = self._families.get(desc)
        if known is None:
            parts = ("_bucket", "_sum", "_count") if desc.kind == "histogram" else ("",)
            known = any(desc.name + part in self._wanted.metrics for part in parts)
            self._families[desc] = known
        return known

    def _keeps(self, series: str) -> bool:
        name = series.partition("{")[0]
        if name not in self._wanted.metrics:
            return False
        bound = series.rpartition('le="')[2].partition('"')[0]
        return not name.endswith("_bucket") or bound in self._wanted.bounds

    def _whole(self, series: str) -> str:
        name, brace, labels = series.partition("{")
        return f"{name}{{{self._target}{',' + labels if brace else '}'}"
