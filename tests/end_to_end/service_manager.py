"""Receives what a process notifies to its service manager."""

import socket
from pathlib import Path

from tests.duration import PATIENCE_SECONDS


class ServiceManager:
    """The service manager's end of the notify socket (sd_notify(3)), at a path.

    environment: the variables that a service gets.
    """

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(path))
        self._path = path
        self.environment = {"NOTIFY_SOCKET": str(path)}

    def heard(self, seconds: float = PATIENCE_SECONDS) -> list[str]:
        """Returns the states of the next message. Raises TimeoutError if none arrives."""
        self._socket.settimeout(seconds)
        return self._socket.recv(4096).decode().split("\n")

    def heard_besides_watchdog(self) -> list[str]:
        while (states := self.heard()) == ["WATCHDOG=1"]:
            pass
        return states

    def await_ready(self) -> None:
        """Waits until the service is ready, as `systemctl start` does."""
        while "READY=1" not in self.heard():
            pass

    def close(self) -> None:
        self._socket.close()
        self._path.unlink()
