"""Builds the SSL context of the web configuration, and reads and writes TLS sockets.

Settings that Python's ssl cannot implement are rejected. This module imports ssl, which takes 4 MB
of memory. Import it only if TLS is configured.
"""

import contextlib
import os
import socket
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from selectors import EVENT_READ, EVENT_WRITE
from typing import TYPE_CHECKING, TypeVar

from exporter.errors import ConfigError
from exporter.web.transport import CHUNK_BYTES, Transport

if TYPE_CHECKING:
    from exporter.web.web_config import TlsConfig  # imports PyYAML

T = TypeVar("T")

#: Maximum payload of one TLS record in bytes (RFC 8446, section 5.1).
_MAX_RECORD_BYTES = 1 << 14

#: Maximum number of bytes of a PEM file that are searched for a certificate or a key.
_MAX_PEM_BYTES = 1 << 20

_VERSIONS = {"TLS12": ssl.TLSVersion.TLSv1_2, "TLS13": ssl.TLSVersion.TLSv1_3}

#: Python's modes of client authentication, keyed by Go's types:
#: https://pkg.go.dev/crypto/tls#ClientAuthType. With RequestClientCert, Go ignores the certificate,
#: so this server does not request one.
_CLIENT_AUTH = {
    "NoClientCert": ssl.CERT_NONE,
    "RequestClientCert": ssl.CERT_NONE,
    "VerifyClientCertIfGiven": ssl.CERT_OPTIONAL,
    "RequireAndVerifyClientCert": ssl.CERT_REQUIRED,
}
#: Client authentication types that accept a certificate without verification.
_ANY_CERTIFICATE = frozenset({"RequireAnyClientCert", "RequireClientCert"})

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


@dataclass(frozen=True, slots=True)
class ServerTls:
    """The TLS settings of the server.

    context: the SSL context of all connections.
    sans: subject alternative names, of which a client's certificate must contain at least one.
        Empty means that the names are not checked.
    """

    context: ssl.SSLContext
    sans: frozenset[str]

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
    _set_client_auth(context, config)
    return ServerTls(context, frozenset(config.client_allowed_sans))


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
    if len(config.curve_preferences) > 1:
        raise _error("curve_preferences", "more than one curve", "name one curve, or omit the key")
    curve = config.curve_preferences[0]
    hint = f"use one of {', '.join(_CURVES)}, or omit the key"
    name = _lookup("curve_preferences", curve, _CURVES, hint)
    try:
        context.set_ecdh_curve(name)
    except (ssl.SSLError, ValueError) as e:
        raise _error("curve_preferences", f"this OpenSSL does not support {curve}", hint) from e


def _load_certificate(context: ssl.SSLContext, config: "TlsConfig") -> None:
    _check_pem("cert_file", config.cert_file, b"CERTIFICATE-----")
    _check_pem("key_file", config.key_file, b"PRIVATE KEY-----")
    try:
        # Without the argument `password`, OpenSSL prompts for the passphrase on the terminal.
        context.load_cert_chain(config.cert_file, config.key_file, password="")
    except OSError as e:
        if _reason(e) == "KEY_VALUES_MISMATCH":
            what, hint = (
                "does not match the certificate",
                "name the key of the certificate in cert_file",
            )
            raise _error(f"key_file {config.key_file}", what, hint) from e
        what = f"{config.cert_file} or {config.key_file} cannot be used ({_reason(e)})"
        hint = "use PEM files, with the server's certificate first, and a key without a passphrase"
        raise _error("cert_file, key_file", what, hint) from e


def _set_client_auth(context: ssl.SSLContext, config: "TlsConfig") -> None:
    kind = config.client_auth_type
    verify = "use RequireAndVerifyClientCert with client_ca_file"
    if kind in _ANY_CERTIFICATE:
        raise _error("client_auth_type", f"{kind} accepts any certificate", verify)
    mode = _lookup("client_auth_type", kind, _CLIENT_AUTH, f"use {', '.join(_CLIENT_AUTH)}")
    if config.client_allowed_sans and mode is not ssl.CERT_REQUIRED:
        raise _error(
            "client_allowed_sans", "has no effect, because no certificate is required", verify
        )
    if config.client_ca_file is None:
        if mode is not ssl.CERT_NONE:
            raise _error("client_ca_file", "missing", f"set it, because {kind} needs it")
        return
    if kind == "NoClientCert":
        raise _error("client_ca_file", "has no effect without client_auth_type", verify)
    _check_pem("client_ca_file", config.client_ca_file, b"CERTIFICATE-----")
    try:
        context.load_verify_locations(config.client_ca_file)
    except OSError as e:
        what, hint = (
            f"{config.client_ca_file}: {_reason(e)}",
            "use the certificate of the CA as a PEM file",
        )
        raise _error("client_ca_file", what, hint) from e
    context.verify_mode = mode


def _check_pem(key: str, path: Path, mark: bytes) -> None:
    try:
        with open(path, "rb") as file:
            data = file.read(_MAX_PEM_BYTES)
    except OSError as e:
        hint = f"name a file that the user with id {os.geteuid()} can read"
        raise _error(f"{key} {path}", e.strerror or str(e), hint) from e
    if mark not in data:
        kind = mark.rstrip(b"-").decode()
        raise _error(f"{key} {path}", f"contains no {kind}", "use a PEM file")


def _lookup(key: str, name: str, known: Mapping[str, T], hint: str) -> T:
    if name not in known:
        raise _error(key, f"{name!r} is not supported", hint)
    return known[name]


def _reason(e: OSError) -> str:
    return (e.reason if isinstance(e, ssl.SSLError) else e.strerror) or str(e)


def _error(key: str, what: str, hint: str) -> ConfigError:
    return ConfigError(f"tls_server_config.{key}: {what}", hint)
