"""Builds the SSL context of the web configuration, and reads and writes TLS sockets.

Settings that Python's ssl cannot implement are rejected. This module imports ssl, which takes 4 MB
of memory. Import it only if TLS is configured.
"""

import contextlib
import logging
import os
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from selectors import EVENT_READ, EVENT_WRITE
from typing import TYPE_CHECKING, TypeVar

from exporter.errors import ConfigError
from exporter.web import config_file
from exporter.web.transport import CHUNK_BYTES, Transport

if TYPE_CHECKING:
    from exporter.web.web_config import TlsConfig  # imports PyYAML

_log = logging.getLogger(__name__)

T = TypeVar("T")

#: Maximum payload of one TLS record in bytes (RFC 8446, section 5.1).
_MAX_RECORD_BYTES = 1 << 14

_VERSIONS = {"TLS12": ssl.TLSVersion.TLSv1_2, "TLS13": ssl.TLSVersion.TLSv1_3}

#: Python's modes of client authentication, keyed by Go's types:
#: https://pkg.go.dev/crypto/tls#ClientAuthType. With RequestClientCert, Go ignores the certificate,
#: so this server does not request one. With RequireAnyClientCert, Go accepts every certificate. Any
#: client can create one, so it proves nothing. Python's ssl verifies every certificate: with a CA
#: this server requires one of that CA, and without a CA it requests none.
_CLIENT_AUTH = {
    "NoClientCert": ssl.CERT_NONE,
    "RequestClientCert": ssl.CERT_NONE,
    "RequireAnyClientCert": ssl.CERT_REQUIRED,
    "RequireClientCert": ssl.CERT_REQUIRED,
    "VerifyClientCertIfGiven": ssl.CERT_OPTIONAL,
    "RequireAndVerifyClientCert": ssl.CERT_REQUIRED,
}
#: Client authentication types for which this server requests no certificate without a CA. A client
#: without a trusted certificate has the same access with Go.
_OPTIONAL_CA = frozenset({"RequireAnyClientCert", "RequireClientCert", "VerifyClientCertIfGiven"})

#: OpenSSL's names of cipher suites, keyed by Go's names:
#: https://pkg.go.dev/crypto/tls#pkg-constants. Neither Go nor Python can select the cipher suites
#: of TLS 1.3.
_SUITES = {
    "TLS_RSA_WITH_AES_128_CBC_SHA": "AES128-SHA",
    "TLS_RSA_WITH_AES_256_CBC_SHA": "AES256-SHA",
    "TLS_RSA_WITH_AES_128_GCM_SHA256": "AES128-GCM-SHA256",
    "TLS_RSA_WITH_AES_256_GCM_SHA384": "AES256-GCM-SHA384",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA": "ECDHE-ECDSA-AES128-SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA": "ECDHE-ECDSA-AES256-SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA": "ECDHE-RSA-AES128-SHA",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA": "ECDHE-RSA-AES256-SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256": "ECDHE-ECDSA-AES128-GCM-SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384": "ECDHE-ECDSA-AES256-GCM-SHA384",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256": "ECDHE-RSA-AES128-GCM-SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384": "ECDHE-RSA-AES256-GCM-SHA384",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-RSA-CHACHA20-POLY1305",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-ECDSA-CHACHA20-POLY1305",
}
_SUITES_13 = frozenset(
    {"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"}
)

_CURVES = {
    "CurveP256": "prime256v1",
    "CurveP384": "secp384r1",
    "CurveP521": "secp521r1",
    "X25519": "X25519",
}

#: OpenSSL prefers this curve by default (SSL_CTX_set1_groups(3)). The ssl module of Debian 12
#: cannot select it, so there the default list is used.
_DEFAULT_CURVE = "X25519"


@dataclass(frozen=True, slots=True)
class ServerTls:
    """The TLS settings of the server.

    context: the SSL context of all connections.
    sans: subject alternative names, of which a client's certificate must contain at least one.
        Empty means that the names are not checked.
    access: all settings that a connection must fulfil, without the server's certificate. They are
        compared with those under which a connection was made.
    """

    context: ssl.SSLContext
    sans: frozenset[str]
    access: tuple[object, ...]

    def transport(self, sock: socket.socket) -> "TlsTransport":
        """Returns a TLS transport for a connected socket."""
        return TlsTransport(sock, self.context, self.accepts)

    def accepts(self, sock: ssl.SSLSocket) -> bool:
        """True if the client's certificate contains an allowed name, or every name is allowed."""
        if not self.sans:
            return True
        names = (sock.getpeercert() or {}).get("subjectAltName", ())
        return any(str(entry[1]) in self.sans for entry in names)


def make_tls(config: "TlsConfig") -> ServerTls:
    """Returns the TLS settings of a section `tls_server_config`, with its files loaded.

    Raises:
        ConfigError: a setting is not usable. The error names its key in the configuration file.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.options |= ssl.OP_NO_RENEGOTIATION
    if not config.prefer_server_cipher_suites:
        context.options &= ~ssl.OP_CIPHER_SERVER_PREFERENCE
    context.set_alpn_protocols(["http/1.1"])
    _set_versions(context, config)
    _set_suites(context, config)
    _set_curve(context, config)
    _load_certificate(context, config)
    ca = _set_client_auth(context, config)
    sans = frozenset(config.client_allowed_sans)
    access = (
        *(ca, context.verify_mode, sans, config.min_version, config.max_version),
        *(config.cipher_suites, config.curve_preferences),
    )
    return ServerTls(context, sans, access)


class TlsTransport(Transport):
    """Receives bytes from one client over TLS and sends bytes to it, without blocking.

    sock: the connected socket.
    context: the SSL context of the server.
    accepts: returns False if the client's certificate is not allowed. It is called after the
        handshake.
    """

    def __init__(
        self,
        sock: socket.socket,
        context: ssl.SSLContext,
        accepts: Callable[[ssl.SSLSocket], bool],
    ) -> None:
        super().__init__(sock)
        self._tls = context.wrap_socket(sock, server_side=True, do_handshake_on_connect=False)
        self.sock = self._tls
        self._accepts = accepts

    def handshake(self) -> bool:
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            self.needed_events = EVENT_READ
            return False
        except ssl.SSLWantWriteError:
            self.needed_events = EVENT_WRITE
            return False
        if not self._accepts(self._tls):
            raise ssl.SSLError("the client's certificate contains no allowed name")
        return True

    def receive(self) -> bytes | None:
        self.needed_events = EVENT_READ
        try:
            return self._tls.recv(CHUNK_BYTES)
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLWantWriteError:
            self.needed_events = EVENT_WRITE
        return None

    def send(self, head: memoryview, body: memoryview) -> int:
        try:
            if head:
                room = max(0, _MAX_RECORD_BYTES - len(head))
                return self._tls.send(b"".join((head, body[:room])))
            return self._tls.send(body)
        except ssl.SSLWantWriteError:
            self.needed_events = EVENT_WRITE
        except ssl.SSLWantReadError:
            self.needed_events = EVENT_READ
        return 0

    def end(self) -> None:
        # Sends close_notify, and does not wait for the client's close_notify.
        with contextlib.suppress(ssl.SSLWantReadError, ssl.SSLWantWriteError):
            self._tls.unwrap()
        super().end()


def _set_versions(context: ssl.SSLContext, config: "TlsConfig") -> None:
    hint = "use TLS12 or TLS13; older versions are deprecated (RFC 8996) and not supported"
    context.minimum_version = _lookup("min_version", config.min_version, _VERSIONS, hint)
    context.maximum_version = _lookup("max_version", config.max_version, _VERSIONS, hint)
    if context.minimum_version > context.maximum_version:
        raise _error("min_version", "above max_version", "swap min_version and max_version")


def _set_suites(context: ssl.SSLContext, config: "TlsConfig") -> None:
    if not config.cipher_suites:
        return
    known = {**_SUITES, **dict.fromkeys(_SUITES_13, "")}
    names = [
        _lookup("cipher_suites", suite, known, f"use {', '.join(known)}")
        for suite in config.cipher_suites
    ]
    older = [name for name in names if name]
    if older:
        try:
            context.set_ciphers(":".join(older))
        except ssl.SSLError as e:
            hint = "use suites with GCM or CHACHA20"
            raise _error("cipher_suites", "this OpenSSL supports none of them", hint) from e
    else:
        context.minimum_version = ssl.TLSVersion.TLSv1_3


def _set_curve(context: ssl.SSLContext, config: "TlsConfig") -> None:
    if not config.curve_preferences:
        return
    hint = f"use {', '.join(_CURVES)}, or omit the key"
    names = [_lookup("curve_preferences", c, _CURVES, hint) for c in config.curve_preferences]
    # Python's ssl supports one curve. So only the first, which is preferred, can be used.
    curve, name = config.curve_preferences[0], names[0]
    try:
        context.set_ecdh_curve(name)
    except (ssl.SSLError, ValueError) as e:
        if curve == _DEFAULT_CURVE:
            return
        raise _error("curve_preferences", f"this OpenSSL does not support {curve}", hint) from e


def _load_certificate(context: ssl.SSLContext, config: "TlsConfig") -> None:
    cert_key = f"cert_file {config.cert_file}" if config.cert_file else "cert"
    key_key = f"key_file {config.key_file}" if config.key_file else "key"
    certificate = _pem(cert_key, config.cert_file, config.cert, b"CERTIFICATE-----")
    private_key = _pem(key_key, config.key_file, config.key, b"PRIVATE KEY-----")
    try:
        with _as_file(certificate) as cert_file, _as_file(private_key) as key_file:
            # Without the argument `password`, OpenSSL prompts for the passphrase on the terminal.
            context.load_cert_chain(cert_file, key_file, password="")
    except OSError as e:
        if _reason(e) == "KEY_VALUES_MISMATCH":
            what, hint = (
                "does not match the certificate",
                "name the key of the certificate in cert_file",
            )
            raise _error(key_key, what, hint) from e
        what = f"cannot be used ({_reason(e)})"
        hint = "use PEM files, with the server's certificate first, and a key without a passphrase"
        raise _error(f"{cert_key} or {key_key}", what, hint) from e


def _set_client_auth(context: ssl.SSLContext, config: "TlsConfig") -> bytes | None:
    """Set the mode of client authentication; returns the PEM data of the CA, None without a CA."""
    kind = config.client_auth_type
    verify = "use RequireAndVerifyClientCert with client_ca_file"
    mode = _lookup("client_auth_type", kind, _CLIENT_AUTH, f"use {', '.join(_CLIENT_AUTH)}")
    has_ca = config.client_ca_file is not None or config.client_ca
    if not has_ca and kind in _OPTIONAL_CA:
        mode = ssl.CERT_NONE
        _log.warning(
            "client_auth_type: %s without client_ca_file protects nothing, so no client "
            "certificate is requested; %s",
            kind,
            verify,
        )
    if config.client_allowed_sans and mode is not ssl.CERT_REQUIRED:
        raise _error(
            "client_allowed_sans", "has no effect, because no certificate is required", verify
        )
    if not has_ca:
        if mode is not ssl.CERT_NONE:
            raise _error("client_ca_file", "missing", f"set it, because {kind} needs it")
        return None
    if kind == "NoClientCert":
        raise _error("client_ca_file", "has no effect without client_auth_type", verify)
    ca_key = f"client_ca_file {config.client_ca_file}" if config.client_ca_file else "client_ca"
    ca = _pem(ca_key, config.client_ca_file, config.client_ca, b"CERTIFICATE-----")
    try:
        with _as_file(ca) as ca_file:
            context.load_verify_locations(ca_file)
    except OSError as e:
        raise _error(ca_key, _reason(e), "use the certificate of the CA as a PEM file") from e
    context.verify_mode = mode
    return ca


def _pem(key: str, path: Path | None, text: str, mark: bytes) -> bytes:
    """Returns the PEM data of a file, or of the text if there is no file."""
    if path is None:
        data = text.encode("ascii", "replace")
    else:
        try:
            data = config_file.read(path)
        except OSError as e:
            hint = f"name a file that the user with id {os.geteuid()} can read"
            raise _error(key, e.strerror or str(e), hint) from e
    if mark not in data:
        kind = mark.rstrip(b"-").decode()
        raise _error(key, f"contains no {kind}", "use a PEM file")
    return data


@contextlib.contextmanager
def _as_file(data: bytes) -> Iterator[str]:
    """Context manager that yields the path of a file with this content, which is only in memory.

    OpenSSL reads certificates from files only. It would block on a pipe at the configured path.
    """
    descriptor = os.memfd_create("pem")
    with open(descriptor, "wb", buffering=0) as file:
        file.write(data)
        yield f"/proc/self/fd/{descriptor}"


def _lookup(key: str, name: str, known: Mapping[str, T], hint: str) -> T:
    if name not in known:
        raise _error(key, f"{name!r} is not supported", hint)
    return known[name]


def _reason(e: OSError) -> str:
    return (e.reason if isinstance(e, ssl.SSLError) else e.strerror) or str(e)


def _error(key: str, what: str, hint: str) -> ConfigError:
    return ConfigError(f"tls_server_config.{key}: {what}", hint)
