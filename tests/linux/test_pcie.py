"""Error totals of PCI Express: aer_dev_correctable, aer_dev_nonfatal and aer_dev_fatal."""

from contextlib import suppress
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from exporter.linux import pcie
from exporter.linux.pcie import AerFiles, PcieErrors
from exporter.runtime.errors import Parsed, ParseError
from tests.linux import trees
from tests.linux.trees import Sys


def errors_of(function: Path) -> Parsed[PcieErrors | None]:
    names = ("aer_dev_correctable", "aer_dev_nonfatal", "aer_dev_fatal")
    return pcie.read_aer_errors(AerFiles(*(function / name for name in names)))


def test_aer_totals(tmp_path: Path) -> None:
    """Each file has its total; a file without a total is a fault."""
    sys = Sys(tmp_path)
    trees.aer(sys, "f", 7, 2, 0)
    assert PcieErrors(7, 2, 0) == errors_of(tmp_path / "f").value
    sys.write("f", {"aer_dev_nonfatal": "Undefined 0\nTOTAL"})
    parsed = errors_of(tmp_path / "f")
    assert PcieErrors(7, None, 0) == parsed.value
    assert len(parsed.faults) == 1
    assert "aer_dev_nonfatal" in str(parsed.faults[0])


def test_unreadable_file_is_unknown(tmp_path: Path) -> None:
    """A file with an I/O error, as of an unplugged function, is unknown."""
    (tmp_path / "aer_dev_correctable").mkdir()
    Sys(tmp_path).write("", {"aer_dev_fatal": "TOTAL_ERR_FATAL 1"})
    assert PcieErrors(None, None, 1) == errors_of(tmp_path).value


def test_function_without_counters(tmp_path: Path) -> None:
    """The errors of a function without counters are None and not 0."""
    assert errors_of(tmp_path).value is None
    assert pcie.find_aer_files(tmp_path) is None


@given(st.text())
def test_any_text_as_total(text: str) -> None:
    """Any text is a total of at least 0, or a ParseError."""
    with suppress(ParseError):
        assert pcie.parse_aer_total(text) >= 0
