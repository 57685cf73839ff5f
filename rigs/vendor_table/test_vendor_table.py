"""The vendor table, measured with the captures of real drives beside the checkout."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from rigs.vendor_table.captures import CAPTURES, Capture, read_captures
from rigs.vendor_table.families import summary, table
from rigs.vendor_table.left_out import (
    MAX_WRONG,
    all_shares,
    firmware_family,
    left_out,
    model_family,
)
from rigs.vendor_table.score import Score, score, share
from tests.required import lacking

if not CAPTURES.is_dir():
    lacking(f"no captures beside the checkout ({CAPTURES.name})")

# Reading the captures takes four seconds.
pytestmark = pytest.mark.slow

DOCUMENT = Path(__file__).parents[2] / "docs" / "drives.md"


@pytest.fixture(scope="module")
def captures() -> list[Capture]:
    return list(read_captures(CAPTURES))


@pytest.fixture(scope="module")
def scores(captures: list[Capture]) -> tuple[Score, dict[str, Score]]:
    return score(captures)


def test_the_wear_is_found_without_device_statistics(
    scores: tuple[Score, dict[str, Score]],
) -> None:
    hidden = scores[0].hidden
    assert share(hidden, "right") >= 0.865
    assert share(hidden, "wrong") <= 0.0005
    assert share(hidden, "bound") <= 0.006


def test_with_device_statistics_nothing_that_contradicts_them_is_published(
    scores: tuple[Score, dict[str, Score]],
) -> None:
    """Makes without a reference are not counted: their statistics have another meaning."""
    assert share(scores[0].published, "wrong") == 0
    assert share(scores[0].published, "unknown") == 0


@pytest.mark.parametrize("group", [firmware_family, model_family])
def test_rules_hold_for_models_and_firmware_that_did_not_count_for_them(
    captures: list[Capture], group: Callable[[Capture], str]
) -> None:
    result = left_out(captures, group)
    assert share(result, "wrong") <= 0.0005
    assert share(result, "right") >= 0.74


def test_a_count_of_bytes_is_right_or_restarted_or_rejected(
    scores: tuple[Score, dict[str, Score]],
) -> None:
    written, hidden = scores[0].written, scores[0].written_hidden
    assert written["right"] + written["right, restarted"] > 4_900
    assert share(written, "differs") == 0
    # These are 17 drives on which the device statistics are a random number, and three others.
    assert share(hidden, "differs") <= 0.0041


def test_nearly_no_drive_is_published_as_unworn_in_spite_of_its_load(
    scores: tuple[Score, dict[str, Score]],
) -> None:
    assert scores[0].false_zeros <= 10


def test_no_make_is_wrong_for_more_than_one_drive_in_a_hundred(
    scores: tuple[Score, dict[str, Score]],
) -> None:
    """A rule that does not reach this is withdrawn or limited to the range in which it does."""
    assert [] == [
        make
        for make, part in scores[1].items()
        if part.hidden["wrong"] > MAX_WRONG * (part.hidden["right"] + part.hidden["wrong"])
    ]


def test_the_document_lists_the_scores(
    captures: list[Capture], scores: tuple[Score, dict[str, Score]]
) -> None:
    """After a change of the tables: make drives ARGS=--markdown, and paste the tables."""
    text = DOCUMENT.read_text()
    assert table(scores[1]) in text
    assert summary(all_shares(captures, scores[0])) in text


def test_a_share_ignores_drives_without_a_reference() -> None:
    assert 0.75 == share(Counter({"right": 3, "wrong": 1, "no reference": 6}), "right")
    assert 0.0 == share(Counter(), "right")
