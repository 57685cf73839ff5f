"""`make demo`: six simulated hosts show every verdict, and failing drives cause notifications."""

import re
import signal
import socket
import subprocess
import sys
import urllib.request
from contextlib import suppress
from pathlib import Path

import pytest

from tests.duration import PATIENCE_SECONDS, ahead_of_other_work, wait_until
from tests.end_to_end.programs import need
from tests.ports import free_ports, free_row_of_ports

ROOT = Path(__file__).parents[2]

VERDICTS = {
    *("none", "device", "cpu_softirq", "write_cache", "thermal", "link", "throttled", "unknown"),
}


def is_free(port: int) -> bool:
    with socket.socket() as found:
        return found.connect_ex(("127.0.0.1", port)) != 0


def verdicts(first: int) -> set[str]:
    """Returns the verdicts that the six hosts show now."""
    found: set[str] = set()
    for port in range(first, first + 6):
        with urllib.request.urlopen(
            f"http://127.0.0.1:{port}/metrics", timeout=PATIENCE_SECONDS
        ) as answer:
            text = answer.read().decode()
        found |= set(re.findall(r'^ssd_io_bottleneck.*cause="(\w+)"\} 1$', text, re.MULTILINE))
    return found


def text_of(address: str) -> str:
    with urllib.request.urlopen(address, timeout=PATIENCE_SECONDS) as answer:
        body: bytes = answer.read()
    return body.decode()


def assert_the_tour_leads_everywhere(printed: str) -> None:
    """Each address that is printed or linked answers, and each page is that of its host."""
    addresses = set(re.findall(r"http://[0-9.:]+/?\S*", printed.partition("The commands")[0]))
    tour = next(address for address in addresses if "six hosts" in text_of(address))
    links = re.findall(r'<a href="([^"]*)">([^<]*)</a>', text_of(tour))
    assert {address for address, _ in links} < addresses | {tour}
    names = [name for address, name in links if f"<title>{name}: " in text_of(address)]
    assert ["db1", "db2", "db3", "db4", "db5", "db6"] == names


@pytest.mark.real
def test_the_demo_shows_every_verdict_and_notifications(tmp_path: Path) -> None:
    need("prometheus", "prometheus-alertmanager")
    first, ports = free_row_of_ports(6), free_ports(3)
    names = ("prometheus", "alertmanager", "notifications")
    flags = [f"--{name}={port}" for name, port in zip(names, ports, strict=True)]
    argv = [sys.executable, "-m", "rigs.demo", f"--directory={tmp_path / 'demo'}", *flags]
    log = tmp_path / "log"
    seen: set[str] = set()

    def shows_all() -> bool:
        seen.update(verdicts(first))
        return seen == VERDICTS

    with (
        log.open("wb") as out,
        # Its drives are simulated in real time.
        ahead_of_other_work(),
        subprocess.Popen(
            [*argv, f"--exporter={first}"], cwd=ROOT, stdout=out, stderr=out
        ) as process,
    ):
        try:
            wait_until(lambda: "Six simulated hosts" in log.read_text() or process.poll())
            assert process.poll() is None, log.read_text()
            with suppress(AssertionError):
                wait_until(shows_all, "all verdicts", 3 * PATIENCE_SECONDS)
            assert VERDICTS == seen
            assert_the_tour_leads_everywhere(log.read_text())
            wait_until(lambda: "[pager] FIRING SSDDriveFailing db5" in log.read_text())
            process.send_signal(signal.SIGINT)
            assert 0 == process.wait(PATIENCE_SECONDS)
        finally:
            process.kill()
    assert all(map(is_free, [*range(first, first + 6), *ports]))
