"""compose.yml with the drives of a host, which drives.sh lists."""

import os
import shutil
from pathlib import Path
from subprocess import CompletedProcess

import pytest
import yaml

from tests.end_to_end.programs import need
from tests.image.files import CONTAINER
from tests.processes import run_program


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """The directory of compose.yml in a clone, without a list of drives."""
    need("docker-compose")
    (tmp_path / "container").mkdir()
    shutil.copyfile(CONTAINER / "compose.yml", tmp_path / "container" / "compose.yml")
    return tmp_path / "container"


@pytest.fixture
def system(tmp_path: Path) -> Path:
    """A /sys without drives, beside a virtual disk and a loop device."""
    root = tmp_path / "sys"
    for name in ("vda", "loop0"):
        _disk(root, name)
    return root


def _disk(system: Path, name: str, *, removable: bool = False) -> None:
    (system / "block" / name).mkdir(parents=True)
    (system / "block" / name / "removable").write_text(f"{removable:d}\n")


def listed(system: Path) -> tuple[str, str]:
    """What drives.sh prints, and its messages."""
    done = run_program([CONTAINER / "drives.sh", system], check=True)
    return done.stdout, done.stderr


def config(clone: Path, **more: str) -> "CompletedProcess[str]":
    """Validates compose.yml."""
    kept = {name: value for name, value in os.environ.items() if name != "GRAFANA_PASSWORD"}
    argv: list[str | Path] = ["docker-compose", "--file", clone / "compose.yml", "config"]
    return run_program(argv, env={**kept, **more})


def devices(clone: Path, system: Path) -> list[str]:
    """Devices of the agent with the list of a host."""
    (clone / "drives.yml").write_text(listed(system)[0])
    done = config(clone, GRAFANA_PASSWORD="x")
    assert (0, "") == (done.returncode, done.stderr)
    found: list[str] = yaml.safe_load(done.stdout)["services"]["ssd-smart-agent"].get("devices", [])
    return found


def test_a_host_with_sata_drives_only(clone: Path, system: Path) -> None:
    for name in ("sda", "sdb"):
        _disk(system, name)
    _disk(system, "sdc", removable=True)
    assert ["/dev/sda:/dev/sda:r", "/dev/sdb:/dev/sdb:r"] == devices(clone, system)


def test_of_an_nvme_drive_the_controller_is_listed(clone: Path, system: Path) -> None:
    _disk(system, "nvme0n1")
    _disk(system, "sda")
    for name in ("nvme0", "nvme10"):
        (system / "class" / "nvme" / name).mkdir(parents=True)
    expected = [f"/dev/{name}:/dev/{name}:r" for name in ("nvme0", "nvme10", "sda")]
    assert expected == devices(clone, system)


def test_a_host_without_drives_runs_without_smart(clone: Path, system: Path) -> None:
    assert [] == devices(clone, system)
    assert "there will be no SMART data" in listed(system)[1]


def test_a_missing_list_and_a_missing_password_are_reported(clone: Path, system: Path) -> None:
    done = config(clone, GRAFANA_PASSWORD="x")
    assert done.returncode != 0
    assert "drives.yml" in done.stderr.splitlines()[-1]
    (clone / "drives.yml").write_text(listed(system)[0])
    done = config(clone)
    assert done.returncode != 0
    assert "GRAFANA_PASSWORD" in done.stderr
