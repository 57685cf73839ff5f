"""Reads how often each CPU ran each type of softirq from /proc/softirqs.

A softirq is work that the kernel postpones when it handles an interrupt. A vector is a type of
softirq, such as NET_RX or BLOCK. The file contains counts, not times:
https://docs.kernel.org/filesystems/proc.html (/proc/softirqs)
"""

from pathlib import Path

from exporter.linux import files
from exporter.linux.files import RawFile
from exporter.runtime.errors import Faults, LimitReached, Parsed, ParseError

#: The numbers of runs since boot. The first key is the kernel's name of the vector, and the second
#: key is the number of the CPU.
Softirqs = dict[str, dict[int, int]]

#: The maximum size of the file, in bytes. It has about 5 MB with 4,096 CPUs.
MAX_FILE_BYTES = 6 << 20

#: The maximum number of vectors. The kernel has 10.
_MAX_VECTORS = 32


def read(proc: Path) -> Parsed[Softirqs]:
    """Returns the number of runs of each softirq on each CPU, from /proc/softirqs.

    Each malformed line adds an exception to `Parsed.faults`.

    Raises:
        NotAvailable: the kernel has no such file.
        ReadError: the file exists but cannot be read.
        ParseError: the first line is not a valid header.
    """
    return parse(files.read(proc / "softirqs", MAX_FILE_BYTES))


def parse(text: str) -> Parsed[Softirqs]:
    """Returns the number of runs of each softirq on each CPU, from the text of /proc/softirqs.

    The first line is a header with the names of the CPUs. Their numbers may have gaps. Each other
    malformed line adds an exception to `Parsed.faults`.

    Raises:
        ParseError: the first line is not a valid header.
    """
    # Not split_complete_lines(): a list of all lines may take ten times the memory of the text.
    complete, _, rest = text.rpartition("\n")
    faults = Faults()
    if rest:
        faults.add(ParseError(f"softirqs: the last line is cut off: {rest[:200]!r}"))
    lines = files.lines_of(complete)
    header = next(lines, "")
    cpus = [_parse_cpu(word) for word in header.split(None, files.MAX_CPUS)]
    if not cpus:
        raise ParseError(f"softirqs:1: no header: {text[:80]!r}")
    softirqs: Softirqs = {}
    for number, line in enumerate(lines, start=2):
        if number > _MAX_VECTORS + 1:
            faults.add(LimitReached(f"softirqs: only the first {_MAX_VECTORS} vectors are used"))
            break
        vector, _, rest = line.partition(":")
        if not rest:
            if line:
                faults.add(ParseError(f"softirqs:{number}: no vector: {line[:80]!r}"))
            continue
        try:
            counts = _parse_counts(rest)
            softirqs[vector.strip()] = dict(zip(cpus, counts, strict=True))
        except ValueError as e:
            faults.add(ParseError(f"softirqs:{number}: {e}: {line[:80]!r}"))
    return Parsed(softirqs, faults.listed())


def parse_block(raw: RawFile) -> dict[int, int]:
    """Returns the number of BLOCK softirqs of each CPU since boot, keyed by CPU number.

    Only this vector is parsed. The result is empty if the file or the line cannot be read: `read`
    reports the fault.
    """
    start = raw.content.find(b"BLOCK:")
    end = raw.content.find(b"\n", start)
    if raw.error is not None or start < 0 or end < 0:
        return {}
    header, _, _ = raw.content.partition(b"\n")
    try:
        cpus = [_parse_cpu(word) for word in header.decode("ascii").split(None, files.MAX_CPUS)]
        line = raw.content[start + len(b"BLOCK:") : end].decode("ascii")
        counts = _parse_counts(line)
        return dict(zip(cpus, counts, strict=True))
    except (ValueError, ParseError):
        return {}


def _parse_counts(text: str) -> list[int]:
    counts = list(map(int, text.split(None, files.MAX_CPUS)))
    if counts and not 0 <= min(counts) <= max(counts) < files.COUNTER_END:
        raise ValueError("a number is not an unsigned 64-bit counter")
    return counts


def _parse_cpu(word: str) -> int:
    if not word.startswith("CPU") or not word[3:].isdecimal() or len(word) > 12:
        raise ParseError(f"softirqs:1: not the name of a CPU: {word[:40]!r}")
    return int(word[3:])
