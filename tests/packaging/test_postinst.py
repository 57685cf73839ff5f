"""What postinst of the Debian package says when the modules cannot be compiled.

Small programs replace py3compile and systemd-sysusers; rigs/fresh_systems fills a real disk.
"""

from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.packaging.debian import TOP
from tests.processes import run_program

NEXT = "; solve this, then run: dpkg --configure --pending\n"


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A directory with systemd-sysusers, for PATH."""
    program(tmp_path, "systemd-sysusers", "")
    return tmp_path


def program(directory: Path, name: str, script: str) -> None:
    path = directory / name
    path.write_text(f"#!/bin/sh\n{script}")
    path.chmod(0o755)


def postinst(programs: Path, *arguments: str) -> "CompletedProcess[str]":
    command: list[str | Path] = ["/bin/sh", TOP / "packaging/debian/postinst", *arguments]
    return run_program(command, env={"PATH": str(programs)})


def test_a_full_disk_is_reported_once_and_not_for_each_module(programs: Path) -> None:
    error = "[Errno 28] No space left on device"
    program(programs, "py3compile", f"printf '{error}{error}' >&2; exit 1")
    done = postinst(programs, "configure", "0.1.0")
    assert done.returncode != 0
    assert (
        "ssd-exporter: cannot compile the modules in /usr/lib/ssd-exporter: "
        f"no space is left on its file system{NEXT}"
    ) == done.stderr


def test_another_failure_is_reported_with_its_text(programs: Path) -> None:
    program(programs, "py3compile", "echo 'bad magic number' >&2; exit 1")
    done = postinst(programs, "configure", "0.1.0")
    assert done.returncode != 0
    assert done.stderr.endswith(f": bad magic number{NEXT}")


def test_after_an_upgrade_that_was_given_up_the_old_modules_are_compiled_if_possible(
    programs: Path,
) -> None:
    program(programs, "py3compile", 'echo "$@"; exit 1')
    done = postinst(programs, "abort-upgrade", "0.2.0")
    assert (0, "") == (done.returncode, done.stderr)
    assert "-p ssd-exporter /usr/lib/ssd-exporter\n" == done.stdout
