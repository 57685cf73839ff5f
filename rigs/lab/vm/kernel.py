"""The Debian kernel in the format that QEMU boots fastest, and the modules for the lab.

The full kernel, because the cloud kernel has no AHCI, USB storage and megaraid.
"""

import lzma
import shutil
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from rigs.lab.vm import cache

#: Drivers for devices of the guest; dependencies are added.
_MODULES = (
    *("virtio_pci", "virtio_blk", "virtio_console", "virtio_rng", "virtio_scsi"),
    *("ext4", "crc32c_generic", "crct10dif_generic", "9p", "9pnet_virtio", "af_packet", "unix"),
    *("nvme", "nvme_tcp", "ahci", "sd_mod", "sg", "megaraid_sas"),
    *("xhci_pci", "usb_storage", "uas", "dm_mod"),
    # Devices with known latencies, and those above others.
    *("null_blk", "scsi_debug", "dm_delay", "dm_flakey", "raid1", "raid0", "loop"),
)

#: Boot protocol header (Documentation/arch/x86/boot.rst).
_SETUP_SECTORS, _PAYLOAD = 0x1F1, 0x248
_XZ = b"\xfd7zXZ\x00"


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel.

    vmlinux: uncompressed, which QEMU boots by PVH in half the time.
    modules: directory with lib/modules/RELEASE.
    """

    release: str
    vmlinux: Path
    modules: Path

    def load_order(self, *names: str) -> list[Path]:
        """Module files in load order, dependencies first."""
        directory = self.modules / "lib" / "modules" / self.release
        return [directory / name for name in _load_order(directory / "modules.dep", names)]


def kernel() -> Kernel:
    """The newest kernel in the package index."""
    depends = cache.run("apt-cache", "depends", "linux-image-amd64")
    package = next(word for word in depends.split() if word.startswith("linux-image-6"))
    release = package.removeprefix("linux-image-")
    name = f"kernel-{release}-{cache.digest([Path(__file__)])}"
    place = cache.made(name, lambda new: _make(new, package, release))
    return Kernel(release, place / "vmlinux", place)


def _make(place: Path, package: str, release: str) -> None:
    whole = place / "whole"
    whole.mkdir(parents=True)
    cache.run("apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", package, cwd=place)
    (archive,) = place.glob("*.deb")
    cache.run("dpkg-deb", "--extract", archive, whole)
    compressed = (whole / "boot" / f"vmlinuz-{release}").read_bytes()
    (place / "vmlinux").write_bytes(vmlinux(compressed))
    cache.run("depmod", "-b", whole, release)
    source = whole / "lib" / "modules" / release
    target = place / "lib" / "modules" / release
    for name in _load_order(source / "modules.dep", _MODULES):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / name, target / name)
    for name in ("modules.order", "modules.builtin", "modules.builtin.modinfo"):
        shutil.copyfile(source / name, target / name)
    cache.run("depmod", "-b", place, release)
    shutil.rmtree(whole)
    archive.unlink()


def vmlinux(image: bytes) -> bytes:
    """Extracts the kernel from a bzImage.

    Raises:
        ValueError: it is not compressed with xz, unlike those of Debian.
    """
    offset, size = struct.unpack_from("<II", image, _PAYLOAD)
    start = ((image[_SETUP_SECTORS] or 4) + 1) * 512 + offset
    payload = image[start : start + size]
    if not payload.startswith(_XZ):
        raise ValueError(f"the kernel is compressed in an unknown way: {payload[:6]!r}")
    # Followed by the uncompressed size.
    return lzma.LZMADecompressor().decompress(payload)


def _load_order(index: Path, names: Iterable[str]) -> list[str]:
    """Parses modules.dep: "kernel/fs/ext4/ext4.ko: kernel/fs/jbd2/jbd2.ko ...", nearest first."""
    needs = {}
    for line in index.read_text().splitlines():
        name, _, others = line.partition(":")
        needs[name] = others.split()
    paths = {Path(name).stem.replace("-", "_"): name for name in needs}
    ordered: dict[str, None] = {}
    for name in names:
        # Built-in modules have no file.
        path = paths.get(name)
        if path is not None:
            ordered |= dict.fromkeys([*reversed(needs[path]), path])
    return list(ordered)
