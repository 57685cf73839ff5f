"""Every file of the corpus is read as its table has it."""

from collections.abc import Sequence

import pytest

from exporter.drives.health import DriveReport
from exporter.drives.smart_report import parse_report
from tests.corpus.disagreements import Disagreement
from tests.corpus.documents import CORPUS, NO_CORPUS, document, paths, without_standard_log
from tests.corpus.expected import drives, files
from tests.corpus.verdict import Verdict, verdict

if not CORPUS.is_dir():
    pytest.skip(NO_CORPUS, allow_module_level=True)


@pytest.fixture(scope="module")
def ours() -> Verdict:
    return verdict()


def _of(ours: Verdict, file: str) -> Sequence[Disagreement]:
    return [each for each in ours.disagreements if each.file == file]


def test_the_table_and_the_folder_have_the_same_files() -> None:
    assert files() == paths()


@pytest.mark.parametrize("file", sorted(files()))
def test_a_file_is_read_as_the_table_has_it(ours: Verdict, file: str) -> None:
    assert [] == _of(ours, file)


@pytest.mark.parametrize("file", sorted(paths()))
def test_nothing_in_the_folder_stops_the_reading(file: str) -> None:
    """Scans and failures too, which are no reports of drives."""
    assert isinstance(parse_report(document(file)), DriveReport)


def test_every_ssd_that_says_its_wear_has_a_wear_level(ours: Verdict) -> None:
    silent = {
        file
        for file, line in drives().items()
        if line["ssd"] == (True,) and "absent" not in line["wear"]
        if ours.reports[file].health.endurance is None
    }
    assert set() == silent


def test_no_disk_that_rotates_has_a_wear_level(ours: Verdict) -> None:
    worn = {
        file
        for file, report in ours.reports.items()
        if report.identity.rotational is not False and report.health.endurance
    }
    assert set() == worn


def test_there_is_a_file_whose_standard_log_can_be_hidden() -> None:
    """Else nothing would hold the rules to the log."""
    assert any(without_standard_log(document(file)) for file in drives())


def test_reading_leaves_the_document_as_it_is() -> None:
    file = min(drives())
    mine = document(file)
    parse_report(mine)
    assert document(file) == mine


def test_the_summary_counts_every_report(ours: Verdict) -> None:
    last = ours.summary().splitlines()[-1].split()
    assert ["all", str(len(drives()))] == last[:2]
