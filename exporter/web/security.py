"""The web configuration in force, renewed when its files change."""

import logging
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from exporter.errors import ConfigError

if TYPE_CHECKING:
    from exporter.web.auth import BasicAuth  # imports bcrypt
    from exporter.web.tls import ServerTls  # imports ssl
    from exporter.web.web_config import TlsConfig

_log = logging.getLogger(__name__)

Stamp = tuple[tuple[int, int, int] | None, ...]


@dataclass(frozen=True, slots=True)
class Security:
    """What a connection has to pass, and what every answer carries."""

    tls: "ServerTls | None" = None
    auth: "BasicAuth | None" = None
    headers: Mapping[str, str] | None = None
    files: tuple[Path, ...] = ()


def load_security(path: Path) -> Security:
    """What the web configuration file asks for, its certificate and key loaded.

    Raises ConfigError naming the file, the key and the remedy.
    """
    from exporter.web import web_config  # noqa: PLC0415  PyYAML

    web = web_config.parse(web_config.read(path), path)
    files = [path]
    if web.tls:
        named = (web.tls.cert_file, web.tls.key_file, web.tls.client_ca_file)
        files += [file for file in named if file]
    return Security(
        tls=_tls(web.tls) if web.tls else None,
        auth=_auth(web.users) if web.users else None,
        headers=dict(web.headers),
        files=tuple(files),
    )


class ReloadableSecurity:
    """`now` is what counts; a bad new configuration leaves it as it is.

    Without a path nothing is required and nothing ever changes.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._lock = threading.Lock()
        self.now = load_security(path) if path else Security()
        self._stamp = _stamp(self.now.files)

    def reload(self) -> None:
        """Read it again, whatever it says now. Raises ConfigError and keeps the old one."""
        if self._path:
            with self._lock:
                self._stamp = _stamp(self.now.files)
                self._take(load_security(self._path))

    def refresh(self) -> None:
        """Read it again if a file has changed. Logs a bad one once per change, and keeps the old.

        A file caught half written may have lost its users or its TLS: only `reload` may drop
        these.
        """
        if self._path is None or _stamp(self.now.files) == self._stamp:
            return
        with self._lock:
            # Taken before the files are read: a change in between is seen the next time.
            self._stamp = _stamp(self.now.files)
            try:
                new = load_security(self._path)
                _check_not_weaker(self._path, self.now, new)
            except ConfigError as e:
                _log.error("web configuration not renewed, the old one stays in force: %s", e)
                return
            self._take(new)
            _log.info("web configuration renewed from %s", self._path)

    def _take(self, new: Security) -> None:
        if new.files != self.now.files:
            self._stamp = _stamp(new.files)
        self.now = new


def _tls(config: "TlsConfig") -> "ServerTls":
    from exporter.web.tls import make_tls  # noqa: PLC0415  ssl

    return make_tls(config)


def _auth(users: Mapping[str, str]) -> "BasicAuth":
    from exporter.web.auth import BasicAuth  # noqa: PLC0415  bcrypt

    return BasicAuth(users)


def _stamp(files: tuple[Path, ...]) -> Stamp:
    return tuple(_stamp_of(file) for file in files)


def _stamp_of(file: Path) -> tuple[int, int, int] | None:
    try:
        status = os.stat(file)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _check_not_weaker(path: Path, old: Security, new: Security) -> None:
    lost = [
        name
        for name, gone in (
            ("basic_auth_users", old.auth and not new.auth),
            ("tls_server_config", old.tls and not new.tls),
            ("client_auth_type", _verifies(old) > _verifies(new)),
            ("client_allowed_sans", old.tls and old.tls.sans and new.tls and not new.tls.sans),
        )
        if gone
    ]
    if lost:
        raise ConfigError(f"{path}: lost {', '.join(lost)}", "reload (SIGHUP) if that is meant")


def _verifies(security: Security) -> int:
    return security.tls.context.verify_mode if security.tls else 0
