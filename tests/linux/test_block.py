"""/sys/block/<disk>/queue."""

from dataclasses import astuple
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.linux import block
from exporter.linux.block import QueueSettings
from tests.linux.trees import Sys


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[mq-deadline] kyber bfq none", "mq-deadline"),
        ("none [kyber]", "kyber"),
        ("[none] mq-deadline", "none"),
        ("none", "none"),
        ("", None),
        ("[]", None),
        ("none kyber", None),
        ("[none", None),
    ],
)
def test_scheduler(text: str, expected: str | None) -> None:
    """The scheduler is the one in brackets, or the only one there is."""
    assert expected == block.parse_scheduler(text)


@given(st.text())
def test_any_scheduler(text: str) -> None:
    """Any text is a scheduler with a name, or none."""
    assert block.parse_scheduler(text) != ""


def test_read(tmp_path: Path) -> None:
    """A whole queue, with the bridge's odd optimal size as it stands."""
    disk = Sys(tmp_path).disk("devices/sdx", queue={"optimal_io_size": "33553920"})
    expected = QueueSettings("none", "write back", True, True, False, 1023, 512, 4096, 33553920)
    assert expected == block.read_queue(disk)


def test_nothing_known(tmp_path: Path) -> None:
    """A disk without a queue, or with one of garbage, has nothing known rather than zeros."""
    assert set(astuple(block.read_queue(tmp_path))) == {None}
    names = ("fua", "rotational", "nr_requests", "discard_max_bytes")
    Sys(tmp_path).write("queue", dict.fromkeys(names, "\x00x y"))
    assert set(astuple(block.read_queue(tmp_path))) == {None}
