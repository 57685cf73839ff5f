"""Starts the real smartctl so that a path is a simulated drive; see drive_shim.c."""

import shlex
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

_SOURCE = Path(__file__).with_suffix(".c")
_SCAN = '{"smartctl":{"version":[7,3],"exit_status":0}}'


def build(directory: Path) -> Path:
    """Compiles the library for LD_PRELOAD; raises CalledProcessError if the compiler fails."""
    library = directory / "drive_shim.so"
    flags = ("-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC")
    subprocess.run(["cc", *flags, "-o", library, _SOURCE, "-ldl"], check=True)
    return library


def smartctl_under(library: Path, answers: Mapping[str, bytes], device: str, real: str) -> Path:
    """A wrapper that runs the real smartctl for this drive; its scans find no drives.

    library: where `build` has put the library; the answers and the wrapper get places beside it.
    answers: the files of the drive's answers, keyed by name.
    """
    directory = library.parent / "answers"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    for name, answer in answers.items():
        (directory / name).write_bytes(answer)
    program = library.with_name("smartctl")
    told = {"LD_PRELOAD": library, "DRIVE_SHIM_DEVICE": device, "DRIVE_SHIM_DIRECTORY": directory}
    names = " ".join(f"{name}={shlex.quote(str(value))}" for name, value in told.items())
    program.write_text(
        "#!/bin/sh\n"
        f'case "$*" in *--scan*) echo {shlex.quote(_SCAN)}; exit ;; esac\n'
        f'export {names}\nexec {shlex.quote(real)} "$@"\n'
    )
    program.chmod(0o755)
    return program
