"""Serves the page of every host as /CLUSTER/HOST on one port, in a separate process."""

import math
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread

from rigs.fleet import faults, page
from rigs.fleet.targets import Target

_LINES = page.lines()
_FAULTS = faults.hosts()


class _Pages(ThreadingHTTPServer):
    """Renders a page once per second. The pages of healthy hosts differ in serial numbers only."""

    daemon_threads = True
    request_queue_size = 1024

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self._started = time.time()
        #: Unix time from which the faults count their seconds.
        self.faults_since = math.inf
        self._second = -1
        self._page = b""
        self._lock = Lock()

    def page(self, target: Target) -> bytes | None:
        """Returns the page of a host; None if the host does not answer."""
        now = time.time()
        fault = _FAULTS.get(target)
        if fault is None:
            text = self._healthy(now)
        else:
            seconds = now - self.faults_since
            if not fault.answers(seconds):
                return None
            ran = now - self._started
            text = b"".join(
                b"%s %.6f\n" % (line.series.encode(), page.value(line, ran, now) + added)
                for line, added in faults.altered(_LINES, fault, seconds)
            )
        return text.replace(page.MARK.encode(), target.instance.encode())

    def _healthy(self, now: float) -> bytes:
        with self._lock:
            second = int(now - self._started)
            if second != self._second:
                self._page = page.page(_LINES, second, now)
                self._second = second
            return self._page


class _Answer(BaseHTTPRequestHandler):
    server: _Pages

    def do_GET(self) -> None:
        cluster, _, instance = self.path.strip("/").partition("/")
        body = self.server.page(Target(cluster, instance))
        if body is None:
            self.send_error(503)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


class Pages:
    """The running server, and its port."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process
        assert process.stdout is not None
        self.port = int(process.stdout.readline())

    def begin_faults(self) -> None:
        """Starts the clock of the faults."""
        assert self._process.stdin is not None
        self._process.stdin.write(b"begin\n")
        self._process.stdin.flush()


@contextmanager
def served() -> Iterator[Pages]:
    """Runs the server in another process."""
    argv = [sys.executable, "-m", "rigs.fleet.pages"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            yield Pages(process)
        finally:
            process.terminate()


def main() -> None:
    """Prints the port and serves until the parent process closes standard input."""
    server = _Pages()
    print(server.server_address[1], flush=True)
    Thread(target=server.serve_forever, daemon=True).start()
    for _ in sys.stdin:
        server.faults_since = time.time()


if __name__ == "__main__":
    main()
