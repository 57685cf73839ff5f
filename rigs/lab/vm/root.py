"""Root file system of the guest: extracted, not configured Debian packages.

Maintainer scripts would take half a minute; the code below replaces them.
"""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rigs.lab.vm import cache
from rigs.lab.vm.kernel import Kernel

_GUEST = Path(__file__).parent / "guest"

_PACKAGES = (
    *("base-files", "base-passwd", "bash", "coreutils", "dash", "dbus", "diffutils", "findutils"),
    *("grep", "gzip", "hostname", "init-system-helpers", "iproute2", "kmod", "libc-bin", "login"),
    *("libpam-modules", "libpam-runtime", "mawk", "mount", "passwd", "procps", "python3", "sed"),
    *("smartmontools", "systemd", "systemd-sysv", "tar", "udev", "util-linux", "dpkg", "perl-base"),
    "dmsetup",
)

#: Units that the lab does not need. With them a boot takes 30 seconds, without them a third of
#: that.
_MASKED = (
    *("getty@tty1.service", "serial-getty@ttyS0.service", "getty-static.service"),
    *("systemd-logind.service", "systemd-binfmt.service", "systemd-firstboot.service"),
    *("systemd-hwdb-update.service", "systemd-journal-flush.service", "ldconfig.service"),
    *("systemd-network-generator.service", "systemd-networkd.service", "systemd-pstore.service"),
    *("systemd-random-seed.service", "systemd-timesyncd.service", "systemd-update-utmp.service"),
    *("systemd-update-utmp-runlevel.service", "systemd-update-done.service"),
    *("apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "fstrim.timer"),
    *("e2scrub_all.timer", "e2scrub_reap.service", "smartmontools.service", "smartd.service"),
    *("modprobe@configfs.service", "modprobe@dm_mod.service", "modprobe@drm.service"),
    *("modprobe@efi_pstore.service", "modprobe@fuse.service", "modprobe@loop.service"),
    *("dev-hugepages.mount", "sys-kernel-debug.mount", "sys-kernel-tracing.mount"),
    *("man-db.timer", "fio.service", "nvmefc-boot-connections.service"),
)

_FSTAB = "host /mnt/host 9p trans=virtio,version=9p2000.L,msize=262144 0 0\n"

#: Status file for dpkg, which determines installed packages and dependencies.
_STATUS = """\
set -eu
for each in "$1"/var/cache/apt/archives/*.deb; do
  dpkg-deb --field "$each" | sed '/^Package:/a Status: install ok installed'
  echo
  : > "$1/var/lib/dpkg/info/$(dpkg-deb --field "$each" Package).list"
done > "$1/var/lib/dpkg/status"
"""


@dataclass(frozen=True, slots=True)
class Addition:
    """What an image has besides the lab's own packages.

    name: of the image. packages: further packages. source: the module that defines it, whose
    changes rebuild the image. megabytes: size of the image. configure: changes the tree.
    """

    name: str
    packages: tuple[str, ...] = ()
    source: Path = Path(__file__)
    megabytes: int = 1500
    configure: Callable[[Path], None] | None = None


def root(kernel: Kernel) -> Path:
    """Creates an ext4 image with the guest agent and the software drives."""
    return extended(kernel, Addition("root"))


def extended(kernel: Kernel, addition: Addition) -> Path:
    """Creates the same image with an addition."""
    sources = [Path(__file__), *_GUEST.rglob("*.py"), *_GUEST.rglob("*.service"), addition.source]
    name = f"{addition.name}-{kernel.release}-{cache.digest(sources)}.ext4"
    return cache.made(name, lambda new: _make(new, kernel, addition))


def _make(image: Path, kernel: Kernel, addition: Addition) -> None:
    tree = image.with_suffix(".tree")
    hook = image.with_suffix(".sh")
    hook.write_text(_STATUS)
    try:
        cache.run(
            "mmdebstrap",
            "--quiet",
            "--mode=root",
            "--variant=extract",
            f"--include={','.join((*_PACKAGES, *addition.packages))}",
            f'--extract-hook=sh {hook} "$1"',
            "--dpkgopt=path-exclude=/usr/share/doc/*",
            "--dpkgopt=path-exclude=/usr/share/locale/*",
            "bookworm",
            tree,
        )
        _configure(tree)
        _put_in(tree, kernel)
        if addition.configure is not None:
            addition.configure(tree)
        made = ("mke2fs", "-q", "-t", "ext4", "-O", "^has_journal", "-d")
        cache.run(*made, tree, image, f"{addition.megabytes}M")
    finally:
        shutil.rmtree(tree, ignore_errors=True)
        hook.unlink(missing_ok=True)


def _configure(tree: Path) -> None:
    masters = tree / "usr" / "share" / "base-passwd"
    for name in ("passwd", "group"):
        shutil.copyfile(masters / f"{name}.master", tree / "etc" / name)
    (tree / "etc" / "shadow").touch(0o640)
    cache.run("systemd-sysusers", f"--root={tree}")
    # The maintainer script of dbus creates it.
    for name, line in (
        ("group", "messagebus:x:101:\n"),
        ("passwd", "messagebus:x:101:101::/nonexistent:/usr/sbin/nologin\n"),
    ):
        with (tree / "etc" / name).open("a") as f:
            f.write(line)
    shell = tree / "bin" / "sh"
    if not shell.exists():
        shell.symlink_to("dash")
    cache.run("ldconfig", "-r", tree)
    (tree / "etc" / "hostname").write_text("lab\n")
    (tree / "etc" / "hosts").write_text("127.0.0.1 localhost lab\n")
    (tree / "etc" / "machine-id").write_text("uninitialized\n")
    (tree / "etc" / "fstab").write_text(_FSTAB)
    (tree / "mnt" / "host").mkdir(parents=True)
    units = tree / "etc" / "systemd" / "system"
    for unit in _MASKED:
        (units / unit).unlink(missing_ok=True)
        (units / unit).symlink_to("/dev/null")


def _put_in(tree: Path, kernel: Kernel) -> None:
    modules = tree / "lib" / "modules"
    modules.mkdir(parents=True, exist_ok=True)
    shutil.copytree(kernel.modules / "lib" / "modules" / kernel.release, modules / kernel.release)
    shutil.copytree(
        _GUEST, tree / "opt" / "lab", ignore=shutil.ignore_patterns("__pycache__", "*.service")
    )
    units = tree / "etc" / "systemd" / "system"
    wanted = units / "multi-user.target.wants"
    wanted.mkdir(parents=True, exist_ok=True)
    for unit in _GUEST.glob("*.service"):
        shutil.copyfile(unit, units / unit.name)
        (wanted / unit.name).symlink_to(f"../{unit.name}")
