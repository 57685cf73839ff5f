"""Listen addresses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.runtime.errors import ConfigError
from exporter.web.listen import format_address, parse_address


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("127.0.0.1:10177", ("127.0.0.1", 10177)),
        (":10177", ("", 10177)),
        ("[::1]:10177", ("::1", 10177)),
        ("[::]:0", ("::", 0)),
        ("localhost:65535", ("localhost", 65535)),
        ("[fe80::1%eth0]:80", ("fe80::1%eth0", 80)),
    ],
)
def test_an_address_is_a_host_and_a_port(text: str, expected: tuple[str, int]) -> None:
    assert expected == parse_address(text)
    assert text == format_address(*expected)


@pytest.mark.parametrize(
    "text",
    ["", "10177", "host", "host:", ":http", "::1:80", "[::1]", "[host]:80", "h:65536", "h:-1",
     "h:+1", "h: 80", "http://h:80", "h:٣", "h:000000080", "a b:80", "[::1:80", "h:8\n", "\n:80"],
)  # fmt: skip
def test_an_invalid_address_is_an_error_with_a_remedy(text: str) -> None:
    with pytest.raises(ConfigError, match="HOST:PORT"):
        parse_address(text)


@given(st.text())
def test_any_text_is_an_address_or_a_config_error(text: str) -> None:
    told = ""
    try:
        host, port = parse_address(text)
    except ConfigError as e:
        told = str(e)
    else:
        assert (host, port) == parse_address(format_address(host, port))
    assert "\n" not in told
