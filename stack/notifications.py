"""Receives notifications of Alertmanager and prints a line for each alert."""

import http.server
import json
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any

from stack.programs import HOST, StackError

#: Maximum size of a notification, in bytes.
_MAX_BYTES = 4 << 20
#: Notifications on the page.
_MOST_LINES = 100


def lines(receiver: str, document: Any) -> Iterator[str]:
    """Yields a line for each alert of a notification: receiver, state, alert, labels, summary.

    receiver: the name of the receiver, such as "pager". document: the body of the webhook.
    """
    alerts = document.get("alerts", []) if isinstance(document, dict) else []
    for alert in alerts:
        labels, texts = alert.get("labels", {}), alert.get("annotations", {})
        where = " ".join(filter(None, (labels.get("instance"), labels.get("device"))))
        state = str(alert.get("status", "")).upper()
        words = texts.get("summary") or texts.get("description") or ""
        line = f"[{receiver}] {state} {labels.get('alertname', '?')} {where}: {words}"
        yield "".join(c if c.isprintable() else " " for c in line)


class NotificationReceiver:
    """Context manager that runs an HTTP server on loopback.

    show: receives each line. It is called on the threads of the server.
    front: returns the HTML of the page ``/``, which gets the last lines; None for no page.

    Raises:
        StackError: another program listens on the port.
    """

    def __init__(
        self,
        port: int,
        show: Callable[[str], None],
        front: Callable[[Sequence[str]], str] | None = None,
    ) -> None:
        kept: deque[str] = deque(maxlen=_MOST_LINES)

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                size = min(int(self.headers.get("Content-Length") or 0), _MAX_BYTES)
                try:
                    document = json.loads(self.rfile.read(size))
                except ValueError:
                    document = None
                for line in lines(self.path.strip("/"), document):
                    kept.append(line)
                    show(line)
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def do_GET(self) -> None:
                if front is None or self.path != "/":
                    self.send_error(http.HTTPStatus.NOT_FOUND)
                    return
                body = front(tuple(kept)).encode("utf-8", "replace")
                self.send_response(http.HTTPStatus.OK)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                pass

        self._handler = Handler
        self._port = port

    def __enter__(self) -> "NotificationReceiver":  # noqa: PYI034 - Self needs Python 3.11
        try:
            self._server = http.server.ThreadingHTTPServer((HOST, self._port), self._handler)
        except OSError as e:
            raise StackError(
                f"notifications cannot be received on {HOST}:{self._port}: {e.strerror}."
                " Stop the program that listens there, or select another port with"
                " --notifications=PORT"
            ) from e
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
