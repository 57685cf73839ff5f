"""A capture yields the same page as the host, and has no identifiers of it."""

import io
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from exporter.capture import host_capture
from exporter.config.settings import Paths
from exporter.linux import scsi_sysfs
from exporter.runtime.errors import ConfigError
from tests.capture.test_smartctl_capture import REPORT, SERIAL, WWN
from tests.fuzz import examples
from tests.hosts import host as hosts
from tests.hosts import tree
from tests.hosts.host import FOLDERS, Host
from tests.linux import trees
from tests.linux.trees import Sys

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

#: Labels whose values are replaced.
REPLACED = ("serial", "wwn", "mountpoint", "cgroup")


def place(path: Path, sub: str) -> Path:
    made = path / sub
    made.mkdir()
    return made


def paths(where: Path) -> Paths:
    return Paths(procfs=where / "proc", sysfs=where / "sys", rootfs=where / "rootfs")


def captured(where: Path, directory: Path, outputs: dict[str, bytes] | None = None) -> Path:
    assert 0 == host_capture.run(paths(where), outputs or {}, directory, io.StringIO())
    return directory


def printed(where: Path) -> dict[str, bytes]:
    """Returns the outputs of smartctl on a host of tests/hosts, by file name."""
    return {file.stem: file.read_bytes() for file in (where / "smartctl").glob("*.json")}


def page_of(machine: Host) -> str:
    """Returns the page of a host before its first step."""
    machine._steps = []
    return machine.play().page()


def replayed(folder: Path, where: Path, like: Path) -> Host:
    """Returns the host of a captured folder with the settings of another."""
    values = tomllib.loads((like / "case.toml").read_text())
    (folder / "case.toml").write_text(toml(values.get("settings", {}), "settings"))
    return Host(folder, where)


def toml(values: dict[str, Any], name: str) -> str:
    """Returns TOML text for tables of plain values and arrays of such tables."""
    plain, tables = "", ""
    for key, value in values.items():
        inner = f"{name}.{json.dumps(key)}"
        if isinstance(value, dict):
            tables += toml(value, inner)
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            tables += "".join(f"[{toml(each, inner).replace(']', ']]', 1)}" for each in value)
        else:
            plain += f"{json.dumps(key)} = {json.dumps(value)}\n"
    return f"[{name}]\n{plain}{tables}"


def anonymous(page: str) -> list[str]:
    """Returns the lines of a page with a number instead of each identifier."""
    known: dict[tuple[str, str], str] = {}

    def numbered(match: re.Match[str]) -> str:
        label, value = match[1], match[2]
        token = known.setdefault((label, value), f"#{len(known)}") if value else ""
        return f'{label}="{token}"'

    labels = "|".join(REPLACED)
    return re.sub(rf'\b({labels})="((?:[^"\\]|\\.)*)"', numbered, page).splitlines()


@pytest.mark.parametrize("folder", hosts.folders(), ids=lambda folder: folder.name)
def test_captured_host_has_the_same_page(folder: Path, tmp_path: Path) -> None:
    before = Host(folder, place(tmp_path, "before"))
    copy = captured(tmp_path / "before", tmp_path / "capture", printed(tmp_path / "before"))
    after = replayed(copy, place(tmp_path, "after"), folder)
    assert anonymous(page_of(before)) == anonymous(page_of(after))


def grepped(directory: Path) -> bytes:
    """Returns all names and contents of a folder, and the bytes that it has in hexadecimal."""
    whole = b""
    for path in sorted(directory.rglob("*")):
        whole += str(path.relative_to(directory)).encode() + b"\n"
        if path.is_file():
            whole += path.read_bytes()
    for digits in re.findall(rb":= ([0-9a-f]+)$", whole, re.MULTILINE):
        raw = bytes.fromhex(digits.decode())
        swapped = bytes(each for pair in zip(raw[1::2], raw[::2], strict=False) for each in pair)
        whole += raw + swapped
    return whole.lower()


@pytest.mark.slow
def test_captures_of_all_hosts_have_no_identifiers(tmp_path: Path) -> None:
    """No serial number or WWN on the page of a host is in its capture."""
    for folder in hosts.folders():
        where = place(tmp_path, folder.name)
        machine = Host(folder, where)
        whole = grepped(captured(where, tmp_path / f"{folder.name}-capture"))
        shown = page_of(machine)
        for label in ("serial", "wwn"):
            for value in set(re.findall(rf'\b{label}="([^"]+)"', shown)):
                assert value.lower().encode() not in whole, f"{folder.name}: {value}"


def sata_host(where: Path, serial: str, wwn: str) -> None:
    """Creates a host with one SATA drive, with its names in all places that the kernel has."""
    machine = Sys(where / "sys")
    trees.sata(machine)
    (device,) = (path.parent for path in machine.root.rglob("vpd_pg89"))
    page = bytearray(scsi_sysfs.read_vpd_page(device / "vpd_pg89"))
    raw = serial.encode().rjust(20)
    page[80:100] = bytes(each for pair in zip(raw[1::2], raw[::2], strict=True) for each in pair)
    digits = bytes.fromhex(wwn)
    page[276:284] = bytes(
        each for pair in zip(digits[1::2], digits[::2], strict=True) for each in pair
    )
    (device / "vpd_pg89").write_bytes(page)
    (device / "vpd_pg80").write_bytes(b"\0\x80\0\x14" + raw)
    (device / "wwid").write_text(f"t10.ATA     Flashworks S500                 {serial}\n")
    (device / "model").write_text(f"S500 {serial}\n")
    assert (serial, f"naa.{wwn}") == _named(scsi_sysfs.parse_ata_page(bytes(page)))
    (where / "proc").mkdir()
    (where / "rootfs").mkdir()


def _named(ata: scsi_sysfs.AtaIdentity) -> tuple[str | None, str | None]:
    return ata.serial, ata.wwn


#: Serial numbers that do not start with a hexadecimal digit. A placeholder of a WWN could contain
#: such a number by chance.
serials = st.from_regex(r"[G-Z][A-Z0-9]{2}[A-Z0-9 _-]{2,14}[A-Z0-9]{3}", fullmatch=True)
#: The decimal form of the number is searched too. A captured VPD page consists mostly of zeros, and
#: contains 10000000 by chance.
wwns = (
    st.integers(1, (1 << 36) - 2)
    .filter(lambda n: "00000" not in str(n))
    .map(lambda n: f"5002538{n:09x}")
)


@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(serials, wwns)
def test_capture_has_no_identifiers_for_any_drive(
    tmp_path_factory: pytest.TempPathFactory, serial: str, wwn: str
) -> None:
    """Checks sysfs, VPD pages, the outputs of smartctl and the names of files."""
    where = tmp_path_factory.mktemp("host")
    sata_host(where, serial, wwn)
    report = json.dumps(
        {
            "serial_number": serial,
            "model_name": f"S500 {serial}",
            "wwn": {"naa": 5, "oui": 9528, "id": int(wwn[7:], 16)},
            "logical_unit_id": f"0x{wwn}",
            "smartctl": {
                "argv": [f"/dev/disk/by-id/ata-S500_{serial.replace(' ', '_')}"],
                "output": [f"Serial Number:    {serial}", f"LU WWN: 5 002538 {wwn[7:]}"],
            },
        }
    )
    outputs = {
        f"sda-{serial}": report.encode(),
        "text": f"Serial Number: {serial}\nLU WWN Device Id: 5 002538 {wwn[7:]}\n".encode(),
        "cut off": report.encode()[:-3],
    }
    whole = grepped(captured(where, where / "capture", outputs))
    for name in (serial, serial.replace(" ", "_"), wwn, f"002538 {wwn[7:]}"):
        assert name.lower().encode() not in whole
    assert str(int(wwn[7:], 16)).encode() not in whole or int(wwn[7:], 16) < 100_000


def test_drive_has_the_same_placeholder_in_sysfs_and_reports(tmp_path: Path) -> None:
    where = place(tmp_path, "host")
    sata_host(where, SERIAL, WWN)
    copy = captured(where, tmp_path / "capture", {"sda": json.dumps(REPORT).encode()})
    planted = tmp_path / "planted"
    tree.create_tree(planted, (copy / "sys.tree").read_text())
    (page,) = planted.rglob("vpd_pg89")
    report = json.loads((copy / "smartctl" / "sda.json").read_text())
    wwn = report["wwn"]
    digits = f"naa.{wwn['naa']:x}{wwn['oui']:06x}{wwn['id']:09x}"
    ata = scsi_sysfs.parse_ata_page(page.read_bytes())
    assert (report["serial_number"], digits) == (ata.serial, ata.wwn)
    assert f"naa.{report['logical_unit_id'][2:]}" == digits
    assert ata.serial == scsi_sysfs.parse_serial_page((page.parent / "vpd_pg80").read_bytes())


def test_capture_has_no_passwords_and_customer_names(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "case.toml").write_text('like = "two-nvme"\n')
    where = place(tmp_path, "host")
    hosts.copy_files(FOLDERS / "two-nvme", where)
    arguments = ("mysqld", "--password=hunter2", "--datadir=/var/lib/mysql/acme", "--log-bin")
    (where / "proc" / "1841" / "cmdline").write_text("".join(f"{each}\0" for each in arguments))
    (where / "proc" / "1841" / "cgroup").write_text("0::/system.slice/mysql@acme.service\n")
    (where / "proc" / "sys" / "kernel" / "hostname").write_text("acme-db-1\n")
    (where / "rootfs").mkdir()
    whole = grepped(captured(where, tmp_path / "capture", {"scan": b'{"x": "acme-db-1"}'}))
    assert b"hunter2" not in whole
    assert b"acme" not in whole
    assert b"--datadir=/var/lib/mysql/name" in whole


def test_file_names_are_safe_and_unique(tmp_path: Path) -> None:
    where = place(tmp_path, "host")
    sata_host(where, SERIAL, WWN)
    names = ("scan", "../../etc/passwd", "bus/0 megaraid,3", "bus-0-megaraid,3", "", "-", "x" * 999)
    captured(where, tmp_path / "capture", dict.fromkeys(names, b"{}"))
    files = {path.name for path in (tmp_path / "capture" / "smartctl").iterdir()}
    expected = {
        *("scan.json", "etc-passwd.json", "bus-0-megaraid-3.json", "bus-0-megaraid-3-2.json"),
        *("drive.json", "drive-2.json", f"{'x' * 100}.json"),
    }
    assert expected == files
    assert {"host", "capture"} == set(os.listdir(tmp_path))


@pytest.mark.parametrize("kind", ["full", "link", "file", "others", "no parent"])
def test_refuses_a_directory_that_is_not_empty_or_not_own(kind: str, tmp_path: Path) -> None:
    where = place(tmp_path, "host")
    sata_host(where, SERIAL, WWN)
    directory = tmp_path / "capture"
    match kind:
        case "full":
            directory.mkdir()
            (directory / "kept").touch()
        case "link":
            directory.symlink_to(place(tmp_path, "elsewhere"))
        case "file":
            directory.touch()
        case "others":
            directory.mkdir()
            directory.chmod(0o777)
        case _:
            directory = directory / "below"
    with pytest.raises(ConfigError, match="name another directory"):
        host_capture.run(paths(where), {}, directory, io.StringIO())
    assert [] == list(tmp_path.rglob("sys.tree"))


def test_writes_an_empty_directory_and_prints_the_next_step(tmp_path: Path) -> None:
    where = place(tmp_path, "host")
    sata_host(where, SERIAL, WWN)
    out = io.StringIO()
    directory = place(tmp_path, "capture")
    assert 0 == host_capture.run(paths(where), {"scan": b"{}"}, directory, out)
    assert "python -m tests.hosts NAME" in out.getvalue()
    expected = {"README.md", "case.toml", "proc", "smartctl", "sys.tree"}
    assert expected == set(os.listdir(directory))
    assert "Flashworks S500 Enterprise" not in (directory / "README.md").read_text()
    assert "S500 SN" in (directory / "README.md").read_text()


def test_refuses_too_large_captures(tmp_path: Path) -> None:
    where = place(tmp_path, "host")
    sata_host(where, SERIAL, WWN)
    with pytest.raises(ConfigError, match="at most 67108864"):
        host_capture.run(
            paths(where), {"scan": b"x" * (65 << 20)}, tmp_path / "capture", io.StringIO()
        )


def test_this_machine(tmp_path: Path) -> None:
    directory = tmp_path / "capture"
    before = set(os.listdir("/sys/block"))
    assert 0 == host_capture.run(Paths(), {}, directory, io.StringIO())
    after = set(os.listdir("/sys/block"))
    planted = tmp_path / "planted"
    tree.create_tree(planted, (directory / "sys.tree").read_text())
    if before | after:
        # Other tests may create and remove devices.
        assert before & after <= set(os.listdir(planted / "block")) <= before | after
