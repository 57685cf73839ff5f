"""Basic authentication and its cache."""

import base64

import bcrypt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.web.auth import BasicAuth


def field(name: str, password: str, scheme: str = "Basic") -> str:
    return f"{scheme} {base64.b64encode(f'{name}:{password}'.encode()).decode()}"


@pytest.fixture(scope="module")
def auth() -> BasicAuth:
    def hashed(password: str) -> str:
        return bcrypt.hashpw(password.encode()[:72], bcrypt.gensalt(4)).decode()

    return BasicAuth({"alice": hashed("sword:fish"), "bob": hashed("ü" * 80), "": hashed("empty")})


@pytest.mark.parametrize(
    ("value", "right"),
    [
        (field("alice", "sword:fish"), True),
        (field("alice", "sword:fish", "bASIC"), True),
        (field("bob", "ü" * 80), True),
        (field("", "empty"), True),
        (field("alice", "sword"), False),
        (field("alice", ""), False),
        (field("alice", "a\0b"), False),
        (field("bob", "sword:fish"), False),
        (field("mallory", "sword:fish"), False),
        (field("mallory", "ü" * 80), False),
        (field("alice", "sword:fish", "Bearer"), False),
        ("Basic " + base64.b64encode(b"alice").decode(), False),
        ("Basic " + base64.b64encode(b"\xff:x").decode(), False),
        ("Basic !!!!", False),
        ("Basic", False),
        ("", False),
    ],
)
def test_only_a_known_user_with_the_right_password_is_valid(
    auth: BasicAuth, value: str, *, right: bool
) -> None:
    assert right == auth.verify(value)
    assert right == auth.is_cached(value)


def test_credentials_are_not_cached_before_they_are_checked(auth: BasicAuth) -> None:
    assert not auth.is_cached(field("alice", "sword:fish") + " ")


def test_the_cache_is_limited_and_contains_no_password(hashed: str) -> None:
    auth = BasicAuth({"alice": hashed})
    values = [field("alice", "swordfish") + " " * n for n in range(70)]
    assert all(auth.verify(value) for value in values)
    assert not auth.is_cached(values[0])
    assert auth.is_cached(values[-1])
    memory = repr(vars(auth))
    assert "swordfish" not in memory
    assert values[-1].split()[1] not in memory


@pytest.mark.parametrize("name", ["user4", "user5", "user6", "unknown"])
def test_a_wrong_password_takes_as_many_rounds_for_every_user(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rounds are counted instead of seconds, which depend on the machine."""
    users = {f"user{n}": bcrypt.hashpw(b"x", bcrypt.gensalt(n)).decode() for n in (4, 6, 5)}
    rounds = []
    check = bcrypt.checkpw

    def counted(password: bytes, hashed: bytes) -> bool:
        rounds.append(1 << int(hashed[4:6]))
        return check(password, hashed)

    monkeypatch.setattr(bcrypt, "checkpw", counted)
    assert not BasicAuth(users).verify(field(name, "wrong"))
    assert 1 << 6 == sum(rounds)


@given(st.text())
def test_any_field_is_valid_or_not(text: str) -> None:
    auth = BasicAuth({"alice": "$2b$04$" + "." * 53})
    assert not auth.is_cached(text)
    assert not auth.verify(text)
