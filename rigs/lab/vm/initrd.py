"""Initial RAM disk of the guest: a static busybox that mounts the root."""

import stat
from collections.abc import Iterator
from pathlib import Path

from rigs.lab.vm import cache
from rigs.lab.vm.kernel import Kernel

#: ext4 needs crc32c as a soft dependency, which modules.dep does not contain.
_MODULES = ("crc32c_generic", "virtio_pci", "virtio_blk", "ext4")

_INIT = """\
#!/bin/busybox sh
/bin/busybox mount -t devtmpfs dev /dev
{insmods}
/bin/busybox mount -t ext4 -o rw,noatime /dev/vda /root || exec /bin/busybox sh
/bin/busybox mount --move /dev /root/dev
exec /bin/busybox switch_root /root /sbin/init
"""


def initrd(kernel: Kernel) -> Path:
    """Builds it for this kernel."""
    name = f"initrd-{kernel.release}-{cache.digest([Path(__file__)])}.cpio"
    return cache.made(name, lambda new: _write(new, kernel))


def _write(place: Path, kernel: Kernel) -> None:
    place.write_bytes(_archive(kernel))


def _archive(kernel: Kernel) -> bytes:
    modules = kernel.load_order(*_MODULES)
    insmods = "\n".join(f"/bin/busybox insmod /{path.name}" for path in modules)
    rows: list[tuple[str, int, bytes]] = [
        (name, stat.S_IFDIR | 0o755, b"") for name in ("bin", "dev", "root")
    ]
    rows.append(("init", stat.S_IFREG | 0o755, _INIT.format(insmods=insmods).encode()))
    rows.append(("bin/busybox", stat.S_IFREG | 0o755, Path("/bin/busybox").read_bytes()))
    rows += ((path.name, stat.S_IFREG | 0o644, path.read_bytes()) for path in modules)
    rows.append(("TRAILER!!!", 0, b""))
    return b"".join(_entries(rows))


def _entries(rows: list[tuple[str, int, bytes]]) -> Iterator[bytes]:
    """cpio in "newc" format (Documentation/driver-api/early-userspace/buffer-format.rst)."""
    for number, (name, mode, data) in enumerate(rows, 1):
        header = (number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0)
        head = b"070701" + b"".join(b"%08X" % field for field in header) + name.encode() + b"\0"
        yield head + b"\0" * (-len(head) % 4)
        yield data + b"\0" * (-len(data) % 4)
