"""Checks HTTP basic authentication against bcrypt hashes, with a cache of valid credentials.

bcrypt is slow by design, so valid credentials are checked once and then cached. This module imports
bcrypt. Import it only if the web configuration has basic_auth_users.
"""

import base64
import binascii
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


class BasicAuth:
    """Checks the `Authorization` fields of requests, and caches valid fields.

    The cache contains keyed digests of the fields and no passwords. The key is a random secret of
    this object. A reload of the configuration creates a new object with an empty cache. Invalid
    fields are not cached. Several threads may call the methods.

    users: the bcrypt hash of each user's password, keyed by user name.
    """

    def __init__(self, users: Mapping[str, str]) -> None:
        self._users = users
        # The password of an unknown user is checked against this hash, so that the response time
        # does not show whether a user exists. It is the most expensive of all hashes.
        self._unknown_user_hash = max(users.values(), key=lambda hashed: hashed[4:6])
        self._secret = secrets.token_bytes(32)
        self._cached: dict[bytes, None] = {}
        self._lock = threading.Lock()

    def is_cached(self, field: str) -> bool:
        """True if the field is in the cache of valid fields. Fast: it does not run bcrypt."""
        return self._digest(field) in self._cached

    def verify(self, field: str) -> bool:
        """True if the field contains a known user and the right password. Slow: it runs bcrypt.

        A valid field is added to the cache.
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
            return False
        with self._lock:
            if len(self._cached) >= _MAX_CACHED:
                del self._cached[next(iter(self._cached))]
            self._cached[self._digest(field)] = None
        return True

    def _digest(self, field: str) -> bytes:
        return hashlib.blake2b(field.encode(), key=self._secret).digest()


def _credentials(field: str) -> tuple[str, bytes] | None:
    """Returns the user name and the password of a Basic field (RFC 7617); None if it is invalid."""
    scheme, _, encoded = field.partition(" ")
    try:
        decoded = base64.b64decode(encoded.strip(), validate=True)
        name, colon, password = decoded.partition(b":")
        if scheme.lower() == "basic" and colon:
            return name.decode(), password
    except (binascii.Error, ValueError):
        pass
    return None
