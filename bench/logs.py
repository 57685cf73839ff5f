"""Measures what the log pages of 24 NVMe drives cost, beside programs that do not read them.

The program that reads the pages is replaced by one that prints the same pages for each drive. It
has the same imports, and sends no commands.
"""

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bench import programs, smart
from bench.kernel import Kernel
from bench.programs import CHECKOUT, Program
from bench.rows import Row, show_progress
from rigs.devices import smart_reports
from tests.drives.nvme_logs import pages
from tests.smart import logging_drive

_DRIVES = 24
#: Seconds between two polls, and between two reads of the log pages: 1 to 15, as in the defaults.
_POLL, _READ = 10, 150
_MOST_CPU, _MOST_MEMORY, _MOST_SCRAPE = 1.15, 1.03, 1.10
_SCRAPES = 40

_PROGRAM = """\
#!{python} -IS
import array, fcntl, os, stat, struct, sys, time
for argument in sys.argv[4:]:
    if argument.startswith("/"):
        os.write(1, f"device {{argument}}\\n".encode())
    elif argument == "identify":
        os.write(1, {identify!r})
    else:
        number = argument.partition(":")[0]
        page = {pages!r}[int(number)]
        os.write(1, f"ask {{number}}\\npage {{number}} {{page}}\\n".encode())
started = os.open({started!r}, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
os.write(started, f"{{time.process_time_ns()}}\\n".encode())
"""


def rows(scale: float) -> Iterator[Row]:
    """Returns all results; `scale` shortens the measurement, which has two reads."""
    with smart.simulated_drives(_DRIVES, smart_reports.nvme) as (drives, kernel, root):
        reader = command(root / "python", CHECKOUT, root / "started")
        with ExitStack() as stack:
            off, on = (
                stack.enter_context(_daemon(drives, kernel, root / name, reader, logs=logs))
                for name, logs in (("off", False), ("on", True))
            )
            agents = [
                stack.enter_context(
                    _agent(drives, kernel, root / f"agent-{name}", reader, logs=logs)
                )
                for name, logs in (("off", False), ("on", True))
            ]
            time.sleep(3 * _POLL)
            before = off.cpu_seconds(), on.cpu_seconds()
            _wait(2 * _READ * scale)
            cpu = [
                daemon.cpu_seconds() - was for daemon, was in zip((off, on), before, strict=True)
            ]
            yield _row("CPU of polling 24 NVMe drives", cpu[1], cpu[0], "s", _MOST_CPU)
            memory = [programs.rss_megabytes(agent.pid) for agent in agents]
            yield _row(
                "VmRSS of the agent, 24 NVMe drives", memory[1], memory[0], "MB", _MOST_MEMORY
            )
            times: dict[str, list[float]] = {"off": [], "on": []}
            for number in range(_SCRAPES):
                pair = [("off", off), ("on", on)]
                for name, daemon in pair if number % 2 else reversed(pair):
                    times[name].append(daemon.scrape())
                time.sleep(1)
            p50 = {name: statistics.median(each) * 1000 for name, each in times.items()}
            yield _row("scrape p50, 24 NVMe drives", p50["on"], p50["off"], "ms", _MOST_SCRAPE)
            has_pages = on.page().count("ssd_smart_capacitor_health_ratio{")
            yield (
                "  drives with log pages on the page",
                has_pages,
                _DRIVES,
                "",
                "= 1",
                has_pages == _DRIVES,
            )


def _row(name: str, result: float, reference: float, unit: str, most: float) -> Row:
    return (
        f"{name}, with log pages",
        result,
        reference,
        unit,
        f"<= {most}",
        result <= most * reference,
    )


def command(reader: Path, checkout: Path, started: Path) -> Sequence[str]:
    """Returns a command for the exporter of a checkout that starts `reader` in place of Python.

    started: a file to which each run of `reader` adds a line: its CPU time in nanoseconds.
    """
    content = {
        0x02: pages.page(((216, 4, 3), (224, 4, 60))),
        0xC0: pages.ocp((0, 16, 1 << 40), (32, 6, 7), (104, 8, 3), (128, 2, 120)),
        0xC3: pages.slow_reads(5, 60),
    }
    listed = f"ask 0\npage 0 {logging_drive.supported(*content).hex()}\n"
    identify = f"identify {logging_drive.identify().hex()}\n{listed}".encode()
    reader.write_text(
        _PROGRAM.format(
            python=sys.executable,
            identify=identify,
            pages={number: page.hex() for number, page in content.items()},
            started=str(started),
        )
    )
    reader.chmod(0o755)
    start = (
        f"import sys; sys.executable = {str(reader)!r}; sys.path.append({str(checkout)!r}); "
        "from exporter.cli import main; sys.exit(main())"
    )
    return (sys.executable, "-c", start)


def _wait(seconds: float) -> None:
    start = time.monotonic()
    while (passed := time.monotonic() - start) < seconds:
        show_progress(f"log pages of 24 drives: {passed:.0f} of {seconds:.0f} s")
        time.sleep(min(5.0, seconds - passed))


@contextmanager
def _daemon(
    drives: smart.Drives, kernel: Kernel, directory: Path, command: Sequence[str], *, logs: bool
) -> Iterator[Program]:
    flags = _flags(drives, directory, "exec", logs=logs)
    with programs.ours(kernel, directory / "state", *flags, command=command) as program:
        yield program


@contextmanager
def _agent(
    drives: smart.Drives, kernel: Kernel, directory: Path, command: Sequence[str], *, logs: bool
) -> Iterator["subprocess.Popen[bytes]"]:
    flags = _flags(drives, directory, "directory", logs=logs)
    argv = [*command, "smart-agent", f"--path.sysfs={kernel.sys}", *flags, "--log.level=error"]
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(10)


def _flags(drives: smart.Drives, directory: Path, source: str, *, logs: bool) -> tuple[str, str]:
    directory.mkdir(parents=True)
    config = directory / "config.toml"
    config.write_text(
        f'[smart]\nsource = "{source}"\ndirectory = "{directory}/run"\n'
        f"nvme_interval_seconds = {_POLL}\nnvme_log_interval_seconds = {_READ}\n"
        f"nvme_logs = {str(logs).lower()}\n"
    )
    return f"--config.file={config}", f"--smartctl.path={drives.program}"
