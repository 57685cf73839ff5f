"""Runs the stories with wrong configurations: no page may fire that does not fire without them."""

import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from rigs.engines import stories, unit_tests
from rigs.engines.samples import Scrapes
from rigs.engines.stories import StoryFile
from rigs.engines.unit_tests import Engine, Page
from tests.alerts import rules

#: Scrapes every five minutes, at two phases.
_SELDOM = (Scrapes(300, 70), Scrapes(300, 250))
_THRESHOLDS = "thresholds.yml"


@dataclass(frozen=True, slots=True)
class Mistake:
    """A wrong configuration.

    made: returns a file of stories with it.
    scrapes: other scrapes than those of the stories.
    """

    name: str
    made: Callable[[StoryFile], StoryFile]
    scrapes: Scrapes | None = None


def compared(engine: Engine, names: list[str]) -> int:
    """Prints the number of pages with each mistake; returns the number of those that are new.

    names: the files of stories.
    """
    count = 0
    with tempfile.TemporaryDirectory() as place:
        for path in rules.STORIES:
            file = stories.read(path)
            if path.stem not in names or path.stem in stories.ABOUT_SCRAPES:
                continue
            right = _pages(engine, file, None)
            for mistake in mistakes(Path(place)):
                wrong = _pages(engine, mistake.made(file), mistake.scrapes)
                count += len(wrong - right)
                held = f"{len(right)} pages, {len(wrong)} with it"
                sys.stdout.write(f"{file.name:16} {mistake.name:55} {held}\n")
                sys.stdout.writelines(
                    f"    NEW {page}\n" for page in sorted(wrong - right, key=str)
                )
                sys.stdout.flush()
    return count


def mistakes(place: Path) -> Iterator[Mistake]:
    """Yields the mistakes; their rule files are written below `place`."""
    yield Mistake("two jobs", _with_two_jobs)
    yield Mistake("thresholds missing", without_thresholds)
    yield Mistake("thresholds twice", partial(_with_second_thresholds, place=place))
    for scrapes in _SELDOM:
        yield Mistake(str(scrapes), lambda file: file, scrapes)
    for name in thresholds_of_pages():
        yield Mistake(f"no {name}", partial(without, name=name, place=place))


def thresholds_of_pages() -> list[str]:
    """Returns the names of the thresholds on which a page depends, directly or not."""
    recorded: dict[str, str] = {}
    for rule in rules.recordings():
        recorded[rule.name] = recorded.get(rule.name, "") + rule.expr
    found: set[str] = set()
    waiting = [rule.expr for rule in rules.alerts() if rule.severity == "critical"]
    while waiting:
        new = rules.recorded(waiting.pop()) - found
        found |= new
        waiting += [recorded[name] for name in new if name in recorded]
    return sorted(name for name in found if name.startswith("ssd:threshold:"))


def without_thresholds(file: StoryFile) -> StoryFile:
    """Returns the stories without the file of thresholds."""
    kept = tuple(path for path in file.rule_files if path.name != _THRESHOLDS)
    return replace(file, rule_files=kept)


def without(file: StoryFile, name: str, place: Path) -> StoryFile:
    """Returns the stories without one threshold."""
    document = _thresholds()
    for group in document["groups"]:
        group["rules"] = [rule for rule in group["rules"] if rule["record"] != name]
    written = _written(document, place / name.rpartition(":")[2])
    return replace(
        file,
        rule_files=tuple(written if path.name == _THRESHOLDS else path for path in file.rule_files),
    )


def _with_second_thresholds(file: StoryFile, place: Path) -> StoryFile:
    document = _thresholds()
    for group in document["groups"]:
        group["name"] += "-2"
        for rule in group["rules"]:
            rule["labels"] = {"site": "2"}
    return replace(file, rule_files=(_written(document, place / "second"), *file.rule_files))


def _with_two_jobs(file: StoryFile) -> StoryFile:
    def both(series: tuple[tuple[str, str], ...]) -> Iterator[tuple[str, str]]:
        for name, values in series:
            yield name, values
            if 'job="' in name:
                yield re.sub(r'job="([^"]*)"', r'job="\1-2"', name), values

    twice = (replace(story, series=tuple(both(story.series))) for story in file.stories)
    return replace(file, stories=tuple(twice))


def _thresholds() -> dict[str, Any]:
    return rules.story(rules.ALERTS / _THRESHOLDS)


def _written(document: dict[str, Any], directory: Path) -> Path:
    directory.mkdir(exist_ok=True)
    path = directory / _THRESHOLDS
    path.write_text(json.dumps(document))
    return path


def _pages(engine: Engine, file: StoryFile, scrapes: Scrapes | None) -> set[Page]:
    """Returns the pages without the label that two jobs differ in."""
    return {
        (story, name, frozenset(pair for pair in labels if pair[0] != "job"))
        for story, name, labels in unit_tests.pages(engine, file, scrapes)
    }
