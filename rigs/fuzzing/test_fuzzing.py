"""The fuzzer calls every parser and finds exceptions, and its inputs can be repeated."""

import ast
import contextlib
import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from exporter.runtime.errors import ExporterError
from rigs.fuzzing.__main__ import seed_files, write_corpus
from rigs.fuzzing.targets import EXAMPLES, SEEDS, TARGETS
from rigs.fuzzing.worker import CountedTarget, mutated
from tests.duration import wait_until

ROOT = Path(__file__).parents[2]

#: Functions that are named like parsers and whose input is not foreign.
NOT_FOREIGN = {
    "cli.parser": "it builds the parser of the command line",
    "config_validation.parse_value": "parse_record calls it only for a part of a setting",
    "top.screen.parse_keys": "the keys that the person at the terminal presses",
    "linux.files.parse_counter": "the parsers of the files call it",
}


def parsers() -> Iterator[tuple[str, str]]:
    """Yields file and name of every public function that is named like a parser."""
    for file in sorted((ROOT / "exporter").rglob("*.py")):
        module = ".".join(file.relative_to(ROOT / "exporter").with_suffix("").parts)
        for node in ast.parse(file.read_text()).body:
            if not isinstance(node, ast.FunctionDef) or not node.name.startswith("parse"):
                continue
            if f"{module}.{node.name}" not in NOT_FOREIGN:
                yield str(file), node.name


def test_the_first_inputs_of_the_targets_reach_every_parser(tmp_path: Path) -> None:
    """A parser without a target, or that no first input reaches, is hardly fuzzed at all."""
    called = set()

    def profile(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            called.add((frame.f_code.co_filename, frame.f_code.co_name))

    files = seed_files()
    for name, target in TARGETS.items():
        write_corpus(name, tmp_path / name, files)
        sys.setprofile(profile)
        try:
            for file in sorted((tmp_path / name).iterdir())[:20]:
                with contextlib.suppress(ExporterError):
                    target(file.read_bytes())
        finally:
            sys.setprofile(None)
    assert set() == set(parsers()) - called


def run_worker(*arguments: str) -> dict[str, Any]:
    argv = [sys.executable, "-m", "rigs.fuzzing.worker", *arguments]
    ended = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=True)
    result: dict[str, Any] = json.loads(ended.stdout)
    return result


def test_every_corpus_belongs_to_a_target() -> None:
    assert set(EXAMPLES) | set(SEEDS) <= set(TARGETS)


def test_a_seed_always_makes_the_same_inputs() -> None:
    corpus = [b"cpu0 1 2 3\n", b"", b"x"]
    one, other = random.Random(7), random.Random(7)
    assert [mutated(one, corpus) for _ in range(500)] == [
        mutated(other, corpus) for _ in range(500)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("how", [(), ("--random",)])
def test_a_worker_reports_its_inputs_and_its_memory(tmp_path: Path, how: tuple[str, ...]) -> None:
    result = run_worker("pressure", "--seconds=0.2", f"--findings={tmp_path}", *how)
    assert result["inputs"] >= 1
    assert result["crashes"] == []
    assert result["peak_kilobytes"] > 1000
    assert [] == list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.skipif(sys.version_info < (3, 11), reason="Atheris requires Python 3.11")
def test_inputs_that_reach_new_code_are_kept(tmp_path: Path) -> None:
    found = tmp_path / "found"
    write_corpus("pressure", tmp_path / "first", seed_files())
    found.mkdir()
    corpora = (f"--corpus={found}", f"--corpus={tmp_path / 'first'}", f"--findings={tmp_path}")

    def is_kept() -> bool:
        assert [] == run_worker("pressure", "--seconds=2", *corpora)["crashes"]
        return any(found.iterdir())

    # On a busy machine, two seconds may pass with the first inputs.
    wait_until(is_kept, "an input that reaches new code")


def test_a_crash_is_written_to_a_file_once(
    tmp_path: Path,
) -> None:
    def fails(data: bytes) -> object:
        raise IndexError(data)

    target = CountedTarget("broken", fails, tmp_path)
    for data in (b"first", b"second"):
        target(data)
    (file,) = tmp_path.iterdir()
    assert file.read_bytes() == b"first"
    assert 2 == target.inputs
    (message,) = target.crashes.values()
    assert f"worker broken --repeat {file}" in message
