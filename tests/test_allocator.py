"""The process begins anew once, with an allocator that keeps less."""

import os
from pathlib import Path

from exporter import allocator
from tests.end_to_end.daemon import Daemon


def test_the_settings_are_added_to_the_environment() -> None:
    environment = allocator.thrifty({"PATH": "/bin"})
    assert environment is not None
    assert {"PATH", "MALLOC_ARENA_MAX", "MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_"} == (
        environment.keys()
    )


def test_what_somebody_has_set_is_left_alone_and_nobody_begins_for_ever() -> None:
    assert allocator.thrifty({"MALLOC_ARENA_MAX": "4"}) is None
    assert allocator.thrifty(allocator.thrifty({}) or {}) is None


def test_the_daemon_runs_with_them(tmp_path: Path) -> None:
    with Daemon(tmp_path) as daemon:
        environment = Path(f"/proc/{daemon.process.pid}/environ").read_bytes().split(b"\0")
    assert b"MALLOC_ARENA_MAX=1" in environment
    assert "MALLOC_ARENA_MAX" not in os.environ
