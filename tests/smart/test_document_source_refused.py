"""What lies in the agent's directory and is not trusted."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from exporter.config import SmartSource
from exporter.smart.document_directory import HEARTBEAT_FILE
from exporter.smart.poll_document import LARGEST_BYTES, encoded, file_name
from tests.smart.watching import NVME, SDA, Watching, watching


@pytest.fixture(autouse=True)
def usual_mask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def refused(name: str, daemon: Watching) -> str:
    """The problem, as long as the file lies there; what others say is taken meanwhile."""
    problems = {daemon.step().problem for _ in range(3)}
    assert 1 == len(problems), "it is not forgotten after the first look"
    daemon.agent_says(daemon.document(NVME), drives=(SDA, NVME))
    assert [("nvme0n1", "FW000000", True)] == daemon.step().seen()
    (daemon.directory / name).unlink()
    assert "" == daemon.step(2).problem
    return problems.pop()


def sda_file(daemon: Watching) -> Path:
    daemon.agent_says(daemon.document(SDA))
    return daemon.directory / file_name(*SDA, is_daily=False)


def test_a_document_that_others_could_write_is_not_believed(tmp_path: Path) -> None:
    daemon = watching(tmp_path, SmartSource.AUTO)
    file = sda_file(daemon)
    file.chmod(0o666)
    assert "other users than its owner can write it: not trusted" in refused(file.name, daemon)


def test_a_document_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    daemon = watching(tmp_path, SmartSource.AUTO)
    file = sda_file(daemon)
    file.rename(tmp_path / "elsewhere.json")
    file.symlink_to(tmp_path / "elsewhere.json")
    assert file.name in refused(file.name, daemon)


def test_a_document_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    daemon = watching(tmp_path, SmartSource.AUTO)
    file = sda_file(daemon)
    file.write_bytes(b" " * (LARGEST_BYTES + 1))
    assert f"larger than {LARGEST_BYTES} bytes" in refused(file.name, daemon)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"[]",
        b"\xff\xfe\x00",
        b'{"version":2}',
        b'{"version":1}',
        b"[" * 100_000,
    ],
)
def test_a_document_that_is_none_is_said_and_costs_its_own_drive(
    tmp_path: Path, text: bytes
) -> None:
    daemon = watching(tmp_path, SmartSource.AUTO)
    file = sda_file(daemon)
    file.write_bytes(text)
    assert f"{file.name}: document:" in refused(file.name, daemon)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("began_at", -1),
        ("began_at", 1e300),
        ("counts", {"success": -1}),
        ("report", []),
        ("result", 7),
        ("path", None),
    ],
)
def test_a_document_with_a_value_of_another_kind_is_refused(
    tmp_path: Path, field: str, value: object
) -> None:
    daemon = watching(tmp_path, SmartSource.AUTO)
    file = sda_file(daemon)
    values = json.loads(encoded(daemon.document(SDA)))
    file.write_text(json.dumps(values | {field: value}))
    assert f"{file.name}: document: {field}" in refused(file.name, daemon)


def test_a_directory_that_others_could_write_is_not_believed(tmp_path: Path) -> None:
    daemon = watching(tmp_path, SmartSource.AUTO)
    daemon.agent_says(daemon.document(SDA))
    daemon.directory.chmod(0o777)
    assert [] == daemon.step().seen()
    assert "other users than its owner can write it: not trusted" in daemon.problem


@pytest.mark.parametrize("source", [SmartSource.AUTO, SmartSource.DIRECTORY])
@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b'{"version":2}', "the daemon and the smart-agent must have the same version"),
        (b"{", "not JSON"),
        (b" " * (LARGEST_BYTES + 1), "larger than"),
    ],
)
def test_a_heartbeat_that_is_not_believed_says_why(
    tmp_path: Path, source: SmartSource, text: bytes, why: str
) -> None:
    daemon = watching(tmp_path, source)
    daemon.agent_says(daemon.document(SDA))
    (daemon.directory / HEARTBEAT_FILE).write_bytes(text)
    assert why in daemon.step().problem
