"""Fixtures: certificates that openssl creates, and web configuration files."""

import ssl
import subprocess
from collections.abc import Callable
from pathlib import Path

import bcrypt
import pytest


def _openssl(*arguments: str | Path) -> None:
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)


@pytest.fixture(scope="session")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory: ca, other-ca (self-signed), server, server2, client, stranger: .pem and .key."""
    place = tmp_path_factory.mktemp("pki")
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
    for ca in ("ca", "other-ca"):
        _openssl("req", "-x509", *key, "-subj", f"/CN={ca}",
                 "-keyout", place / f"{ca}.key", "-out", place / f"{ca}.pem")  # fmt: skip
    for name, ca, san in (
        ("server", "ca", "DNS:localhost,IP:127.0.0.1"),
        ("server2", "ca", "DNS:localhost"),
        ("client", "ca", "DNS:prometheus.example,email:ops@example.com,URI:spiffe://a/b"),
        ("stranger", "other-ca", "DNS:prometheus.example"),
    ):
        request, extensions = place / f"{name}.csr", place / f"{name}.ext"
        extensions.write_text(f"subjectAltName={san}\n")
        _openssl("req", "-new", *key[:-2], "-subj", f"/CN={name}",
                 "-keyout", place / f"{name}.key", "-out", request)  # fmt: skip
        _openssl("x509", "-req", "-in", request, "-days", "2", "-CAcreateserial",
                 "-CA", place / f"{ca}.pem", "-CAkey", place / f"{ca}.key",
                 "-extfile", extensions, "-out", place / f"{name}.pem")  # fmt: skip
    _openssl("pkey", "-in", place / "server.key", "-aes256", "-passout", "pass:secret",
             "-out", place / "locked.key")  # fmt: skip
    return place


@pytest.fixture(scope="session")
def hashed() -> str:
    """The bcrypt hash of "swordfish"."""
    return bcrypt.hashpw(b"swordfish", bcrypt.gensalt(4)).decode()


@pytest.fixture
def web_yml(tmp_path: Path) -> Callable[[str], Path]:
    """Writes the web configuration file."""

    def write(text: str) -> Path:
        path = tmp_path / "web.yml"
        path.write_text(text)
        return path

    return write


@pytest.fixture
def tls_yml(pki: Path, web_yml: Callable[[str], Path]) -> Path:
    """A web configuration file with the certificate and the key of the server."""
    files = f"cert_file: {pki}/server.pem, key_file: {pki}/server.key"
    return web_yml(f"tls_server_config: {{{files}}}")


@pytest.fixture
def trusting(pki: Path) -> ssl.SSLContext:
    """The context of a client that trusts the CA and has no certificate."""
    return ssl.create_default_context(cafile=pki / "ca.pem")
