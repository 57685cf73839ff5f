"""The daemon starts with a damaged or later state file, and continues counters."""

import json
from pathlib import Path

import pytest

from tests.duration import wait_until
from tests.end_to_end.daemon import Daemon
from tests.end_to_end.host import Host


def test_an_unusable_state_file_is_renamed_and_replaced(tmp_path: Path) -> None:
    kept = '{"version": 1'
    state = tmp_path / "state"
    state.mkdir()
    (state / "state.json").write_text(kept)
    with Daemon(tmp_path, "--no-collector.smart") as daemon:
        assert daemon.page().value("ssd_sampler_samples_total") > 0
        # The first save waits for the disk after this file exists.
        wait_until((state / "state.json").exists)
        daemon.next_page(2)
        assert 0 == daemon.stop()
    (aside,) = state.glob("state.json.*")
    assert kept == aside.read_text()
    (complaint,) = daemon.complaints
    assert f"renamed to {aside.name}" in complaint
    assert "starting without it" in complaint
    new = json.loads((state / "state.json").read_text())
    assert 1 == new["version"]
    known = {state / name for name in ("state.json", "daemon.lock", "history")}
    assert {aside, *known} == set(state.iterdir())


def test_iowait_does_not_decrease_over_a_restart_even_if_the_kernel_counter_does(
    tmp_path: Path,
) -> None:
    """The kernel counter may decrease (proc_stat(5)). Prometheus would count all of it again.

    After kill -9 the last exported value is unknown, so the counter restarts at 0.
    """
    host = Host(tmp_path)
    host.write("sys/kernel/random/boot_id", "2f5c1d0e-0000-4000-8000-000000000001\n")

    def kernel_says(iowait: int) -> None:
        ticks = f"1000 0 1000 90000 {iowait} 0 10 0 0 0"
        host.write("stat", f"cpu  {ticks}\ncpu0 {ticks}\n")

    def said(daemon: Daemon) -> float:
        return daemon.next_page(2).value("ssd_cpu_seconds_total", mode="iowait")

    file = tmp_path / "daemon/state/state.json"

    def inode() -> int:
        return file.stat().st_ino

    # Each daemon stops or is killed after its first save: the final save has a time limit, and
    # would wait for the first one.
    kernel_says(9800)
    with Daemon(tmp_path / "daemon", *host.flags) as daemon:
        assert 98 == said(daemon)
        kernel_says(9799)
        wait_until(file.exists, "the first save")
        assert 98 == said(daemon)
        assert 0 == daemon.stop()
    final = inode()
    with Daemon(tmp_path / "daemon", *host.flags) as daemon:
        wait_until(lambda: inode() != final, "the first save, which is not final")
        assert 98 == said(daemon)
        kernel_says(9900)
        assert 99 == said(daemon)
        kernel_says(9899)
        daemon.kill()
    saved = inode()
    with Daemon(tmp_path / "daemon", *host.flags) as daemon:
        assert 0 == said(daemon)
        kernel_says(10000)
        wait_until(lambda: inode() != saved, "the first save")
        assert pytest.approx(1.01) == said(daemon)
        assert 0 == daemon.stop()
    kernel_says(9999)
    with Daemon(tmp_path / "daemon", *host.flags) as daemon:
        assert pytest.approx(1.01) == said(daemon)
        kernel_says(10100)
        assert pytest.approx(2.01) == said(daemon)
