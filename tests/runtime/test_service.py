"""Notifications to systemd, and its watchdog."""

import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from exporter.runtime import service
from tests.duration import PATIENCE_SECONDS, at_most


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(str(tmp_path / "notify"))
        listening.settimeout(PATIENCE_SECONDS)
        yield listening


def test_an_abstract_socket_is_supported(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        name = f"ssd-exporter-test-{os.getpid()}"
        listening.bind(f"\0{name}")
        listening.settimeout(PATIENCE_SECONDS)
        monkeypatch.setenv("NOTIFY_SOCKET", f"@{name}")
        service.notify("WATCHDOG=1")
        assert b"WATCHDOG=1" == listening.recv(4096)


@pytest.mark.parametrize("address", ["", "/nonexistent/notify", "@no-such-socket", "x" * 500])
def test_notify_without_a_manager_does_nothing(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", address)
    service.notify("READY=1")


def test_a_manager_that_does_not_read_delays_notify_by_a_second_at_most(
    manager: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The queue of its socket is full."""
    monkeypatch.setenv("NOTIFY_SOCKET", manager.getsockname())
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) as filling:
        filling.connect(manager.getsockname())
        with contextlib.suppress(BlockingIOError):
            while filling.send(b"x" * 1000):
                pass
    with at_most(3):
        service.notify("WATCHDOG=1")


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, None),
        ({"WATCHDOG_USEC": "30000000"}, 30.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": str(os.getpid())}, 30.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "1"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "-5"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
        ({"WATCHDOG_USEC": ""}, None),
    ],
)
def test_the_watchdog_timeout_of_this_process(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], expected: float | None
) -> None:
    for name in ("WATCHDOG_USEC", "WATCHDOG_PID"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert expected == service.watchdog_seconds()
