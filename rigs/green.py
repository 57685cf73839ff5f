"""Runs the test suite several times on a quiet and on a busy machine, and prints a table.

`python -m rigs.green --runs=10 -- [arguments of pytest]` runs `make test` and `make system` ten
times, and ten times beside a load: four processes that compute without end, and one that writes to
the disk. The output of each run is in var/green. The exit status is 0 only if every run passed.
"""

import argparse
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLACE = ROOT / "var" / "green"

#: The machine during the runs: without other work, or beside the load.
KINDS = ("quiet", "busy")

#: Number of processes that compute: twice the CPUs of the machine that the project is tested on.
BUSY_LOOPS = 4

#: The disk writer starts again from the beginning of its file after this number of bytes.
WRITER_BYTES = 512 << 20

_COMPUTES = "while True: pass"
_WRITES = """
import os, sys
block = os.urandom(1 << 20)
with open(sys.argv[1], "wb", buffering=0) as file:
    while True:
        if file.tell() >= int(sys.argv[2]):
            file.seek(0)
        file.write(block)
        os.fsync(file.fileno())
"""

_COUNT = re.compile(r"(\d+) (passed|failed|skipped|errors?|xfailed|xpassed)\b")
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Run:
    """One run of the suite. counts: tests by outcome. status: the exit status of make."""

    name: str
    seconds: float
    status: int
    counts: dict[str, int]
    failed: tuple[str, ...]

    @property
    def is_green(self) -> bool:
        """True if all tests passed; a skipped test is no result."""
        return self.status == 0 and set(self.counts) == {"passed"}


def parse(name: str, seconds: float, status: int, output: str) -> Run:
    """Returns the result of a run from the summary lines of its pytest sessions."""
    counts: dict[str, int] = {}
    for line in output.splitlines():
        if " in " in line and re.search(r" in [\d.]+s", line):
            for number, outcome in _COUNT.findall(line):
                kind = outcome.rstrip("s")
                counts[kind] = counts.get(kind, 0) + int(number)
    return Run(name, seconds, status, counts, tuple(_FAILED.findall(output)))


def table(runs: Sequence[Run]) -> str:
    """Returns one line per run, the failed tests, and the number of green runs."""
    lines = [f"{'run':<10} {'time':>7}  result"]
    for run in runs:
        minutes, seconds = divmod(round(run.seconds), 60)
        counts = ", ".join(f"{number} {outcome}" for outcome, number in run.counts.items())
        result = counts or f"no result, exit status {run.status}"
        lines.append(f"{run.name:<10} {minutes:>4}:{seconds:02}  {result}")
        lines += [f"{'':>19}  {test}" for test in run.failed]
    green = sum(run.is_green for run in runs)
    return "\n".join([*lines, f"{green} of {len(runs)} runs were green."])


@contextmanager
def load(directory: Path) -> Iterator[list[int]]:
    """Keeps the CPUs and the disk of `directory` busy. Yields the ids of the processes.

    The processes end with the block, and with this process.
    """
    python = ["setpriv", "--pdeathsig=KILL", sys.executable, "-S", "-c"]
    written = directory / "written"
    commands = [[*python, _COMPUTES]] * BUSY_LOOPS
    commands.append([*python, _WRITES, str(written), str(WRITER_BYTES)])
    started: list[subprocess.Popen[bytes]] = []
    try:
        # One after the other: those that have started are killed if the next one cannot be.
        started.extend(subprocess.Popen(argv, stdin=subprocess.DEVNULL) for argv in commands)
        yield [each.pid for each in started]
    finally:
        for each in started:
            each.kill()
            each.wait()
        written.unlink(missing_ok=True)


def suite(name: str, arguments: str) -> Run:
    """Runs `make test` and `make system`, or the tests of the arguments, and stores the output."""
    targets = ["test", f"ARGS={arguments}"] if arguments else ["--keep-going", "test", "system"]
    log = PLACE / f"{name.replace(' ', '-')}.log"
    begun = time.monotonic()
    with log.open("wb") as output:
        # CI turns a test that lacks something on the machine into a failure. The output of each
        # pytest session ends with its slowest tests.
        status = subprocess.run(
            ["make", "--no-print-directory", *targets],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            check=False,
            cwd=ROOT,
            env=os.environ | {"CI": "true", "PYTEST_ADDOPTS": "--durations=10"},
        ).returncode
    return parse(name, time.monotonic() - begun, status, log.read_text(errors="replace"))


def all_runs(number: int, kinds: Sequence[str], run: Callable[[str], Run]) -> Iterator[Run]:
    """Yields the results of `number` runs of each kind, in this order; see `KINDS`."""
    for kind in kinds:
        for count in range(1, number + 1):
            with load(PLACE) if kind == "busy" else nullcontext():
                yield run(f"{kind} {count}")


def main() -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m rigs.green", description=__doc__)
    parser.add_argument("--runs", type=int, default=10, help="number of runs of each kind")
    parser.add_argument("--kind", choices=(*KINDS, "both"), default="both")
    parser.add_argument("pytest", nargs="*", help="arguments of pytest, to run a part")
    asked = parser.parse_args()
    PLACE.mkdir(parents=True, exist_ok=True)
    runs = []
    kinds = KINDS if asked.kind == "both" else (asked.kind,)
    for run in all_runs(asked.runs, kinds, lambda name: suite(name, shlex.join(asked.pytest))):
        runs.append(run)
        print(table([run]).splitlines()[1], flush=True)
    print(f"\n{table(runs)}")
    return 0 if all(run.is_green for run in runs) else 1


if __name__ == "__main__":
    sys.exit(main())
