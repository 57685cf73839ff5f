"""Runs scenes in parallel, and prints their scores per class."""

import contextlib
import random
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import TypeVar


@dataclass(frozen=True)
class Result:
    """What the exporter made of one scene.

    is_hit: it was right.
    is_false: it claimed what was not so.
    error: the relative error of a location; None if there is none.
    latency_seconds: the time until the right answer; None if there is none.
    note: a short description, for the search for a cause.
    """

    is_hit: bool
    is_false: bool = False
    error: float | None = None
    latency_seconds: float | None = None
    note: str = ""


@dataclass(frozen=True)
class SceneClass:
    """A kind of scene: scenes that differ only by chance.

    truth: what is so in these scenes.
    run: simulates one scene with the given random numbers.
    """

    subject: str
    name: str
    truth: str
    run: Callable[[random.Random], Result]


@dataclass(frozen=True)
class Score:
    """The score of one class."""

    scene: SceneClass
    results: tuple[Result, ...]

    @property
    def hits(self) -> float:
        return sum(result.is_hit for result in self.results) / len(self.results)

    @property
    def false(self) -> float:
        return sum(result.is_false for result in self.results) / len(self.results)

    def percentile(self, values: Iterable[float | None], share: float) -> float | None:
        known = sorted(value for value in values if value is not None)
        return known[min(int(len(known) * share), len(known) - 1)] if known else None

    def row(self) -> str:
        errors = [result.error for result in self.results]
        half, most = self.percentile(errors, 0.5), self.percentile(errors, 0.95)
        late = self.percentile((result.latency_seconds for result in self.results), 0.95)
        cells = (
            self.scene.name,
            self.scene.truth,
            str(len(self.results)),
            f"{self.hits:.3f}",
            f"{self.false:.3f}",
            "" if half is None or most is None else f"{half:.0%} / {most:.0%}",
            "" if late is None else f"{late:.0f} s",
        )
        return "| " + " | ".join(cells) + " |"


OutcomeT = TypeVar("OutcomeT")

#: A scene is drawn again at most this often.
_DRAWS = 50


class OutsideClass(Exception):
    """The random numbers of a scene gave a drive that is not in the state of its class."""


def run_one(scene: SceneClass, seed: int, number: int) -> Result:
    """Runs one scene. The same seed and number yield the same scene.

    If the scene is not of its class, it is drawn again.
    """
    begin = f"{scene.subject} {scene.name} {seed} {number}"
    return in_class(scene.run, (begin + (f" {draw}" if draw else "") for draw in range(_DRAWS)))


def numbered(key: str) -> Iterable[str]:
    """Returns the keys of the draws of a scene, for `in_class`."""
    return (f"{key} {draw}" for draw in range(_DRAWS))


def in_class(run: Callable[[random.Random], OutcomeT], keys: Iterable[str]) -> OutcomeT:
    """Returns the outcome of the first scene that is of its class.

    run: runs a scene; raises OutsideClass if it is not of its class.
    keys: the seed of each draw.
    """
    tried = []
    for key in keys:
        tried.append(key)
        with contextlib.suppress(OutsideClass):
            return run(random.Random(key))
    raise AssertionError(f"no scene of the class in the draws {tried}")


def _run_some(index: int, seed: int, first: int, end: int) -> list[Result]:
    from rigs.scenes.classes import CLASSES  # noqa: PLC0415  each process imports it

    return [run_one(CLASSES[index], seed, number) for number in range(first, end)]


def run_all(
    classes: Sequence[SceneClass],
    wanted: Callable[[SceneClass], bool],
    seed: int,
    count: int,
    processes: int | None = None,
) -> list[Score]:
    """Runs `count` scenes of each wanted class; returns a score per class.

    processes: the number of processes; None means one per CPU.
    """
    chosen = [index for index, scene in enumerate(classes) if wanted(scene)]
    piece = 5
    with ProcessPoolExecutor(processes) as pool:
        futures = {
            index: [
                pool.submit(_run_some, index, seed, first, min(first + piece, count))
                for first in range(0, count, piece)
            ]
            for index in chosen
        }
        return [
            Score(classes[index], tuple(result for future in some for result in future.result()))
            for index, some in futures.items()
        ]


def table(scores: Sequence[Score]) -> str:
    """Returns the scores as tables in Markdown, one per subject."""
    lines = []
    subject = None
    for score in scores:
        if score.scene.subject != subject:
            subject = score.scene.subject
            lines += ["", f"## {subject}", ""]
            lines += ["| class | truth | scenes | right | false | error p50 / p95 | latency p95 |"]
            lines += ["|---|---|--:|--:|--:|--:|--:|"]
        lines.append(score.row())
    return "\n".join(lines).strip() + "\n"
