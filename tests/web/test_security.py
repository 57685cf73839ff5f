"""Reloads of the web configuration."""

import logging
import os
import shutil
import socket
import ssl
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path

import bcrypt
import pytest

from exporter.runtime.errors import ConfigError
from exporter.web.http_message import plain_response
from exporter.web.security import ReloadableSecurity, load_security
from exporter.web.server import HttpServer
from tests.web.http_client import (
    GET,
    PAGE,
    authorized,
    connect,
    get_page,
    is_closed,
    read_response,
    send_request,
    serving,
)

TLS = "tls_server_config: {cert_file: cert.pem, key_file: cert.key}\n"


def users(password: str) -> str:
    hashed = bcrypt.hashpw(password.encode(), bcrypt.gensalt(4)).decode()
    return f"basic_auth_users: {{alice: {hashed}}}\n"


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
    with serving(web_config=path) as server, connect(server) as sock, connect(server) as second:
        for kept in (sock, second):
            assert PAGE == get_page(kept, authorized("old"))
        path.write_text(users("new") + "# longer\n")
        sock.sendall(authorized("old"))
        assert 401 == read_response(sock).status
        assert PAGE == get_page(second, authorized("new"))


def test_a_connection_closes_after_a_wrong_password(tmp_path: Path) -> None:
    path = tmp_path / "web.yml"
    path.write_text(users("old"))
    with serving(web_config=path) as server:
        for request in (authorized("wrong"), GET):
            with connect(server) as sock:
                sock.sendall(request)
                got = read_response(sock)
                assert (401, "close") == (got.status, got.headers["connection"])
                assert b"" == sock.recv(100)


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
        assert PAGE == send_request(server, authorized("old"), trusting).body
    assert "reload the service (SIGHUP) if that is intended" in caplog.text


def test_an_explicit_reload_can_remove_the_password(tmp_path: Path) -> None:
    path = tmp_path / "web.yml"
    path.write_text(users("old"))
    with serving(web_config=path) as server:
        path.write_text("# open\n")
        assert 401 == send_request(server).status
        server.reload()
        assert PAGE == send_request(server).body


def test_a_reload_remembers_the_credentials_of_users_whose_hash_is_unchanged(
    tmp_path: Path,
) -> None:
    path = tmp_path / "web.yml"
    path.write_text(users("old"))
    live = ReloadableSecurity(path)
    field = authorized("old").split(b"\r\n")[2].decode().partition(": ")[2]

    def is_remembered() -> bool:
        live.reload()
        assert live.current.auth
        return live.current.auth.is_cached(field)

    assert live.current.auth
    assert live.current.auth.verify(field)
    same = path.read_text()
    path.write_text(same + users("bob's").split("{")[0].replace("basic_auth_users:", "# more"))
    assert is_remembered()
    path.write_text(users("old"))  # another salt
    assert not is_remembered()
    path.write_text(same.replace("alice", "bob"))
    assert not is_remembered()
    path.write_text(same)
    assert is_remembered()


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
        assert "deny" == send_request(server, authorized("old")).headers["x-frame-options"]
        assert "deny" == send_request(server, b"garbage\r\n\r\n").headers["x-frame-options"]


def kept(server: HttpServer, context: ssl.SSLContext | None = None) -> socket.socket:
    """Returns a connection on which the server has answered a request."""
    sock = connect(server)
    if context:
        sock = context.wrap_socket(sock, server_hostname="localhost")
    assert PAGE == get_page(sock)
    return sock


def test_a_connection_without_tls_is_closed_when_a_reload_requires_tls(
    web_config: Path, trusting: ssl.SSLContext
) -> None:
    web_config.write_text("")
    with serving(web_config=web_config) as server, kept(server) as idle, kept(server) as busy:
        busy.sendall(GET[:10])
        web_config.write_text(TLS)
        server.reload()
        assert is_closed(idle)
        assert is_closed(busy)
        assert PAGE == send_request(server, context=trusting).body


@pytest.mark.parametrize("path", ["/metrics", "/fast"], ids=["from a worker", "from the loop"])
def test_a_request_after_a_changed_file_is_not_answered_without_tls(
    web_config: Path, path: str
) -> None:
    web_config.write_text("")
    fast = {"/fast": lambda: plain_response(HTTPStatus.OK, "answered")}
    with (
        serving(web_config=web_config, fast=fast) as server,
        kept(server) as idle,
        kept(server) as asking,
    ):
        web_config.write_text(TLS)
        asking.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        assert b"" == received_until_close(asking)
        assert is_closed(idle)


VERIFY = ", client_auth_type: RequireAndVerifyClientCert, client_ca_file: {pki}/"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", VERIFY + "ca.pem"),
        (VERIFY + "ca.pem", VERIFY + "other-ca.pem"),
        (VERIFY + "ca.pem", VERIFY + "ca.pem, client_allowed_sans: [other.example]"),
        ("", ", min_version: TLS13"),
    ],
    ids=["certificate required", "another CA", "another name", "version"],
)
def test_a_connection_that_new_tls_settings_do_not_allow_is_closed(
    pki: Path, web_config: Path, trusting: ssl.SSLContext, before: str, after: str
) -> None:
    trusting.load_cert_chain(pki / "client.pem", pki / "client.key")

    def configure(more: str) -> None:
        web_config.write_text(TLS.replace("}", more.format(pki=pki) + "}"))

    configure(before)
    with serving(web_config=web_config) as server, kept(server, trusting) as sock:
        configure(after)
        server.reload()
        assert is_closed(sock)


def test_a_renewed_certificate_does_not_close_connections(
    pki: Path, tmp_path: Path, web_config: Path, trusting: ssl.SSLContext
) -> None:
    with serving(web_config=web_config) as server, kept(server, trusting) as sock:
        install(pki, tmp_path, "server2")
        server.reload()
        assert "server2" == subject(server, trusting)
        assert PAGE == get_page(sock)


def received_until_close(sock: socket.socket) -> bytes:
    received = b""
    try:
        while data := sock.recv(4096):
            received += data
    except ConnectionResetError:
        pass
    return received


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(path))


def make_endless(path: Path) -> None:
    path.touch()
    os.truncate(path, 1 << 40)


#: What an attacker or a mistake can put at the path of a file.
SPECIAL_FILES: dict[str, Callable[[Path], object]] = {
    "pipe": os.mkfifo,
    "directory": Path.mkdir,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "socket": make_socket,
    "endless": make_endless,
    "loop": lambda path: path.symlink_to(path),
}


@pytest.mark.parametrize("kind", SPECIAL_FILES)
@pytest.mark.parametrize("name", ["web.yml", "cert.pem", "cert.key", "ca.pem"])
def test_a_file_that_is_replaced_by_another_kind_keeps_the_old_settings(
    pki: Path, web_config: Path, trusting: ssl.SSLContext, name: str, kind: str
) -> None:
    shutil.copy(pki / "ca.pem", web_config.parent)
    more = ", client_auth_type: VerifyClientCertIfGiven, client_ca_file: ca.pem}"
    web_config.write_text(TLS.replace("}", more))
    with serving(web_config=web_config) as server:
        path = web_config.parent / name
        path.unlink()
        SPECIAL_FILES[kind](path)
        assert PAGE == send_request(server, context=trusting).body
        with pytest.raises(ConfigError, match=name):
            server.reload()
        assert PAGE == send_request(server, context=trusting).body


def test_files_behind_symbolic_links_are_read(pki: Path, tmp_path: Path) -> None:
    """Kubernetes and certbot replace certificates by changing a link."""
    (tmp_path / "..data").symlink_to(pki)
    (tmp_path / "cert.pem").symlink_to("..data/server.pem")
    (tmp_path / "cert.key").symlink_to("..data/server.key")
    (tmp_path / "real.yml").write_text(TLS)
    (tmp_path / "web.yml").symlink_to("real.yml")
    assert load_security(tmp_path / "web.yml").tls
