"""A host during a backup: two NVMe drives and a SATA drive whose write cache is full."""

from collections.abc import Iterable, Sequence
from typing import Any

from exporter.io.drive_now import DriveNow
from exporter.io.recent_activity import VERDICTS
from exporter.io.services import OTHER, ServiceRate
from exporter.io.verdict import Verdict
from exporter.top.frame import DaemonDrive, DriveLine, Frame


def _wave(low: float, high: float, samples: int = 300) -> list[float]:
    """Returns values that increase, stay and decrease again."""
    steps = (0.1, 0.2, 0.5, 0.9, 1.0, 1.0, 1.0, 0.9, 0.7, 0.6)
    return [low + (high - low) * steps[i * len(steps) // samples] for i in range(samples)]


def _history(
    read: Sequence[float],
    written: Sequence[float],
    read_await: Sequence[float],
    write_await: Sequence[float],
    verdicts: Iterable[Verdict],
) -> dict[str, Any]:
    return {
        "read_column": read,
        "written_column": written,
        "read_await_column": read_await,
        "write_await_column": write_await,
        "statuses": bytes(map(VERDICTS.index, verdicts)),
    }


BUSY = DriveLine(
    "nvme1n1",
    model="Samsung 970 EVO 500GB",
    capacity_bytes=500_107_862_016,
    roles=("mysql-data", "mysql-undo"),
    mountpoints=("/var/lib/mysql",),
    services=(
        ServiceRate("mysqld.service", 100e6, 41e6, 6100, 2910),
        ServiceRate("xtrabackup.service", 90e6, 0, 90, 0),
        ServiceRate(OTHER, 0.2e6, 0, 50, 0),
    ),
    now=DriveNow(
        verdict=Verdict.DEVICE,
        read_bytes=190.2e6,
        written_bytes=41e6,
        reads=6240,
        writes=2910,
        read_await=0.0024,
        write_await=0.0038,
        flush_await=0.0011,
        queue_depth=22.3,
        busy_ratio=0.98,
        saturated_seconds=41,
        **_history(
            _wave(20e6, 210e6),
            _wave(5e6, 45e6),
            _wave(0.0003, 0.0031),
            _wave(0.0002, 0.0044),
            tuple(Verdict.DEVICE if 120 <= i < 160 else Verdict.NONE for i in range(300)),
        ),
    ),
    known=DaemonDrive(35.0, 0.03, 0.99, 7, 0.0003, 0.0005, 0.005, 0.038, 0, 1),
)

REDO = DriveLine(
    "nvme0n1",
    model="Samsung 970 EVO 500GB",
    capacity_bytes=500_107_862_016,
    mountpoints=("/", "/boot/efi"),
    services=(ServiceRate("systemd-journald.service", 0, 12e6, 0, 700),),
    now=DriveNow(
        read_bytes=1.2e6,
        written_bytes=13e6,
        reads=300,
        writes=800,
        read_await=0.0001,
        write_await=0.00012,
        flush_await=0.00009,
        queue_depth=0.12,
        busy_ratio=0.09,
        **_history(
            _wave(1e6, 2e6),
            _wave(1e6, 13e6),
            _wave(0, 0.0001),
            _wave(0, 0.0001),
            (Verdict.NONE,) * 300,
        ),
    ),
    known=DaemonDrive(33.0, 0.01, 1.0, 0, 0.0001, 0.0001),
)

CACHE = DriveLine(
    "sda",
    model="Crucial MX500 1TB",
    capacity_bytes=1_000_204_886_016,
    now=DriveNow(
        verdict=Verdict.WRITE_CACHE,
        written_bytes=112e6,
        writes=220,
        write_await=0.009,
        queue_depth=8,
        busy_ratio=1.0,
        saturated_seconds=12,
        **_history(
            (0.0,) * 300,
            _wave(0, 450e6),
            (0.0,) * 300,
            _wave(0, 0.009),
            (Verdict.WRITE_CACHE,) * 300,
        ),
    ),
)

FRAME = Frame(
    host="db1",
    clock="10:02:33",
    unix_time=1_795_600_953.25,
    interval_seconds=1.0,
    drives=(REDO, BUSY, CACHE),
    some_ratio=0.42,
    full_ratio=0.15,
    hottest_cpu=3,
    softirq_ratio=0.03,
    iowait_ratio=0.08,
    observed_seconds=300,
)
