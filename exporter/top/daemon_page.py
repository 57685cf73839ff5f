"""Requests values that `top` cannot measure from a daemon: wear, temperature, errors, baselines."""

import http.client
import io
import math
import re
import socket
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple, cast
from urllib.parse import urlsplit

from exporter.runtime.errors import ConfigError
from exporter.top.frame import DaemonDrive

#: The address of the daemon unless the user names another. The daemon listens on this address by
#: default. localhost may also be ::1, where another user's program may answer.
DEFAULT_URL = "http://127.0.0.1:10177"

#: Timeouts in seconds: of one wait for the network, and of the whole answer. The keys do not react
#: during this time.
_WAIT_SECONDS, _ANSWER_SECONDS = 0.3, 1.0

#: Time between two questions in seconds. These values change slowly.
REFRESH_SECONDS = 15.0

#: The maximum size of the page in bytes. It has 3 MB with 1,000 drives.
_MAX_PAGE_BYTES = 16 << 20
_CHUNK_BYTES = 1 << 16

#: The first bytes of each HTTP answer.
_ANSWER_START = b"HTTP/"

#: Matches a sample of a metric with labels. Label values with a quote are not needed here.
_SAMPLE = re.compile(r'(ssd_\w+)\{((?:\w+="[^"]*",?)*)\} (\S+)')
_LABEL = re.compile(r'(\w+)="([^"]*)"')


class _Field(NamedTuple):
    """A field of `DaemonDrive`, and the least and the largest value that is shown."""

    name: str
    least: float
    most: float


#: The fields, keyed by the metric and by the label value that selects a series. Another user's
#: program may answer at the address, so values that no drive has are left out.
_FIELDS: Mapping[tuple[str, str], _Field] = {
    ("ssd_smart_temperature_celsius", "drive"): _Field("temperature_celsius", -100, 300),
    ("ssd_smart_endurance_used_ratio", ""): _Field("used_ratio", 0, 100),
    ("ssd_smart_spare_ratio", ""): _Field("spare_ratio", 0, 1),
    ("ssd_smart_media_errors_total", ""): _Field("media_errors", 0, 1e18),
    ("ssd_disk_await_baseline_seconds", "read"): _Field("read_baseline_seconds", 0, 3600),
    ("ssd_disk_await_baseline_seconds", "write"): _Field("write_baseline_seconds", 0, 3600),
    ("ssd_smart_slowest_request_seconds", "read"): _Field("read_slowest_inside_seconds", 0, 3600),
    ("ssd_smart_slowest_request_seconds", "write"): _Field("write_slowest_inside_seconds", 0, 3600),
    ("ssd_disk_slow_inside_drive", "read"): _Field("read_slow_inside", 0, 1),
    ("ssd_disk_slow_inside_drive", "write"): _Field("write_slow_inside", 0, 1),
}
_METRICS = tuple({metric for metric, _ in _FIELDS})


class _Received:
    """Stands in for a socket: http.client reads the bytes of a received answer from it."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def makefile(self, _mode: str) -> io.BytesIO:
        return io.BytesIO(self._content)


def daemon_url(listen_address: str) -> str:
    """Returns the URL of the daemon of this host.

    listen_address: as in the settings, such as ``127.0.0.1:10177`` or ``:10177``. A daemon that
        listens on all addresses is reached on loopback.
    """
    host, _, port = listen_address.rpartition(":")
    if host in ("", "0.0.0.0"):  # noqa: S104  compared, not listened on
        host = "127.0.0.1"
    elif host == "[::]":
        host = "[::1]"
    return f"http://{host}:{port}"


class DaemonPage:
    """The last answer of the daemon.

    Attributes:
    drives: the values of each drive, keyed by device; empty without an answer.
    note: why there is no answer, and what to do; else empty.
    """

    def __init__(self, url: str) -> None:
        """Raises ConfigError if the URL is not that of an HTTP server."""
        parts = urlsplit(url)
        try:
            port = parts.port or 10177
        except ValueError:
            port = 0
        if parts.scheme not in ("http", "https") or not parts.hostname or not port:
            raise ConfigError(f"--url is {url!r}, which is not an address", f"try {DEFAULT_URL}")
        self._url = f"{parts.scheme}://{parts.netloc}"
        self._is_encrypted = parts.scheme == "https"
        self._host, self._port = parts.hostname, port
        self._netloc = parts.netloc.rpartition("@")[2]
        self._asked_at = -math.inf
        self.drives: Mapping[str, DaemonDrive] = {}
        self.note = ""

    def refresh(self, now: float) -> None:
        """Requests a new answer if the last one is old. It takes at most about a second.

        now: the monotonic time.
        """
        if now - self._asked_at < REFRESH_SECONDS:
            return
        self._asked_at = now
        if self._is_encrypted:
            self.note = self._missing("top does not support TLS; name an address without it")
            return
        try:
            status, text = self._get()
        except (http.client.HTTPException, ConnectionResetError):
            # A TLS server closes the connection, or answers with an alert.
            self.drives, self.note = {}, self._missing("it does not answer in plain HTTP (TLS?)")
        except TimeoutError:
            self.drives, self.note = {}, self._missing("it does not answer in time")
        except OSError:
            self.drives = {}
            self.note = self._missing("no daemon answers; start it or use --url")
        else:
            self.drives = parse(text.splitlines()) if status == http.client.OK else {}
            self.note = ""
            if status == http.client.UNAUTHORIZED:
                self.note = self._missing("it requires a password, which top does not send")
            elif status != http.client.OK:
                self.note = self._missing(f"it answers with status {status}")

    def _missing(self, reason: str) -> str:
        return f"no wear, temperature and baselines from {self._url}: {reason}"

    def _get(self) -> tuple[int, str]:
        """Returns the status and the page. The deadline includes the headers.

        Raises:
            OSError, http.client.HTTPException: there is no complete answer in time.
        """
        until = time.monotonic() + _ANSWER_SECONDS
        words = f"GET /metrics HTTP/1.1\r\nHost: {self._netloc}\r\nConnection: close\r\n\r\n"
        content = bytearray()
        address = self._host, self._port
        with socket.create_connection(address, timeout=_WAIT_SECONDS) as connection:
            connection.sendall(words.encode("ascii"))
            while chunk := connection.recv(_CHUNK_BYTES):
                content += chunk
                if content[: len(_ANSWER_START)] != _ANSWER_START[: len(content)]:
                    # The server may keep the connection open, as mysqld does after its greeting.
                    raise http.client.BadStatusLine("no HTTP answer")
                left = until - time.monotonic()
                if len(content) > _MAX_PAGE_BYTES or left <= 0:
                    raise TimeoutError
                connection.settimeout(min(_WAIT_SECONDS, left))
        response = http.client.HTTPResponse(cast("socket.socket", _Received(bytes(content))))
        response.begin()
        return response.status, response.read().decode("utf-8", "replace")


def parse(lines: Iterable[str]) -> dict[str, DaemonDrive]:
    """Returns the values of each drive on a metrics page, keyed by device."""
    drives: dict[str, DaemonDrive] = {}
    for line in lines:
        if not line.startswith(_METRICS) or (found := _SAMPLE.fullmatch(line)) is None:
            continue
        labels = dict(_LABEL.findall(found[2]))
        field = _FIELDS.get((found[1], labels.get("sensor") or labels.get("op") or ""))
        device = labels.get("device")
        try:
            value = float(found[3])
        except ValueError:
            continue
        if field is not None and device and field.least <= value <= field.most:
            drives[device] = replace(drives.get(device, DaemonDrive()), **{field.name: value})
    return drives
