"""Fixtures: the drives that are known, and the usual mask of new files."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.smart.drive_documents import Known


@pytest.fixture
def known(tmp_path: Path) -> Known:
    return Known(tmp_path)


@pytest.fixture
def usual_mask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)
