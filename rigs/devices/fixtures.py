"""Fixtures for slow disks: ``pytest_plugins = ("rigs.devices.fixtures",)`` in a test module."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from rigs.devices.cgroup import RigUnavailable
from rigs.devices.load import require_fio
from rigs.devices.slow_disk import SlowDisk
from tests.duration import ahead_of_other_work
from tests.required import lacking

#: tmpfs on every Linux system with systemd or a container runtime.
_MEMORY = Path("/dev/shm")


@pytest.fixture
def slow_disk() -> Iterator[SlowDisk]:
    """A device of 64 MiB in memory without a limit; requires fio.

    If the machine cannot provide it, the test is skipped with the reason. In CI it fails.
    """
    with _disk(64 << 20) as disk:
        yield disk


@pytest.fixture
def large_disk() -> Iterator[SlowDisk]:
    """Like `slow_disk`, with 576 MiB."""
    with _disk(576 << 20) as disk:
        yield disk


@contextmanager
def _disk(size_bytes: int) -> Iterator[SlowDisk]:
    with ExitStack() as stack:
        try:
            require_fio()
            disk = stack.enter_context(SlowDisk(_MEMORY, size_bytes))
        except RigUnavailable as e:
            lacking(f"no slow disk on this machine: {e}")
        # The device works in real time: its limits change after a number of bytes.
        stack.enter_context(ahead_of_other_work())
        yield disk
