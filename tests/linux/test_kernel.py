"""Tests of `linux.kernel`."""

import platform
from pathlib import Path

from exporter.linux import kernel


def test_the_kernel_and_the_boot_are_those_of_this_machine(tmp_path: Path) -> None:
    assert platform.release() == kernel.release(Path("/proc"))
    assert 36 == len(kernel.boot_id(Path("/proc")))
    assert ("", "") == (kernel.release(tmp_path), kernel.boot_id(tmp_path))
