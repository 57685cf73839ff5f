"""Parses the whole corpus and collects the disagreements with the table."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from exporter.drives.health import DriveReport, EnduranceSource
from exporter.drives.smart_report import parse_report
from exporter.programs.child import End, Finished
from exporter.smart.polling.poll_result import poll_result
from exporter.smart.smartctl import parse_scan
from rigs.corpus.disagreements import Disagreement, drive_disagreements, error_disagreements
from rigs.corpus.documents import document, output, paths, without_standard_log
from rigs.corpus.expected import PROTOCOLS, alternatives, drives, files, other_section

#: The largest difference of used_ratio between the rule of a make and the device statistics.
_MAX_DIFFERENCE = 0.02


@dataclass(frozen=True, slots=True)
class CorpusResult:
    """The parsed report of each file that is the report of a drive, and all disagreements."""

    reports: dict[str, DriveReport]
    disagreements: tuple[Disagreement, ...]

    def summary(self) -> str:
        """A table of the numbers of files, SSDs, and wear levels by source."""
        sources = [source.value for source in EnduranceSource]
        rows = [["", "files", "SSDs", "wear known", *sources, "fields not understood"]]
        for protocol in (*PROTOCOLS, "all"):
            reports = [
                report
                for file, report in self.reports.items()
                if protocol in {"all", file.partition("/")[0]}
            ]
            levels = [report.health.endurance for report in reports if report.health.endurance]
            known = Counter(level.source.value for level in levels)
            figures = [
                len(reports),
                sum(report.identity.rotational is False for report in reports),
                len(levels),
                *(known[source] for source in sources),
                sum(len(report.faults) for report in reports),
            ]
            rows.append([protocol, *map(str, figures)])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join(
            "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
            for row in rows
        )


def read_corpus() -> CorpusResult:
    """Parse every file that is in the corpus and in the table."""
    present = paths()
    reports = {file: parse_report(document(file)) for file in sorted(drives()) if file in present}
    return CorpusResult(reports, tuple(_all(present, reports)))


def _all(present: set[str], reports: dict[str, DriveReport]) -> Iterator[Disagreement]:
    for file in sorted(present ^ files()):
        where = (
            ("in the table", "not there") if file not in present else ("not there", "in the corpus")
        )
        yield Disagreement(file, "file", *where)
    expected = drives()
    for file, report in reports.items():
        yield from drive_disagreements(file, expected[file], report)
        yield from _without_standard_log(file, report)
    for file, line in other_section("error").items():
        if file in present:
            yield from error_disagreements(file, line, parse_report(document(file)))
            yield from _result(file, line)
    for file, types in other_section("scan").items():
        if file in present:
            found = Counter(row.address.type for row in parse_scan(output(file)))
            if found != types:
                yield Disagreement(file, "types", str(types), str(dict(found)))


def _without_standard_log(file: str, report: DriveReport) -> Iterator[Disagreement]:
    """Check that the rule of the make agrees with the device statistics, if a file has both."""
    hidden = without_standard_log(document(file))
    if hidden is None:
        return
    by_log, by_rule = report.health.endurance, parse_report(hidden).health.endurance
    agree = (
        by_log is not None
        and by_rule is not None
        and by_rule.source is EnduranceSource.FAMILY_RULE
        and abs(by_rule.used_ratio - by_log.used_ratio) <= _MAX_DIFFERENCE + 1e-9
    )
    if not agree:
        yield Disagreement(file, "wear, standard log hidden", str(by_log), str(by_rule))


def _result(file: str, line: Mapping[str, Any]) -> Iterator[Disagreement]:
    """Check the result of a poll with this output."""
    finished = Finished(file, End.EXITED, line["exit"], output(file))
    kind = poll_result(finished)[0].value
    if kind not in alternatives(line["kind"]):
        yield Disagreement(file, "kind", str(line["kind"]), kind)
