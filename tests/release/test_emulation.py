"""Programs of another machine; `make release` runs some of ARM."""

import platform
from pathlib import Path

import pytest

from release.emulation import emulated
from release.programs import ReleaseError


def test_programs_of_this_machine_need_nothing(tmp_path: Path) -> None:
    with emulated(platform.machine(), tmp_path):
        pass


def test_a_missing_interpreter_is_reported_with_its_package(tmp_path: Path) -> None:
    with (
        pytest.raises(ReleaseError, match=r"run: apt-get install qemu-user-static"),
        emulated("s390x", tmp_path),
    ):
        pass
