"""Basic authentication against bcrypt hashes, which are slow on purpose, with a memory.

Importing this imports bcrypt, which only a host with basic_auth_users pays for.
"""

import base64
import binascii
import hashlib
import secrets
import threading
from collections.abc import Mapping

import bcrypt

_REMEMBERED = 64

#: bcrypt knows no more; newer releases of the library refuse longer ones instead of cutting them.
_PASSWORD_BYTES = 72


class BasicAuth:
    """Checks `Authorization` fields, and remembers those that were right.

    What is remembered is a digest keyed with a secret of this object, so memory holds no password
    and nothing outlives a reload. What was wrong is never remembered.
    """

    def __init__(self, users: Mapping[str, str]) -> None:
        self._users = users
        # An unknown user costs as much as the most expensive known one.
        self._stand_in = max(users.values(), key=lambda hashed: hashed[4:6])
        self._secret = secrets.token_bytes(32)
        self._right: dict[bytes, None] = {}
        self._lock = threading.Lock()

    def remembers(self, field: str) -> bool:
        """Whether this field was found right before. Quick."""
        return self._digest(field) in self._right

    def verify(self, field: str) -> bool:
        """Whether the field names a user and the password. Takes the time that bcrypt takes."""
        credentials = _credentials(field)
        if credentials is None:
            return False
        name, password = credentials
        hashed = self._users.get(name, self._stand_in)
        try:
            right = bcrypt.checkpw(password[:_PASSWORD_BYTES], hashed.encode())
        except ValueError:  # a NUL in the password
            right = False
        if not right or name not in self._users:
            return False
        with self._lock:
            if len(self._right) >= _REMEMBERED:
                del self._right[next(iter(self._right))]
            self._right[self._digest(field)] = None
        return True

    def _digest(self, field: str) -> bytes:
        return hashlib.blake2b(field.encode(), key=self._secret).digest()


def _credentials(field: str) -> tuple[str, bytes] | None:
    """Name and password of a Basic field (RFC 7617); None where it is no such field."""
    scheme, _, coded = field.partition(" ")
    try:
        decoded = base64.b64decode(coded.strip(), validate=True)
        name, colon, password = decoded.partition(b":")
        if scheme.lower() == "basic" and colon:
            return name.decode(), password
    except (binascii.Error, ValueError):
        pass
    return None
