"""Converts the pages of one host to promtool series, one line of values per series."""

import json
from collections.abc import Iterable
from pathlib import Path

from exporter.families.desc import MetricDesc, Sample, SampleBlock
from exporter.metrics.exposition import render
from rigs.month.replay import Named

#: Marker of a failed scrape and of a series that has disappeared.
_GONE, _ABSENT = "stale", "_"


class _Runs:
    """Values of one series with run-length encoding."""

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
            # promtool notation: "5x3" is four times 5, "_x3" three gaps.
            absent = self._last == _ABSENT
            self._parts.append(f"{self._last}x{self._times if absent else self._times - 1}")


class Series:
    """Series that Prometheus stores of the pages of one host, restricted to `wanted`."""

    def __init__(self, host: str, wanted: Named) -> None:
        self._target = f'instance="{host}",job="ssd"'
        self._wanted = wanted
        self._series: dict[str, _Runs | None] = {}
        self._families: dict[MetricDesc, bool] = {}
        self._scrapes = 0

    def take(self, samples: Iterable[Sample | SampleBlock] | None) -> None:
        """Adds one scrape; None is a failed one."""
        # `up` exists also when the scrape fails.
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
        """Writes one JSON object per line: a series and its values."""
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
