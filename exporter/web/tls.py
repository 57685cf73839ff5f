"""A connected TLS socket that never blocks.

Apart from `wire`, so that ssl is imported where TLS is configured only: it takes 4 MB.

From `tls_server_config` to an ssl.SSLContext, refusing what Python's ssl cannot keep.
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

#: What one TLS record holds.
_RECORD_BYTES = 1 << 14


class TlsTransport(Transport):
    """A wire on which TLS is spoken; `admits` judges the client once its handshake is done."""

    def __init__(
        self,
        link: socket.socket,
        context: ssl.SSLContext,
        admits: Callable[[ssl.SSLSocket], bool],
    ) -> None:
        super().__init__(link)
        self._tls = context.wrap_socket(link, server_side=True, do_handshake_on_connect=False)
        self.link = self._tls
        self._admits = admits

    def handshake(self) -> bool:
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            self.waits = EVENT_READ
            return False
        except ssl.SSLWantWriteError:
            self.waits = EVENT_WRITE
            return False
        if not self._admits(self._tls):
            raise ssl.SSLError("no allowed name in the client's certificate")
        return True

    def receive(self) -> bytes | None:
        self.waits = EVENT_READ
        try:
            return self._tls.recv(CHUNK_BYTES)
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLWantWriteError:
            self.waits = EVENT_WRITE
        return None

    def send(self, head: memoryview, body: memoryview) -> int:
        try:
            if head:
                room = max(0, _RECORD_BYTES - len(head))
                return self._tls.send(b"".join((head, body[:room])))
            return self._tls.send(body)
        except ssl.SSLWantWriteError:
            self.waits = EVENT_WRITE
        except ssl.SSLWantReadError:
            self.waits = EVENT_READ
        return 0

    def end(self) -> None:
        # Sends close_notify, and would then wait for the client's.
        with contextlib.suppress(ssl.SSLWantReadError, ssl.SSLWantWriteError):
            self._tls.unwrap()
        super().end()


T = TypeVar("T")

_LARGEST_PEM_BYTES = 1 << 20

_VERSIONS = {"TLS12": ssl.TLSVersion.TLSv1_2, "TLS13": ssl.TLSVersion.TLSv1_3}

#: https://pkg.go.dev/crypto/tls#ClientAuthType. RequestClientCert asks and ignores the answer.
_CLIENT_AUTH = {
    "NoClientCert": ssl.CERT_NONE,
    "RequestClientCert": ssl.CERT_NONE,
    "VerifyClientCertIfGiven": ssl.CERT_OPTIONAL,
    "RequireAndVerifyClientCert": ssl.CERT_REQUIRED,
}
_ANY_CERTIFICATE = frozenset({"RequireAnyClientCert", "RequireClientCert"})

#: https://pkg.go.dev/crypto/tls#pkg-constants to OpenSSL's names; TLS 1.3's are not chosen by
#: name, there as here.
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
    """A context, and the names of which a client's certificate must bear one; none: any will do."""

    context: ssl.SSLContext
    sans: frozenset[str]

    def wire(self, link: socket.socket) -> TlsTransport:
        """A connection on which this is spoken."""
        return TlsTransport(link, self.context, self.admits)

    def admits(self, link: ssl.SSLSocket) -> bool:
        if not self.sans:
            return True
        names = (link.getpeercert() or {}).get("subjectAltName", ())
        return any(str(entry[1]) in self.sans for entry in names)


def make_tls(config: "TlsConfig") -> ServerTls:
    """Raises ConfigError naming the key in the web configuration file."""
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


def _set_versions(context: ssl.SSLContext, config: "TlsConfig") -> None:
    hint = "use TLS12 or TLS13; older ones are broken (RFC 8996) and not offered"
    context.minimum_version = _named("min_version", config.min_version, _VERSIONS, hint)
    context.maximum_version = _named("max_version", config.max_version, _VERSIONS, hint)
    if context.minimum_version > context.maximum_version:
        raise _error("min_version", "above max_version", "exchange them")


def _set_suites(context: ssl.SSLContext, config: "TlsConfig") -> None:
    if not config.cipher_suites:
        return
    known = {**_SUITES, **dict.fromkeys(_SUITES_13, "")}
    names = [
        _named("cipher_suites", suite, known, f"use {', '.join(known)}")
        for suite in config.cipher_suites
    ]
    older = [name for name in names if name]
    if older:
        try:
            context.set_ciphers(":".join(older))
        except ssl.SSLError as e:
            hint = "use suites with GCM or CHACHA20"
            raise _error("cipher_suites", "this OpenSSL has none of them", hint) from e
    else:
        context.minimum_version = ssl.TLSVersion.TLSv1_3


def _set_curve(context: ssl.SSLContext, config: "TlsConfig") -> None:
    if not config.curve_preferences:
        return
    if len(config.curve_preferences) > 1:
        raise _error("curve_preferences", "more than one", "name one curve, or leave it out")
    curve = config.curve_preferences[0]
    hint = f"use one of {', '.join(_CURVES)}, or leave it out"
    name = _named("curve_preferences", curve, _CURVES, hint)
    try:
        context.set_ecdh_curve(name)
    except (ssl.SSLError, ValueError) as e:
        raise _error("curve_preferences", f"this OpenSSL cannot take {curve}", hint) from e


def _load_certificate(context: ssl.SSLContext, config: "TlsConfig") -> None:
    _check_pem("cert_file", config.cert_file, b"CERTIFICATE-----")
    _check_pem("key_file", config.key_file, b"PRIVATE KEY-----")
    try:
        # Without a password OpenSSL would ask for an encrypted key's on the terminal.
        context.load_cert_chain(config.cert_file, config.key_file, password="")
    except OSError as e:
        if _reason(e) == "KEY_VALUES_MISMATCH":
            what, hint = "not the key of the certificate", "name the key that belongs to cert_file"
            raise _error(f"key_file {config.key_file}", what, hint) from e
        what = f"{config.cert_file} or {config.key_file} cannot be used ({_reason(e)})"
        hint = "give PEM files, the server's certificate first, and the key without a passphrase"
        raise _error("cert_file, key_file", what, hint) from e


def _set_client_auth(context: ssl.SSLContext, config: "TlsConfig") -> None:
    kind = config.client_auth_type
    verify = "use RequireAndVerifyClientCert with a client_ca_file"
    if kind in _ANY_CERTIFICATE:
        raise _error("client_auth_type", f"{kind} would let in any certificate", verify)
    mode = _named("client_auth_type", kind, _CLIENT_AUTH, f"use {', '.join(_CLIENT_AUTH)}")
    if config.client_allowed_sans and mode is not ssl.CERT_REQUIRED:
        raise _error("client_allowed_sans", "no certificate is required", verify)
    if config.client_ca_file is None:
        if mode is not ssl.CERT_NONE:
            raise _error("client_ca_file", "missing", f"{kind} needs it")
        return
    if kind == "NoClientCert":
        raise _error("client_ca_file", "of no effect without client_auth_type", verify)
    _check_pem("client_ca_file", config.client_ca_file, b"CERTIFICATE-----")
    try:
        context.load_verify_locations(config.client_ca_file)
    except OSError as e:
        what, hint = f"{config.client_ca_file}: {_reason(e)}", "give the CA's certificate as PEM"
        raise _error("client_ca_file", what, hint) from e
    context.verify_mode = mode


def _check_pem(key: str, path: Path, mark: bytes) -> None:
    try:
        with open(path, "rb") as file:
            data = file.read(_LARGEST_PEM_BYTES)
    except OSError as e:
        hint = f"name a file that the user with id {os.geteuid()} may read"
        raise _error(f"{key} {path}", e.strerror or str(e), hint) from e
    if mark not in data:
        kind = mark.rstrip(b"-").decode()
        raise _error(f"{key} {path}", f"no {kind} in it", "give a PEM file")


def _named(key: str, name: str, known: Mapping[str, T], hint: str) -> T:
    if name not in known:
        raise _error(key, f"{name!r} is not offered", hint)
    return known[name]


def _reason(e: OSError) -> str:
    return (e.reason if isinstance(e, ssl.SSLError) else e.strerror) or str(e)


def _error(key: str, what: str, hint: str) -> ConfigError:
    return ConfigError(f"tls_server_config.{key}: {what}", hint)
