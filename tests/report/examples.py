"""Example reports like those of the commands."""

import random

from exporter.report.content import Band, Chart, ChartLine, Mark, Report, Table


def write_cache() -> Report:
    """Returns a report with the end of the write cache at 38 GB."""
    noise = random.Random(1)
    points = []
    for number in range(640):
        x = (number + 0.5) * 128e6
        fast = 2.1e9 if x < 38e9 else 0.45e9
        points.append((x, fast * noise.uniform(0.94, 1.04)))
    chart = Chart(
        "Throughput over what was written",
        "written since the drive rested",
        "throughput",
        (
            ChartLine("each 128 MB", tuple(points)),
            ChartLine(
                "median of each phase",
                ((0.0, 2.08e9), (38e9, 2.08e9), (38e9, 0.445e9), (81.9e9, 0.445e9)),
            ),
        ),
        marks=(Mark(38e9, "end of the write cache, 38 GB"),),
        x_unit="B",
        y_unit="B/s",
    )
    table = Table(
        "Phases",
        ("phase", "from", "to", "throughput"),
        (
            ("in the cache", "0 GB", "38.0 GB", "2.08 GB/s"),
            ("after it", "38.0 GB", "81.9 GB", "445 MB/s"),
        ),
        numbers=frozenset({1, 2, 3}),
    )
    return Report(
        "Write cache of nvme0n1",
        "The write cache ends after 38 GB: from then on the drive writes at 445 MB/s,"
        " 21 % of its first speed.",
        (
            ("Drive", "SAMSUNG MZVL21T0HCLR-00B00, S676NX0R512345"),
            ("Directory", "/var/lib/mysql-probe"),
            ("Filesystem", "ext4 on nvme0n1p3"),
            ("Written", "81.9 GB, 0.014 % of rated life"),
            ("Took", "1 min 58 s"),
            ("fio", "3.33, io_uring"),
            ("Measured", "2026-11-21 14:02 UTC"),
        ),
        (chart, table),
        (
            "The drive had rested for 12 minutes; a cache that had not recovered looks smaller.",
            "The speed is that of sequential writes of 1 MiB with direct I/O.",
        ),
        {"cache_bytes": 38_000_000_000, "falloff_ratio": 0.214, "result": "cliff"},
        is_good=False,
    )


def steady_state() -> Report:
    """Returns a report of five rounds: the fitted line falls by 6 %, the values range over 13 %."""
    values = (20_900.0, 20_150.0, 19_480.0, 20_420.0, 19_300.0)
    mean = sum(values) / len(values)
    chart = Chart(
        "Rounds, and where steady ones lie",
        "round",
        "IOPS",
        (
            ChartLine("round", tuple(enumerate(values, 1)), dots=True),
            ChartLine("best line", ((1, 20_636.0), (5, 19_464.0))),
        ),
        bands=(
            Band(0.9 * mean, 1.1 * mean, "20 % window: all rounds lie within"),
            Band(0.95 * mean, 1.05 * mean, "10 % window: the best line stays within"),
        ),
    )
    table = Table(
        "Rounds",
        ("round", "IOPS", "mean latency", "p99"),
        tuple(
            (str(n), f"{value:,.0f}", f"{1e6 / value:.1f} µs", f"{3e6 / value:.0f} µs")
            for n, value in enumerate(values, 1)
        ),
        numbers=frozenset({0, 1, 2, 3}),
    )
    return Report(
        "Steady state of page_write on sda",
        "Steady: over five rounds the IOPS range over 8 % and their line falls by 5.8 %.",
        (
            ("Drive", "INTEL SSDSC2KB960G8, PHYF1234"),
            ("Profile", "page_write: 16 KiB random writes, 1 job, depth 1, psync, direct"),
            ("Written", "1.6 GB"),
        ),
        (chart, table),
        ("A file of 1 GiB is tested, not the whole drive as SNIA's document asks.",),
        {"phase": "steady", "mean_iops": mean},
        is_good=True,
    )


def matrix() -> Report:
    """Returns a report of 30 cells, of a drive with a hostile name."""
    noise = random.Random(2)
    rows = []
    for size in ("4 KiB", "16 KiB", "128 KiB"):
        for jobs in ("1", "4"):
            for mode in ("randread", "randwrite", "randrw 75/25", "read", "write"):
                iops = noise.uniform(2_000, 90_000)
                kib = float(size.split()[0])
                cells = (
                    f"{iops:,.0f}",
                    f"{iops * kib * 1024 / 1e6:,.0f}",
                    f"{1e6 / iops:.0f} µs",
                    f"{4e6 / iops:.0f} µs",
                    f"{noise.uniform(1, 40):.1f} ms",
                )
                rows.append((size, jobs, mode, *cells))
    table = Table(
        "Matrix",
        ("block size", "jobs", "mode", "IOPS", "MB/s", "p50", "p99", "max"),
        tuple(rows),
        numbers=frozenset({0, 1, 3, 4, 5, 6, 7}),
    )
    return Report(
        "Benchmark of nvme1n1",
        "30 cells measured in 10 min 20 s; nothing was judged.",
        (
            ("Drive", "<script>alert(1)</script>\x1b[31m & co"),
            ("Directory", "/srv/mysql/a directory with a rather long name/and another one in it"),
            ("Written", "22.4 GB"),
        ),
        (table,),
        ("Cells of one table differ by a factor of two on virtual machines.",),
        {"cells": []},
    )
