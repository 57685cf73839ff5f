"""dnf installs, upgrades, rolls back and removes the package in a fresh root.

No mirror of a distribution with dnf can be reached from the machine of the tests. So the dnf of
Debian installs into a root in which a stand-in provides the three packages that ours requires
(Python, systemd and the shell), with files of this host: the scripts of our package run for real,
but not on a RHEL.
"""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from rigs.fresh_systems.conftest import new_key
from rigs.fresh_systems.releases import NEW, OLD, Releases
from tests.packaging.root import Root, layered

_REPOSITORY = """\
[ssd-exporter]
name=ssd-exporter
baseurl=file://{repository}
gpgcheck=1
repo_gpgcheck=1
gpgkey=file://{key}
[stand-in]
name=stand-in
baseurl=file://{stand_in}
gpgcheck=0
"""
_STAND_IN = """\
Name: stand-in
Version: 1
Release: 1
Summary: What ssd-exporter requires of a system
License: CC0-1.0
BuildArch: noarch
Provides: /usr/bin/python3.11
Provides: systemd
Provides: /bin/sh
%description
Files of the host.
%files
"""
_CONFIG = "etc/ssd-exporter/config.toml"


@pytest.fixture(scope="module")
def stand_in(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with the stand-in."""
    work = tmp_path_factory.mktemp("stand-in")
    (work / "stand-in.spec").write_text(_STAND_IN)
    subprocess.run(
        [
            *("rpmbuild", "-bb", "--define", f"_topdir {work}"),
            *("--define", f"_rpmdir {work}/repository", work / "stand-in.spec"),
        ],
        check=True,
        capture_output=True,
    )
    subprocess.run(["createrepo_c", "--quiet", work / "repository"], check=True)
    return work / "repository"


@pytest.fixture
def root() -> Iterator[Root]:
    """The root of this host with a layer, which receives the installation."""
    with layered() as made:
        yield made


def dnf(root: Root, work: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return root.run(
        *("dnf", "--assumeyes", "--quiet", f"--setopt=reposdir={work}"),
        *("--setopt=install_weak_deps=0", f"--setopt=cachedir={work}/cache", *arguments),
    )


def use(work: Path, repository: Path, key: Path, stand_in: Path) -> None:
    """Selects a repository."""
    text = _REPOSITORY.format(repository=repository, key=key, stand_in=stand_in)
    (work / "test.repo").write_text(text)


def version(root: Root) -> str:
    return root.do("ssd-exporter", "--version").split()[-1]


def test_dnf_installs_upgrades_rolls_back_and_removes(
    releases: Releases, key: str, stand_in: Path, root: Root, tmp_path: Path
) -> None:
    both = releases.repository("rpm", key, OLD, NEW)
    public = both / "ssd-exporter-key.asc"
    use(tmp_path, both, public, stand_in)

    def run(*arguments: str) -> None:
        done = dnf(root, tmp_path, *arguments)
        assert done.returncode == 0, done.stdout + done.stderr

    run("install", f"ssd-exporter-{OLD}")
    assert OLD == version(root)
    assert root.has("/usr/lib/systemd/system/ssd-smart-agent.service")
    assert "ssd-exporter:" in root.text("/etc/passwd")
    modules = Path(root.layer, "usr/lib/ssd-exporter/exporter")
    assert any(modules.glob("__pycache__/*.pyc")), "the modules are compiled"

    mine = "[log]\nformat = 'json'\n"
    root.write(_CONFIG, mine)
    root.write("var/lib/ssd-exporter/state.json", "{}")
    run("upgrade", "ssd-exporter")
    assert NEW == version(root)
    run("downgrade", "ssd-exporter")
    assert OLD == version(root)
    assert (mine, "{}") == (root.text(_CONFIG), root.text("var/lib/ssd-exporter/state.json"))
    # The files that the package has written are those that it lists.
    done = root.run("rpm", "--verify", "ssd-exporter")
    changed = [line for line in done.stdout.splitlines() if _CONFIG not in line]
    assert [] == changed

    run("remove", "ssd-exporter")
    assert not root.has("/usr/bin/ssd-exporter")
    assert not root.has("/usr/lib/ssd-exporter")
    assert root.has(f"/{_CONFIG}.rpmsave"), "settings of the administrator are kept"
    assert root.has("/var/lib/ssd-exporter/state.json")


def test_dnf_refuses_a_repository_with_another_signature(
    releases: Releases, key: str, stand_in: Path, root: Root, tmp_path: Path
) -> None:
    trusted = releases.repository("rpm", key, OLD) / "ssd-exporter-key.asc"
    foreign = releases.repository("rpm", new_key("someone <someone@example.org>"), NEW)
    use(tmp_path, foreign, trusted, stand_in)
    done = dnf(root, tmp_path, "install", "ssd-exporter")
    assert done.returncode != 0
    assert "GPG" in done.stderr, done
    assert not root.has("/usr/bin/ssd-exporter")


def test_without_a_supported_python_the_command_says_what_to_install(
    releases: Releases, tmp_path: Path
) -> None:
    (package,) = releases.files[OLD].glob("*.x86_64.rpm")
    archive = subprocess.run(["rpm2cpio", package], check=True, capture_output=True).stdout
    command = ["cpio", "--quiet", "-idm", "./usr/bin/ssd-exporter"]
    subprocess.run(command, input=archive, cwd=tmp_path, check=True)
    script = tmp_path / "usr/bin/ssd-exporter"
    script.write_text(script.read_text().replace("/usr/bin/python3", f"{tmp_path}/python3"))
    done = subprocess.run([script], check=False, capture_output=True, text=True, env=os.environ)
    assert (1, 1) == (done.returncode, done.stderr.count("\n"))
    assert "dnf install python3.11" in done.stderr
