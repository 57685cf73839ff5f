"""The web configuration file, in the format that all exporters share.

https://prometheus.io/docs/prometheus/latest/configuration/https/ describes it; the reference is
https://github.com/prometheus/exporter-toolkit. What this server cannot do is refused by name.

Importing this imports PyYAML: 2 MB that only a host with a web configuration file pays.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from exporter.errors import ConfigError

_LARGEST_FILE_BYTES = 1 << 20

_TLS_KEYS = frozenset(
    {
        "cert_file",
        "key_file",
        "client_auth_type",
        "client_ca_file",
        "client_allowed_sans",
        "min_version",
        "max_version",
        "cipher_suites",
        "prefer_server_cipher_suites",
        "curve_preferences",
    }
)
_SECTIONS = frozenset({"tls_server_config", "http_server_config", "basic_auth_users"})

_NOT_OFFERED = {
    "cert": "write the certificate to a file and name it in cert_file",
    "key": "write the key to a file and name it in key_file",
    "client_ca": "write the CA's certificate to a file and name it in client_ca_file",
    "rate_limit": "leave it out: connections and their time are bounded here",
}

#: Header fields that may be set, with the values they may have where these are few.
_HEADERS: Mapping[str, frozenset[str]] = {
    "Content-Security-Policy": frozenset(),
    "Strict-Transport-Security": frozenset(),
    "X-Content-Type-Options": frozenset({"nosniff"}),
    "X-Frame-Options": frozenset({"deny", "sameorigin"}),
    "X-XSS-Protection": frozenset(),
}

_TRUTH = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_BCRYPT = re.compile(r"\$2[aby]\$(0[4-9]|[12][0-9]|3[01])\$[./A-Za-z0-9]{53}")


@dataclass(frozen=True, slots=True)
class TlsConfig:
    """`tls_server_config`; names of versions, suites and curves are Go's, as in the file."""

    cert_file: Path
    key_file: Path
    client_auth_type: str = "NoClientCert"
    client_ca_file: Path | None = None
    client_allowed_sans: tuple[str, ...] = ()
    min_version: str = "TLS12"
    max_version: str = "TLS13"
    cipher_suites: tuple[str, ...] = ()
    prefer_server_cipher_suites: bool = True
    curve_preferences: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WebConfig:
    """`users` maps a name to its bcrypt hash, and stays out of what is printed."""

    tls: TlsConfig | None = None
    headers: tuple[tuple[str, str], ...] = ()
    users: Mapping[str, str] = field(default_factory=dict, repr=False)


def read(path: Path) -> str:
    """The file's text. Raises ConfigError."""
    try:
        with open(path, "rb") as file:
            data = file.read(_LARGEST_FILE_BYTES + 1)
        if len(data) > _LARGEST_FILE_BYTES:
            raise ConfigError(f"{path}: larger than 1 MiB", "name the web configuration file")
        return data.decode()
    except OSError as e:
        hint = f"let the user with id {os.geteuid()} read it, or correct --web.config.file"
        raise ConfigError(f"{path}: {e.strerror or e}", hint) from e
    except UnicodeDecodeError as e:
        raise ConfigError(f"{path}: not UTF-8", "save it as UTF-8") from e


def parse(text: str, path: Path) -> WebConfig:
    """What the file says; paths in it are relative to its directory. Raises ConfigError.

    Of the files that it names none is opened. Values are read as text and never by YAML's own
    rules for types, so nothing in the file can construct anything.
    """
    try:
        root = yaml.compose(text, Loader=yaml.BaseLoader)
    # Beyond YAMLError: a nesting too deep, and escapes beyond Unicode's end (chr()).
    except (yaml.YAMLError, RecursionError, ValueError, OverflowError) as e:
        cause = " ".join(str(e).split()) if isinstance(e, yaml.YAMLError) else type(e).__name__
        raise ConfigError(f"{path}: not YAML: {cause[:200]}", "correct it") from e
    top = _Place(path, "", root)
    sections = top.mapping(_SECTIONS)
    return WebConfig(
        tls=_tls(sections["tls_server_config"]) if "tls_server_config" in sections else None,
        headers=_headers(sections["http_server_config"])
        if "http_server_config" in sections
        else (),
        users=_users(sections["basic_auth_users"]) if "basic_auth_users" in sections else {},
    )


@dataclass(frozen=True, slots=True)
class _Place:
    """A value and where it stands, for an error's sake."""

    path: Path
    key: str
    node: yaml.Node | None

    def error(self, what: str, remedy: str) -> ConfigError:
        line = f", line {self.node.start_mark.line + 1}" if self.node else ""
        return ConfigError(f"{self.path}{line}: {self.key or 'the file'}: {what}", remedy)

    @property
    def empty(self) -> bool:
        scalar = isinstance(self.node, yaml.ScalarNode)
        return self.node is None or (scalar and self.node.value in _NULL)

    def mapping(self, known: frozenset[str] | None = None) -> dict[str, "_Place"]:
        """The entries; those without a value are left out, as the format's own reader does."""
        if self.empty:
            return {}
        if not isinstance(self.node, yaml.MappingNode):
            raise self.error("not a mapping", "write `key: value` lines, indented alike")
        found: dict[str, _Place] = {}
        for key_node, node in self.node.value:
            name = _Place(self.path, f"a key in {self.key or 'the file'}", key_node).text()
            place = _Place(self.path, f"{self.key}.{name}" if self.key else name, node)
            if known is not None and name not in known:
                keys = f"use {', '.join(sorted(known))}"
                raise place.error("not offered here", _NOT_OFFERED.get(name, keys))
            if name in found:
                raise place.error("stands twice", "keep one")
            found[name] = place
        return {name: place for name, place in found.items() if not place.empty}

    def text(self) -> str:
        if not isinstance(self.node, yaml.ScalarNode):
            raise self.error("not a text", "write one value")
        return str(self.node.value)

    def texts(self) -> tuple[str, ...]:
        if not isinstance(self.node, yaml.SequenceNode):
            raise self.error("not a list", "write one `- value` line for each")
        return tuple(_Place(self.path, self.key, node).text() for node in self.node.value)

    def truth(self) -> bool:
        value = _TRUTH.get(self.text().lower())
        if value is None:
            raise self.error("neither true nor false", "write true or false")
        return value

    def file(self) -> Path:
        text = self.text()
        if "\0" in text:
            raise self.error("no file's name", "name a file")
        return self.path.parent / text


def _tls(place: _Place) -> TlsConfig | None:
    entries = place.mapping(_TLS_KEYS)
    if not entries:
        return None
    for key in ("cert_file", "key_file"):
        if key not in entries:
            raise place.error(f"{key} is missing", "TLS needs cert_file and key_file")

    def text(key: str, default: str) -> str:
        return entries[key].text() if key in entries else default

    def texts(key: str) -> tuple[str, ...]:
        return entries[key].texts() if key in entries else ()

    prefer = entries.get("prefer_server_cipher_suites")
    ca = entries.get("client_ca_file")
    return TlsConfig(
        cert_file=entries["cert_file"].file(),
        key_file=entries["key_file"].file(),
        client_auth_type=text("client_auth_type", "NoClientCert"),
        client_ca_file=ca.file() if ca else None,
        client_allowed_sans=texts("client_allowed_sans"),
        min_version=text("min_version", "TLS12"),
        max_version=text("max_version", "TLS13"),
        cipher_suites=texts("cipher_suites"),
        prefer_server_cipher_suites=prefer.truth() if prefer else True,
        curve_preferences=texts("curve_preferences"),
    )


def _headers(place: _Place) -> tuple[tuple[str, str], ...]:
    entries = place.mapping(frozenset({"http2", "headers"}))
    if "http2" in entries:
        entries["http2"].truth()
    headers: list[tuple[str, str]] = []
    for name, entry in entries["headers"].mapping().items() if "headers" in entries else ():
        if name not in _HEADERS:
            raise entry.error("cannot be set here", f"use {', '.join(sorted(_HEADERS))}")
        value, allowed = entry.text(), _HEADERS[name]
        if allowed and value not in allowed:
            raise entry.error("not a value of this field", f"use {' or '.join(sorted(allowed))}")
        if not (value.isascii() and value.isprintable()):
            raise entry.error("not printable ASCII on one line", "write it on one line")
        headers.append((name, value))
    return tuple(headers)


def _users(place: _Place) -> Mapping[str, str]:
    users: dict[str, str] = {}
    for name, entry in place.mapping().items():
        if not _BCRYPT.fullmatch(entry.text()):
            remedy = "make one with `htpasswd -nBC 10 NAME` and quote it"
            raise entry.error("no bcrypt hash", remedy)
        users[name] = entry.text()
    return users
