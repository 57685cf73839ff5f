"""Compares the cost of 24 NVMe drives with log pages with that of another checkout without them.

A pair runs the agents and the daemons of both checkouts at the same time, so that a busy machine
slows both down; the first one alternates. The drives of a checkout are simulated by programs of
their own, which count their starts. The result is the median of the ratios of the pairs.

Create the other checkout with `git worktree add --detach DIR COMMIT`.
"""

import compileall
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench import logs, programs, smart
from bench.kernel import Kernel
from bench.programs import CHECKOUT, Program
from bench.rows import Row, show_progress
from rigs.devices import smart_reports

_PAIRS = 5
_DRIVES = 24
#: Seconds between polls, and between reads of log pages: 1 to 15, as in the defaults.
_POLL, _READ, _NEVER = 10, 150, 86_400
_SCRAPES = 30
_MOST_CPU, _MOST_MEMORY, _MOST_SCRAPE = 1.15, 1.03, 1.10

_AGENT, _DAEMON = "CPU per polled drive: agent", "CPU per polled drive: daemon that polls itself"
_MEMORY, _SCRAPE = "VmRSS of the agent", "scrape p50"
_LIMITS = {_AGENT: _MOST_CPU, _DAEMON: _MOST_CPU, _MEMORY: _MOST_MEMORY, _SCRAPE: _MOST_SCRAPE}
_UNITS = {_AGENT: "ms", _DAEMON: "ms", _MEMORY: "MB", _SCRAPE: "ms"}


@dataclass(slots=True)
class _Running:
    """The programs of one checkout.

    drives: its drives, which the agent and the daemon `busy` poll.
    started: by the name of the process, a file to which each run of the program that reads log
        pages adds its CPU time.
    """

    drives: smart.Drives
    started: dict[str, Path]
    agent: int
    idle: Program
    busy: Program
    scrapes: list[float] = field(default_factory=list)

    def cpu_seconds(self) -> dict[str, float]:
        """CPU time of the agent, and of polling in the daemon, with the reading of log pages.

        smartctl is not included.
        """
        agent = programs.cpu_seconds(self.agent) + sum(self.runs("agent"))
        daemon = self.busy.cpu_seconds() - self.idle.cpu_seconds() + sum(self.runs("busy"))
        return {_AGENT: agent, _DAEMON: daemon}

    def runs(self, name: str) -> list[float]:
        """CPU seconds of each run of the program that reads log pages for a process."""
        return [int(line) / 1e9 for line in self.started[name].read_text().splitlines()]

    def count(self) -> int:
        """Runs of the program that reads log pages, for all processes."""
        return sum(len(self.runs(name)) for name in self.started)


def rows(other: Path, scale: float) -> Iterator[Row]:
    """Yields the results; the reference is the other checkout. `scale` shortens the pairs."""
    for checkout in (CHECKOUT, other):
        compileall.compile_dir(checkout / "exporter", quiet=1)
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in _LIMITS}
    starts = polls = 0
    for number in range(_PAIRS):
        show_progress(f"pair {number + 1} of {_PAIRS}")
        order = [("ours", CHECKOUT), ("other", other)]
        for name, value in _pair(order if number % 2 else order[::-1], scale).items():
            if name in found:
                found[name].append(value)
            else:
                starts, polls = starts + int(value[0]), polls + int(value[1])
    for name, pairs in found.items():
        ratios = sorted(ours / before for ours, before in pairs)
        ratio = statistics.median(ratios)
        reference = statistics.median(before for _, before in pairs)
        most = _LIMITS[name]
        spread = f"<= {most:.2f} (pairs {ratios[0]:.2f} to {ratios[-1]:.2f})"
        yield name, ratio * reference, reference, _UNITS[name], spread, ratio <= most
    # One more read of the agent and one of the daemon may fall into the time of a pair.
    most = polls / _DRIVES / (_READ // _POLL) + 2 * _PAIRS
    limit = f"<= {most:.0f}: one for {_DRIVES} drives and {_READ // _POLL} polls"
    yield "processes beside smartctl, and polls", starts, polls, "", limit, starts <= most


def _pair(order: list[tuple[str, Path]], scale: float) -> dict[str, tuple[float, float]]:
    with ExitStack() as stack:
        root = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        kernel = stack.enter_context(Kernel(root / "host", _DRIVES, _DRIVES))
        running = {
            name: stack.enter_context(_running(kernel, root / name, checkout))
            for name, checkout in order
        }
        time.sleep(3 * _POLL)
        before = {name: each.cpu_seconds() for name, each in running.items()}
        started = {n: (e.drives.ended, e.count()) for n, e in running.items()}
        time.sleep(_READ * scale)
        values: dict[str, dict[str, float]] = {name: {} for name in running}
        for name, each in running.items():
            # The agent and the daemon poll the same drives.
            polls = (each.drives.ended - started[name][0]) / 2
            for what, seconds in each.cpu_seconds().items():
                values[name][what] = (seconds - before[name][what]) / polls * 1000
            values[name][_MEMORY] = programs.rss_megabytes(each.agent)
            values[name]["starts"] = each.count() - started[name][1]
            values[name]["polls"] = 2 * polls
        for turn in range(_SCRAPES):
            for name in list(running) if turn % 2 else reversed(running):
                running[name].scrapes.append(running[name].busy.scrape())
            time.sleep(1)
        for name, each in running.items():
            values[name][_SCRAPE] = statistics.median(each.scrapes) * 1000
        count = running["ours"].busy.page().count("ssd_smart_capacitor_health_ratio{")
        if count != _DRIVES:
            raise RuntimeError(f"{count} of {_DRIVES} drives have log pages")
        ours, theirs = values["ours"], values["other"]
        return {
            **{name: (ours[name], theirs[name]) for name in _LIMITS},
            "processes": (ours["starts"], ours["polls"]),
        }


@contextmanager
def _running(kernel: Kernel, directory: Path, checkout: Path) -> Iterator[_Running]:
    directory.mkdir()
    # The daily polls of the idle daemon are not counted.
    drives, idle_drives = (
        smart.Drives(directory / name, _DRIVES, smart_reports.nvme)
        for name in ("smartctl.d", "smartctl-idle.d")
    )
    started = {name: directory / f"started-{name}" for name in ("idle", "busy", "agent")}
    commands = {}
    for each, file in started.items():
        file.touch()
        commands[each] = logs.command(directory / f"python-{each}", checkout, file)
    has_pages = (checkout / "exporter/drives/nvme_logs").is_dir()

    def flags(name: str, source: str, poll: int) -> tuple[str, str]:
        place = directory / name
        place.mkdir()
        config = place / "config.toml"
        config.write_text(
            f'[smart]\nsource = "{source}"\ndirectory = "{place}/run"\n'
            f"nvme_interval_seconds = {poll}\n"
            + (f"nvme_log_interval_seconds = {_READ}\n" if has_pages else "")
            # The first daily polls of the idle daemon are spread over five minutes. With log
            # pages it would read those of a few drives after each of them.
            + ("nvme_logs = false\n" if has_pages and name == "idle" else "")
        )
        polled = idle_drives if name == "idle" else drives
        return f"--config.file={config}", f"--smartctl.path={polled.program}"

    with ExitStack() as stack:
        idle, busy = (
            stack.enter_context(
                programs.ours(
                    *(kernel, directory / f"state-{name}", *flags(name, "exec", poll)),
                    checkout=checkout,
                    command=commands[name],
                )
            )
            for name, poll in (("idle", _NEVER), ("busy", _POLL))
        )
        argv = [*commands["agent"], "smart-agent", f"--path.sysfs={kernel.sys}"]
        agent = subprocess.Popen(
            [*argv, *flags("agent", "directory", _POLL), "--log.level=error"],
            cwd=checkout,
            stdout=subprocess.DEVNULL,
        )
        try:
            yield _Running(drives, started, agent.pid, idle, busy)
        finally:
            agent.terminate()
            agent.wait(10)
