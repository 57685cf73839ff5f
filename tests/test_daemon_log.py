"""What the threads of the daemon log after a survey of the drives and a reading of the services."""

import logging
from pathlib import Path
from typing import Any

import pytest

from exporter.config.settings import COLLECTORS, Paths, Settings
from exporter.daemon import _Threads
from exporter.monitor import Monitor
from exporter.runtime.clock import SystemClock
from exporter.runtime.errors import NotAvailable
from tests.linux import trees
from tests.linux.trees import Sys


@pytest.fixture
def sys(tmp_path: Path) -> Sys:
    """A host with the drive sda and a virtual drive."""
    sys = Sys(tmp_path / "sys")
    trees.sata(sys)
    trees.virtio(sys)
    (tmp_path / "proc").mkdir()
    return sys


@pytest.fixture
def threads(tmp_path: Path, sys: Sys, caplog: pytest.LogCaptureFixture) -> _Threads:
    """The threads of a daemon on this host; they are not started."""
    settings = Settings(
        path=Paths(procfs=tmp_path / "proc", sysfs=sys.root, rootfs=tmp_path),
        collector={**COLLECTORS, "smart": False, "probe": False},
    )
    clock, no_program = SystemClock(), _NoProgram()
    monitor = Monitor(settings, clock, no_program, {}, children=no_program)
    caplog.set_level(logging.INFO, logger="exporter.daemon")
    return _Threads(monitor, None, clock)


def test_a_host_without_cgroup_v2_is_logged_once(
    sys: Sys, threads: _Threads, caplog: pytest.LogCaptureFixture
) -> None:
    (sys.root / "fs/cgroup").mkdir(parents=True)
    for _ in range(3):
        threads._watch_services()
    assert 1 == len(caplog.messages)
    assert "no cgroup v2 with the io controller" in caplog.text


class _NoProgram:
    """A runner whose programs are not installed."""

    def __call__(self, *_: object, **__: object) -> Any:
        raise NotAvailable("no programs on this host")

    run = complete = __call__
