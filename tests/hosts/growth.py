"""Increases the counters in the text of kernel files, as between two samples.

A host's case.toml lists the increments by name, so that 30 s of one load need a few lines and not
thirty files. The names of diskstats' columns are those of
https://docs.kernel.org/admin-guide/iostats.html, the CPU's those of proc_stat(5).
"""

from collections.abc import Mapping

#: The columns after major, minor and name.
DISKSTATS = (
    "reads",
    "read_merges",
    "read_sectors",
    "read_ms",
    "writes",
    "write_merges",
    "write_sectors",
    "write_ms",
    "in_flight",
    "io_ms",
    "weighted_ms",
    "discards",
    "discard_merges",
    "discard_sectors",
    "discard_ms",
    "flushes",
    "flush_ms",
)
CPU = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")

#: The time columns are unsigned int in the kernel, the others unsigned long.
_TIME_WRAP = 1 << 32

Gains = Mapping[str, int]


def diskstats(text: str, devices: Mapping[str, Gains]) -> str:
    """Returns diskstats with increased columns; ``in_flight`` is not a counter, so it is set."""
    lines = [_disk(line, devices) for line in text.split("\n")]
    return "\n".join(lines)


def stat(text: str, cpus: Mapping[str, Gains]) -> str:
    """Returns /proc/stat with increased ticks (1/100 s); the total increases by their sum."""
    for gains in cpus.values():
        _check_names(gains, CPU)
    total = {mode: sum(gains.get(mode, 0) for gains in cpus.values()) for mode in CPU}
    return "\n".join(_cpu(line, {**cpus, "cpu": total}) for line in text.split("\n"))


def pressure(text: str, totals: Gains) -> str:
    """Returns a pressure file with increased totals of ``some`` and ``full``, in µs."""
    lines = []
    for line in text.split("\n"):
        head, equals, total = line.rpartition("total=")
        gain = totals.get(line.partition(" ")[0], 0)
        lines.append(f"{head}{equals}{int(total) + gain}" if equals else line)
    return "\n".join(lines)


def softirqs(text: str, vectors: Mapping[str, Gains]) -> str:
    """Returns /proc/softirqs with increased counts, by vector and CPU (``CPU0``)."""
    lines = []
    cpus = tuple(text.partition("\n")[0].split())
    for line in text.split("\n"):
        name, colon, counts = line.partition(":")
        if gains := vectors.get(name.strip()):
            _check_names(gains, cpus)
            pairs = zip(cpus, counts.split(), strict=True)
            grown = [int(count) + gains.get(cpu, 0) for cpu, count in pairs]
            lines.append(f"{name}{colon}" + "".join(f" {count:>10}" for count in grown))
        else:
            lines.append(line)
    return "\n".join(lines)


def _disk(line: str, devices: Mapping[str, Gains]) -> str:
    columns = line.split()
    if len(columns) < 3 or columns[2] not in devices:
        return line
    gains = devices[columns[2]]
    _check_names(gains, DISKSTATS[: len(columns) - 3])
    for at, name in enumerate(DISKSTATS[: len(columns) - 3], start=3):
        if name == "in_flight":
            columns[at] = str(gains.get(name, columns[at]))
        elif name in gains:
            grown = int(columns[at]) + gains[name]
            columns[at] = str(grown % _TIME_WRAP if name.endswith("_ms") else grown)
    return f"{columns[0]:>4} {columns[1]:>7} {' '.join(columns[2:])}"


def _cpu(line: str, cpus: Mapping[str, Gains]) -> str:
    name, *columns = line.split() or [""]
    if name not in cpus:
        return line
    gains = [cpus[name].get(mode, 0) for mode in CPU]
    grown = [str(int(ticks) + gain) for ticks, gain in zip(columns, [*gains, 0, 0], strict=False)]
    # Two spaces after "cpu": the kernel pads the name of the first line.
    return f"{name}{'  ' if name == 'cpu' else ' '}{' '.join(grown)}"


def _check_names(gains: Gains, known: tuple[str, ...]) -> None:
    if unknown := gains.keys() - set(known):
        raise ValueError(f"{sorted(unknown)} unknown; known names: {known}")
