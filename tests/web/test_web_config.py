"""The web configuration file."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.runtime.errors import ConfigError
from exporter.web.security import RateLimit, load_security
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
rate_limit:
  interval: 1m1.5s
  burst: 20
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
        rate_limit=(61.5, 20),
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
        ("tls_server_config: {cert: PEM}", "key_file is missing"),
        ("rate_limit: {rate: 1}", "rate_limit.rate: not supported; use burst, interval"),
        ("rate_limit: {interval: 1, burst: 1}", "interval: not a duration; write a number and a u"),
        ("rate_limit: {interval: -1s, burst: 1}", "interval: not a duration"),
        ("rate_limit: {interval: 1s1, burst: 1}", "interval: not a duration"),
        ("rate_limit: {interval: [1s]}", "interval: not a single value"),
        ("rate_limit: {interval: 1s, burst: many}", "burst: not a number; write an integer"),
        ("rate_limit: {interval: 1s, burst: -1}", "burst: not a number"),
        ("rate_limit: {interval: 1s, burst: 2147483648}", "burst: too large"),
        ('tls_server_config: {cert_file: "\\ud800", key_file: b}', "cert_file: not a file name"),
        ('tls_server_config: {cert_file: a, key_file: b, client_ca_file: "\\udfff"}', "not a file"),
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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{interval: 1s, burst: 20}", (1.0, 20)),
        ('{interval: "250ms", burst: 1}', (0.25, 1)),
        ("{interval: 1h2m3s4ms5us6ns, burst: 1}", (pytest.approx(3723.004005006), 1)),
        ("{interval: +.5s, burst: 0}", (0.5, 0)),
        ("{interval: 1s}", (1.0, 0)),
        ("{interval: 0, burst: 0}", None),
        ("{interval: 0s, burst: 5}", None),
        ("{burst: 5}", None),
        ("{}", None),
    ],
)
def test_a_rate_limit_is_read_as_go_writes_it(
    text: str, expected: tuple[float, int] | None
) -> None:
    assert expected == parse(f"rate_limit: {text}", WHERE).rate_limit


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
        (os.mkfifo, "not a regular file"),
        (lambda path: path.symlink_to("/dev/zero"), "not a regular file"),
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
    tls("curve_preferences: [CurveP256, CurveP384, CurveP521, X25519]"),
    tls("curve_preferences: [CurveP256, CurveP257]"),
    tls("min_version: TLS14"),
    tls("min_version: 1.2"),
    tls("client_auth_type: NoClientCert"),
    tls("client_auth_type: RequestClientCert"),
    tls("client_auth_type: RequireAnyClientCert"),
    tls("client_auth_type: RequireClientCert"),
    tls("client_auth_type: VerifyClientCertIfGiven"),
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
        tls(VERIFY),
        "tls_server_config: {min_version: TLS13}",
    ],
)
def test_only_insecure_settings_are_refused_beyond_promtool(pki: Path, text: str) -> None:
    path = pki / "web.yml"
    path.write_text(text)
    assert (True, False) == (accepted_by_promtool(path), accepted_by_us(path))


def test_the_sample_of_the_exporter_toolkit_is_accepted(pki: Path) -> None:
    """https://github.com/prometheus/exporter-toolkit/blob/master/docs/web-config.yml"""
    path = pki / "sample.yml"
    path.write_text(f"""\
tls_server_config:
  cert_file: server.pem
  key_file: server.key
basic_auth_users:
  alice: {HASH}
  bob: {HASH}
rate_limit:
  interval: "1s" # time interval between two requests, set to 0 to disable rate limiter
  burst: 20 # and permits a burst of up to 20 requests.
""")
    security = load_security(path)
    assert security.tls
    assert security.auth
    assert RateLimit(1.0, 20) == security.rate_limit
