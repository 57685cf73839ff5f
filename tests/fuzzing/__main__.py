"""Runs every target on all cores, and prints a table: inputs, crashes and peak memory.

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
from pathlib import Path

from tests.fuzzing.targets import EXAMPLES, SEEDS, TARGETS

_ROOT = Path(__file__).parents[2]
#: The largest number of files of the tests in the corpus of a target, and their size in bytes.
_MAX_SEEDS, _MAX_SEED_BYTES = 200, 64 << 10


def write_corpus(name: str, directory: Path, files: list[Path]) -> None:
    """Write the first inputs of a target: examples, and files of the tests."""
    directory.mkdir(parents=True)
    for number, example in enumerate(EXAMPLES.get(name, ())):
        (directory / f"example-{number}").write_bytes(example)
    parts = SEEDS.get(name, ())
    matching = [file for file in files if any(part in str(file) for part in parts)]
    for number, file in enumerate(matching[:_MAX_SEEDS]):
        (directory / f"seed-{number}").write_bytes(file.read_bytes()[:_MAX_SEED_BYTES])


def run(name: str, corpus: Path, findings: Path, seed: int, seconds: float) -> dict[str, int]:
    """Returns the result of a worker. A worker that ended early counts as a crash."""
    argv = [sys.executable, "-m", "tests.fuzzing.worker", name, f"--seconds={seconds}"]
    argv += [f"--seed={seed}", f"--corpus={corpus}", f"--findings={findings}"]
    ended = subprocess.run(argv, cwd=_ROOT, stdout=subprocess.PIPE, text=True, check=False)
    try:
        result: dict[str, int] = json.loads(ended.stdout)
    except ValueError:
        return {"inputs": 0, "crashes": 1, "peak_kilobytes": 0}
    return result


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
    files = sorted(file for file in (_ROOT / "tests").rglob("*") if file.is_file())
    files.append(_ROOT / "systemd/config.toml")
    sys.stdout.write(f"seed {arguments.seed}, {seconds:.1f} s for each of {len(names)} targets\n")
    with tempfile.TemporaryDirectory() as place, ThreadPoolExecutor(cores) as pool:
        for name in names:
            write_corpus(name, Path(place, name), files)
        jobs = {
            name: pool.submit(run, name, Path(place, name), findings, arguments.seed, seconds)
            for name in names
        }
        results = {name: job.result() for name, job in jobs.items()}
    sys.stdout.write(f"{'target':24} {'inputs':>10} {'crashes':>8} {'peak MB':>8}\n")
    for name, result in results.items():
        memory = result["peak_kilobytes"] / 1024
        sys.stdout.write(f"{name:24} {result['inputs']:10} {result['crashes']:8} {memory:8.0f}\n")
    inputs = sum(result["inputs"] for result in results.values())
    crashes = sum(result["crashes"] for result in results.values())
    sys.stdout.write(f"{'total':24} {inputs:10} {crashes:8}\n")
    return 1 if crashes else 0


if __name__ == "__main__":
    sys.exit(main())
