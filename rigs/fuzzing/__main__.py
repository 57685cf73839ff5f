"""Runs every target on all cores, and prints a table: inputs, crashes and peak memory.

An input takes a new path if it reaches code that no input before has reached, or reaches it more
often. The next run starts with these inputs.

Each input that raises an unexpected exception is in a file below the directory of the findings. The
command that repeats it is printed. Turn it into a test case before you correct the cause.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path

from rigs.fuzzing.targets import EXAMPLES, SEEDS, TARGETS
from rigs.fuzzing.worker import IS_GUIDED
from tests.unit_file import UnitFile

_ROOT = Path(__file__).parents[2]
#: The largest number of files of the tests in the corpus of a target, and their size in bytes.
_MAX_SEEDS, _MAX_SEED_BYTES = 200, 64 << 10

#: The settings of the memory allocator that the daemon has. Without them, the peak contains memory
#: that is free, but that the C library keeps.
_ENVIRONMENT = UnitFile.read("ssd-exporter").environment()


@dataclass(frozen=True, slots=True)
class Result:
    """What a worker prints; kept: the number of inputs that took a new path."""

    inputs: int
    crashes: list[str]
    peak_kilobytes: int
    kept: int


def seed_files() -> list[Path]:
    """Returns the files of which `write_corpus` selects those of a target."""
    folders = (_ROOT / "rigs", _ROOT / "tests")
    files = sorted(file for folder in folders for file in folder.rglob("*") if file.is_file())
    return [*files, _ROOT / "systemd/config.toml"]


def write_corpus(name: str, directory: Path, files: list[Path]) -> None:
    """Write the first inputs of a target: examples, and files of the tests.

    files: the result of `seed_files`.
    """
    directory.mkdir(parents=True)
    for number, example in enumerate(EXAMPLES.get(name, ())):
        (directory / f"example-{number}").write_bytes(example)
    parts = SEEDS.get(name, ())
    matching = [file for file in files if any(part in str(file) for part in parts)]
    for number, file in enumerate(matching[:_MAX_SEEDS]):
        (directory / f"seed-{number}").write_bytes(file.read_bytes()[:_MAX_SEED_BYTES])


def run(name: str, seeds: Path, place: Path, seed: int, seconds: float) -> Result:
    """Returns the result of a worker. A worker that ended early counts as a crash.

    seeds: the directory of the first inputs.
    place: the directory of the findings. The corpus of the target is kept there, so that the next
        run continues with it.
    """
    corpus = place / "corpus" / name
    corpus.mkdir(parents=True, exist_ok=True)
    before = len(os.listdir(corpus))
    argv = [sys.executable, "-m", "rigs.fuzzing.worker", name, f"--seconds={seconds}"]
    argv += [f"--seed={seed}", f"--corpus={corpus}", f"--corpus={seeds}", f"--findings={place}"]
    log = place / f"{name}.log"
    with log.open("wb") as messages:
        ended = subprocess.run(
            argv,
            cwd=_ROOT,
            stdout=subprocess.PIPE,
            stderr=messages,
            text=True,
            check=False,
            env=os.environ | _ENVIRONMENT | {"TMPDIR": str(seeds.parent)},
        )
    try:
        result = json.loads(ended.stdout)
    except ValueError:
        crash = f"{name}: the worker ended with status {ended.returncode}; see {log}"
        result = {"inputs": 0, "crashes": [crash], "peak_kilobytes": 0}
    return Result(**result, kept=len(os.listdir(corpus)) - before)


def main() -> int:
    """Returns 1 if there was a crash."""
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--seconds", type=float, default=300, help="total time")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--findings", type=Path, default=Path("var/fuzz"))
    p.add_argument("targets", nargs="*", help="only these targets")
    arguments = p.parse_args()
    names = arguments.targets or list(TARGETS)
    cores = os.cpu_count() or 1
    seconds = arguments.seconds * cores / len(names)
    findings = arguments.findings.absolute()
    findings.mkdir(parents=True, exist_ok=True)
    files = seed_files()
    guide = "guided by Atheris" if IS_GUIDED else "without guidance: Atheris is not installed"
    print(f"Seed {arguments.seed}, {seconds:.1f} s for each of {len(names)} targets, {guide}")
    with tempfile.TemporaryDirectory() as place, ThreadPoolExecutor(cores) as pool:
        for name in names:
            write_corpus(name, Path(place, name), files)
        jobs = {
            name: pool.submit(run, name, Path(place, name), findings, arguments.seed, seconds)
            for name in names
        }
        results = {name: job.result() for name, job in jobs.items()}
    print(f"{'target':24} {'inputs':>10} {'new paths':>9} {'crashes':>8} {'peak MB':>8}")
    for name, result in results.items():
        print(_row(name, result) + f" {result.peak_kilobytes / 1024:8.0f}")
    crashes = [crash for result in results.values() for crash in result.crashes]
    inputs, kept = (sum(map(attrgetter(key), results.values())) for key in ("inputs", "kept"))
    print(_row("total", Result(inputs, crashes, 0, kept)))
    print(*crashes, sep="\n")
    return 1 if crashes else 0


def _row(name: str, result: Result) -> str:
    return f"{name:24} {result.inputs:10} {result.kept:9} {len(result.crashes):8}"


if __name__ == "__main__":
    sys.exit(main())
