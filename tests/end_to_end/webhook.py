"""An HTTP server that receives and records Alertmanager's notifications."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_LARGEST_BYTES = 1 << 22


@dataclass(frozen=True, slots=True)
class Notice:
    """One alert in one notification.

    receiver: the path that it was sent to. seconds: the monotonic time at which it arrived.
    """

    receiver: str
    status: str
    labels: dict[str, str]
    annotations: dict[str, str]
    group: dict[str, str]
    seconds: float

    @property
    def alert(self) -> str:
        return self.labels["alertname"]

    @property
    def event(self) -> tuple[str, str, str, str]:
        """Returns receiver, alert, device and status ("firing" or "resolved")."""
        return self.receiver, self.alert, self.labels.get("device", ""), self.status


class Receiver:
    """Stores received notifications; `address` is "host:port".

    Format: https://prometheus.io/docs/alerting/latest/configuration/#webhook_config
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self._lock = threading.Lock()
        self._notices: list[Notice] = []

    def notices(self, instance: str | None = None) -> list[Notice]:
        """Returns the alerts received so far, of one host or of all."""
        with self._lock:
            found = list(self._notices)
        return [each for each in found if instance in (None, each.labels.get("instance"))]

    def take(self, receiver: str, notification: dict[str, Any]) -> None:
        """Stores the alerts of a notification."""
        now = time.monotonic()
        with self._lock:
            self._notices += (
                Notice(
                    receiver,
                    alert["status"],
                    alert["labels"],
                    alert["annotations"],
                    notification["groupLabels"],
                    now,
                )
                for alert in notification["alerts"]
            )


@contextmanager
def receiving() -> Iterator[Receiver]:
    """Runs a receiver on a free port."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            size = min(int(self.headers["Content-Length"]), _LARGEST_BYTES)
            receiver.take(self.path.strip("/"), json.loads(self.rfile.read(size)))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Suppresses the log on standard error."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    receiver = Receiver(f"127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
