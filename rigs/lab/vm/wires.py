"""JSON lines over sockets of QEMU: guest agent and monitor (QMP)."""

import json
import socket
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class _Line:
    """A socket with one JSON record per line."""

    def __init__(self, path: Path, seconds: float) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(seconds)
        self._socket.connect(str(path))
        self._stream = self._socket.makefile("rwb")

    def wait(self, seconds: float) -> None:
        self._socket.settimeout(seconds)

    def send(self, record: dict[str, Any]) -> None:
        self._stream.write(json.dumps(record).encode() + b"\n")
        self._stream.flush()

    def receive(self) -> dict[str, Any]:
        line = self._stream.readline()
        if not line:
            raise ConnectionError("the virtual machine has ended")
        record: dict[str, Any] = json.loads(line)
        return record

    def close(self) -> None:
        self._stream.close()
        self._socket.close()


@dataclass(frozen=True, slots=True)
class Done:
    """Result of a command in the guest."""

    status: int
    output: str
    errors: str


class Guest:
    """The guest agent, once it responds.

    Raises:
        TimeoutError: it does not respond in time.
    """

    def __init__(self, path: Path, seconds: float) -> None:
        self._line = _Line(path, seconds)
        self._line.receive()

    def run(self, *argv: str, seconds: float = 60.0) -> Done:
        """Runs a program in the guest; status 124 after a timeout."""
        self._line.wait(seconds + 30)
        self._line.send({"argv": list(argv), "seconds": seconds})
        return Done(**self._line.receive())

    def get(self, url: str) -> Done:
        """Requests a page in the guest; the status is that of HTTP, 0 without a response."""
        self._line.wait(60)
        self._line.send({"get": url})
        return Done(**self._line.receive())

    def close(self) -> None:
        self._line.close()


class Monitor:
    """Monitor of QEMU: hot-plugs devices (docs/interop/qmp-spec)."""

    def __init__(self, path: Path) -> None:
        self._line = _Line(path, 30.0)
        self._line.receive()
        self.execute("qmp_capabilities")

    def execute(self, command: str, **arguments: Any) -> Any:
        """Result of a command.

        Raises:
            RuntimeError: QEMU rejects it.
        """
        self._line.send({"execute": command, "arguments": arguments})
        while True:
            record = self._line.receive()
            if "error" in record:
                raise RuntimeError(f"{command} {arguments}: {record['error']['desc']}")
            if "return" in record:
                return record["return"]

    def close(self) -> None:
        self._line.close()


def await_socket(path: Path, seconds: float) -> None:
    """Waits for a socket that QEMU creates at start.

    Raises:
        TimeoutError: it does not appear.
    """
    until = time.monotonic() + seconds
    while not path.is_socket():
        if time.monotonic() >= until:
            raise TimeoutError(f"{path} is not there")
        time.sleep(0.02)
