"""Parses the web configuration file, in the format of the Prometheus exporter toolkit.

https://prometheus.io/docs/prometheus/latest/configuration/https/ describes the format.
https://github.com/prometheus/exporter-toolkit is the reference implementation. A setting that
this server does not support is an error.

This module imports PyYAML, which takes 2 MB of memory. Import it only if a file is configured.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from exporter.errors import ConfigError
from exporter.web import config_file

_TLS_KEYS = frozenset(
    {
        "cert",
        "cert_file",
        "key",
        "key_file",
        "client_auth_type",
        "client_ca",
        "client_ca_file",
        "client_allowed_sans",
        "min_version",
        "max_version",
        "cipher_suites",
        "prefer_server_cipher_suites",
        "curve_preferences",
    }
)
_SECTIONS = frozenset({"tls_server_config", "http_server_config", "basic_auth_users", "rate_limit"})

#: Seconds of each unit of a duration: https://pkg.go.dev/time#ParseDuration.
_UNITS = {
    "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0,
}  # fmt: skip
_AMOUNT = re.compile(r"([0-9]{1,18}(?:\.[0-9]{0,18})?|\.[0-9]{1,18})(ns|us|µs|μs|ms|s|m|h)")

#: Maximum of `burst`: the largest number that Go's int has on every platform.
_MAX_BURST = (1 << 31) - 1

#: The allowed values of the header fields that can be set, keyed by field. An empty set allows
#: every value.
_HEADERS: Mapping[str, frozenset[str]] = {
    "Content-Security-Policy": frozenset(),
    "Strict-Transport-Security": frozenset(),
    "X-Content-Type-Options": frozenset({"nosniff"}),
    "X-Frame-Options": frozenset({"deny", "sameorigin"}),
    "X-XSS-Protection": frozenset(),
}

_BOOLEANS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_BCRYPT = re.compile(r"\$2[aby]\$(0[4-9]|[12][0-9]|3[01])\$[./A-Za-z0-9]{53}")


@dataclass(frozen=True, slots=True)
class TlsConfig:
    """The values of the section `tls_server_config`; each field has the name of its key.

    Versions, cipher suites and curves are given by the names that Go uses, as in the file. `cert`,
    `key` and `client_ca` contain PEM text. If the path of a file is given as well, the file is
    used. repr() omits the key.
    """

    cert_file: Path | None = None
    key_file: Path | None = None
    cert: str = ""
    key: str = field(default="", repr=False)
    client_ca: str = ""
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
    """The content of the web configuration file.

    tls: the section `tls_server_config`; None means that the server uses no TLS.
    headers: names and values of additional header fields in every response.
    users: the bcrypt hashes of the passwords, keyed by user name. Empty means that no password is
        required. repr() omits them.
    rate_limit: the minimum interval in seconds between requests, and the number of requests that
        may exceed it without a pause; None means no limit.
    """

    tls: TlsConfig | None = None
    headers: tuple[tuple[str, str], ...] = ()
    users: Mapping[str, str] = field(default_factory=dict, repr=False)
    rate_limit: tuple[float, int] | None = None


def read(path: Path) -> str:
    """Returns the text of the web configuration file.

    Raises:
        ConfigError: the file cannot be read, is not a regular file, is larger than 1 MiB, or is not
            UTF-8.
    """
    try:
        return config_file.read(path).decode()
    except OSError as e:
        hint = f"let the user with id {os.geteuid()} read it, or correct --web.config.file"
        raise ConfigError(f"{path}: {e.strerror or e}", hint) from e
    except UnicodeDecodeError as e:
        raise ConfigError(f"{path}: not UTF-8", "save it as UTF-8") from e


def parse(text: str, path: Path) -> WebConfig:
    """Returns the web configuration that the text of the file contains.

    This function opens no file. Every value is read as text and not by the type rules
    of YAML, so the file cannot create Python objects.

    path: the path of the file, for error messages. Relative paths in the text are relative to its
        directory.

    Raises:
        ConfigError: the text is not valid YAML, or a setting is not supported or not valid.
    """
    try:
        root = yaml.compose(text, Loader=yaml.BaseLoader)
    # PyYAML also raises RecursionError for deep nesting, and the errors of chr() for bad escapes.
    except (yaml.YAMLError, RecursionError, ValueError, OverflowError) as e:
        cause = " ".join(str(e).split()) if isinstance(e, yaml.YAMLError) else type(e).__name__
        raise ConfigError(f"{path}: not YAML: {cause[:200]}", "correct the syntax") from e
    top = _Setting(path, "", root)
    sections = top.mapping(_SECTIONS)
    return WebConfig(
        tls=_tls(sections["tls_server_config"]) if "tls_server_config" in sections else None,
        headers=_headers(sections["http_server_config"])
        if "http_server_config" in sections
        else (),
        users=_users(sections["basic_auth_users"]) if "basic_auth_users" in sections else {},
        rate_limit=_rate_limit(sections["rate_limit"]) if "rate_limit" in sections else None,
    )


@dataclass(frozen=True, slots=True)
class _Setting:
    """A value of the file, with the file and the key for error messages.

    path: the path of the file.
    key: the keys from the top of the file to this value, joined by dots; empty for the whole file.
    node: the YAML node of the value; None if the file is empty.
    """

    path: Path
    key: str
    node: yaml.Node | None

    def error(self, what: str, remedy: str) -> ConfigError:
        """Returns an error whose message names the file, the line and the key of this setting."""
        line = f", line {self.node.start_mark.line + 1}" if self.node else ""
        return ConfigError(f"{self.path}{line}: {self.key or 'the file'}: {what}", remedy)

    @property
    def empty(self) -> bool:
        scalar = isinstance(self.node, yaml.ScalarNode)
        return self.node is None or (scalar and self.node.value in _NULL)

    def mapping(self, known: frozenset[str] | None = None) -> dict[str, "_Setting"]:
        """Returns the entries of this mapping that have a value, keyed by name.

        Entries without a value are ignored, as in the exporter toolkit.

        known: the supported keys; None means that every key is supported.

        Raises:
            ConfigError: this is not a mapping, or a key is repeated or not supported.
        """
        if self.empty:
            return {}
        if not isinstance(self.node, yaml.MappingNode):
            raise self.error("not a mapping", "write `key: value` lines with the same indentation")
        settings: dict[str, _Setting] = {}
        for key_node, node in self.node.value:
            name = _Setting(self.path, f"a key in {self.key or 'the file'}", key_node).text()
            setting = _Setting(self.path, f"{self.key}.{name}" if self.key else name, node)
            if known is not None and name not in known:
                keys = f"use {', '.join(sorted(known))}"
                raise setting.error("not supported", keys)
            if name in settings:
                raise setting.error("repeated", "keep one")
            settings[name] = setting
        return {name: setting for name, setting in settings.items() if not setting.empty}

    def text(self) -> str:
        if not isinstance(self.node, yaml.ScalarNode):
            raise self.error("not a single value", "write one value")
        return str(self.node.value)

    def texts(self) -> tuple[str, ...]:
        if not isinstance(self.node, yaml.SequenceNode):
            raise self.error("not a list", "write one `- value` line for each")
        return tuple(_Setting(self.path, self.key, node).text() for node in self.node.value)

    def boolean(self) -> bool:
        value = _BOOLEANS.get(self.text().lower())
        if value is None:
            raise self.error("not a boolean", "write true or false")
        return value

    def seconds(self) -> float:
        """Returns a duration as Go writes it, such as ``1m30s`` or ``250ms``; 0 needs no unit."""
        text = self.text().removeprefix("+")
        if text == "0":
            return 0.0
        if not text or _AMOUNT.sub("", text):
            raise self.error("not a duration", "write a number and a unit, such as 500ms, 1s or 2m")
        return sum(float(amount) * _UNITS[unit] for amount, unit in _AMOUNT.findall(text))

    def number(self, most: int) -> int:
        text = self.text()
        if not (text.isascii() and text.isdigit() and len(text) <= len(str(most))):
            raise self.error("not a number", f"write an integer from 0 to {most}")
        if int(text) > most:
            raise self.error("too large", f"write an integer from 0 to {most}")
        return int(text)

    def file(self) -> Path:
        text = self.text()
        try:
            is_path = b"\0" not in os.fsencode(text)
        except UnicodeEncodeError:  # a surrogate, which YAML can contain as an escape
            is_path = False
        if not is_path:
            raise self.error("not a file name", "name a file")
        return self.path.parent / text


def _tls(setting: _Setting) -> TlsConfig | None:
    entries = setting.mapping(_TLS_KEYS)
    if not entries:
        return None
    for key in ("cert", "key"):
        if key not in entries and f"{key}_file" not in entries:
            raise setting.error(f"{key}_file is missing", "TLS needs cert_file and key_file")

    def text(key: str, default: str) -> str:
        return entries[key].text() if key in entries else default

    def file(key: str) -> Path | None:
        return entries[key].file() if key in entries else None

    def texts(key: str) -> tuple[str, ...]:
        return entries[key].texts() if key in entries else ()

    prefer = entries.get("prefer_server_cipher_suites")
    return TlsConfig(
        cert_file=file("cert_file"),
        key_file=file("key_file"),
        cert=text("cert", ""),
        key=text("key", ""),
        client_ca=text("client_ca", ""),
        client_auth_type=text("client_auth_type", "NoClientCert"),
        client_ca_file=file("client_ca_file"),
        client_allowed_sans=texts("client_allowed_sans"),
        min_version=text("min_version", "TLS12"),
        max_version=text("max_version", "TLS13"),
        cipher_suites=texts("cipher_suites"),
        prefer_server_cipher_suites=prefer.boolean() if prefer else True,
        curve_preferences=texts("curve_preferences"),
    )


def _headers(setting: _Setting) -> tuple[tuple[str, str], ...]:
    entries = setting.mapping(frozenset({"http2", "headers"}))
    if "http2" in entries:
        entries["http2"].boolean()
    headers: list[tuple[str, str]] = []
    for name, entry in entries["headers"].mapping().items() if "headers" in entries else ():
        if name not in _HEADERS:
            raise entry.error("cannot be set", f"use {', '.join(sorted(_HEADERS))}")
        value, allowed = entry.text(), _HEADERS[name]
        if allowed and value not in allowed:
            raise entry.error(
                "not an allowed value of this field", f"use {' or '.join(sorted(allowed))}"
            )
        if not (value.isascii() and value.isprintable()):
            raise entry.error("not one line of ASCII", "write it on one line, in ASCII")
        headers.append((name, value))
    return tuple(headers)


def _users(setting: _Setting) -> Mapping[str, str]:
    users: dict[str, str] = {}
    for name, entry in setting.mapping().items():
        if not _BCRYPT.fullmatch(entry.text()):
            remedy = "create one with `htpasswd -nBC 10 NAME`, and quote it"
            raise entry.error("not a bcrypt hash", remedy)
        users[name] = entry.text()
    return users


def _rate_limit(setting: _Setting) -> tuple[float, int] | None:
    entries = setting.mapping(frozenset({"interval", "burst"}))
    interval = entries["interval"].seconds() if "interval" in entries else 0.0
    burst = entries["burst"].number(_MAX_BURST) if "burst" in entries else 0
    return (interval, burst) if interval else None
