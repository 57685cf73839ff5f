"""install.sh, with a minimal wheel instead of the real ones."""

import os
import platform
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.end_to_end.programs import need
from tests.processes import run_program

TOP = Path(__file__).parents[2]
PYTHON = sys._base_executable  # type: ignore[attr-defined]  # not the venv's, which is a link


@pytest.fixture
def stage(tmp_path: Path) -> Path:
    """A directory with the layout of stage.sh."""
    made = tmp_path / "stage"
    for name in ("wheels", "man", "completion", "doc", "share/alerts/runbooks"):
        (made / name).mkdir(parents=True)
    with zipfile.ZipFile(made / "wheels" / "ssd_exporter-1-py3-none-any.whl", "w") as wheel:
        wheel.writestr("exporter/__init__.py", "")
        wheel.writestr(
            "exporter/cli.py", "import sys\n\ndef main():\n    print(sys.path)\n    return 7\n"
        )
    with zipfile.ZipFile(made / "wheels" / "pyyaml-1-cp311-cp311-linux.whl", "w") as wheel:
        wheel.writestr("yaml/__init__.py", "")
        wheel.writestr("yaml/_yaml.cpython-311-x86_64-linux-gnu.so", b"compiled")
    shutil.copytree(TOP / "systemd", made / "systemd")
    shutil.copy(TOP / "packaging" / "install.sh", made)
    (made / "man" / "ssd-exporter.1").write_text(".TH SSD-EXPORTER 1\n")
    (made / "man" / "ssd-exporter-check.1").write_text(".TH SSD-EXPORTER-CHECK 1\n")
    for shell in ("bash", "zsh", "fish"):
        (made / "completion" / shell).write_text(f"# completes ssd-exporter in {shell}\n")
    (made / "doc" / "README.md").write_text("# ssd-exporter\n")
    (made / "share" / "alerts" / "runbooks" / "SSD.md").write_text("do this\n")
    (made / "architecture").write_text(f"{platform.machine()}\n")
    return made


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    return tmp_path / "prefix"


def install(stage: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    return run_program([stage / "install.sh", *options], cwd="/")


def installed(stage: Path, prefix: Path, *options: str) -> str:
    done = install(stage, f"--prefix={prefix}", f"--python={PYTHON}", *options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def files(below: Path) -> set[str]:
    found = {str(path.relative_to(below)) for path in below.rglob("*") if not path.is_dir()}
    return {name for name in found if "__pycache__" not in name}


def test_the_installed_program_uses_only_its_own_libraries(stage: Path, prefix: Path) -> None:
    installed(stage, prefix)
    done = run_program(
        [prefix / "bin" / "ssd-exporter"], env={**os.environ, "PYTHONPATH": "/nowhere"}
    )
    assert 7 == done.returncode
    assert str(prefix / "lib" / "ssd-exporter") in done.stdout
    assert "site-packages" not in done.stdout
    assert "/nowhere" not in done.stdout


def test_all_files_are_installed(stage: Path, prefix: Path) -> None:
    installed(stage, prefix)
    assert {
        "bin/ssd-exporter",
        "etc/default/ssd-exporter",
        "etc/ssd-exporter/config.toml",
        "lib/ssd-exporter.files",
        "lib/ssd-exporter/exporter/__init__.py",
        "lib/ssd-exporter/exporter/cli.py",
        "lib/ssd-exporter/yaml/__init__.py",
        "lib/systemd/system/ssd-exporter.service",
        "lib/systemd/system/ssd-smart-agent.service",
        "lib/sysusers.d/ssd-exporter.conf",
        "lib/tmpfiles.d/ssd-exporter.conf",
        "share/bash-completion/completions/ssd-exporter",
        "share/doc/ssd-exporter/README.md",
        "share/doc/ssd-exporter/examples/latency.conf",
        "share/doc/ssd-exporter/examples/probe.conf",
        "share/doc/ssd-exporter/examples/ssd-exporter-textfile.service",
        "share/doc/ssd-exporter/examples/ssd-exporter-textfile.timer",
        "share/fish/vendor_completions.d/ssd-exporter.fish",
        "share/man/man1/ssd-exporter-check.1",
        "share/man/man1/ssd-exporter.1",
        "share/ssd-exporter/alerts/runbooks/SSD.md",
        "share/zsh/site-functions/_ssd-exporter",
    } == files(prefix)


def test_a_trailing_slash_of_the_prefix_is_ignored(stage: Path, prefix: Path) -> None:
    done = install(stage, "--prefix=/usr//", f"--destdir={prefix}", f"--python={PYTHON}")
    assert done.returncode == 0, done.stderr
    assert (prefix / "etc/ssd-exporter/config.toml").exists()
    unit = (prefix / "usr/lib/systemd/system/ssd-exporter.service").read_text()
    assert "ExecStart=/usr/bin/ssd-exporter " in unit


def test_units_use_the_prefix(stage: Path, prefix: Path) -> None:
    installed(stage, prefix)
    unit = (prefix / "lib/systemd/system/ssd-exporter.service").read_text()
    assert f"ExecStart={prefix}/bin/ssd-exporter --config.file={prefix}/etc/ssd-exporter" in unit
    assert f"EnvironmentFile=-{prefix}/etc/default/ssd-exporter" in unit
    assert "/usr/" not in unit


def test_usr_local_uses_etc(stage: Path, tmp_path: Path) -> None:
    root = tmp_path / "root"
    installed(stage, Path("/usr/local"), f"--destdir={root}")
    assert "/etc/ssd-exporter/config.toml" in {f"/{name}" for name in files(root)}
    unit = (root / "usr/local/lib/systemd/system/ssd-exporter.service").read_text()
    assert "=/usr/local/bin/ssd-exporter --config.file=/etc/ssd-exporter/config.toml" in unit


def test_reinstallation_keeps_modified_settings_and_removes_obsolete_files(
    stage: Path, prefix: Path
) -> None:
    installed(stage, prefix)
    config = prefix / "etc/ssd-exporter/config.toml"
    config.write_text("[log]\n")
    (stage / "systemd" / "probe.conf").rename(stage / "systemd" / "other.conf")
    with zipfile.ZipFile(stage / "wheels" / "ssd_exporter-1-py3-none-any.whl", "w") as wheel:
        wheel.writestr("exporter/__init__.py", "")
    said = installed(stage, prefix)

    assert "[log]\n" == config.read_text()
    assert f"{config}.new" in said
    left = files(prefix)
    assert "etc/ssd-exporter/config.toml.new" in left
    assert "etc/default/ssd-exporter.new" not in left
    assert "lib/ssd-exporter/exporter/cli.py" not in left
    assert "share/doc/ssd-exporter/examples/probe.conf" not in left
    assert "share/doc/ssd-exporter/examples/other.conf" in left


def test_removal_keeps_the_settings(stage: Path, prefix: Path) -> None:
    installed(stage, prefix)
    assert "Removed" in installed(stage, prefix, "--remove")
    assert {"etc/default/ssd-exporter", "etc/ssd-exporter/config.toml"} == files(prefix)
    again = install(stage, f"--prefix={prefix}", "--remove")
    assert 1 == again.returncode
    assert f"no installation found at {prefix}" in again.stderr


def test_a_failed_unpacking_keeps_the_old_version(stage: Path, prefix: Path) -> None:
    installed(stage, prefix)
    before = files(prefix)
    (stage / "wheels" / "zz-1-py3-none-any.whl").write_bytes(b"PK\x03\x04 cut off")
    assert 0 != install(stage, f"--prefix={prefix}", f"--python={PYTHON}").returncode
    assert before <= files(prefix)
    assert 7 == subprocess.run([prefix / "bin" / "ssd-exporter"], check=False).returncode


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--prefix=relative"], "relative must be an absolute path"),
        (["--prefix=/a b"], "only letters, digits"),
        (["--prefix=/a|b"], "only letters, digits"),
        (["--prefix="], "--prefix requires a directory"),
        (["--prefix"], "--prefix requires a value"),
        (["--start"], "unknown option: --start"),
        (["--python=/nonexistent/python3"], "/nonexistent/python3 is not Python 3.10 or later"),
    ],
)
def test_invalid_options_are_reported_in_one_line(
    stage: Path, tmp_path: Path, options: list[str], message: str
) -> None:
    done = install(stage, f"--destdir={tmp_path / 'root'}", *options)
    assert 1 == done.returncode
    assert message in done.stderr.splitlines()[-1]
    assert not (tmp_path / "root").exists()


def test_an_old_python_is_refused(stage: Path, prefix: Path, tmp_path: Path) -> None:
    old = tmp_path / "python3.9"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    done = install(stage, f"--prefix={prefix}", f"--python={old}")
    assert 1 == done.returncode
    assert f"{old} is not Python 3.10 or later" in done.stderr
    assert not prefix.exists()


def test_another_architecture_is_refused(stage: Path, prefix: Path) -> None:
    (stage / "architecture").write_text("riscv64\n")
    done = install(stage, f"--prefix={prefix}", f"--python={PYTHON}")
    assert 1 == done.returncode
    assert "this archive is for riscv64" in done.stderr
    assert not prefix.exists()


def test_scripts_are_valid_sh() -> None:
    need("sh")
    for script in (TOP / "packaging").glob("*.sh"):
        subprocess.run(["sh", "-n", script], check=True)
