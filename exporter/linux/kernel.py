"""Reads the release of the running kernel, the ID of this boot, and the name of the host."""

from pathlib import Path

from exporter.linux import files


def boot_id(proc: Path) -> str:
    """Returns the kernel's random ID of this boot; empty if unknown."""
    return files.read_attribute(proc / "sys" / "kernel" / "random" / "boot_id") or ""


def host_name(proc: Path) -> str:
    """Returns the name of the host as `uname -n` prints it; empty if unknown."""
    return files.read_attribute(proc / "sys" / "kernel" / "hostname") or ""


def release(proc: Path) -> str:
    """Returns the kernel release as `uname -r` prints it; empty if unknown."""
    return files.read_attribute(proc / "sys" / "kernel" / "osrelease") or ""
