"""The package on a host booted by systemd, and the other ways of installation."""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from exporter import __version__
from tests.end_to_end.programs import need
from tests.packaging import debian
from tests.packaging.root import layered
from tests.required import lacking
from tests.systemd.machine import Machine, Unavailable, booted

pytestmark = pytest.mark.real

TOP = Path(__file__).parents[2]
PROGRAM = "/usr/local/bin/ssd-exporter"
#: Files of the units that other tests install directly from the repository.
ITS_FILES = (
    "/usr/bin/ssd-exporter",
    "/etc/ssd-exporter",
    "/etc/default/ssd-exporter",
    *(f"/usr/lib/{name}/ssd-*" for name in ("systemd/system", "sysusers.d", "tmpfiles.d")),
)
UNITS = ("ssd-exporter", "ssd-smart-agent")


@pytest.fixture(scope="module")
def package() -> Path:
    need("make", "dh", "dpkg-buildpackage")
    return debian.built()


@pytest.fixture(scope="module")
def later(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package with a later version number and no other change."""
    return debian.later(package, "99.1", tmp_path_factory.mktemp("later"), lambda _: None)


@pytest.fixture
def machine() -> Iterator[Machine]:
    """A machine without preinstalled units, because the package installs its own."""
    try:
        with booted() as made:
            made.systemctl("disable", "--now", *UNITS)
            made.run(
                "rm",
                "-rf",
                "/usr/bin/ssd-exporter",
                "/etc/ssd-exporter",
                "/etc/default/ssd-exporter",
            )
            # If this host is a container, packages may not start services.
            made.run("rm", "-f", "/usr/sbin/policy-rc.d")
            for directory in ("systemd/system", "sysusers.d", "tmpfiles.d"):
                made.run("sh", "-c", f"rm -f /usr/lib/{directory}/ssd-*")
            made.systemctl("daemon-reload")
            yield made
    except Unavailable as e:
        lacking(str(e))


def dpkg(machine: Machine, *arguments: str, package: Path | None = None) -> None:
    if package is not None:
        target = f"/var/tmp/{package.name}"
        shutil.copyfile(package, f"/proc/{machine.leader}/root{target}")
        arguments = (*arguments, target)
    done = machine.run("env", "DEBIAN_FRONTEND=noninteractive", "dpkg", *arguments, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def serves(machine: Machine, version: str) -> bool:
    return f'version="{version}"' in machine.page()


def pids(machine: Machine) -> set[str]:
    return {machine.show(f"{unit}.service", "MainPID") for unit in UNITS}


def test_the_package_starts_restarts_and_removes_its_units(
    machine: Machine, package: Path, later: Path
) -> None:
    dpkg(machine, "--install", package=package)
    assert {"active"} == {machine.show(f"{unit}.service", "ActiveState") for unit in UNITS}
    machine.await_("the page is there", lambda: serves(machine, __version__))
    before = pids(machine)

    for version, each in (("99.1", later), (__version__, package)):
        dpkg(machine, "--install", package=each)
        machine.await_(f"{version} serves", partial(serves, machine, version))
        after = pids(machine)
        assert set() == before & after
        assert "0" not in after
        before = after

    dpkg(machine, "--purge", "ssd-exporter")
    assert "" == machine.page()
    for path in ("/run/ssd-smart-agent", "/var/lib/ssd-exporter", "/etc/ssd-exporter"):
        assert 0 != machine.run("test", "-e", path).returncode, path
    assert 0 != machine.run("getent", "passwd", "ssd-exporter").returncode
    assert "not-found" == machine.show("ssd-exporter.service", "LoadState")
    assert "" == machine.systemctl("list-units", "--failed", "--plain", "--no-legend", "ssd-*")


def test_lintian_finds_no_error(package: Path) -> None:
    need("lintian")
    done = subprocess.run(
        ["lintian", "--allow-root", "--fail-on", "error", "--tag-display-limit", "0", package],
        capture_output=True,
        text=True,
        check=False,
    )
    assert 0 == done.returncode, done.stdout + done.stderr


def test_builds_are_reproducible(tmp_path: Path) -> None:
    """In a copy, because other tests may use this tree."""
    need("dh", "dpkg-buildpackage")
    tree = tmp_path / "tree"
    shutil.copytree(TOP, tree, ignore=shutil.ignore_patterns(".*", "build", "dist", "var", "tests"))
    sums = set()
    for _ in range(2):
        subprocess.run(
            [tree / "packaging" / "deb.sh", sys.executable, os.uname().machine],
            check=True,
            env={**os.environ, "SOURCE_DATE_EPOCH": "1790000000"},
        )
        (made,) = (tree / "dist").glob("*.deb")
        sums.add(hashlib.sha256(made.read_bytes()).hexdigest())
    assert 1 == len(sums)


@pytest.fixture(scope="module")
def archive() -> Path:
    """For this machine; the other architecture is only built."""
    done = subprocess.run(
        ["make", "wheelhouse"], cwd=TOP, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    name = f"ssd-exporter-{__version__}-linux-{os.uname().machine}.tar.gz"
    return TOP / "dist" / name


def unpack(archive: Path, directory: Path) -> None:
    """With tar, as in the README."""
    subprocess.run(["tar", "-xzf", archive, "-C", directory], check=True)


def test_the_archive_installs_offline_and_is_removable(archive: Path) -> None:
    need("unshare", "chroot")
    with layered() as root:
        target = root.layer / "var" / "tmp"
        target.mkdir(parents=True)
        unpack(archive, target)
        script = f"/var/tmp/{archive.name.removesuffix('.tar.gz')}/install.sh"
        assert "systemctl enable --now" in root.do(script)
        assert f"ssd-exporter {__version__}\n" == root.do(PROGRAM, "--version")
        assert "ssd_exporter_build_info{" in root.do(PROGRAM, "--once")
        root.do("systemd-sysusers", "ssd-exporter.conf")
        assert "ssd-exporter" in root.do("getent", "passwd", "ssd-exporter")
        root.do(script, "--remove")
        left = {path for path in root.written() if path.startswith("/usr/local/")}
        assert set() == left


def _pythons() -> dict[str, str]:
    """All installed Python versions from 3.10."""
    found = {}
    for directory in (*Path.home().glob(".pyenv/versions/3.*/bin"), Path("/usr/bin")):
        for path in directory.glob("python3.[1-9][0-9]"):
            found[path.name] = str(path)
    return found


@pytest.mark.parametrize("python", _pythons().values(), ids=_pythons())
def test_the_archive_supports_every_installed_python(
    archive: Path, python: str, tmp_path: Path
) -> None:
    """One set of libraries supports all versions: none is compiled for one Python version."""
    unpack(archive, tmp_path)
    script = tmp_path / archive.name.removesuffix(".tar.gz") / "install.sh"
    prefix = tmp_path / "prefix"
    subprocess.run([script, f"--prefix={prefix}", f"--python={python}"], check=True)
    program = prefix / "bin" / "ssd-exporter"
    assert f"#!{python} " in program.read_text()
    once = [str(program), "--once", f"--state.directory={tmp_path}"]
    page = subprocess.run(once, check=True, capture_output=True, text=True).stdout
    assert "ssd_exporter_build_info{" in page


def test_pipx_installs_it(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    subprocess.run([tmp_path / "venv/bin/pip", "install", "--quiet", "pipx"], check=True)
    environment = {
        **os.environ,
        "PIPX_HOME": str(tmp_path / "home"),
        "PIPX_BIN_DIR": str(tmp_path / "bin"),
        "PIPX_MAN_DIR": str(tmp_path / "man"),
    }
    subprocess.run(
        [tmp_path / "venv/bin/pipx", "install", TOP], check=True, env=environment, cwd=tmp_path
    )
    done = subprocess.run(
        [tmp_path / "bin/ssd-exporter", "--version"], check=True, capture_output=True, text=True
    )
    assert f"ssd-exporter {__version__}\n" == done.stdout
