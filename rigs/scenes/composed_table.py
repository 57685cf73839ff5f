"""Scores composed scenes by disturbance, with 95 % confidence intervals (Wilson's)."""

import math
import random
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field

from rigs.scenes.composed_full import SLEEPS, FullOutcome, full_scene
from rigs.scenes.composed_gaps import GAPS, gap_scene
from rigs.scenes.composed_hangs import LOADS, HangOutcome, hang_scene
from rigs.scenes.composed_softirqs import BOUND, SoftirqOutcome, softirq_outcome
from rigs.scenes.composition import DISTURBANCES, Outcome, falloff_scene
from rigs.scenes.table import in_class, numbered

_PIECE = 25


@dataclass
class Composed:
    """The outcomes of composed scenes. gaps: with the way in which samples were missing."""

    falloffs: list[Outcome] = field(default_factory=list)
    gaps: list[tuple[str, Outcome]] = field(default_factory=list)
    full: list[FullOutcome] = field(default_factory=list)
    hangs: list[HangOutcome] = field(default_factory=list)
    softirqs: list[SoftirqOutcome] = field(default_factory=list)

    def add(self, more: "Composed") -> None:
        self.falloffs += more.falloffs
        self.gaps += more.gaps
        self.full += more.full
        self.hangs += more.hangs
        self.softirqs += more.softirqs


def share(hits: int, count: int) -> str:
    """Returns a share in percent with its interval, such as "12 % (9 to 16)"."""
    if not count:
        return ""
    z, p = 1.96, hits / count
    middle = (p + z * z / 2 / count) / (1 + z * z / count)
    half = z / (1 + z * z / count) * math.sqrt(p * (1 - p) / count + z * z / 4 / count / count)
    return f"{p:.1%} ({max(middle - half, 0):.1%} to {min(middle + half, 1):.1%})"


def full_outcome(key: str, part: str, sleep: str | None = None) -> FullOutcome:
    """Returns the first scene of this key that is full, or is not, beyond doubt."""
    return in_class(lambda rng: full_scene(rng, part, sleep), numbered(key))


def _run_some(part: str, seed: int, first: int, end: int) -> Composed:
    numbers = range(first, end)
    eighth = [number for number in numbers if number % 8 == 0]
    sixteenth = eighth[::2]
    kinds = [GAPS[number // 16 % len(GAPS)] for number in sixteenth]
    gaps = [
        (kind, gap_scene(random.Random(f"gap {seed} {number}"), part, kind))
        for kind, number in zip(kinds, sixteenth, strict=True)
    ]
    return Composed(
        falloffs=[falloff_scene(random.Random(f"falloff {seed} {n}"), part) for n in numbers],
        gaps=gaps,
        full=[full_outcome(f"full {seed} {number}", part) for number in eighth],
        hangs=[hang_scene(random.Random(f"hang {seed} {number}"), part) for number in eighth],
        softirqs=[softirq_outcome(f"softirq {seed} {number}", part) for number in sixteenth],
    )


def run_composed(part: str, seed: int, count: int, processes: int | None = None) -> Composed:
    """Runs `count` scenes of long writes.

    Of baselines and hangs, it runs an eighth of this number each, and of missing samples and
    softirqs about a sixteenth.
    """
    every = Composed()
    with ProcessPoolExecutor(processes) as pool:
        pieces = range(0, count, _PIECE)
        some = [pool.submit(_run_some, part, seed, n, min(n + _PIECE, count)) for n in pieces]
        for future in some:
            every.add(future.result())
    return every


def _falloff_row(name: str, outcomes: Iterable[Outcome]) -> str:
    some = list(outcomes)
    cliffs, found = sum(one.cliffs for one in some), sum(one.found for one in some)
    errors = sorted(one.error for one in some if one.error is not None)
    location = ""
    if errors:
        location = f"{errors[len(errors) // 2]:.0%} / {errors[int(len(errors) * 0.95)]:.0%}"
    false, back = sum(one.is_false for one in some), sum(one.withdrawn > 0 for one in some)
    cells = (name, len(some), cliffs, share(found, cliffs), share(false, len(some)))
    return "| " + " | ".join(map(str, (*cells, share(back, len(some)), location))) + " |"


def composed_table(results: Composed) -> str:
    """Returns the scores as tables in Markdown."""
    falloffs, full, hangs = results.falloffs, results.full, results.hangs
    lines = ["## Composed: falloffs", ""]
    lines += ["| present | scenes | cliffs | found | false | withdrawn | location p50 / p95 |"]
    lines += ["|---|--:|--:|--:|--:|--:|--:|"]
    lines.append(_falloff_row("all", falloffs))
    lines.append(_falloff_row("no disturbance", (one for one in falloffs if not one.labels)))
    for kind in ("full speed", "partial demand", "bursts"):
        some = (one for one in falloffs if not one.labels and one.kind == kind)
        lines.append(_falloff_row(f"no disturbance, {kind}", some))
    for name in DISTURBANCES:
        lines.append(_falloff_row(f"only {name}", (o for o in falloffs if o.labels == (name,))))
    for name in DISTURBANCES:
        some = (one for one in falloffs if name in one.labels and len(one.labels) > 1)
        lines.append(_falloff_row(f"{name} and others", some))
    for noise in sorted({one.noise for one in falloffs}):
        some = (one for one in falloffs if not one.is_cached and one.noise == noise)
        lines.append(_falloff_row(f"cache not full, noise: {noise}", some))
    for gaps in GAPS:
        some = (one for kind, one in results.gaps if kind == gaps)
        lines.append(_falloff_row(f"full speed, missing samples: {gaps}", some))
    lines += ["", "## Composed: full drives", ""]
    lines += ["| learned while | full | shown within 20 s | not full | false |"]
    lines += ["|---|--:|--:|--:|--:|"]
    for sleep in SLEEPS:
        yes = [one for one in full if one.sleep == sleep and one.is_full]
        no = [one for one in full if one.sleep == sleep and not one.is_full]
        found, false = sum(one.is_found for one in yes), sum(one.is_false for one in no)
        cells = (sleep, len(yes), share(found, len(yes)), len(no), share(false, len(no)))
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    lines += ["", "## Composed: one request of many hangs for 30 to 90 s", ""]
    lines += ["| load | hangs | counted | before it ended | too much | healthy | false |"]
    lines += ["|---|--:|--:|--:|--:|--:|--:|"]
    for load in LOADS:
        hung = [one for one in hangs if one.load == load and one.hung_seconds]
        none = [one for one in hangs if one.load == load and not one.hung_seconds]
        soon = sum(one.is_found and (one.first_seconds or 0) <= one.hung_seconds for one in hung)
        cells_ = (
            *(load, len(hung), share(sum(one.is_found for one in hung), len(hung))),
            *(share(soon, len(hung)), share(sum(one.is_false for one in hung), len(hung))),
            *(len(none), share(sum(one.is_false for one in none), len(none))),
        )
        lines.append("| " + " | ".join(map(str, cells_)) + " |")
    lines += ["", "## Composed: CPUs that are bound by interrupts", ""]
    lines += ["| bound by | scenes | right | false |", "|---|--:|--:|--:|"]
    for bound in BOUND:
        some_ = [one for one in results.softirqs if one.bound == bound]
        right = sum(one.is_found if one.is_bound else not one.is_false for one in some_)
        false = sum(one.is_false for one in some_)
        shares_ = f"{share(right, len(some_))} | {share(false, len(some_))}"
        lines.append(f"| {bound} | {len(some_)} | {shares_} |")
    return "\n".join(lines) + "\n"
