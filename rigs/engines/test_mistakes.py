"""A missing threshold does not page."""

from pathlib import Path

import pytest

from rigs.engines import mistakes, stories, unit_tests
from tests.alerts import rules
from tests.end_to_end.programs import need

PATHS = {path.stem: path for path in rules.STORIES}


def test_the_thresholds_of_pages_include_those_of_recording_rules() -> None:
    found = mistakes.thresholds_of_pages()
    assert {"ssd:threshold:disk_stalled_seconds", "ssd:threshold:probe_stuck_ratio"} <= set(found)
    assert "ssd:threshold:agent_age_seconds" not in found


@pytest.mark.real
def test_the_end_of_the_wear_counter_does_not_page_without_its_threshold(tmp_path: Path) -> None:
    need("promtool")
    engine = unit_tests.prometheus("Prometheus", "promtool")
    file = stories.read(PATHS["pages-hours"])
    changed = mistakes.without(file, "ssd:threshold:endurance_used_end_ratio", tmp_path)
    right = unit_tests.pages(engine, file, None)
    assert right
    assert set() == unit_tests.pages(engine, changed, None) - right
