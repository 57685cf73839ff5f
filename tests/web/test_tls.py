"""TLS settings and TLS connections."""

import ssl
from collections.abc import Callable
from pathlib import Path

import pytest

from exporter.runtime.errors import ConfigError
from exporter.web.security import load_security
from exporter.web.tls import make_tls
from exporter.web.web_config import TlsConfig
from tests.web.http_client import (
    GET,
    PAGE,
    connect,
    is_closed,
    read_response,
    send_request,
    serving,
)

Write = Callable[[str], Path]


def yml(pki: Path, more: str = "") -> str:
    files = f"cert_file: {pki}/server.pem, key_file: {pki}/server.key"
    return f"tls_server_config: {{{files}{more}}}\n"


def verifying(pki: Path, sans: str = "") -> str:
    kind = "client_auth_type: RequireAndVerifyClientCert"
    return yml(pki, f", {kind}, client_ca_file: {pki}/ca.pem{sans}")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"cert_file": "gone.pem"}, "cert_file .*gone.pem: No such file or directory; name a file"),
        ({"cert_file": "server.key"}, "cert_file .*: contains no CERTIFICATE; use a PEM file"),
        ({"key_file": "server.pem"}, "key_file .*: contains no PRIVATE KEY; use a PEM file"),
        ({"key_file": "server2.key"}, "does not match the certificate; name the key of"),
        ({"key_file": "locked.key"}, "cannot be used .*a key without a passphrase"),
        ({"cert_file": "torn.pem"}, "cannot be used"),
        ({"client_auth_type": "Never"}, "client_auth_type: 'Never' is not supported; use NoClient"),
        ({"client_auth_type": "RequireAndVerifyClientCert"}, "client_ca_file: missing"),
        (
            {"client_auth_type": "RequireAnyClientCert", "client_allowed_sans": ("a",)},
            "no certificate is required",
        ),
        ({"client_ca_file": "ca.pem"}, "has no effect without client_auth_type"),
        ({"client_allowed_sans": ("a",)}, "no certificate is required"),
        ({"min_version": "TLS11"}, "RFC 8996"),
        ({"min_version": "TLS13", "max_version": "TLS12"}, "above max_version"),
        ({"cipher_suites": ("AES128-SHA",)}, "'AES128-SHA' is not supported; use TLS_RSA"),
        ({"curve_preferences": ("P256",)}, "use CurveP256"),
        ({"curve_preferences": ("X25519", "P256")}, "use CurveP256"),
    ],
)
def test_an_unusable_setting_is_an_error_with_key_and_remedy(
    pki: Path, changes: dict[str, str | tuple[str, ...]], expected: str
) -> None:
    (pki / "torn.pem").write_bytes((pki / "server.pem").read_bytes()[:200])
    files = {"cert_file": "server.pem", "key_file": "server.key"} | changes
    given = {
        key: pki / value if key.endswith("_file") and isinstance(value, str) else value
        for key, value in files.items()
    }
    with pytest.raises(ConfigError, match=expected) as e:
        make_tls(TlsConfig(**given))  # type: ignore[arg-type]
    assert "\n" not in str(e.value)


def test_a_client_that_trusts_the_ca_reads_the_page(
    pki: Path, web_yml: Write, trusting: ssl.SSLContext
) -> None:
    with serving(web_config=web_yml(yml(pki))) as server:
        assert PAGE == send_request(server, context=trusting).body


def test_versions_and_cipher_suite_are_as_configured(
    pki: Path, web_yml: Write, trusting: ssl.SSLContext
) -> None:
    suite = "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"
    text = yml(pki, f", max_version: TLS12, cipher_suites: [{suite}], curve_preferences: [X25519]")
    trusting.set_alpn_protocols(["h2", "http/1.1"])
    with (
        serving(web_config=web_yml(text)) as server,
        connect(server) as sock,
        trusting.wrap_socket(sock, server_hostname="localhost") as secured,
    ):
        assert ("TLSv1.2", "http/1.1") == (secured.version(), secured.selected_alpn_protocol())
        assert "ECDHE-ECDSA-AES256-GCM-SHA384" == (secured.cipher() or ("",))[0]


def test_cipher_suites_of_tls_13_only_exclude_tls_12(pki: Path) -> None:
    files = (pki / "server.pem", pki / "server.key")
    made = make_tls(TlsConfig(*files, cipher_suites=("TLS_AES_128_GCM_SHA256",)))
    assert ssl.TLSVersion.TLSv1_3 == made.context.minimum_version


def test_a_client_without_a_valid_certificate_is_refused(
    pki: Path, web_yml: Write, trusting: ssl.SSLContext
) -> None:
    with serving(web_config=web_yml(verifying(pki))) as server:
        with pytest.raises(OSError, match=r"(?i)alert|reset|closed|EOF|pipe"):
            send_request(server, context=trusting)
        trusting.load_cert_chain(pki / "stranger.pem", pki / "stranger.key")
        with pytest.raises(OSError, match=r"(?i)alert|reset|closed|EOF|pipe"):
            send_request(server, context=trusting)


@pytest.mark.parametrize(
    ("sans", "admitted"),
    [
        ("", True),
        (", client_allowed_sans: [other, prometheus.example]", True),
        (", client_allowed_sans: [ops@example.com]", True),
        (", client_allowed_sans: ['spiffe://a/b']", True),
        (", client_allowed_sans: [example]", False),
        (", client_allowed_sans: ['*.example', client]", False),
    ],
)
def test_a_client_certificate_must_contain_an_allowed_name(
    pki: Path, web_yml: Write, trusting: ssl.SSLContext, sans: str, *, admitted: bool
) -> None:
    trusting.load_cert_chain(pki / "client.pem", pki / "client.key")
    with serving(web_config=web_yml(verifying(pki, sans))) as server:
        if admitted:
            assert PAGE == send_request(server, context=trusting).body
        else:
            with pytest.raises(OSError, match=r"(?i)alert|reset|closed|EOF|pipe"):
                send_request(server, context=trusting)


def test_plain_http_on_the_tls_port_ends_only_that_connection(
    pki: Path, web_yml: Write, trusting: ssl.SSLContext
) -> None:
    with serving(web_config=web_yml(yml(pki))) as server:
        for sent in (GET, b"\x16\x03\x01\xff\xff" + b"\0" * 99):
            with connect(server) as sock:
                sock.sendall(sent)
                assert is_closed(sock)
        assert PAGE == send_request(server, context=trusting).body


def test_a_refused_request_ends_with_close_notify(
    pki: Path, web_yml: Write, trusting: ssl.SSLContext
) -> None:
    with (
        serving(web_config=web_yml(yml(pki))) as server,
        connect(server) as sock,
        trusting.wrap_socket(
            sock, server_hostname="localhost", suppress_ragged_eofs=False
        ) as secured,
    ):
        secured.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello")
        assert 405 == read_response(secured).status
        assert b"" == secured.recv(100)


def test_pipelined_requests_in_one_tls_record_are_all_answered(
    pki: Path, web_yml: Write, trusting: ssl.SSLContext
) -> None:
    """The selector does not report data that TLS has decrypted but not returned yet."""
    with (
        serving(web_config=web_yml(yml(pki))) as server,
        connect(server) as sock,
        trusting.wrap_socket(sock, server_hostname="localhost") as secured,
    ):
        secured.sendall(GET * 200)
        rest = b""
        for _ in range(200):
            got = read_response(secured, rest)
            rest = got.rest
            assert PAGE == got.body


@pytest.mark.parametrize("kind", ["RequireAnyClientCert", "RequireClientCert"])
def test_any_certificate_means_one_of_the_ca(
    pki: Path, web_yml: Write, trusting: ssl.SSLContext, kind: str
) -> None:
    text = yml(pki, f", client_auth_type: {kind}, client_ca_file: {pki}/ca.pem")
    with serving(web_config=web_yml(text)) as server:
        with pytest.raises(OSError, match=r"(?i)alert|reset|closed|EOF|pipe"):
            send_request(server, context=trusting)
        trusting.load_cert_chain(pki / "client.pem", pki / "client.key")
        assert PAGE == send_request(server, context=trusting).body


@pytest.mark.parametrize("kind", ["RequireAnyClientCert", "VerifyClientCertIfGiven"])
def test_a_type_that_admits_every_client_needs_no_ca_and_is_logged(
    pki: Path,
    web_yml: Write,
    trusting: ssl.SSLContext,
    kind: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with serving(web_config=web_yml(yml(pki, f", client_auth_type: {kind}"))) as server:
        assert PAGE == send_request(server, context=trusting).body
    assert f"{kind} without client_ca_file protects nothing" in caplog.text


def inline(pki: Path, key: str, name: str) -> str:
    lines = (pki / name).read_text().splitlines()
    return f"  {key}: |\n" + "".join(f"    {line}\n" for line in lines)


def test_certificates_and_the_key_can_be_in_the_file_itself(
    pki: Path, web_yml: Write, trusting: ssl.SSLContext
) -> None:
    text = (
        "tls_server_config:\n"
        + inline(pki, "cert", "server.pem")
        + inline(pki, "key", "server.key")
        + inline(pki, "client_ca", "ca.pem")
        + "  client_auth_type: RequireAndVerifyClientCert\n"
    )
    trusting.load_cert_chain(pki / "client.pem", pki / "client.key")
    with serving(web_config=web_yml(text)) as server:
        assert PAGE == send_request(server, context=trusting).body


@pytest.mark.parametrize(
    ("cert", "key", "expected"),
    [
        ("no", "no", "tls_server_config.cert: contains no CERTIFICATE"),
        ("\ud800", "no", "tls_server_config.cert: contains no CERTIFICATE"),
        ("server.pem", "no", "tls_server_config.key: contains no PRIVATE KEY"),
        ("server.pem", "server2.key", "tls_server_config.key: does not match the certificate"),
        ("server.pem", "locked.key", "tls_server_config.cert or key: cannot be used"),
    ],
)
def test_a_mistake_in_an_inline_certificate_names_the_key(
    pki: Path, cert: str, key: str, expected: str
) -> None:
    def text(name: str) -> str:
        return (pki / name).read_text() if "." in name else name

    with pytest.raises(ConfigError, match=expected) as e:
        make_tls(TlsConfig(cert=text(cert), key=text(key)))
    assert "PRIVATE KEY-----" not in str(e.value)


def test_a_certificate_that_cannot_be_read_names_the_file_that_names_it(web_yml: Write) -> None:
    path = web_yml("tls_server_config: {cert_file: /nonexistent.pem, key_file: /nonexistent.key}")
    with pytest.raises(ConfigError) as e:
        load_security(path)
    assert str(e.value).startswith(f"{path}: tls_server_config.cert_file /nonexistent.pem: ")


def test_of_several_curves_the_first_is_used(
    pki: Path, web_yml: Write, trusting: ssl.SSLContext
) -> None:
    text = yml(pki, ", curve_preferences: [CurveP384, CurveP256]")
    with serving(web_config=web_yml(text)) as server:
        trusting.set_ecdh_curve("secp384r1")
        assert PAGE == send_request(server, context=trusting).body
        trusting.set_ecdh_curve("prime256v1")
        with pytest.raises(OSError, match=r"(?i)alert|reset|closed|EOF|pipe"):
            send_request(server, context=trusting)
