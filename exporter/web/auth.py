"""Checks HTTP basic authentication against bcrypt hashes, with a cache of valid credentials.

bcrypt is slow by design, so valid credentials are checked once and then cached. This module imports
bcrypt. Import it only if the web configuration has basic_auth_users.
"""

import binascii
import contextlib
import hashlib
import secrets
import threading
from collections.abc import Mapping

import bcrypt

#: Maximum number of credentials in the cache. The oldest one is dropped first.
_MAX_CACHED = 64

#: bcrypt uses only this many bytes of a password. Newer releases of the library reject longer
#: passwords instead of truncating them.
_MAX_PASSWORD_BYTES = 72


class CheckedCredentials:
    """Remembers `Authorization` fields that were checked and valid.

    It contains keyed digests of the fields and no passwords. The key is a random secret of this
    object. Several threads may call the methods.
    """

    def __init__(self) -> None:
        self._secret = secrets.token_bytes(32)
        self._valid: dict[bytes, tuple[str, str]] = {}
        self._lock = threading.Lock()

    def find(self, field: str) -> tuple[str, str] | None:
        """Returns the user name and the bcrypt hash for which the field was valid; None if none."""
        return self._valid.get(self._digest(field))

    def add(self, field: str, name: str, hashed: str) -> None:
        """Remember that the field contains the right password of a user."""
        digest = self._digest(field)
        with self._lock:
            if digest not in self._valid and len(self._valid) >= _MAX_CACHED:
                del self._valid[next(iter(self._valid))]
            self._valid[digest] = name, hashed

    def _digest(self, field: str) -> bytes:
        return hashlib.blake2b(field.encode(), key=self._secret).digest()


class BasicAuth:
    """Checks the `Authorization` fields of requests, and caches valid fields.

    Invalid fields are not cached. Several threads may call the methods.

    users: the bcrypt hash of each user's password, keyed by user name.
    checked: the cache. The object of a reloaded configuration uses that of the old one. So users
        whose hash is unchanged stay authenticated, and requests with wrong passwords cannot keep
        them out while the server checks every password again.
    """

    def __init__(self, users: Mapping[str, str], checked: CheckedCredentials | None = None) -> None:
        self._users = users
        # The password of an unknown user is checked against the most expensive of all hashes.
        self._unknown_user_hash = max(users.values(), key=_cost)
        self.checked = checked or CheckedCredentials()

    def is_cached(self, field: str) -> bool:
        """True if the field is in the cache and its user still has the same hash.

        Fast: it does not run bcrypt.
        """
        found = self.checked.find(field)
        return found is not None and self._users.get(found[0]) == found[1]

    def verify(self, field: str) -> bool:
        """True if the field contains a known user and the right password. Slow: it runs bcrypt.

        A valid field is added to the cache. A wrong password takes as many rounds of bcrypt for
        every user, known or not. So the response time does not show whether a user exists.
        """
        credentials = _credentials(field)
        if credentials is None:
            return False
        name, password = credentials
        hashed = self._users.get(name, self._unknown_user_hash)
        try:
            is_right = bcrypt.checkpw(password[:_MAX_PASSWORD_BYTES], hashed.encode())
        except ValueError:  # a NUL in the password
            is_right = False
        if not is_right or name not in self._users:
            self._use_remaining_rounds(password, hashed)
            return False
        self.checked.add(field, name, hashed)
        return True

    def _use_remaining_rounds(self, password: bytes, hashed: str) -> None:
        """Runs bcrypt until a check took as long as one of the most expensive hash.

        A hash of cost c takes 2^c rounds. With one more check of each cost from c to m - 1, the sum
        is 2^m.
        """
        with contextlib.suppress(ValueError):
            for cost in range(_cost(hashed), _cost(self._unknown_user_hash)):
                other = f"{hashed[:4]}{cost:02d}{hashed[6:]}"
                bcrypt.checkpw(password[:_MAX_PASSWORD_BYTES], other.encode())


def _cost(hashed: str) -> int:
    """Returns the cost of a bcrypt hash: the logarithm of the number of rounds to the base 2."""
    return int(hashed[4:6])


def _credentials(field: str) -> tuple[str, bytes] | None:
    """Returns the user name and the password of a Basic field (RFC 7617); None if it is invalid."""
    scheme, _, encoded = field.partition(" ")
    try:
        import base64  # noqa: PLC0415 - only a server with passwords needs it

        decoded = base64.b64decode(encoded.strip(), validate=True)
        name, colon, password = decoded.partition(b":")
        if scheme.lower() == "basic" and colon:
            return name.decode(), password
    except (binascii.Error, ValueError):
        pass
    return None
