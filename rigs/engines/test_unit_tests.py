"""A rule that depends on the scrapes is found, and one that does not is accepted."""

import json
from pathlib import Path

import pytest

from rigs.engines import unit_tests
from rigs.engines.samples import Scrapes
from rigs.engines.stories import Check, Story, StoryFile
from tests.end_to_end.programs import need

#: A counter that grows by 6 in two minutes.
SERIES = ('ssd_disk_stalled_seconds_total{device="sda"}', "0+1.5x20")
NAME = "Stalled"
#: With a scrape per minute, the range of two minutes covers one minute.
IN_RANGE = "ssd_disk_stalled_seconds_total - min_over_time(ssd_disk_stalled_seconds_total[2m]) > 5"
WITH_OFFSET = "ssd_disk_stalled_seconds_total - ssd_disk_stalled_seconds_total offset 2m > 5"

pytestmark = pytest.mark.real


def failed(directory: Path, expression: str, scrapes: Scrapes | None, *expected: str) -> int:
    """The number of failed checks of a story in which these devices are expected to alert."""
    need("promtool")
    rules = directory / "rules.yml"
    rules.write_text(
        json.dumps({"groups": [{"name": "all", "rules": [{"alert": NAME, "expr": expression}]}]})
    )
    alerts = frozenset(frozenset({("device", device)}) for device in expected)
    story = Story("a drive hangs", 30, (SERIES,), (Check(NAME, 300, alerts),))
    file = StoryFile("stalled", (rules,), 60, (story,))
    return len(unit_tests.differences(unit_tests.prometheus("test", "promtool"), file, scrapes))


def test_a_rule_that_misses_an_alert_at_another_interval_is_found(tmp_path: Path) -> None:
    assert 0 == failed(tmp_path, IN_RANGE, None, "sda")
    assert 1 == failed(tmp_path, IN_RANGE, Scrapes(60, 20), "sda")


@pytest.mark.parametrize("scrapes", [None, Scrapes(15, 5), Scrapes(60, 20)], ids=str)
def test_a_rule_that_covers_the_window_is_accepted(tmp_path: Path, scrapes: Scrapes | None) -> None:
    assert 0 == failed(tmp_path, WITH_OFFSET, scrapes, "sda")


def test_an_alert_of_another_drive_and_an_unexpected_one_are_differences(tmp_path: Path) -> None:
    assert 1 == failed(tmp_path, WITH_OFFSET, Scrapes(30, 10), "sdb")
    assert 1 == failed(tmp_path, WITH_OFFSET, Scrapes(30, 10))
