"""Listen addresses as people and the Prometheus tools write them."""

from exporter.errors import ConfigError

_HINT = "write HOST:PORT, :PORT for all interfaces, or [::1]:PORT"


def parse(text: str) -> tuple[str, int]:
    """Host and port of a listen address; an empty host means all interfaces.

    Port 0 lets the kernel choose. Raises ConfigError.
    """
    host, colon, port = text.rpartition(":")
    if not colon or not (port.isascii() and port.isdigit() and len(port) <= 5):
        raise ConfigError(f"listen address {text!r}: no port number", _HINT)
    if int(port) > 65535:
        raise ConfigError(f"listen address {text!r}: ports end at 65535", _HINT)
    if host.startswith("[") and host.endswith("]") and ":" in host:
        host = host[1:-1]
    elif any(mark in host for mark in ":[]/"):
        raise ConfigError(f"listen address {text!r}: not a host", _HINT)
    if not host.isprintable() or " " in host:
        raise ConfigError(f"listen address {text!r}: not a host", _HINT)
    return host, int(port)


def show(host: str, port: int) -> str:
    """The address as `parse` takes it."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
