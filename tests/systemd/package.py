"""Installs the files of `systemd/` below a root."""

import json
import os
import sys
import sysconfig
from collections.abc import Callable, Mapping
from pathlib import Path

import exporter
from rigs.devices import smart_reports
from tests.unit_file import SYSTEMD

#: Destination of each file. Other files are examples or documentation.
PLACES: Mapping[str, str] = {
    "ssd-exporter.service": "usr/lib/systemd/system/ssd-exporter.service",
    "ssd-smart-agent.service": "usr/lib/systemd/system/ssd-smart-agent.service",
    "ssd-exporter.sysusers": "usr/lib/sysusers.d/ssd-exporter.conf",
    "ssd-exporter.tmpfiles": "usr/lib/tmpfiles.d/ssd-exporter.conf",
    "ssd-exporter.default": "etc/default/ssd-exporter",
    "config.toml": "etc/ssd-exporter/config.toml",
}

#: This Python and the code, outside of /home, which ProtectHome= hides.
BINDS: Mapping[Path, str] = {
    Path(sys.base_prefix): "/opt/python",
    Path(exporter.__path__[0]): "/opt/ssd-exporter/exporter",
    Path(sysconfig.get_path("purelib")): "/opt/site-packages",
}

_PROGRAM = f"""#!/bin/sh
export PYTHONPATH=/opt/ssd-exporter:/opt/site-packages LD_LIBRARY_PATH=/opt/python/lib
exec /opt/python/bin/python{sys.version_info[0]}.{sys.version_info[1]} -m exporter "$@"
"""

STATE = "var/lib/ssd-exporter"

#: One NVMe drive, and on request a second one whose slow poll must not be interrupted.
SMARTCTL = """#!/bin/sh
case "$*" in
  *--version*) echo 'smartctl 7.3 2022-02-28 r5338 [x86_64-linux-6.1.0] (local build)' ;;
  *--scan*) echo '{scan}' ;;
  *jmb39x*) exec sleep 600 ;;
  *rig1*) echo '{drive}' ;;
  *) exit 2 ;;
esac
"""

#: Unrelated units of this host that delay the boot.
_MASKED = (
    *("console-getty.service", "getty.target", "systemd-logind.service", "dbus.service"),
    *("dbus.socket", "systemd-user-sessions.service", "systemd-update-utmp.service"),
    *("systemd-update-utmp-runlevel.service", "systemd-networkd.service"),
)


def install(root: Path, users: Callable[[], None]) -> None:
    """Install the files, the program and a fake smartctl below `root`.

    users: creates the users. Called at the point at which a package creates them.
    """
    for name, place in PLACES.items():
        _put(root / place, (SYSTEMD / name).read_text())
    _put(root / "usr/bin/ssd-exporter", _PROGRAM, 0o755)
    _put(root / "usr/sbin/smartctl", smartctl(), 0o755)
    # They cannot be created on a read-only root.
    for inside in BINDS.values():
        (root / inside.lstrip("/")).mkdir(parents=True)
    # The journal in /run is readable while /var is full.
    _put(root / "etc/systemd/journald.conf.d/run.conf", "[Journal]\nStorage=volatile\n")
    _hide_units_of_this_host(root)
    # A file that root created with a command before the installation.
    _put(root / STATE / "of-root.json", "{}", 0o600)
    _opaque(root / STATE)
    users()


def smartctl() -> str:
    """The script of the fake smartctl."""
    return SMARTCTL.format(
        scan=json.dumps(smart_reports.scan({"/dev/rig1": "nvme"})),
        drive=json.dumps(smart_reports.nvme(1)),
    )


def _hide_units_of_this_host(root: Path) -> None:
    _put(root / "etc/fstab", "")
    for name in ("etc/systemd/system", *(f"etc/rc{level}.d" for level in "S0123456")):
        directory = root / name
        directory.mkdir(parents=True, exist_ok=True)
        _opaque(directory)
    for unit in _MASKED:
        (root / "etc/systemd/system" / unit).symlink_to("/dev/null")


def _opaque(directory: Path) -> None:
    # overlayfs hides the content of the lower directory.
    os.setxattr(directory, "trusted.overlay.opaque", b"y")


def _put(path: Path, text: str, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
