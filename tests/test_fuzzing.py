"""The fuzzer finds an exception, and its inputs can be repeated."""

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzzing import worker
from tests.fuzzing.targets import EXAMPLES, SEEDS, TARGETS
from tests.fuzzing.worker import mutated

ROOT = Path(__file__).parents[1]


def test_every_corpus_belongs_to_a_target() -> None:
    assert set(EXAMPLES) | set(SEEDS) <= set(TARGETS)


def test_a_seed_always_makes_the_same_inputs() -> None:
    corpus = [b"cpu0 1 2 3\n", b"", b"x"]
    one, other = random.Random(7), random.Random(7)
    assert [mutated(one, corpus) for _ in range(500)] == [
        mutated(other, corpus) for _ in range(500)
    ]


def test_a_worker_reports_its_inputs_and_its_memory(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "tests.fuzzing.worker", "pressure", "--seconds=0.2"]
    ended = subprocess.run(
        [*argv, f"--findings={tmp_path}"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    result = json.loads(ended.stdout)
    assert result["inputs"] >= 50
    assert result["crashes"] == 0
    assert result["peak_kilobytes"] > 1000
    assert [] == list(tmp_path.iterdir())


def test_a_crash_is_written_to_a_file_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(data: bytes) -> object:
        raise IndexError(data)

    monkeypatch.setattr(worker, "TARGETS", {"broken": fails})
    target = worker.CountedTarget("broken", tmp_path)
    for data in (b"first", b"second"):
        target(data)
    (file,) = tmp_path.iterdir()
    assert file.read_bytes() == b"first"
    assert (target.inputs, len(target.crashes)) == (2, 1)
    assert f"worker broken --repeat {file}" in capsys.readouterr().err
