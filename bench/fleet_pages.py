"""Serves the page of every host as /HOST on one port, in a separate process."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread

from bench import fleet_page

_LINES = fleet_page.lines()


class _Pages(ThreadingHTTPServer):
    """Renders a page once per second. The pages of hosts differ in serial numbers only."""

    daemon_threads = True
    request_queue_size = 1024

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self._started = time.time()
        self._second = -1
        self._page = b""
        self._lock = Lock()

    def page(self, host: str) -> bytes:
        with self._lock:
            now = time.time()
            second = int(now - self._started)
            if second != self._second:
                self._page = fleet_page.page(_LINES, second, now)
                self._second = second
        return self._page.replace(fleet_page.MARK.encode(), host.encode())


class _Answer(BaseHTTPRequestHandler):
    server: _Pages

    def do_GET(self) -> None:
        body = self.server.page(self.path.strip("/"))
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def served() -> Iterator[int]:
    """Runs the server in another process; yields its port."""
    argv = [sys.executable, "-m", "bench.fleet_pages"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.terminate()


def main() -> None:
    """Prints the port and serves until the parent process closes standard input."""
    server = _Pages()
    print(server.server_address[1], flush=True)
    Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()


if __name__ == "__main__":
    main()
