"""glibc's allocator told to keep less; it reads its settings before a program begins.

On a host of 24 drives that is 2 MB of 36: threads share one arena, and what a page took is given
back.
"""

import os
import sys
from collections.abc import Mapping

#: https://man7.org/linux/man-pages/man3/mallopt.3.html
_SETTINGS: Mapping[str, str] = {
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_TRIM_THRESHOLD_": "65536",
    "MALLOC_MMAP_THRESHOLD_": "262144",
}


def thrifty(environment: Mapping[str, str]) -> dict[str, str] | None:
    """The environment with the settings; None where somebody has set one, or we have."""
    if any(name in environment for name in _SETTINGS):
        return None
    return {**environment, **_SETTINGS}


def begin_anew() -> None:
    """Begin this process again with the settings; nothing where it has them, or cannot."""
    environment = thrifty(os.environ)
    if environment is None or not sys.executable:
        return
    try:
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment)  # noqa: S606
    except OSError:
        # It runs as well, only larger.
        return
