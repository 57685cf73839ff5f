"""The result of `make fleet` as Markdown tables. Pure."""

from collections.abc import Sequence

from rigs.fleet.comparison import Comparison
from rigs.fleet.cost import Cost, Group
from rigs.fleet.faults import Fault


def parts(costs: Sequence[Cost]) -> str:
    """Returns a table with a row for each program, and the sum of each engine."""
    rows = ["| engine | program | CPU cores | maximum memory |", "|---|---|---|---|"]
    for cost in costs:
        rows += [
            f"| {cost.engine} | {part.name} | {part.cores:.2f} | {part.peak / 1024:.2f} GiB |"
            for part in cost.parts
        ]
        if len(cost.parts) > 1:
            cores = sum(part.cores for part in cost.parts)
            peak = sum(part.peak for part in cost.parts) / 1024
            rows.append(f"| {cost.engine} | all | {cores:.2f} | {peak:.2f} GiB |")
    return "\n".join(rows)


def groups(costs: Sequence[Cost]) -> str:
    """Returns a table with a row for each group and engine, the most expensive group first."""
    rows = [
        (
            "| group | rules | interval | engine | CPU | share of interval | longest evaluation"
            " | most expensive rule | |"
        ),
        "|---|---|---|---|---|---|---|---|---|",
    ]
    every = [(cost, group) for cost in costs for group in cost.groups]
    worst: dict[str, float] = {}
    for _, group in every:
        worst[group.name] = max(worst.get(group.name, 0.0), group.share)
    for cost, group in sorted(every, key=lambda each: (-worst[each[1].name], each[1].name)):
        rows.append(
            f"| {group.name} | {len(group.rules)} | {group.interval:.0f} s | {cost.engine}"
            f" | {group.cpu:.2f} s | {group.share:.1%} | {_longest(group)}"
            f" | {group.rules[0][1]} {group.rules[0][0]:.2f} s"
            f" | {'met' if group.share <= cost.most_share else 'MISSED'} |"
        )
    return "\n".join(rows)


def _longest(group: Group) -> str:
    if not group.seconds:
        return "not evaluated"
    return f"{max(group.seconds):.1f} s"


def faults(found: Comparison, by_host: Sequence[tuple[dict[str, str], Fault]]) -> str:
    """Returns a table with the time at which the alert of each fault fired on each engine.

    by_host: labels of a host and its fault.
    """
    one, other = found.engines
    rows = [f"| fault | alert | severity | {one} | {other} |", "|---|---|---|---|---|"]
    for host, fault in by_host:
        wanted = {**host, "alertname": fault.alert, "severity": fault.severity}
        times = [found.fired(engine, wanted) for engine in found.engines]
        one_time, other_time = (
            "NEVER" if at is None else f"after {at - fault.begin:.0f} s" for at in times
        )
        rows.append(
            f"| {fault.name} | {fault.alert} | {fault.severity} | {one_time} | {other_time} |"
        )
    return "\n".join(rows)
