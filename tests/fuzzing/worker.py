"""Calls one target with mutated inputs until a time has passed. `tests.fuzzing` starts it.

The inputs are random mutations of the corpus. An input that raises an unexpected exception is
written to a file.
"""

import argparse
import hashlib
import json
import logging
import random
import sys
import time
from pathlib import Path

from exporter.errors import ExporterError
from tests.fuzzing.targets import TARGETS

#: Maximum size of an input of the byte mutation, in bytes. Larger inputs only take longer.
_MAX_BYTES = 4096
_TOKENS = (
    b"\0",
    b"\n",
    b'"',
    b"{",
    b"[",
    b"]",
    b"}",
    b"-1",
    b"1e999",
    b"9" * 400,
    b"\xff",
    b"\x1b",
)


_COMMAND = "python -m tests.fuzzing.worker"


class CountedTarget:
    """Calls the target, and counts the calls and the unexpected exceptions."""

    def __init__(self, name: str, findings: Path) -> None:
        self._name, self._target, self._findings = name, TARGETS[name], findings
        self.inputs = 0
        self.crashes: set[str] = set()

    def __call__(self, data: bytes) -> None:
        self.inputs += 1
        try:
            self._target(data)
        except ExporterError:
            pass
        except Exception as e:  # noqa: BLE001 - this is what fuzzing looks for
            self._record(data, e)

    def _record(self, data: bytes, e: Exception) -> None:
        trace = e.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        where = (
            f"{type(e).__name__} {trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
            if trace
            else ""
        )
        if where in self.crashes:
            return
        self.crashes.add(where)
        name = hashlib.sha256(data).hexdigest()[:16]
        file = self._findings / f"{self._name}-{name}"
        file.write_bytes(data)
        sys.stderr.write(
            f"{self._name}: {where}: {e!r:.200}\n  repeat it: {_COMMAND} {self._name} "
        )
        sys.stderr.write(f"--repeat {file}\n")


def mutated(random_numbers: random.Random, corpus: list[bytes]) -> bytes:
    """Returns a mutation of one or two inputs of the corpus."""
    data = bytearray(random_numbers.choice(corpus))
    for _ in range(random_numbers.randint(1, 8)):
        at = random_numbers.randint(0, len(data))
        match random_numbers.randrange(6):
            case 0 if data:
                data[at % len(data)] ^= 1 << random_numbers.randrange(8)
            case 1:
                data[at:at] = random_numbers.choice(_TOKENS)
            case 2:
                del data[at : at + random_numbers.randint(1, 16)]
            case 3:
                other = random_numbers.choice(corpus)
                begin = random_numbers.randint(0, len(other))
                data[at:at] = other[begin : begin + random_numbers.randint(1, 64)]
            case 4:
                data[at:at] = data[
                    at : at + random_numbers.randint(1, 64)
                ] * random_numbers.randint(1, 20)
            case _:
                data[at:at] = random_numbers.randbytes(random_numbers.randint(1, 4))
    return bytes(data[:_MAX_BYTES])


def _mutate(target: CountedTarget, corpus: list[bytes], seed: int, seconds: float) -> None:
    random_numbers = random.Random(seed)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        for _ in range(50):
            target(mutated(random_numbers, corpus))


def main() -> int:
    """Fuzz one target, and print its result as one line of JSON."""
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("target", choices=TARGETS)
    p.add_argument("--seconds", type=float, default=10)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--corpus", type=Path)
    p.add_argument("--findings", type=Path, default=Path())
    p.add_argument("--repeat", type=Path, help="call the target with the content of this file")
    arguments = p.parse_args()
    logging.disable()
    if arguments.repeat is not None:
        TARGETS[arguments.target](arguments.repeat.read_bytes())
        return 0
    target = CountedTarget(arguments.target, arguments.findings)
    files = sorted(arguments.corpus.iterdir()) if arguments.corpus else []
    corpus = [file.read_bytes()[:_MAX_BYTES] for file in files] or [b""]
    _mutate(target, corpus, arguments.seed, arguments.seconds)
    status = Path("/proc/self/status").read_text()
    peak = int(status.partition("VmHWM:")[2].split()[0])
    result = {"inputs": target.inputs, "crashes": len(target.crashes), "peak_kilobytes": peak}
    sys.stdout.write(json.dumps(result) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
