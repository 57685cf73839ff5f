"""Makes system calls fail as they do on a machine without memory, descriptors or a working disk.

The calls are replaced where Python calls the kernel (`os.open` and others), for the paths that a
test names. Descriptors are taken away with the real limit of the process.
"""

import errno
import os
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

#: The errors that a call may return at any time, whatever the program does.
ERRORS = ("ENOMEM", "EMFILE", "ENOSPC", "EIO", "EROFS", "EINTR")


class Failing:
    """A system call that fails for some of its calls.

    name: the error, such as EIO. call: the name of the function in the module os.
    times: the number of calls that fail. The others reach the kernel.
    is_meant: returns True for the arguments of the calls that fail.

    number: the number of the error. failed: the number of calls that have failed.
    """

    def __init__(
        self,
        name: str,
        call: str,
        *,
        times: float = 1,
        is_meant: Callable[..., bool] = lambda *_args, **_options: True,
    ) -> None:
        self.number = getattr(errno, name)
        self._call = call
        self._times = times
        self._is_meant = is_meant
        self._real = getattr(os, call)
        self.failed = 0

    def __call__(self, *args: Any, **options: Any) -> Any:
        if self.failed < self._times and self._is_meant(*args, **options):
            self.failed += 1
            raise OSError(self.number, os.strerror(self.number), *args[:1])
        return self._real(*args, **options)

    @contextmanager
    def installed(self, monkeypatch: pytest.MonkeyPatch) -> Iterator["Failing"]:
        """Context manager in which the calls fail."""
        with monkeypatch.context() as patch:
            patch.setattr(os, self._call, self)
            yield self


@contextmanager
def descriptors_left(count: int) -> Iterator[None]:
    """Context manager in which this process can open `count` more files. The limit is real."""
    highest = max(map(int, os.listdir("/proc/self/fd")))
    # Every free number below the highest one is taken, so that exactly `count` are left.
    taken = []
    while (descriptor := os.open("/dev/null", os.O_RDONLY)) <= highest:
        taken.append(descriptor)
    os.close(descriptor)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (descriptor + count, hard))
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for each in taken:
            os.close(each)
