"""Lets this machine run programs of another one, with qemu's emulation of user programs."""

import os
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

    The kernel opens the interpreter now, so it is also used in other roots. It is registered under
    a name of this process: another process that does the same does not take it away.

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
    with tempfile.TemporaryDirectory(prefix="binfmt-") as name:
        place = Path(name)
        run("mount", "--types", "binfmt_misc", "binfmt_misc", place)
        try:
            with _registered(place, text):
                yield
        finally:
            run("umount", place)


@contextmanager
def _registered(place: Path, text: str) -> Iterator[None]:
    _, name, rest = text.split(":", 2)
    mine = place / f"{name}-{os.getpid()}"
    if mine.exists():
        yield
        return
    (place / "register").write_text(f":{mine.name}:{rest}\n")
    try:
        yield
    finally:
        # The kernel's command to forget an entry.
        mine.write_text("-1")
