"""Reloads of the web configuration."""

import base64
import logging
import os
import shutil
import ssl
from pathlib import Path

import bcrypt
import pytest

from exporter.errors import ConfigError
from exporter.web.security import ReloadableSecurity
from exporter.web.server import HttpServer
from tests.web.http_client import PAGE, connect, read_response, send_request, serving

TLS = "tls_server_config: {cert_file: cert.pem, key_file: cert.key}\n"


def users(password: str) -> str:
    hashed = bcrypt.hashpw(password.encode(), bcrypt.gensalt(4)).decode()
    return f"basic_auth_users: {{alice: {hashed}}}\n"


def get(password: str) -> bytes:
    field = base64.b64encode(f"alice:{password}".encode())
    return b"GET /metrics HTTP/1.1\r\nHost: x\r\nAuthorization: Basic " + field + b"\r\n\r\n"


def install(pki: Path, place: Path, name: str) -> None:
    """Install a certificate as certbot does: rename complete files over the old ones."""
    for end in ("pem", "key"):
        shutil.copy(pki / f"{name}.{end}", place / "new")
        os.replace(place / "new", place / f"cert.{end}")


def subject(server: HttpServer, context: ssl.SSLContext) -> str:
    with (
        connect(server) as sock,
        context.wrap_socket(sock, server_hostname="localhost") as secured,
    ):
        certificate = secured.getpeercert() or {}
        return str(certificate["subject"][0][0][1])


@pytest.fixture
def web_config(pki: Path, tmp_path: Path) -> Path:
    install(pki, tmp_path, "server")
    path = tmp_path / "web.yml"
    path.write_text(TLS)
    return path


def test_a_new_certificate_is_used_from_the_next_handshake(
    pki: Path, tmp_path: Path, web_config: Path, trusting: ssl.SSLContext
) -> None:
    with serving(web_config=web_config) as server:
        assert "server" == subject(server, trusting)
        install(pki, tmp_path, "server2")
        assert "server2" == subject(server, trusting)


def test_a_bad_certificate_keeps_the_old_one_and_is_logged_once(
    tmp_path: Path,
    web_config: Path,
    trusting: ssl.SSLContext,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with serving(web_config=web_config) as server:
        (tmp_path / "cert.pem").write_text("-----BEGIN CERTIFICATE-----\nno\n")
        assert ["server"] * 3 == [subject(server, trusting) for _ in range(3)]
        with pytest.raises(ConfigError, match="cannot be used"):
            server.reload()
        assert "server" == subject(server, trusting)
    errors = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert ["exporter.web.security"] == [record.name for record in errors]
    assert "cannot be used" in errors[0].getMessage()


def test_between_a_new_certificate_and_its_key_the_old_pair_is_served(
    pki: Path, tmp_path: Path, web_config: Path, trusting: ssl.SSLContext
) -> None:
    # Two writes within one tick of the clock of the file system (4 ms) have the same time.
    for end in ("pem", "key"):
        os.utime(tmp_path / f"cert.{end}", (1, 1))
    with serving(web_config=web_config) as server:
        shutil.copy(pki / "server2.pem", tmp_path / "cert.pem")
        assert "server" == subject(server, trusting)
        shutil.copy(pki / "server2.key", tmp_path / "cert.key")
        assert "server2" == subject(server, trusting)


def test_changed_users_apply_from_the_next_request_on_an_open_connection(
    tmp_path: Path,
) -> None:
    path = tmp_path / "web.yml"
    path.write_text(users("old"))
    with serving(web_config=path) as server, connect(server) as sock:
        sock.sendall(get("old"))
        assert PAGE == read_response(sock).body
        path.write_text(users("new") + "# longer\n")
        sock.sendall(get("old"))
        assert 401 == read_response(sock).status
        sock.sendall(get("new"))
        assert PAGE == read_response(sock).body


@pytest.mark.parametrize(
    "text",
    ["", "http_server_config: {}\n", TLS, users("x")],
    ids=["empty", "neither", "tls", "users"],
)
def test_a_half_written_file_never_removes_protection(
    web_config: Path, trusting: ssl.SSLContext, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    web_config.write_text(TLS + users("old"))
    with serving(web_config=web_config) as server:
        web_config.write_text(text)
        assert 401 == send_request(server, context=trusting).status
        assert PAGE == send_request(server, get("old"), trusting).body
    assert "reload the service (SIGHUP) if that is intended" in caplog.text


def test_an_explicit_reload_can_remove_the_password(tmp_path: Path) -> None:
    path = tmp_path / "web.yml"
    path.write_text(users("old"))
    with serving(web_config=path) as server:
        path.write_text("# open\n")
        assert 401 == send_request(server).status
        server.reload()
        assert PAGE == send_request(server).body


def test_a_reload_empties_the_cache_of_credentials(tmp_path: Path) -> None:
    path = tmp_path / "web.yml"
    path.write_text(users("old"))
    live = ReloadableSecurity(path)
    field = get("old").split(b"\r\n")[2].decode().partition(": ")[2]
    assert live.current.auth
    assert live.current.auth.verify(field)
    live.reload()
    assert not live.current.auth.is_cached(field)


def test_a_changed_file_does_not_remove_client_certificates(pki: Path, web_config: Path) -> None:
    kind = f"client_auth_type: RequireAndVerifyClientCert, client_ca_file: {pki}/ca.pem"
    sans = ", client_allowed_sans: [a]"
    web_config.write_text(TLS.replace("}", f", {kind}{sans}}}"))
    live = ReloadableSecurity(web_config)
    before = live.current
    for weaker in (TLS, TLS.replace("}", f", {kind}}}")):
        web_config.write_text(weaker)
        live.refresh()
        assert before is live.current
    live.reload()
    assert before is not live.current


def test_a_deleted_configuration_stays_in_force(tmp_path: Path) -> None:
    path = tmp_path / "web.yml"
    path.write_text(users("old"))
    with serving(web_config=path) as server:
        path.unlink()
        assert 401 == send_request(server).status


def test_configured_fields_are_in_every_response(tmp_path: Path) -> None:
    path = tmp_path / "web.yml"
    path.write_text("http_server_config: {headers: {X-Frame-Options: deny}}\n" + users("old"))
    with serving(web_config=path) as server:
        assert "deny" == send_request(server).headers["x-frame-options"]
        assert "deny" == send_request(server, get("old")).headers["x-frame-options"]
        assert "deny" == send_request(server, b"garbage\r\n\r\n").headers["x-frame-options"]
