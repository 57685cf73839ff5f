"""The lobby: which waiting connection is next, which one is refused, and how many may wait."""

import resource
import socket
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from exporter.web import lobby as lobby_module
from exporter.web.connection import Connection, network_of
from exporter.web.lobby import Lobby, raise_descriptor_limit


@pytest.fixture
def lobby(monkeypatch: pytest.MonkeyPatch) -> Iterator[Lobby]:
    """A lobby with ten places."""
    monkeypatch.setattr(lobby_module, "MAX_WAITING", 10)
    lobby = Lobby()
    yield lobby
    lobby.close()
    assert 0 == len(lobby)


def connections(*peers: str) -> list[Connection]:
    """Returns open connections of these addresses."""
    found: list[Any] = [SimpleNamespace(peer=peer, network=network_of(peer)) for peer in peers]
    return found


def arrive(lobby: Lobby, *peers: str) -> list[socket.socket | None]:
    """Adds a connection of each address; returns those that are refused."""
    return [lobby.add(socket.socket(), peer) for peer in peers]


def taken(lobby: Lobby, *open_peers: str) -> list[str]:
    """Takes all connections, while those of these addresses are open."""
    peers = []
    while len(lobby):
        sock, peer = lobby.take(connections(*open_peers))
        sock.close()
        peers.append(peer)
    return peers


def test_an_address_without_a_connection_comes_before_one_with_many(lobby: Lobby) -> None:
    arrive(lobby, "10.1.0.1", "10.1.0.1", "10.1.0.1", "10.2.0.1")
    assert ["10.2.0.1", "10.1.0.1", "10.1.0.1", "10.1.0.1"] == taken(lobby, *["10.1.0.1"] * 3)


def test_addresses_with_as_many_connections_take_turns(lobby: Lobby) -> None:
    arrive(lobby, "10.1.0.1", "10.1.0.1", "10.1.0.1", "10.2.0.1", "10.2.0.1")
    expected = ["10.1.0.1", "10.2.0.1", "10.1.0.1", "10.2.0.1", "10.1.0.1"]
    assert expected == taken(lobby)


def test_the_connections_of_an_address_are_taken_in_order(lobby: Lobby) -> None:
    sockets = [socket.socket() for _ in range(3)]
    for sock in sockets:
        lobby.add(sock, "10.1.0.1")
    found = [lobby.take([])[0] for _ in range(3)]
    assert sockets == found
    for sock in sockets:
        sock.close()


def test_an_address_of_a_network_with_many_connections_comes_last(lobby: Lobby) -> None:
    arrive(lobby, "10.1.0.9", "10.2.0.1")
    busy = [f"10.1.0.{n}" for n in range(1, 5)]
    assert ["10.2.0.1", "10.1.0.9"] == taken(
        lobby, *busy, "10.2.0.1", "10.2.0.1", *["10.3.0.1"] * 6
    )


@pytest.mark.parametrize("excess", [0, 1, 20])
def test_the_newest_connection_of_the_busiest_address_is_refused(lobby: Lobby, excess: int) -> None:
    arrive(lobby, "10.2.0.1")
    refused = arrive(lobby, *["10.1.0.1"] * (9 + excess))
    assert [None] * 9 == refused[:9]
    assert all(sock is not None and sock.fileno() >= 0 for sock in refused[9:])
    assert 10 == len(lobby)
    assert ["10.2.0.1", *["10.1.0.1"] * 9] == taken(lobby)
    for sock in refused[9:]:
        assert sock is not None
        sock.close()


def test_a_new_address_gets_a_place_in_a_full_lobby(lobby: Lobby) -> None:
    arrive(lobby, *["10.1.0.1"] * 10)
    assert lobby.can_take
    (refused,) = arrive(lobby, "10.2.0.1")
    assert refused is not None
    refused.close()
    assert "10.2.0.1" == taken(lobby, "10.1.0.1")[0]


def test_a_busy_network_loses_a_place_to_an_address_of_another_one(lobby: Lobby) -> None:
    """Each of its addresses has fewer connections than the other address."""
    arrive(lobby, *(f"10.1.0.{n}" for n in range(8)), "10.2.0.1", "10.2.0.1")
    (refused,) = arrive(lobby, "10.3.0.1")
    assert refused is not None
    refused.close()
    found = taken(lobby)
    assert (2, 1) == (found.count("10.2.0.1"), found.count("10.3.0.1"))


def test_a_lobby_that_is_full_of_addresses_takes_no_other_one(lobby: Lobby) -> None:
    """It then waits in the kernel's queue, as the others would have done."""
    for number in range(10):
        assert lobby.can_take
        arrive(lobby, f"10.{number}.0.1")
    assert not lobby.can_take
    lobby.take([])[0].close()
    assert lobby.can_take


def test_the_places_leave_descriptors_for_the_rest_of_the_process() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (600, hard))
        assert 600 - 512 == Lobby()._places
        raise_descriptor_limit()
        assert 2048 + 512 == resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        assert 2048 == Lobby()._places
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 5000), hard))
        raise_descriptor_limit()
        assert 5000 == resource.getrlimit(resource.RLIMIT_NOFILE)[0], "it is not lowered"
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
