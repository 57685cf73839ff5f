"""Lets this machine run programs of another one, with qemu's emulation of user programs."""

import platform
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from release.programs import ReleaseError, run

#: Where Debian's package qemu-user-static describes its interpreters, in the form of the kernel
#: (Documentation/admin-guide/binfmt-misc.rst).
_INTERPRETERS = Path("/usr/lib/binfmt.d")


@contextmanager
def emulated(machine: str, interpreters: Path = _INTERPRETERS) -> Iterator[None]:
    """Runs the block while this machine can start programs of `machine`, such as aarch64.

    An interpreter that is registered already is used, and stays. The kernel opens the interpreter
    now, so it is also used in other roots.

    Raises:
        ReleaseError: the interpreter is missing, or the kernel cannot be asked to use it.
    """
    if platform.machine() == machine:
        yield
        return
    described = interpreters / f"qemu-{machine}.conf"
    try:
        text = described.read_text().strip()
    except FileNotFoundError:
        raise ReleaseError(
            f"{described} is missing; run: apt-get install qemu-user-static"
        ) from None
    magic = text.split(":")[4].replace("\\x", "")
    with tempfile.TemporaryDirectory(prefix="binfmt-") as name:
        place = Path(name)
        run("mount", "--types", "binfmt_misc", "binfmt_misc", place)
        try:
            with _registered(place, text, magic):
                yield
        finally:
            run("umount", place)


@contextmanager
def _registered(place: Path, text: str, magic: str) -> Iterator[None]:
    entries = (each for each in place.iterdir() if each.name not in ("register", "status"))
    if any(f"magic {magic}" in each.read_text().splitlines() for each in entries):
        yield
        return
    mine = place / text.split(":")[1]
    (place / "register").write_text(f"{text}\n")
    try:
        yield
    finally:
        # The kernel's command to forget an entry.
        mine.write_text("-1")
