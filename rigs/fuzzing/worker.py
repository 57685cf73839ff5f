"""Calls one target with many inputs until a time has passed. `rigs.fuzzing` starts it.

Atheris (libFuzzer) changes the inputs, and keeps those that reach new code of the exporter. Atheris
has no wheel for some versions of Python and for some processors. There the inputs are random
mutations of the corpus. An input that raises an unexpected exception is written to a file.
"""

import argparse
import hashlib
import importlib
import json
import logging
import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path

try:
    import atheris
except ImportError:
    atheris = None

from exporter.runtime.errors import ExporterError

#: Whether coverage guides the inputs.
IS_GUIDED = atheris is not None

#: Maximum size of an input, in bytes. smartctl prints up to 30,000 bytes for a drive.
_MAX_BYTES = 32768

#: A single input may take this many seconds, also on a busy machine.
_MAX_SECONDS = 60

#: The memory that a worker may use, in MB. Python, the modules and Atheris take 77 MB.
_MAX_MEGABYTES = 512

#: Parts of inputs that mutations insert: structure, and values that are often handled wrongly.
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

#: libFuzzer refuses longer entries of a dictionary.
_MAX_TOKEN_BYTES = 60

_COMMAND = "python -m rigs.fuzzing.worker"

Target = Callable[[bytes], object]


class CountedTarget:
    """Calls the target, and counts the calls and the unexpected exceptions."""

    def __init__(self, name: str, target: Target, findings: Path) -> None:
        self._name, self._target, self._findings = name, target, findings
        self.inputs = 0
        #: What was raised, by the place that raised it.
        self.crashes: dict[str, str] = {}

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
        file = self._findings / f"{self._name}-{hashlib.sha256(data).hexdigest()[:16]}"
        file.write_bytes(data)
        repeat = f"{_COMMAND} {self._name} --repeat {file}"
        self.crashes[where] = f"{self._name}: {where}: {e!r:.200}\n  repeat it: {repeat}"


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


def _random_inputs(directories: list[Path], seed: int) -> Iterator[bytes]:
    files = sorted(file for directory in directories for file in directory.iterdir())
    corpus = [file.read_bytes()[:_MAX_BYTES] for file in files] or [b""]
    random_numbers = random.Random(seed)
    while True:
        yield mutated(random_numbers, corpus)


def _dictionary() -> str:
    """Returns the path of a file with the tokens in libFuzzer's format. It is only in memory."""
    lines = ("".join(f"\\x{byte:02x}" for byte in each[:_MAX_TOKEN_BYTES]) for each in _TOKENS)
    descriptor = os.memfd_create("dictionary")
    os.write(descriptor, "".join(f'"{line}"\n' for line in lines).encode())
    return f"/proc/self/fd/{descriptor}"


def _guide(name: str, target: Target, directories: list[Path], findings: Path, seed: int) -> None:
    """Lets Atheris call the target for ever. New inputs are added to the first directory.

    An input that takes too much time or memory ends the process, and is written to a file.
    """
    options = {
        "seed": seed,
        "max_len": _MAX_BYTES,
        "timeout": _MAX_SECONDS,
        "rss_limit_mb": _MAX_MEGABYTES,
        "dict": _dictionary(),
        "artifact_prefix": f"{findings}/{name}-",
        "verbosity": 0,
    }
    argv = [name, *(f"-{option}={value}" for option, value in options.items())]
    atheris.Setup([*argv, *map(str, directories)], target)
    atheris.Fuzz()


def _print_result(target: CountedTarget) -> None:
    status = Path("/proc/self/status").read_text()
    peak = int(status.partition("VmHWM:")[2].split()[0])
    crashes = list(target.crashes.values())
    result = {"inputs": target.inputs, "crashes": crashes, "peak_kilobytes": peak}
    sys.stdout.write(json.dumps(result) + "\n")
    sys.stdout.flush()


def main() -> int:
    """Fuzz one target, and print its result as one line of JSON."""
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("target")
    p.add_argument("--seconds", type=float, default=10)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--corpus", type=Path, action="append", default=[], help="repeat it for several")
    p.add_argument("--findings", type=Path, default=Path())
    p.add_argument("--random", action="store_true", help="do not use Atheris")
    p.add_argument("--repeat", type=Path, help="call the target with the content of this file")
    arguments = p.parse_args()
    logging.disable()
    is_guided = IS_GUIDED and not arguments.random and arguments.repeat is None
    # Atheris adds instructions that record which code runs to the modules that are imported here.
    with atheris.instrument_imports(include=["exporter"]) if is_guided else nullcontext():
        targets = importlib.import_module("rigs.fuzzing.targets").TARGETS
    function: Target = targets[arguments.target]
    if arguments.repeat is not None:
        function(arguments.repeat.read_bytes())
        return 0
    target = CountedTarget(arguments.target, function, arguments.findings)
    until = time.monotonic() + arguments.seconds

    def call(data: bytes) -> None:
        target(data)
        if time.monotonic() >= until:
            _print_result(target)
            # libFuzzer has no function to end: Fuzz() does not return.
            os._exit(0)

    if is_guided:
        _guide(arguments.target, call, arguments.corpus, arguments.findings, arguments.seed)
    for data in _random_inputs(arguments.corpus, arguments.seed):
        call(data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
