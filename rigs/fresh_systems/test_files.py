"""The files of a release: complete, reproducible, verifiable."""

import subprocess
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from rigs.fresh_systems.releases import NEW, OLD, Releases, made


def test_all_files_are_there(releases: Releases) -> None:
    artefacts = {
        f"ssd-exporter_{OLD}_amd64.deb",
        f"ssd-exporter_{OLD}_arm64.deb",
        f"ssd-exporter-{OLD}-1.x86_64.rpm",
        f"ssd-exporter-{OLD}-1.aarch64.rpm",
        f"ssd-exporter-{OLD}-linux-x86_64.tar.gz",
        f"ssd-exporter-{OLD}-linux-aarch64.tar.gz",
        f"ssd_exporter-{OLD}-py3-none-any.whl",
        f"ssd_exporter-{OLD}.tar.gz",
        f"ssd-exporter-image-{OLD}-amd64.oci.tar",
        f"ssd-exporter-chart-{OLD}.tgz",
    }
    others = {
        f"ssd-exporter-monitoring-{OLD}.tar.gz",
        *("RELEASE-NOTES.md", "SHA256SUMS", "SHA256SUMS.asc", "ssd-exporter-key.asc"),
    }
    bills = {f"{name}.cdx.json" for name in artefacts}
    found = {path.name for path in releases.files[OLD].iterdir()}
    assert artefacts | others | bills == found


def test_a_second_build_has_the_same_bytes(releases: Releases, key: str, tmp_path: Path) -> None:
    """In another directory, and later."""
    again = made(OLD, tmp_path / "elsewhere" / "deeper", key)
    first = releases.files[OLD]
    names = sorted(path.name for path in first.iterdir())
    assert names == sorted(path.name for path in again.iterdir())
    assert [] == [n for n in names if (first / n).read_bytes() != (again / n).read_bytes()]


def test_the_commands_of_the_release_notes_verify_the_files(
    releases: Releases, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = releases.files[NEW]
    keyring = tmp_path / "keyring"
    keyring.mkdir(mode=0o700)
    monkeypatch.setenv("GNUPGHOME", str(keyring))
    notes = (files / "RELEASE-NOTES.md").read_text()
    commands = [line.removeprefix("$ ") for line in notes.splitlines() if line.startswith("$ ")]
    assert len(commands) == 3
    for command in commands:
        done = subprocess.run(command.split(), cwd=files, check=False, capture_output=True)
        assert done.returncode == 0, done.stderr
    damaged = tmp_path / "SHA256SUMS"
    damaged.write_text((files / "SHA256SUMS").read_text().replace("0", "1"))
    done = subprocess.run(
        ["gpg", "--verify", files / "SHA256SUMS.asc", damaged], check=False, capture_output=True
    )
    assert done.returncode != 0


def test_the_bills_of_materials_are_valid(releases: Releases) -> None:
    validator = JsonStrictValidator(SchemaVersion.V1_6)
    for path in releases.files[OLD].glob("*.cdx.json"):
        assert validator.validate_str(path.read_text()) is None, path.name


def test_the_packages_of_a_repository_are_signed(
    releases: Releases, key: str, tmp_path: Path
) -> None:
    repository = releases.repository("rpm", key, OLD)
    database = ("--define", f"_dbpath {tmp_path}")
    public = repository / "ssd-exporter-key.asc"
    subprocess.run(["rpmkeys", *database, "--import", public], check=True)
    packages = sorted(repository.glob("*.rpm"))
    assert len(packages) == 2
    for package in packages:
        done = subprocess.run(
            ["rpmkeys", *database, "--checksig", package],
            check=False,
            capture_output=True,
            text=True,
        )
        assert "digests signatures OK" in done.stdout, (package, done)
