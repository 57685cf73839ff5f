"""A real block device with configurable speed and real counters in /proc/diskstats.

It consists of two stacked loop devices::

    upper  /dev/loopB, direct I/O     the tested device: requests are in flight here ...
      file, ext4 without a journal
    lower  /dev/loopA                 ... while their backing I/O is throttled here
      file in `directory`, on tmpfs

One device is not sufficient: the block layer throttles a bio before it becomes a request, and only
requests are counted, so the counters of a throttled device show no load. The loop driver submits
its backing I/O in the control group of the original writer (drivers/block/loop.c), so a limit on
the lower device for that group slows down the upper one.

The kernel cleans up: both devices detach at their last close, the filesystem is removed from the
namespace before use, and the file is unlinked. Only the control group survives this process and its
load; the next rig removes its limits and the group.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType

from rigs.devices.cgroup import Limits, ThrottleGroup, sweep
from rigs.devices.loop import layers, require


class SlowDisk:
    """Context manager that holds the device; limits apply to processes in `cgroup` only.

    ``device`` is the kernel name, ``path`` the device node, ``cgroup.prefix`` the prefix of
    commands. `directory` should be on tmpfs. While the device is held, SIGTERM raises
    KeyboardInterrupt in the main thread, so that the context managers clean up.

    Raises:
        RigUnavailable: a requirement is missing; all previous steps are undone.
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
            # Last in, first out: waiting requests must complete before the layers are removed.
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
        """Limits requests and bytes per second; replaces previous limits."""
        self._limits = Limits(read_iops, write_iops, read_bps, write_bps)
        self.thaw()

    def free(self) -> None:
        """Removes all limits; waiting requests complete immediately."""
        self.throttle()

    def freeze(self) -> None:
        """Stops all completions: requests stay in flight until `thaw`.

        It uses a limit of one byte per second. fsfreeze would work too, but a killed session would
        leave a frozen filesystem that is no longer reachable.
        """
        self.cgroup.limit(self._lower_number, Limits(read_bps=1, write_bps=1))

    def thaw(self) -> None:
        """Restores the limits that were active before `freeze`."""
        self.cgroup.limit(self._lower_number, self._limits)

    def read_bytes(self) -> int:
        """Returns the number of bytes read since the device was created."""
        return self._counter(2) * 512

    def writes(self) -> int:
        """Returns the number of writes completed since the device was created."""
        return self._counter(4)

    def written_bytes(self) -> int:
        """Returns the number of bytes written since the device was created."""
        return self._counter(6) * 512

    def _counter(self, field: int) -> int:
        """Returns a counter of the kernel: https://docs.kernel.org/block/stat.html."""
        return int(Path("/sys/block", self.device, "stat").read_text().split()[field])


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
