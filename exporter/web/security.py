"""Loads the security settings of the web configuration, and reloads them when its files change."""

import logging
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from exporter.runtime.errors import ConfigError

if TYPE_CHECKING:
    from exporter.web.auth import BasicAuth  # imports bcrypt
    from exporter.web.tls import ServerTls  # imports ssl
    from exporter.web.web_config import TlsConfig

_log = logging.getLogger(__name__)

#: Modification time, size and inode of each file; None for a file that cannot be read.
_Stamp: TypeAlias = tuple[tuple[int, int, int] | None, ...]


@dataclass(slots=True)
class RateLimit:
    """A token bucket for the requests of all clients. It is full at first.

    Call `take` on one thread only.

    interval_seconds: the time after which one more request is allowed.
    burst: the maximum number of requests that are allowed without a pause; 0 allows none.
    """

    interval_seconds: float
    burst: int
    _tokens: float = field(init=False, compare=False)
    _filled_at: float | None = field(default=None, init=False, compare=False)

    def __post_init__(self) -> None:
        self._tokens = float(self.burst)

    def take(self, now: float) -> bool:
        """Count a request; returns False if it exceeds the limit.

        now: the monotonic time.
        """
        if self._filled_at is not None:
            filled = self._tokens + (now - self._filled_at) / self.interval_seconds
            self._tokens = min(float(self.burst), filled)
        self._filled_at = now
        if self._tokens < 1.0:
            return False
        self._tokens -= 1.0
        return True


@dataclass(frozen=True, slots=True)
class Security:
    """The security settings of the web configuration.

    tls: the TLS settings; None means plain HTTP.
    auth: checks user names and passwords; None means that no password is required.
    headers: additional header fields in every response, keyed by name; None means no field.
    rate_limit: limits the rate of requests; None means no limit.
    live_limit: limits the rate of the requests that an open page sends by itself.
    files: the configuration file, and the certificate and key files that it names.
    """

    tls: "ServerTls | None" = None
    auth: "BasicAuth | None" = None
    headers: Mapping[str, str] | None = None
    rate_limit: RateLimit | None = None
    live_limit: RateLimit | None = None
    files: tuple[Path, ...] = ()

    @property
    def access(self) -> tuple[object, ...] | None:
        """What a connection must fulfil (`ServerTls.access`); None means plain HTTP."""
        return self.tls.access if self.tls else None


#: With a rate limit, open pages may send by themselves one request in this time, in seconds, and
#: this many without a pause. It is enough for two viewers.
_LIVE_RATE = (0.5, 10)

_NO_SECURITY = Security()


def load_security(path: Path, old: Security = _NO_SECURITY) -> Security:
    """Returns the settings of a web configuration file, with its certificate and key loaded.

    old: the current settings. The new ones use the cache of valid credentials and the state of the
        rate limit.

    Raises:
        ConfigError: the file is not usable. The error names the file, the key and the remedy.
    """
    from exporter.web import web_config  # noqa: PLC0415  PyYAML

    web = web_config.parse(web_config.read(path), path)
    files = [path]
    if web.tls:
        tls_files = (web.tls.cert_file, web.tls.key_file, web.tls.client_ca_file)
        files += [file for file in tls_files if file]
    return Security(
        tls=_tls(path, web.tls) if web.tls else None,
        auth=_auth(web.users, old.auth) if web.users else None,
        headers=dict(web.headers),
        rate_limit=_rate_limit(web.rate_limit, old.rate_limit) if web.rate_limit else None,
        live_limit=_live_limit(web.rate_limit, old.live_limit) if web.rate_limit else None,
        files=tuple(files),
    )


class ReloadableSecurity:
    """Holds the security settings, and replaces them when the web configuration changes.

    A new configuration with errors does not replace them. Several threads may call the methods.

    path: the web configuration file. None means that clients need neither TLS nor a password, and
        that there is nothing to reload.
    current: the security settings in force.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._lock = threading.Lock()
        self.current = load_security(path) if path else Security()
        self._stamp = _stamp(self.current.files)

    def reload(self) -> None:
        """Load the configuration again, even if it protects less than the current one.

        Raises:
            ConfigError: the new configuration is not usable. The current one stays in force.
        """
        if self._path:
            with self._lock:
                self._stamp = _stamp(self.current.files)
                self._replace(load_security(self._path, self.current))

    def refresh(self) -> None:
        """Load the configuration again if one of its files has changed.

        The current configuration stays in force if the new one has errors or protects less. This
        is logged once per change. A new configuration may protect less by accident: a file that is
        read while it is being written may lack its users or its TLS section. Only `reload` accepts
        such a configuration.
        """
        if self._path is None or _stamp(self.current.files) == self._stamp:
            return
        with self._lock:
            # The stamp is taken before the files are read. So the next call detects a change that
            # happens in between.
            self._stamp = _stamp(self.current.files)
            try:
                new = load_security(self._path, self.current)
                _check_not_weaker(self._path, self.current, new)
            except ConfigError as e:
                _log.error("web configuration not reloaded, the old one stays in force: %s", e)
                return
            self._replace(new)
            _log.info("web configuration reloaded from %s", self._path)

    def _replace(self, new: Security) -> None:
        if new.files != self.current.files:
            self._stamp = _stamp(new.files)
        self.current = new


def _tls(path: Path, config: "TlsConfig") -> "ServerTls":
    from exporter.web.tls import make_tls  # noqa: PLC0415  ssl

    try:
        return make_tls(config)
    except ConfigError as e:
        raise ConfigError(f"{path}: {e}") from e


def _auth(users: Mapping[str, str], old: "BasicAuth | None") -> "BasicAuth":
    from exporter.web.auth import BasicAuth  # noqa: PLC0415  bcrypt

    return BasicAuth(users, old.checked if old else None)


def _rate_limit(config: tuple[float, int], old: RateLimit | None) -> RateLimit:
    interval_seconds, burst = config
    if burst < 1:
        _log.warning("rate_limit: a burst of 0 allows no request; set burst to 1 or more")
    new = RateLimit(interval_seconds, burst)
    return old if old == new else new


def _live_limit(config: tuple[float, int], old: RateLimit | None) -> RateLimit:
    interval_seconds, burst = _LIVE_RATE if config[1] > 0 else config
    new = RateLimit(interval_seconds, burst)
    return old if old == new else new


def _stamp(files: tuple[Path, ...]) -> _Stamp:
    return tuple(_file_stamp(file) for file in files)


def _file_stamp(file: Path) -> tuple[int, int, int] | None:
    try:
        status = os.stat(file)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _check_not_weaker(path: Path, old: Security, new: Security) -> None:
    """Raise ConfigError if the new configuration lacks a protection that the old one has."""
    lost = [
        name
        for name, is_lost in (
            ("basic_auth_users", old.auth and not new.auth),
            ("rate_limit", old.rate_limit and not new.rate_limit),
            ("tls_server_config", old.tls and not new.tls),
            ("client_auth_type", _verify_mode(old) > _verify_mode(new)),
            ("client_allowed_sans", old.tls and old.tls.sans and new.tls and not new.tls.sans),
        )
        if is_lost
    ]
    if lost:
        raise ConfigError(
            f"{path}: lost {', '.join(lost)}", "reload the service (SIGHUP) if that is intended"
        )


def _verify_mode(security: Security) -> int:
    return security.tls.context.verify_mode if security.tls else 0
