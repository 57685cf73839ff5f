"""Composed scenes of softirqs: CPUs that are bound by a network card, or by the completion of I/O.

A drive has throughput to spare. If a network card binds CPUs, each of them also completes at most
30 % of the requests, and all of them 60 %, as with a queue for each of several CPUs, and nothing is
slow. If the completions bind CPUs, these complete at least 65 % of all requests together.
"""

import random
from collections import Counter
from dataclasses import dataclass, replace

from rigs.scenes import loads
from rigs.scenes.composition import LEFT_OUT, between, strength
from rigs.scenes.host import Host
from rigs.scenes.kernel import Cpu
from rigs.scenes.table import OutsideClass, in_class, numbered

#: What binds the CPUs, and how many of them.
BOUND = {
    "a network card": (1,),
    "a network card, 2 or 4 CPUs": (2, 4),
    "completions": (1,),
    "completions, 2 to 4 CPUs": (2, 3, 4),
}

#: The numbers of CPUs of both parts of the space.
_CPUS = {False: (8, 16, 64), True: (6, 12, 32)}


@dataclass(frozen=True)
class SoftirqOutcome:
    """is_bound: completions bind CPUs. shown: the verdict that was shown longest."""

    bound: str
    is_bound: bool
    shown: str
    note: str = ""

    @property
    def is_found(self) -> bool:
        return self.is_bound and self.shown == "cpu_softirq"

    @property
    def is_false(self) -> bool:
        return not self.is_bound and self.shown == "cpu_softirq"


def _uneven(rng: random.Random, total: float, count: int) -> list[float]:
    weights = [rng.uniform(0.7, 1.3) for _ in range(count)]
    return [total * weight / sum(weights) for weight in weights]


def _complete(rng: random.Random, cpus: list[Cpu], per_second: float) -> None:
    for cpu, some in zip(cpus, _uneven(rng, per_second, len(cpus)), strict=True):
        cpu.block_per_second = some


def _bind(rng: random.Random, cpus: list[Cpu]) -> None:
    for cpu in cpus:
        cpu.softirq = rng.uniform(0.91, 0.99)
        cpu.user, cpu.system = 0.0, 0.005


def softirq_scene(rng: random.Random, part: str, bound: str | None = None) -> SoftirqOutcome:
    """Simulates 30 seconds in which interrupts use all time of some CPUs."""
    bound = bound or rng.choice(list(BOUND))
    is_bound = bound.startswith("completions")
    host = Host(
        loads.nvme(rng),
        rng,
        ticks=loads.any_kernel(rng)[0],
        cpu_count=rng.choice(_CPUS[part == LEFT_OUT]),
    )
    with host:
        rate = between(8e3, 60e3, strength(rng, part))
        cpus, count = list(host.cpus), rng.choice(BOUND[bound])
        rng.shuffle(cpus)
        hot = cpus[:count]
        _bind(rng, hot)
        if is_bound:
            others = 0.35 * strength(rng, part)
            _complete(rng, hot, rate * (1 - others))
            _complete(rng, cpus[count : count + rng.randint(1, 4)], rate * others)
        else:
            queues = rng.choice([max(count, 5), 8, len(cpus)])
            queues = min(max(queues, count), len(cpus))
            _complete(rng, cpus[:queues], rate)
            some = [cpu.block_per_second / rate for cpu in hot]
            if max(some) > 0.3 or sum(some) > 0.6:
                raise OutsideClass
            for cpu in hot:
                cpu.network_per_second = rng.uniform(2e3, 80e3)
        host.run(60, loads.light(rng, host.model))
        begun = len(host.log)
        host.run(30, [replace(loads.read_rate(rate, limit=64), blocks=False)])
        seen = host.log[begun + 12 :]
        if max(second.used for second in seen) > 0.8:
            raise OutsideClass
        shown = Counter(second.verdict for second in seen)
        shares = sorted((cpu.block_per_second / rate for cpu in hot), reverse=True)
        note = f"{len(cpus)} CPUs, {rate:.0f}/s, shares {[round(one, 2) for one in shares]}"
        return SoftirqOutcome(bound, is_bound, shown.most_common(1)[0][0], f"{note} {shown}")


def softirq_outcome(key: str, part: str, bound: str | None = None) -> SoftirqOutcome:
    """Returns the first scene of this key whose drive is not full."""
    return in_class(lambda rng: softirq_scene(rng, part, bound), numbered(key))
