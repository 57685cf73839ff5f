"""/proc/softirqs: how often each CPU ran each softirq vector. Counts, not time."""

from pathlib import Path

from exporter.errors import ParseError
from exporter.linux import files
from exporter.linux.files import Parsed

#: Vector, as the kernel spells it, to CPU to count.
Softirqs = dict[str, dict[int, int]]


def read(proc: Path) -> Parsed[Softirqs]:
    """Raises NotAvailable and ReadError as `files.read`, ParseError where the header is none."""
    return parse(files.read(proc / "softirqs"))


def parse(text: str) -> Parsed[Softirqs]:
    """Counts by vector and CPU; the header names the CPUs, for they need not be numbered 0..n.

    Raises:
        ParseError: the first line is no header.
    """
    lines, faults = files.split_complete_lines("softirqs", text)
    cpus = [_cpu(word) for word in lines[0].split()] if lines else []
    if not cpus:
        raise ParseError(f"softirqs:1: no header: {text[:80]!r}")
    softirqs: Softirqs = {}
    for number, line in enumerate(lines[1:], start=2):
        vector, _, rest = line.partition(":")
        if not rest:
            if line:
                faults.append(ParseError(f"softirqs:{number}: no vector: {line[:80]!r}"))
            continue
        try:
            counts = [files.parse_counter(word) for word in rest.split()]
            softirqs[vector.strip()] = dict(zip(cpus, counts, strict=True))
        except ValueError as e:
            faults.append(ParseError(f"softirqs:{number}: {e}: {line[:80]!r}"))
    return Parsed(softirqs, tuple(faults))


def _cpu(word: str) -> int:
    if not word.startswith("CPU") or not word[3:].isdecimal() or len(word) > 12:
        raise ParseError(f"softirqs:1: {word[:40]!r} names no CPU")
    return int(word[3:])
