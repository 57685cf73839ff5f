"""The web configuration file."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.errors import ConfigError
from exporter.web.security import load_security
from exporter.web.web_config import TlsConfig, WebConfig, parse, read

HASH = "$2y$10$" + "a" * 53
WHERE = Path("/etc/ssd-exporter/web.yml")


def test_all_settings_are_read_and_paths_are_relative_to_the_file() -> None:
    text = f"""
tls_server_config:
  cert_file: server.pem
  key_file: /keys/server.key
  client_auth_type: RequireAndVerifyClientCert
  client_ca_file: ../ca.pem
  client_allowed_sans: [prometheus.example, "10.0.0.1"]
  min_version: TLS13
  max_version: TLS13
  cipher_suites:
    - TLS_AES_128_GCM_SHA256
  prefer_server_cipher_suites: false
  curve_preferences: [CurveP256]
http_server_config:
  http2: true
  headers:
    X-Frame-Options: deny
    Strict-Transport-Security: max-age=31536000
basic_auth_users:
  alice: {HASH}
"""
    expected = WebConfig(
        tls=TlsConfig(
            cert_file=Path("/etc/ssd-exporter/server.pem"),
            key_file=Path("/keys/server.key"),
            client_auth_type="RequireAndVerifyClientCert",
            client_ca_file=Path("/etc/ssd-exporter/../ca.pem"),
            client_allowed_sans=("prometheus.example", "10.0.0.1"),
            min_version="TLS13",
            max_version="TLS13",
            cipher_suites=("TLS_AES_128_GCM_SHA256",),
            prefer_server_cipher_suites=False,
            curve_preferences=("CurveP256",),
        ),
        headers=(("X-Frame-Options", "deny"), ("Strict-Transport-Security", "max-age=31536000")),
        users={"alice": HASH},
    )
    assert expected == parse(text, WHERE)


@pytest.mark.parametrize(
    "text",
    ["", "# nothing\n", "{}", "null", "tls_server_config:\n", "tls_server_config: {}",
     "basic_auth_users: {}", "http_server_config: {headers: }", "http_server_config: {http2: }"],
)  # fmt: skip
def test_an_empty_configuration_requires_nothing(text: str) -> None:
    assert WebConfig() == parse(text, WHERE)


def test_repr_omits_hashes() -> None:
    assert HASH not in repr(parse(f"basic_auth_users: {{a: {HASH}}}", WHERE))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tls_config: {}", "tls_config: not supported; use basic_auth_users, http_server_co"),
        (
            "\ntls_server_config:\n  cert_fil: a",
            "line 3: tls_server_config.cert_fil: not supported",
        ),
        ("tls_server_config: {cert_file: a}", "tls_server_config: key_file is missing"),
        ("tls_server_config: {min_version: TLS13}", "cert_file is missing"),
        ("tls_server_config: {cert: PEM}", "name it in cert_file"),
        ("rate_limit: {burst: 1}", "omit it"),
        ("tls_server_config: [a]", "tls_server_config: not a mapping"),
        ("tls_server_config: {cert_file: [a], key_file: b}", "cert_file: not a single value"),
        ("tls_server_config: {cert_file: a, key_file: b, cipher_suites: c}", "not a list"),
        ('tls_server_config: {cert_file: "a\\0", key_file: b}', "not a file name"),
        ("http_server_config: {http2: maybe}", "http2: not a boolean"),
        ("http_server_config: {headers: {Server: x}}", "headers.Server: cannot be set"),
        ("http_server_config: {headers: {X-Frame-Options: no}}", "use deny or sameorigin"),
        ('http_server_config: {headers: {X-XSS-Protection: "a\\r\\nb"}}', "not one line of ASCII"),
        (
            "basic_auth_users: {alice: secret}",
            "basic_auth_users.alice: not a bcrypt hash; create one",
        ),
        ("basic_auth_users: {alice: $2y$03$" + "a" * 53 + "}", "not a bcrypt hash"),
        ("basic_auth_users: {a: " + HASH + ", a: " + HASH + "}", "a: repeated; keep one"),
        ("basic_auth_users: {[a]: b}", "not a single value"),
        ("a: b: c", "not YAML: mapping values are not allowed"),
        ("a: *b", "not YAML"),
        ("&a [*a]", "the file: not a mapping"),
        ("&a {tls_server_config: *a}", "not supported"),
        ("[" * 5000, "not YAML"),
        ('"\\UFFFFFFFF"', "not YAML"),
        ("--- {}\n--- {}", "not YAML"),
        ("text", "not a mapping"),
    ],
)
def test_an_error_has_one_line_with_position_and_remedy(text: str, expected: str) -> None:
    with pytest.raises(ConfigError) as e:
        parse(text, WHERE)
    assert expected in str(e.value)
    assert "\n" not in str(e.value)
    assert str(WHERE) in str(e.value)


def test_an_error_never_contains_a_password() -> None:
    with pytest.raises(ConfigError) as e:
        parse("basic_auth_users: {alice: swordfish}", WHERE)
    assert "swordfish" not in str(e.value)


SECTIONS = ("tls_server_config", "http_server_config", "basic_auth_users", "cert_file", "headers")
yaml_like = st.recursive(
    st.sampled_from([*SECTIONS, "a", "true", HASH, "", "*x", "&x a", "!!int x", "? ", "<<"]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]"),
        st.lists(st.tuples(st.sampled_from(SECTIONS), inner), max_size=3).map(
            lambda items: "{" + ", ".join(f"{key}: {value}" for key, value in items) + "}"
        ),
    ),
    max_leaves=12,
)


@given(st.one_of(st.text(), yaml_like))
def test_any_text_is_parsed_or_a_config_error(text: str) -> None:
    told = ""
    try:
        parse(text, WHERE)
    except ConfigError as e:
        told = str(e)
    assert "\n" not in told


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda _path: None, "No such file"),
        (lambda path: path.mkdir(), "Is a directory"),
        (lambda path: path.write_bytes(b"\xff"), "not UTF-8"),
        (lambda path: path.write_bytes(b"#" * (1 << 20 | 1)), "larger than 1 MiB"),
    ],
)
def test_an_unreadable_file_is_a_config_error(
    tmp_path: Path, make: Callable[[Path], None], expected: str
) -> None:
    path = tmp_path / "web.yml"
    make(path)
    with pytest.raises(ConfigError, match=expected):
        read(path)


def tls(more: str) -> str:
    return f"tls_server_config: {{cert_file: server.pem, key_file: server.key, {more}}}"


VERIFY = "client_auth_type: RequireAndVerifyClientCert"
AGREED = [
    "",
    tls("min_version: TLS12"),
    tls("min_version: TLS13, max_version: TLS13"),
    tls("cipher_suites: [TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256]"),
    tls("cipher_suites: [ECDHE-RSA-AES128-GCM-SHA256]"),
    tls("cipher_suites: [TLS_NULL]"),
    tls("curve_preferences: [CurveP256]"),
    tls("curve_preferences: [P256]"),
    tls("min_version: TLS14"),
    tls("min_version: 1.2"),
    tls("client_auth_type: NoClientCert"),
    tls("client_auth_type: RequestClientCert"),
    tls("client_auth_type: Whatever"),
    tls("client_ca_file: ca.pem"),
    tls(f"{VERIFY}, client_ca_file: ca.pem"),
    tls(f"{VERIFY}, client_ca_file: gone.pem"),
    tls("unknown: 1"),
    tls("prefer_server_cipher_suites: off"),
    tls("prefer_server_cipher_suites: maybe"),
    "tls_server_config: {cert_file: server.pem}",
    "tls_server_config: {key_file: server.key}",
    "tls_server_config: {cert_file: server.pem, key_file: server2.key}",
    "tls_server_config: {cert_file: server.key, key_file: server.pem}",
    "tls_server_config: {cert_file: gone.pem, key_file: server.key}",
    "tls_server_config: {cert_file: server.pem, key_file: locked.key}",
    "tls_server_config: {cert_file: server.pem, key_file: }",
    "tls_server_config: [a]",
    "tls_server: {}",
    "http_server_config: {http2: false}",
    "http_server_config: {http2: 7}",
    "http_server_config: {headers: {X-Frame-Options: deny}}",
    "http_server_config: {headers: {X-Frame-Options: allow}}",
    "http_server_config: {headers: {x-frame-options: deny}}",
    "http_server_config: {headers: {Content-Security-Policy: default-src 'self'}}",
    "http_server_config: {headers: {Server: me}}",
    f"basic_auth_users: {{alice: {HASH}}}",
    "basic_auth_users: {alice: secret}",
    f"basic_auth_users: {{alice: '{HASH.replace('10', '40')}'}}",
    "basic_auth_users: {alice: '$2y$10$short'}",
    "basic_auth_users: [alice]",
    "basic_auth_users: {alice: [a]}",
    f"basic_auth_users: {{alice: {HASH}, alice: {HASH}}}",
    "not yaml: [",
]


def accepted_by_us(path: Path) -> bool:
    try:
        load_security(path)
    except ConfigError:
        return False
    return True


def accepted_by_promtool(path: Path) -> bool:
    command = ["promtool", "check", "web-config", str(path)]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.mark.real
def test_promtool_accepts_the_same_configurations(pki: Path) -> None:
    assert shutil.which("promtool"), "apt-get install prometheus"
    path = pki / "web.yml"
    for text in AGREED:
        path.write_text(text)
        assert (text, accepted_by_promtool(path)) == (text, accepted_by_us(path))


@pytest.mark.real
@pytest.mark.parametrize(
    "text",
    [
        tls("min_version: TLS10"),
        tls("min_version: TLS13, max_version: TLS12"),
        tls("client_auth_type: RequireAnyClientCert"),
        tls(VERIFY),
        tls("curve_preferences: [CurveP256, CurveP384]"),
        "tls_server_config: {min_version: TLS13}",
    ],
)
def test_only_insecure_settings_are_refused_beyond_promtool(pki: Path, text: str) -> None:
    path = pki / "web.yml"
    path.write_text(text)
    assert (True, False) == (accepted_by_promtool(path), accepted_by_us(path))
