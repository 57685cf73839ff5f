"""A captured host shows the same page, and holds nothing that says whose it is."""

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

from exporter.capture import host_capture, identity_redaction, smartctl_capture
from exporter.capture.proc_capture import redact_mounts
from exporter.capture.redactor import Redactor
from exporter.config import Paths
from exporter.errors import ConfigError
from exporter.linux import mountinfo, scsi_sysfs
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

SERIAL, WWN = "S5E9ZZQ00031", "5002538f0badcafe"

#: What smartctl 7.3 prints of a SATA drive, in part.
REPORT = {
    "json_format_version": [1, 0],
    "smartctl": {"argv": ["smartctl", f"/dev/disk/by-id/ata-Flashworks_S500_{SERIAL}"]},
    "device": {"name": "/dev/sda", "info_name": "/dev/sda [SAT]", "protocol": "ATA"},
    "model_name": f"Flashworks S500 {SERIAL}",
    "serial_number": SERIAL,
    "wwn": {"naa": 5, "oui": 9528, "id": 64620448510},
    "logical_unit_id": f"0x{WWN}",
    "nvme_namespaces": [{"id": 1, "eui64": {"oui": 9528, "ext_id": 1010110009}}],
    "data_units_written": 12345678901234567890,
    "data_units_written_s": "12345678901234567890",
}


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
    """What smartctl prints on a machine of tests/hosts."""
    return {file.stem: file.read_bytes() for file in (where / "smartctl").glob("*.json")}


def page_of(machine: Host) -> str:
    """The page of a machine at its beginning."""
    machine._steps = []
    return machine.play().page()


def replayed(folder: Path, where: Path, like: Path) -> Host:
    """The machine of a captured folder under the settings of another."""
    values = tomllib.loads((like / "case.toml").read_text())
    (folder / "case.toml").write_text(toml(values.get("settings", {}), "settings"))
    return Host(folder, where)


def toml(values: dict[str, Any], name: str) -> str:
    """Tables of plain values, and arrays of such tables."""
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
    """A page's lines with names told apart, and not told."""
    known: dict[tuple[str, str], str] = {}

    def told_apart(match: re.Match[str]) -> str:
        label, value = match[1], match[2]
        token = known.setdefault((label, value), f"#{len(known)}") if value else ""
        return f'{label}="{token}"'

    labels = "|".join(REPLACED)
    return re.sub(rf'\b({labels})="((?:[^"\\]|\\.)*)"', told_apart, page).splitlines()


@pytest.mark.parametrize("folder", hosts.folders(), ids=lambda folder: folder.name)
def test_a_captured_machine_shows_the_same_page(folder: Path, tmp_path: Path) -> None:
    before = Host(folder, place(tmp_path, "before"))
    copy = captured(tmp_path / "before", tmp_path / "capture", printed(tmp_path / "before"))
    after = replayed(copy, place(tmp_path, "after"), folder)
    assert anonymous(page_of(before)) == anonymous(page_of(after))


def grepped(directory: Path) -> bytes:
    """All names and contents of a folder, and what stands in it as hexadecimal digits."""
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


def test_no_serial_number_or_wwn_of_any_machine_is_left(tmp_path: Path) -> None:
    """Nor a UUID, nor what a page shows of the machine's own mounts."""
    for folder in hosts.folders():
        where = place(tmp_path, folder.name)
        machine = Host(folder, where)
        whole = grepped(captured(where, tmp_path / f"{folder.name}-capture"))
        shown = page_of(machine)
        for label in ("serial", "wwn"):
            for value in set(re.findall(rf'\b{label}="([^"]+)"', shown)):
                assert value.lower().encode() not in whole, f"{folder.name}: {value}"


def sata_host(where: Path, serial: str, wwn: str) -> None:
    """A host with one SATA drive, named in every place that the kernel has for it."""
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


#: No serial number begins with a hexadecimal digit: a new WWN would hold it by chance.
serials = st.from_regex(r"[G-Z][A-Z0-9]{2}[A-Z0-9 _-]{2,14}[A-Z0-9]{3}", fullmatch=True)
wwns = st.integers(1, (1 << 36) - 2).map(lambda n: f"5002538{n:09x}")


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(serials, wwns)
def test_no_serial_number_or_wwn_is_left_whatever_it_is(
    tmp_path_factory: pytest.TempPathFactory, serial: str, wwn: str
) -> None:
    """Not in sysfs, not in VPD bytes, not in smartctl's output, not in the name of a file."""
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


def test_a_report_keeps_everything_but_names() -> None:
    redactor = Redactor((SERIAL,), (WWN,))
    found = json.loads(smartctl_capture.redact_output(json.dumps(REPORT).encode(), redactor))
    expected = {
        **REPORT,
        "smartctl": {"argv": ["smartctl", "/dev/disk/by-id/ata-Flashworks_S500_SN00000001"]},
        "model_name": "Flashworks S500 SN00000001",
        "serial_number": "SN00000001",
        "wwn": {"naa": 5, "oui": 9528, "id": int("f00000001"[1:], 16)},
        "logical_unit_id": "0x5002538000000001",
        "nvme_namespaces": [{"id": 1, "eui64": {"oui": 9528, "ext_id": 2}}],
    }
    assert expected == found


def test_the_same_drive_has_the_same_stand_in_in_sysfs_and_in_reports(tmp_path: Path) -> None:
    where = place(tmp_path, "host")
    sata_host(where, SERIAL, WWN)
    copy = captured(where, tmp_path / "capture", {"sda": json.dumps(REPORT).encode()})
    planted = tmp_path / "planted"
    tree.plant(planted, (copy / "sys.tree").read_text())
    (page,) = planted.rglob("vpd_pg89")
    report = json.loads((copy / "smartctl" / "sda.json").read_text())
    wwn = report["wwn"]
    digits = f"naa.{wwn['naa']:x}{wwn['oui']:06x}{wwn['id']:09x}"
    ata = scsi_sysfs.parse_ata_page(page.read_bytes())
    assert (report["serial_number"], digits) == (ata.serial, ata.wwn)
    assert f"naa.{report['logical_unit_id'][2:]}" == digits
    assert ata.serial == scsi_sysfs.parse_serial_page((page.parent / "vpd_pg80").read_bytes())


@pytest.mark.parametrize(
    ("wwid", "expected"),
    [
        ("naa.5002538f0badcafe", "naa.5002538000000001"),
        ("naa.600508b1001c0badcafe0badcafe0bad", "naa.600508b0000000000000000000000001"),
        ("eui.0025384b0badcafe", "eui.0025384000000001"),
        ("eui.36344630573011320025380badcafe00", "eui.00000000000000000000000000000001"),
        ("uuid.8c1f7e0a-1111-4222-8333-444455556666", "uuid.00000000-0000-4000-8000-000000000001"),
        ("t10.ATA     Flashworks S500   S5E9ZZQ00031", "t10.ATA     Flashworks S500   SN00000001"),
        ("t10.ATA     Flashworks S500   Z1", "t10.ATA     Flashworks S500   SN00000001"),
        (
            "nvme.1344-53354539-466c617368-00000001",
            "nvme.1344-534e3030303030303031-466c617368-00000001",
        ),
        ("something else", "SN00000001"),
    ],
)
def test_each_form_of_a_wwid_keeps_its_form(wwid: str, expected: str) -> None:
    content = f"{wwid}\n".encode()
    redactor = Redactor(
        tuple(identity_redaction.serials("wwid", content)),
        tuple(identity_redaction.wwns("wwid", content)),
    )
    assert f"{expected}\n".encode() == identity_redaction.redact_attribute(
        "wwid", content, redactor
    )


@given(st.sampled_from(["wwid", "serial", "model", "vpd_pg80", "vpd_pg89"]), st.binary())
def test_any_attribute_is_redacted(name: str, content: bytes) -> None:
    serials = tuple(filter(None, identity_redaction.serials(name, content)))
    redactor = Redactor(serials, tuple(identity_redaction.wwns(name, content)))
    again = identity_redaction.redact_attribute(name, content, redactor)
    assert not any(len(each) > 9 and each.encode("utf-8", "replace") in again for each in serials)


def test_two_drives_with_one_serial_number_still_have_one() -> None:
    redactor = Redactor(("AA000000000000000001", "B1"), ())
    assert redactor.serial("AA000000000000000001") == redactor.serial("AA000000000000000001")
    assert redactor.serial("B1") != redactor.serial("AA000000000000000001")


def test_a_stand_in_is_no_original() -> None:
    redactor = Redactor(("SN00000001", "SN00000002"), ("5002538000000001",))
    assert "SN00000003" == redactor.serial("SN00000001")
    assert "5002538000000002" == redactor.wwn("5002538000000001")


def test_zeros_are_nobodys_wwn() -> None:
    assert "0x0000000000000000" == Redactor((), ()).text("0x0000000000000000")


def test_uuids_and_host_names_are_replaced_wherever_they_stand() -> None:
    redactor = Redactor((), (), ("db7.shop.example", "db7"))
    text = "/dev/disk/by-uuid/8C1F7E0A-1111-4222-8333-444455556666 on db7, db7.shop.example, db70"
    expected = "/dev/disk/by-uuid/00000000-0000-4000-8000-000000000001 on host, host, db70"
    assert expected == redactor.text(text)


def test_mounts_keep_what_the_exporter_reads_and_no_names() -> None:
    text = (
        "22 1 259:1 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p1 rw,errors=remount-ro\n"
        "23 22 0:40 /@acme /srv/acme\\040db rw - btrfs /dev/mapper/acme-db rw,subvol=/@acme\n"
        "24 22 0:41 / /mnt/share rw - nfs4 files.acme.example:/x rw,addr=192.0.2.7,vers=4.2\n"
        "25 22 0:42 / /acme rw - fuse.sshfs me@acme: rw,user_id=1000\n"
        "no line\n"
    )
    expected = (
        "22 1 259:1 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p1 rw,errors=remount-ro\n"
        "23 22 0:40 /name1 /srv/name2 rw - btrfs /dev/mapper/name3 rw,subvol=/name1\n"
        "24 22 0:41 / /mnt/share rw - nfs4 nfs4 rw\n"
        "25 22 0:42 / /name4 rw - fuse.sshfs fuse.sshfs rw\n"
        "broken\n"
    )
    assert expected == redact_mounts(text, Redactor((), ()))


@given(st.text())
def test_any_mounts_have_as_many_faults_as_before(text: str) -> None:
    before = mountinfo.parse(text)
    after = mountinfo.parse(redact_mounts(text, Redactor((), ())))
    assert len(before.value) == len(after.value)
    assert len(before.faults) == len(after.faults)
    assert [m.filesystem_readonly for m in before.value] == [
        m.filesystem_readonly for m in after.value
    ]


def test_a_servers_password_and_its_customers_name_stay_behind(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "case.toml").write_text('like = "two-nvme"\n')
    where = place(tmp_path, "host")
    hosts.lay(FOLDERS / "two-nvme", where)
    arguments = ("mysqld", "--password=hunter2", "--datadir=/var/lib/mysql/acme", "--log-bin")
    (where / "proc" / "1841" / "cmdline").write_text("".join(f"{each}\0" for each in arguments))
    (where / "proc" / "1841" / "cgroup").write_text("0::/system.slice/mysql@acme.service\n")
    (where / "proc" / "sys" / "kernel" / "hostname").write_text("acme-db-1\n")
    (where / "rootfs").mkdir()
    whole = grepped(captured(where, tmp_path / "capture", {"scan": b'{"x": "acme-db-1"}'}))
    assert b"hunter2" not in whole
    assert b"acme" not in whole
    assert b"--datadir=/var/lib/mysql/name" in whole


outputs = st.one_of(
    st.binary(max_size=400),
    st.sampled_from(
        [b"", b"[" * 5000, b'{"wwn": {"naa": 1e400, "oui": -1, "id": true}}', b'{"a": NaN}'],
    ),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=9),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["naa", "oui", "id", "ext_id", "serial_number", "x_s"]), inner
            )
        ),
        max_leaves=9,
    ).map(lambda value: json.dumps(value).encode()),
)


@given(outputs)
def test_any_output_is_redacted(output: bytes) -> None:
    found = tuple(filter(None, smartctl_capture.serials(output)))
    redactor = Redactor(found, tuple(smartctl_capture.wwns(output)))
    again = smartctl_capture.redact_output(output, redactor)
    assert isinstance(again, bytes)


def test_file_names_stay_in_the_folder_and_apart(tmp_path: Path) -> None:
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
def test_only_an_empty_directory_of_ours_is_filled(kind: str, tmp_path: Path) -> None:
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
    with pytest.raises(ConfigError, match="name another"):
        host_capture.run(paths(where), {}, directory, io.StringIO())
    assert [] == list(tmp_path.rglob("sys.tree"))


def test_an_empty_directory_is_filled_and_the_next_step_said(tmp_path: Path) -> None:
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


def test_too_much_is_refused(tmp_path: Path) -> None:
    where = place(tmp_path, "host")
    sata_host(where, SERIAL, WWN)
    with pytest.raises(ConfigError, match="at most 67108864"):
        host_capture.run(
            paths(where), {"scan": b"x" * (65 << 20)}, tmp_path / "capture", io.StringIO()
        )


def test_this_machine_is_captured(tmp_path: Path) -> None:
    captured_here = tmp_path / "capture"
    assert 0 == host_capture.run(Paths(), {}, captured_here, io.StringIO())
    names = {name for name in os.listdir("/sys/block") if "/" not in name}
    planted = tmp_path / "planted"
    tree.plant(planted, (captured_here / "sys.tree").read_text())
    assert names == set(os.listdir(planted / "block")) if names else True
