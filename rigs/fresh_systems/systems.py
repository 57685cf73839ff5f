"""Fresh root file systems of distributions, made by mmdebstrap."""

import hashlib
import shutil
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from rigs.lab.vm import cache


@dataclass(frozen=True, slots=True)
class System:
    """A distribution.

    suite: its name for apt. mirror: where it is downloaded. more: further packages. is_bare:
    without the packages that the tests of a booted system need. has_lists: apt knows the packages
    of the mirror.
    """

    name: str
    suite: str
    mirror: str
    more: tuple[str, ...] = ()
    is_bare: bool = False
    has_lists: bool = False

    def root(self) -> Path:
        """A directory with the distribution; unless it is bare with systemd, Python and curl."""
        kind = "bare" if self.is_bare else "system"
        name = "+".join((f"{kind}-{self.suite}", *self.more))
        return cache.made(f"{name}-3", self._make)

    def _make(self, new: Path) -> None:
        is_ubuntu = self.mirror == _UBUNTU
        options = ["--components=main,universe", f"--keyring={_ubuntu_keys()}"] if is_ubuntu else []
        try:
            cache.run(
                *("mmdebstrap", "--quiet", "--mode=root", "--variant=minbase", *options),
                f"--include={','.join((*(() if self.is_bare else _PACKAGES), *self.more))}",
                '--aptopt=APT::Install-Recommends "false"',
                # A mirror may lag behind.
                '--aptopt=Acquire::Check-Valid-Until "false"',
                *(("--skip=cleanup/apt/lists",) if self.has_lists else ()),
                *(self.suite, new, self.mirror),
            )
        except RuntimeError:
            shutil.rmtree(new, ignore_errors=True)
            raise


_DEBIAN = "http://deb.debian.org/debian"
_UBUNTU = "http://archive.ubuntu.com/ubuntu"
_PACKAGES = ("apt", "systemd", "systemd-sysv", "python3", "curl", "smartmontools", "fio")

SYSTEMS = (
    System("Debian 12", "bookworm", _DEBIAN),
    System("Debian 13", "trixie", _DEBIAN),
    System("Debian testing", "forky", _DEBIAN),
    System("Ubuntu 22.04", "jammy", _UBUNTU),
    System("Ubuntu 24.04", "noble", _UBUNTU),
)

#: To develop and test with the Python of each system.
DEVELOPERS = tuple(
    System(system.name, system.suite, system.mirror, ("git", "make", "procps", "python3-venv"))
    for system in SYSTEMS
)

#: Without systemd, and with a part of Python or none.
BARE = tuple(
    System(system.name, system.suite, system.mirror, more, is_bare=True)
    for system in SYSTEMS[:2]
    for more in (("apt",), ("python3-minimal",))
)

#: With systemd, and without Python.
FRESH = System(
    "Debian 12", "bookworm", _DEBIAN, ("apt", "curl", "systemd-sysv"), is_bare=True, has_lists=True
)

#: For Ansible: it connects by ssh, and installs with python3-apt.
MANAGED = System("Debian 12", "bookworm", _DEBIAN, ("openssh-server", "python3-apt", "prometheus"))

#: Debian 12 has no package with the keys of Ubuntu's archive.
_KEYS = f"{_UBUNTU}/pool/main/u/ubuntu-keyring/ubuntu-keyring_2023.11.28.1_all.deb"
_KEYS_SHA256 = "36de43b15853ccae0028e9a767613770c704833f82586f28eb262f0311adb8a8"


def _ubuntu_keys() -> Path:
    """The keyring of Ubuntu's archive, from a package with a known hash."""

    def make(new: Path) -> None:
        with urllib.request.urlopen(_KEYS, timeout=60) as answer:
            content = answer.read()
        assert _KEYS_SHA256 == hashlib.sha256(content).hexdigest(), _KEYS
        package = new.with_suffix(".deb")
        package.write_bytes(content)
        cache.run("dpkg-deb", "--extract", package, new)
        package.unlink()

    keys = cache.made("ubuntu-keys-1", make)
    return keys / "usr/share/keyrings/ubuntu-archive-keyring.gpg"
