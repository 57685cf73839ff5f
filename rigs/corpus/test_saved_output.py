"""`read` interprets every real output of smartctl, and knows the source of every value."""

from collections.abc import Iterator
from typing import Any

import pytest

from exporter.drives.smart_report import parse_report
from exporter.reading import read_values
from exporter.reading.read_input import Document, documents
from rigs.corpus.documents import CORPUS, NO_CORPUS, paths
from tests.commands.test_read import stream
from tests.drives.smartctl_printing import printed
from tests.drives.test_smartctl_text import differences, read, without_hidden_values
from tests.required import lacking

if not CORPUS.is_dir():
    lacking(NO_CORPUS)

#: 6,756 SATA SSDs as lines of one file.
CAPTURES = CORPUS.parent / "ssd-captures" / "ssd-6756.jsonl.gz"

#: Every such capture is tested. All of them would take a minute.
STEP = 40


def captures() -> Iterator[Document]:
    """Some documents of the captures; none if the file is absent."""
    if CAPTURES.is_file():
        for document in documents(str(CAPTURES), stream()):
            if document.number % STEP == 0:
                yield document


def without_source(document: Document) -> list[str]:
    """The metrics of a document whose source is unknown."""
    assert document.report is not None, document.error
    drive = read_values.interpreted(document, document.report)
    assert drive is not None
    return [each.metric for each in drive.values if each.source in ("", "unknown")]


@pytest.mark.parametrize("file", sorted(paths()))
def test_every_file_is_read_or_is_a_list_of_drives(file: str) -> None:
    (document,) = documents(str(CORPUS / file), stream())
    if file.startswith("scan/"):
        report = document.report
        assert report is None or read_values.interpreted(document, report) is None
    else:
        assert [] == without_source(document)


def test_the_source_of_every_value_of_the_captures_is_known() -> None:
    assert {} == {each.number: found for each in captures() if (found := without_source(each))}


def test_the_captures_mean_the_same_as_text() -> None:
    """Their converter left out the time above the maximum temperature, and some raw values.

    It also left out the physical block size, which the text always contains.
    """
    omitted = {"over_temperature_warning_seconds", "attributes", "physical_block_bytes"}
    found = {}
    for document in captures():
        assert document.report is not None
        report: Any = without_hidden_values(dict(document.report))
        wrong = differences(parse_report(report), read(printed(report))).keys() - omitted
        if wrong:
            found[document.number] = wrong
    assert {} == found
