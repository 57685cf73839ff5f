"""promtool evaluates the rules in each story. All stories together take more than a minute.

`make engines` does the same with the newest Prometheus and VictoriaMetrics at all intervals.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from rigs.engines import stories, unit_tests
from rigs.engines.samples import Scrapes
from tests.alerts import rules
from tests.end_to_end.programs import need
from tests.processes import run_program

#: Real scrapes do not stand on the evaluations, as the samples of the stories do. Each file of
#: stories is run with one of these, those with pages with two, and those of days with the last one,
#: which has the fewest samples.
_SCRAPES = (Scrapes(15, 5), Scrapes(60, 40), Scrapes(30, 10, lost=20), Scrapes(60, 20))
_WITH_PAGES = ("io", "missed", "pages")
_LONG_SECONDS = 300

#: The stories of months take half a minute of CPU time, of which a busy machine has little.
_TIMEOUT_SECONDS = 550


def _scraped() -> Iterator[tuple[Path, Scrapes]]:
    for number, path in enumerate(rules.STORIES):
        if path.stem in stories.ABOUT_SCRAPES:
            continue
        if stories.read(path).evaluation >= _LONG_SECONDS:
            yield path, _SCRAPES[-1]
            continue
        for other in range(2 if path.stem in _WITH_PAGES else 1):
            yield path, _SCRAPES[(number + other) % len(_SCRAPES)]


@pytest.mark.real
@pytest.mark.parametrize("path", rules.STORIES, ids=lambda path: path.stem)
def test_promtool_confirms_the_story(path: Path) -> None:
    need("promtool")
    argv = ["promtool", "test", "rules", str(path)]
    done = run_program(argv, env=os.environ | {"GOGC": "800"}, timeout=_TIMEOUT_SECONDS)
    assert 0 == done.returncode, done.stdout + done.stderr


@pytest.mark.real
@pytest.mark.parametrize(
    ("path", "scrapes"), list(_scraped()), ids=lambda each: getattr(each, "stem", str(each))
)
def test_the_story_does_not_depend_on_the_scrapes(path: Path, scrapes: Scrapes) -> None:
    need("promtool")
    engine = unit_tests.prometheus("Prometheus", "promtool")
    found = unit_tests.differences(engine, stories.read(path), scrapes)
    assert not found, "\n".join(map(str, found))
