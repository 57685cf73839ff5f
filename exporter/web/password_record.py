"""Remembers which client addresses sent right and wrong passwords, to check those of others first.

bcrypt checks a few passwords per second. After a restart the server does not know which client has
the right one, and the wrong ones of many addresses would fill the queue.
"""

import threading

#: Maximum number of addresses, and of networks, that are remembered. 1,024 addresses take 0.1 MB.
#: The one whose last password is oldest is forgotten first.
_MAX_REMEMBERED = 1024


class PasswordRecord:
    """Whether the last password of each address was right. Several threads may call the methods."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._addresses: dict[str, bool] = {}
        self._failed_networks: dict[str, bool] = {}

    def add(self, address: str, network: str, *, is_right: bool) -> None:
        """Remember the result of a check."""
        with self._lock:
            _remember(self._addresses, address, is_right=is_right)
            if not is_right:
                _remember(self._failed_networks, network, is_right=False)

    def rank(self, address: str, network: str) -> int:
        """Returns the rank of the next check of this address; the lowest rank is checked first.

        0: the last password was right, or no password came from the address and no wrong one from
            its network.
        1: no password came from the address, and a wrong one from its network.
        2: the last password was wrong.
        """
        is_right = self._addresses.get(address)
        if is_right is None:
            return int(network in self._failed_networks)
        return 0 if is_right else 2


def _remember(results: dict[str, bool], key: str, *, is_right: bool) -> None:
    results.pop(key, None)
    results[key] = is_right
    if len(results) > _MAX_REMEMBERED:
        del results[next(iter(results))]
