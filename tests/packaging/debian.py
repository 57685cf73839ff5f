"""Debian packages: the result of `make deb`, and later versions derived from it."""

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.processes import run_program

TOP = Path(__file__).parents[2]


def built(*variables: str) -> Path:
    """Builds the package with `make deb` and variables of make, such as ARCH=aarch64."""
    done = run_program(["make", "deb", *variables], cwd=TOP, timeout=560)
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.search(r"dist/\S+\.deb", done.stdout)
    assert found, done.stdout
    return TOP / found[0]


def later(package: Path, version: str, directory: Path, change: Callable[[Path], None]) -> Path:
    """The package with another version and with the changes of `change`."""
    tree = directory / version
    subprocess.run(["dpkg-deb", "--raw-extract", package, tree], check=True)
    control = tree / "DEBIAN" / "control"
    control.write_text(re.sub(r"(?m)^Version: .*$", f"Version: {version}", control.read_text()))
    init = tree / "usr" / "lib" / "ssd-exporter" / "exporter" / "__init__.py"
    init.write_text(
        re.sub(r'(?m)^__version__ = ".*"$', f'__version__ = "{version}"', init.read_text())
    )
    change(tree)
    made = directory / package.name.replace(package.name.split("_")[1], version)
    subprocess.run(
        ["dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "--build", tree, made],
        check=True,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "SOURCE_DATE_EPOCH": "0"},
    )
    return made
