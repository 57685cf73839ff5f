"""The edge to tracefs: refusals, the lock, and which triggers are removed how."""

import errno
import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from exporter.latency import trace_instance, triggers
from exporter.latency.measured_devices import find
from exporter.latency.trace_guard import TraceGuard
from exporter.latency.trace_instance import TraceFilesystem
from exporter.runtime.errors import ConfigError
from tests.duration import wait_until
from tests.latency.tracefs import tracefs


@contextmanager
def refused_open(number: int) -> Iterator[None]:
    """The kernel refuses to open a file for writing."""
    real = os.open

    def refuse(path: Path, flags: int, *more: int) -> int:
        if flags & os.O_WRONLY:
            raise OSError(number, os.strerror(number))
        return real(path, flags, *more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "open", refuse)
        yield


def refusal(sys_: Path) -> str:
    with pytest.raises(ConfigError) as raised:
        TraceFilesystem.opened(sys_)
    assert "\n" not in str(raised.value)
    return str(raised.value)


def test_a_kernel_without_tracing_is_refused(tmp_path: Path) -> None:
    assert "has no tracefs (CONFIG_TRACING)" in refusal(tmp_path)


def test_a_tracefs_that_is_not_mounted_is_named_with_the_command(tmp_path: Path) -> None:
    place = tmp_path / "kernel" / "tracing"
    place.mkdir(parents=True)
    expected = f"tracefs is not mounted; run: mount -t tracefs tracefs {place}, or reboot"
    assert expected == refusal(tmp_path)


@pytest.mark.parametrize(
    ("missing", "option"),
    [
        ("synthetic_events", "CONFIG_SYNTH_EVENTS"),
        ("events/block/block_rq_issue/hist", "CONFIG_HIST_TRIGGERS"),
    ],
)
def test_a_kernel_without_an_option_is_refused(tmp_path: Path, missing: str, option: str) -> None:
    (tracefs(tmp_path) / missing).unlink()
    assert option in refusal(tmp_path)


def test_the_mount_of_older_systems_is_used(tmp_path: Path) -> None:
    tracing = tracefs(tmp_path)
    older = tmp_path / "kernel" / "debug" / "tracing"
    older.parent.mkdir()
    tracing.rename(older)
    TraceFilesystem.opened(tmp_path).close()


def test_another_measurement_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_instance, "_REMOVAL_SECONDS", 0.0)
    tracing = tracefs(tmp_path)
    descriptor = os.open(tracing / "instances", os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    assert refusal(tmp_path).startswith("another ssd-exporter measures the latency on this host")
    os.close(descriptor)
    TraceFilesystem.opened(tmp_path).close()


def test_a_locked_down_kernel_is_named(tmp_path: Path) -> None:
    denied = PermissionError(1, "Operation not permitted")
    security = tmp_path / "kernel" / "security"
    security.mkdir(parents=True)
    path = tmp_path / "kernel" / "tracing"
    said = str(trace_instance._denied(tmp_path, path, denied))
    assert f"{path} cannot be opened: Operation not permitted; run this command as root" == said
    (security / "lockdown").write_text("none integrity [confidentiality]\n")
    said = str(trace_instance._denied(tmp_path, path, denied))
    assert said.startswith("the kernel is locked down (confidentiality)")


def test_a_kernel_that_lists_the_files_and_does_not_open_them_is_named(tmp_path: Path) -> None:
    """Linux 6.1.0-56 with lockdown=confidentiality."""
    tracing = tracefs(tmp_path)
    security = tmp_path / "kernel" / "security"
    security.mkdir()
    (security / "lockdown").write_text("none integrity [confidentiality]\n")
    opened = TraceFilesystem.opened(tmp_path)
    (tracing / "synthetic_events").unlink()
    with refused_open(errno.EPERM), pytest.raises(ConfigError, match=r"^the kernel is locked down"):
        opened.create(triggers.measuring(4096))
    opened.close()


def test_a_refused_trigger_is_one_line_and_nothing_is_left(tmp_path: Path) -> None:
    tracing = tracefs(tmp_path)
    opened = TraceFilesystem.opened(tmp_path)
    trigger = triggers.measuring(4096)[0]
    # In a directory that is no tracefs, the new instance has no events.
    with pytest.raises(ConfigError, match=r"^the kernel \S+ refuses a trigger of synthetic/"):
        opened.create([trigger])
    assert not (tracing / "instances" / triggers.INSTANCE).exists()
    opened.close()


def test_each_trigger_is_removed_by_its_own_text() -> None:
    # Linux 6.1.0-56-amd64.
    read = (
        "hist:keys=dev:vals=hitcount:f0=common_timestamp:sort=hitcount:size=512:clock=mono"
        ' if rwbs ~ "FF*" [paused]'
    )
    assert f"!{read.removesuffix(' [paused]')}" == triggers.removal(read)
    enabled = 'enable_hist:block:block_rq_issue:unlimited if buf ~ "ssd-exporter: start*"'
    assert "!enable_hist:block:block_rq_issue" == triggers.removal(enabled)
    for line in ("", "# Available triggers:", "# traceon traceoff snapshot hist"):
        assert "" == triggers.removal(line)


def test_every_trigger_is_of_an_event_whose_triggers_are_removed() -> None:
    used = {trigger.event for trigger in (*triggers.measuring(4096), *triggers.stopping())}
    assert used == set(triggers.events())


def test_the_buckets_have_no_gap_and_are_narrow() -> None:
    at = 0
    while at < 10 * 10**9:
        low, high = triggers.bucket_of(at)
        assert low == at
        assert high - low <= max(low / 8, 4096)
        at = high


_GUARDED = """
import os, signal, sys
from pathlib import Path
from exporter.latency.trace_guard import TraceGuard
with TraceGuard(lambda: Path(sys.argv[1]).touch()):
    if sys.argv[2] == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize(("how", "status"), [("kill", -signal.SIGKILL), ("end", 0)])
def test_the_guard_cleans_up_only_after_a_kill(tmp_path: Path, how: str, status: int) -> None:
    argv = [sys.executable, "-c", _GUARDED, str(tmp_path / "cleaned"), how]
    # The output ends with the process: the guard does not hold it open.
    ended = subprocess.run(argv, capture_output=True, check=False, cwd=Path(__file__).parents[2])
    assert (status, b"") == (ended.returncode, ended.stderr)
    if how == "kill":
        wait_until((tmp_path / "cleaned").exists)
    else:
        assert not (tmp_path / "cleaned").exists()


def test_a_guard_that_was_killed_is_no_error() -> None:
    with TraceGuard(lambda: None) as guard:
        os.kill(guard.process, signal.SIGKILL)


def disk(sys_: Path, name: str, number: str, slaves: tuple[str, ...] = ()) -> Path:
    directory = sys_ / "devices" / "block" / name
    (directory / "slaves").mkdir(parents=True)
    (directory / "dev").write_text(f"{number}\n")
    for slave in slaves:
        (directory / "slaves" / slave).symlink_to(sys_ / "class" / "block" / slave)
    (sys_ / "class" / "block").mkdir(parents=True, exist_ok=True)
    (sys_ / "class" / "block" / name).symlink_to(directory)
    return directory


def test_a_volume_is_measured_at_the_disks_below_it(tmp_path: Path) -> None:
    (tmp_path / "diskstats").write_text(
        "   8       0 sda 1 0 8 1 0 0 0 0 0 1 1\n   8      16 sdb 1 0 8 1 0 0 0 0 0 1 1\n"
    )
    sda = disk(tmp_path, "sda", "8:0")
    part = sda / "sda1"
    part.mkdir()
    (part / "partition").write_text("1\n")
    (part / "dev").write_text("8:1\n")
    (tmp_path / "class" / "block" / "sda1").symlink_to(part)
    disk(tmp_path, "sdb", "8:16")
    disk(tmp_path, "md0", "9:0", ("sda1", "sdb"))
    disk(tmp_path, "dm-0", "253:0", ("md0",))
    found = find(tmp_path, tmp_path, ["dm-0", "sda1", "sdb"])
    assert ("8:0", "8:16") == found.chosen
    assert (8 << 20, 8 << 20 | 16) == found.kernel_numbers
    assert (
        "dm-0 has no requests of its own: sda, sdb are measured.",
        "sda1 is a partition: all requests of sda are measured.",
    ) == found.notes
    assert {"8:0": "sda", "8:16": "sdb"} == found.names
    assert () == find(tmp_path, tmp_path, []).chosen
    for name in ("sdc", "../sda", "/dev/null", ""):
        with pytest.raises(ConfigError, match="is no block device; name a device such as nvme0n1"):
            find(tmp_path, tmp_path, [name])
