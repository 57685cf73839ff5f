"""The slow disk as a fixture: ``pytest_plugins = ("tests.rig.fixtures",)`` in a test module."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.required import lacking
from tests.rig.cgroup import RigUnavailable
from tests.rig.load import require_fio
from tests.rig.slow_disk import SlowDisk

#: tmpfs on every Linux that systemd or a container runtime started.
_MEMORY = Path("/dev/shm")


@pytest.fixture
def slow_disk() -> Iterator[SlowDisk]:
    """A device of 64 MiB in memory, not throttled yet; fio is installed.

    A machine that cannot have one skips the test, with the reason; in CI, where it is meant to
    be, that is a failure.
    """
    with ExitStack() as stack:
        try:
            require_fio()
            disk = stack.enter_context(SlowDisk(_MEMORY))
        except RigUnavailable as e:
            lacking(f"no slow disk on this machine: {e}")
        yield disk
