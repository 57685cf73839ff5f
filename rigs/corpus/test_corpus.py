"""Every file of the corpus is parsed as the table requires."""

from collections.abc import Sequence

import pytest

from exporter.drives.health import DriveReport
from exporter.drives.smart_report import parse_report
from rigs.corpus.corpus_result import CorpusResult, read_corpus
from rigs.corpus.disagreements import Disagreement
from rigs.corpus.documents import CORPUS, NO_CORPUS, document, paths, without_standard_log
from rigs.corpus.expected import drives, files
from tests.required import lacking

if not CORPUS.is_dir():
    lacking(NO_CORPUS)


@pytest.fixture(scope="module")
def ours() -> CorpusResult:
    return read_corpus()


def _of(ours: CorpusResult, file: str) -> Sequence[Disagreement]:
    return [each for each in ours.disagreements if each.file == file]


def test_table_and_corpus_have_the_same_files() -> None:
    assert files() == paths()


@pytest.mark.parametrize("file", sorted(files()))
def test_a_file_is_parsed_as_expected(ours: CorpusResult, file: str) -> None:
    assert [] == _of(ours, file)


@pytest.mark.parametrize("file", sorted(paths()))
def test_every_file_can_be_parsed(file: str) -> None:
    """Includes scans and failed runs, which are not reports of drives."""
    assert isinstance(parse_report(document(file)), DriveReport)


def test_every_ssd_that_reports_wear_has_a_wear_level(ours: CorpusResult) -> None:
    silent = {
        file
        for file, line in drives().items()
        if line["ssd"] == (True,) and "absent" not in line["wear"]
        if ours.reports[file].health.endurance is None
    }
    assert set() == silent


def test_no_hard_disk_has_a_wear_level(ours: CorpusResult) -> None:
    worn = {
        file
        for file, report in ours.reports.items()
        if report.identity.rotational is not False and report.health.endurance
    }
    assert set() == worn


def test_at_least_one_file_has_a_standard_log_to_hide() -> None:
    """Otherwise no test would compare the rules with the device statistics."""
    assert any(without_standard_log(document(file)) for file in drives())


def test_parsing_does_not_change_the_document() -> None:
    file = min(drives())
    mine = document(file)
    parse_report(mine)
    assert document(file) == mine


def test_the_summary_counts_every_report(ours: CorpusResult) -> None:
    last = ours.summary().splitlines()[-1].split()
    assert ["all", str(len(drives()))] == last[:2]
