"""An engine: programs that together store series and evaluate the rules."""

import json
import os
import socket
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from stack.programs import HOST, Program, Running, StackError

#: Seconds within which a program must be ready. A Store first reads its bucket.
_START_SECONDS = 600.0
_QUERY_SECONDS = 600.0
#: Minimum memory of the machine that must stay available, in bytes.
_MIN_AVAILABLE = 1 << 30
_TICKS = os.sysconf("SC_CLK_TCK")


def free_ports(count: int) -> list[int]:
    """Returns different ports of the loopback interface on which no program listens."""
    listeners = [socket.create_server((HOST, 0)) for _ in range(count)]
    try:
        return [int(listener.getsockname()[1]) for listener in listeners]
    finally:
        for listener in listeners:
            listener.close()


def post(url: str) -> None:
    """Sends an empty POST request."""
    with urllib.request.urlopen(urllib.request.Request(url, method="POST"), timeout=120):
        pass


class Engine:
    """The running programs of an engine, in the order of their start.

    queries, rules: ports of the APIs of queries and of rules. quiet: stops scrapes and the
    evaluation of rules; stored series can still be queried.
    """

    def __init__(self, name: str, directory: Path) -> None:
        self.name = name
        self.directory = directory
        self.queries = self.rules = 0
        self.quiet: Callable[[Engine], None] = lambda _: None
        self._running: dict[str, Running] = {}
        self._ended_cpu: dict[str, float] = {}
        self._peaks: dict[str, float] = {}

    def start(self, program: Program) -> None:
        """Starts a program and waits until it is ready.

        Raises:
            StackError: it ended or was not ready in time.
        """
        self._running[program.name] = Running(program, self.directory)
        deadline = time.monotonic() + _START_SECONDS
        while not program.answers():
            self.check()
            if time.monotonic() > deadline:
                raise StackError(f"{program.name} is not ready after {_START_SECONDS:.0f} s")
            time.sleep(0.5)

    def stop(self, name: str) -> None:
        """Ends a program."""
        self._account(name)
        running = self._running.pop(name)
        running.end()
        running.wait()

    def kill(self, name: str) -> Program:
        """Kills a program with SIGKILL; returns it for a later start."""
        self._account(name)
        running = self._running.pop(name)
        running.kill()
        return running.program

    def check(self) -> None:
        """Checks programs and memory.

        Raises:
            StackError: a program has ended, or the machine has too little memory.
        """
        for name, running in self._running.items():
            if running.status is not None:
                raise StackError(f"{name} ended with {running.status}: {running.failure_reason()}")
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:") and int(line.split()[1]) << 10 < _MIN_AVAILABLE:
                raise StackError(
                    f"{self.name} needs more memory than this machine has; use fewer hosts"
                    f" (in use: {self._memory_text()})"
                )

    def cpu(self) -> dict[str, float]:
        """CPU seconds of each program since the start of the engine."""
        for name in list(self._running):
            self._account(name, keep=True)
        now = {name: _cpu_seconds(running.pid) for name, running in self._running.items()}
        return {
            name: self._ended_cpu.get(name, 0.0) + now.get(name, 0.0)
            for name in {**self._ended_cpu, **now}
        }

    def total_cpu(self) -> float:
        return sum(self.cpu().values())

    def peaks(self) -> dict[str, float]:
        """Maximum resident memory of each program until now, in MiB."""
        self.cpu()
        return dict(self._peaks)

    def query(self, expr: str, **parameters: str) -> list[Any]:
        """Returns the result of an instant query."""
        result: list[Any] = self._get("query", query=expr, **parameters)["result"]
        return result

    def value(self, expr: str) -> float:
        """Returns the value of the first series of a query; 0 if there is none."""
        found = self.query(expr)
        return float(found[0]["value"][1]) if found else 0.0

    def groups(self) -> list[dict[str, Any]]:
        """The rule groups with the time and duration of their last evaluation."""
        self.check()
        with urllib.request.urlopen(f"http://{HOST}:{self.rules}/api/v1/rules", timeout=60) as page:
            found: list[dict[str, Any]] = json.load(page)["data"]["groups"]
            return found

    def close(self) -> None:
        """Ends all programs, the last one first."""
        for name in reversed(list(self._running)):
            self.stop(name)

    def _get(self, path: str, **parameters: str) -> Any:
        self.check()
        url = f"http://{HOST}:{self.queries}/api/v1/{path}"
        body = urllib.parse.urlencode({"timeout": f"{_QUERY_SECONDS:.0f}s", **parameters}).encode()
        try:
            with urllib.request.urlopen(url, data=body, timeout=_QUERY_SECONDS) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as e:
            told = e.read().decode(errors="replace")[:500]
            raise StackError(f"{self.name} answered {e.code} to {parameters}: {told}") from e

    def _account(self, name: str, *, keep: bool = False) -> None:
        """Records the peak of a program, and unless `keep` its CPU time, before it ends."""
        pid = self._running[name].pid
        self._peaks[name] = max(self._peaks.get(name, 0.0), _peak_mebibytes(pid))
        if not keep:
            self._ended_cpu[name] = self._ended_cpu.get(name, 0.0) + _cpu_seconds(pid)

    def _memory_text(self) -> str:
        return ", ".join(f"{name} {peak:.0f} MiB" for name, peak in self.peaks().items())


def _cpu_seconds(pid: int) -> float:
    """User and system time of a process; 0 if it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _peak_mebibytes(pid: int) -> float:
    """VmHWM of a process; 0 if it has ended."""
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return 0.0
    return sum(int(line.split()[1]) / 1024 for line in text.splitlines() if line[:6] == "VmHWM:")


@contextmanager
def running(name: str, directory: Path) -> Iterator[Engine]:
    """An engine without programs, which are ended at the end."""
    directory.mkdir(parents=True)
    engine = Engine(name, directory)
    try:
        yield engine
    finally:
        engine.close()
