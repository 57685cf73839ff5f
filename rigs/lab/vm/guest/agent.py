"""Executes requests of the host in the guest: JSON lines over a serial port.

{"argv": [...], "seconds": 60} is answered by {"status", "output", "errors"}, and
{"get": "http://..."} too, with the HTTP status. Python's standard library only.
"""

import json
import subprocess
import sys
import time
import urllib.error
import urllib.request
from typing import Any, BinaryIO

_PORT_SECONDS = 30.0


def carry_out(request: dict[str, Any]) -> dict[str, Any]:
    """Response to a request."""
    if "get" in request:
        return _get(request["get"])
    seconds = request["seconds"]
    try:
        done = subprocess.run(
            request["argv"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return _answer(124, b"", f"not done in {seconds} s")
    except OSError as e:
        return _answer(127, b"", str(e))
    return _answer(done.returncode, done.stdout, done.stderr.decode("utf-8", "replace"))


def _get(url: str) -> dict[str, Any]:
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:
            return _answer(answer.status, answer.read(), "")
    except urllib.error.HTTPError as e:
        return _answer(e.code, e.read(), "")
    except OSError as e:
        return _answer(0, b"", str(e))


def _answer(status: int, output: bytes, errors: str) -> dict[str, Any]:
    return {"status": status, "output": output.decode("utf-8", "replace"), "errors": errors}


def _opened(path: str) -> BinaryIO:
    """Path of the port, which udev creates shortly after the driver is loaded."""
    until = time.monotonic() + _PORT_SECONDS
    while True:
        try:
            return open(path, "r+b", buffering=0)
        except FileNotFoundError:
            if time.monotonic() >= until:
                raise
            time.sleep(0.05)


def _send(port: BinaryIO, record: dict[str, Any]) -> None:
    rest = memoryview(json.dumps(record).encode() + b"\n")
    while rest:
        rest = rest[port.write(rest) or 0 :]


def main() -> None:
    port = _opened(sys.argv[1])
    _send(port, {"hello": True})
    got = b""
    while True:
        more = port.read(65536)
        if not more:
            # The host is not connected.
            time.sleep(0.05)
            continue
        *lines, got = (got + more).split(b"\n")
        for line in lines:
            _send(port, carry_out(json.loads(line)))


if __name__ == "__main__":
    main()
