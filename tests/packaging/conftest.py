"""Fixtures: the Debian package, built once per test run."""

import os
import shutil
from pathlib import Path

import pytest

from tests.end_to_end.programs import need
from tests.packaging import debian
from tests.required import lacking


@pytest.fixture(scope="session")
def package() -> Path:
    """The package that `make deb` builds."""
    need("make", "dh", "dpkg-buildpackage")
    return debian.built()


@pytest.fixture
def as_root() -> None:
    """Skips tests if this machine cannot enter another root."""
    need("unshare", "chroot", "dpkg")
    if os.geteuid() != 0:
        lacking("only root enters another root")
    if shutil.disk_usage("/dev/shm").free < 1 << 28:
        lacking("/dev/shm has less than 256 MiB of room")
