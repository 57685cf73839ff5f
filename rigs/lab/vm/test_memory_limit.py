"""A unit that reaches its MemoryMax= is killed by the kernel, starts again and loses nothing."""

import json
import time
from collections.abc import Callable

import pytest

from rigs.lab.vm.host import Host, up

_AGENT, _EXPORTER = "ssd-smart-agent.service", "ssd-exporter.service"
_STATE = "/var/lib/ssd-exporter/state.json"


def show(host: Host, unit: str, key: str) -> str:
    return host.machine.output("systemctl", "show", "--value", "-p", key, unit).strip()


def inventory(host: Host) -> object:
    return json.loads(host.machine.output("cat", _STATE))["inventory"]


def wait(until: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + 90
    while not until():
        assert time.monotonic() < end, what
        time.sleep(0.5)


@pytest.mark.parametrize("unit", [_AGENT, _EXPORTER])
def test_a_unit_beyond_its_memory_limit_starts_again(host: Host, unit: str) -> None:
    """The limit is lowered below what the process uses, so that the kernel kills it."""
    drives = set(up(host.page()))
    host.machine.output("systemctl", "restart", _EXPORTER)  # it saves its state when it stops
    host.await_page(lambda page: set(up(page)) >= drives)
    before, stored = int(show(host, unit, "NRestarts")), inventory(host)
    limit = show(host, unit, "MemoryMax")
    lowered = ("systemctl", "set-property", "--runtime", unit)
    host.machine.output(*lowered, "MemoryMax=4M", "MemorySwapMax=0")
    wait(lambda: int(show(host, unit, "NRestarts")) > before, "the unit was not restarted")
    host.machine.output(*lowered, f"MemoryMax={limit}")
    wait(lambda: show(host, unit, "ActiveState") == "active", "the unit does not run again")
    host.await_page(lambda page: set(up(page)) >= drives)
    # The killed process could not save anything: the file still has what was saved before.
    assert stored == inventory(host)


def test_the_limits_are_above_the_ceilings(host: Host) -> None:
    """docs/limits.md states the ceilings: 128 MB for the daemon and 64 MB for the agent."""
    assert int(show(host, _EXPORTER, "MemoryMax")) >= 2 * (128 << 20)
    assert int(show(host, _AGENT, "MemoryMax")) >= 2 * (64 << 20)
