"""A real block device as slow as a test wants it, with true rows in /proc/diskstats.

Two loop devices, one on the other::

    upper  /dev/loopB, direct I/O     the device under test: requests are in flight here ...
      file, ext4 without a journal
    lower  /dev/loopA                 ... while their backing I/O waits here for the throttle
      file in `directory`, on tmpfs

One alone would not do: the block layer throttles a bio before it becomes a request, and only
requests are counted, so a throttled device's own row stays calm. The loop driver issues its
backing I/O for the control group of whoever asked (drivers/block/loop.c), so a limit on the lower
device for the writer's group makes the upper one slow.

The kernel tears it down: both devices detach at their last close, the file system is out of the
name space before anyone uses it, and the file has no name. Nothing but the control group
outlives this process and its load, however they end, and the next rig lifts its limits and removes
it.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType

from tests.rig.cgroup import Limits, ThrottleGroup, sweep
from tests.rig.loop import layers, require


class SlowDisk:
    """A context manager that holds the device; a speed is set for processes in `cgroup` only.

    ``device`` is the kernel's name, ``path`` the node, ``cgroup.prefix`` what to put before a
    program's arguments. `directory` is best on tmpfs. While the device is held, SIGTERM in the
    main thread is KeyboardInterrupt, so that it unwinds.

    Raises:
        RigUnavailable: this machine lacks something; nothing is left behind.
    """

    device: str
    path: Path
    cgroup: ThrottleGroup

    def __init__(self, directory: Path, size_bytes: int = 64 << 20) -> None:
        self._directory = directory
        self._size_bytes = size_bytes
        self._limits = Limits()
        self._held = ExitStack()

    def __enter__(self) -> "SlowDisk":  # noqa: PYI034 - Self came with Python 3.11
        require(self._directory, self._size_bytes)
        sweep()
        with ExitStack() as stack:
            stack.enter_context(_unwinding_on_sigterm())
            self.cgroup = ThrottleGroup.create()
            stack.callback(self.cgroup.remove)
            lower, upper = stack.enter_context(layers(self._directory, self._size_bytes))
            self.path, self.device = upper.path, upper.path.name
            self._lower_number = lower.number
            # Last in, first out: what waits must get through before the layers can go.
            stack.callback(self.free)
            self._held = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._held.close()

    def throttle(
        self,
        *,
        read_iops: int | None = None,
        write_iops: int | None = None,
        read_bps: int | None = None,
        write_bps: int | None = None,
    ) -> None:
        """Let through only so many requests and bytes per second; replaces earlier limits."""
        self._limits = Limits(read_iops, write_iops, read_bps, write_bps)
        self.thaw()

    def free(self) -> None:
        """Lift every limit; what waits completes at once."""
        self.throttle()

    def freeze(self) -> None:
        """Let nothing complete: requests stay in flight until `thaw`.

        By a limit of one byte a second. fsfreeze does it as well, but a session killed then would
        leave a file system that nobody can reach to thaw.
        """
        self.cgroup.limit(self._lower_number, Limits(read_bps=1, write_bps=1))

    def thaw(self) -> None:
        """Go back to the limits that were in force before `freeze`."""
        self.cgroup.limit(self._lower_number, self._limits)


@contextmanager
def _unwinding_on_sigterm() -> Iterator[None]:
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
