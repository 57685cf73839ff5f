"""The setting `rate_limit` of the web configuration."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from exporter.web.security import RateLimit
from tests.web.http_client import GET, PAGE, connect, get_page, read_response, send_request, serving

Write = Callable[[str], Path]


def test_one_more_request_is_allowed_after_each_interval() -> None:
    limit = RateLimit(2.0, 3)
    assert [True, True, True, False] == [limit.take(100.0) for _ in range(4)]
    assert [False, True, False] == [limit.take(now) for now in (101.5, 102.5, 103.5)]
    assert [True, True, True, False] == [limit.take(200.0) for _ in range(4)]


def test_requests_beyond_the_burst_receive_429(web_yml: Write) -> None:
    path = web_yml("rate_limit: {interval: 24h, burst: 3}")
    with serving(web_config=path) as server:
        assert [200, 200, 200, 429, 429] == [send_request(server).status for _ in range(5)]


def test_a_request_beyond_the_limit_needs_no_password_check(web_yml: Write, hashed: str) -> None:
    """The exporter toolkit counts requests before it checks passwords."""
    path = web_yml(f"rate_limit: {{interval: 24h, burst: 1}}\nbasic_auth_users: {{a: {hashed}}}")
    with serving(web_config=path) as server:
        assert [401, 429] == [send_request(server).status for _ in range(2)]


def test_a_connection_stays_open_after_429(web_yml: Write) -> None:
    path = web_yml("rate_limit: {interval: 24h, burst: 1}")
    with serving(web_config=path) as server, connect(server) as sock:
        assert PAGE == get_page(sock)
        for _ in range(3):
            sock.sendall(GET)
            assert 429 == read_response(sock).status


def test_a_reload_does_not_refill_an_unchanged_limit(web_yml: Write) -> None:
    path = web_yml("rate_limit: {interval: 24h, burst: 1}")
    with serving(web_config=path) as server:
        assert 200 == send_request(server).status
        os.utime(path, (1, 1))
        assert 429 == send_request(server).status
        server.reload()
        assert 429 == send_request(server).status
        path.write_text("rate_limit: {interval: 24h, burst: 2}")
        assert 200 == send_request(server).status


def test_a_burst_of_0_allows_no_request_and_is_logged(
    web_yml: Write, caplog: pytest.LogCaptureFixture
) -> None:
    """The exporter toolkit accepts it as well."""
    with serving(web_config=web_yml("rate_limit: {interval: 1s, burst: 0}")) as server:
        assert 429 == send_request(server).status
    assert "set burst to 1 or more" in caplog.text


def test_an_interval_of_0_disables_the_limit(web_yml: Write) -> None:
    with serving(web_config=web_yml("rate_limit: {interval: 0, burst: 0}")) as server:
        assert [200] * 50 == [send_request(server).status for _ in range(50)]


def live(path: str = "/live.json") -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode()


def test_an_open_page_does_not_use_up_the_requests_of_prometheus(web_yml: Write) -> None:
    path = web_yml("rate_limit: {interval: 24h, burst: 2}")
    with serving(web_config=path) as server:
        for address in ("/live.json", "/page.css", "/page.js", "/live.json"):
            assert 404 == send_request(server, live(address)).status
        assert [200, 200, 429] == [send_request(server).status for _ in range(3)]
        assert 404 == send_request(server, live()).status


def test_the_requests_of_open_pages_are_limited_too(
    web_yml: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("exporter.web.security._LIVE_RATE", (86_400.0, 10))
    path = web_yml("rate_limit: {interval: 24h, burst: 1}")
    with serving(web_config=path) as server:
        statuses = [send_request(server, live()).status for _ in range(40)]
    assert [404] * 10 + [429] * 30 == statuses


def test_guessing_passwords_has_no_limit_of_its_own(web_yml: Write, hashed: str) -> None:
    """A request without a known password counts like any other one."""
    path = web_yml(f"rate_limit: {{interval: 24h, burst: 1}}\nbasic_auth_users: {{a: {hashed}}}")
    with serving(web_config=path) as server:
        assert [401, 429] == [send_request(server, live()).status for _ in range(2)]


def test_a_burst_of_0_allows_no_live_data(web_yml: Write) -> None:
    with serving(web_config=web_yml("rate_limit: {interval: 1s, burst: 0}")) as server:
        assert 429 == send_request(server, live()).status
