"""Which connection a full server closes, with networks that a test cannot connect from."""

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from exporter.web.connection import Connection, network_of
from exporter.web.eviction import connection_to_evict
from tests.web.http_client import PATIENT

Connect = Callable[..., list[Connection]]


@pytest.fixture
def connected_from() -> Iterator[Connect]:
    """Returns connections of these addresses, the oldest first."""
    with ExitStack() as opened:

        def connect(*addresses: str) -> list[Connection]:
            made = []
            for number, address in enumerate(addresses):
                sock = opened.enter_context(socket.socket())
                made.append(Connection(sock, address, PATIENT, None, lambda *_: None))
                made[-1].phase_since = float(number)
            return made

        yield connect


def evicted_address(connections: list[Connection]) -> str:
    evicted = connection_to_evict(connections, 0.0)
    assert evicted
    return evicted.peer


def test_the_busiest_network_loses_a_connection_if_it_has_more_than_a_quarter(
    connected_from: Connect,
) -> None:
    operators = [f"192.0.2.{n}" for n in range(4)]
    attackers = [f"198.51.100.{n}" for n in range(12)]
    assert "198.51.100.0" == evicted_address(connected_from(*operators, *attackers))
    others = [f"2001:db8:0:1::{n:x}" for n in range(12)]
    assert "2001:db8:0:1::0" == evicted_address(connected_from(*operators, *others))


def test_a_network_with_a_quarter_of_all_connections_has_no_disadvantage(
    connected_from: Connect,
) -> None:
    """Two Prometheus servers and their probes stay, although each attacker has a network."""
    operators = [f"192.0.2.{n}" for n in range(4)]
    attackers = [f"198.51.{n}.1" for n in range(12)]
    assert "198.51.0.1" == evicted_address(connected_from(*attackers, *operators))


def test_within_the_busiest_network_the_busiest_address_loses_a_connection(
    connected_from: Connect,
) -> None:
    """The browser of the operators has several connections, and each Prometheus server has one."""
    addresses = ("192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.3", "198.51.100.1")
    assert "192.0.2.3" == evicted_address(connected_from(*addresses))


def test_the_busiest_address_loses_a_connection_if_no_network_is_busy(
    connected_from: Connect,
) -> None:
    single = [f"192.0.{n}.1" for n in range(14)]
    assert "10.0.0.1" == evicted_address(connected_from(*single, "10.0.0.1", "10.0.0.1"))


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.77", "192.0.2.0/24"),
        ("::ffff:192.0.2.77", "192.0.2.0/24"),
        ("127.3.2.1", "127.0.0.0/8"),
        ("::1", "127.0.0.0/8"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
        ("not an address", "not an address"),
    ],
)
def test_an_address_has_a_network(address: str, network: str) -> None:
    assert network == network_of(address)
