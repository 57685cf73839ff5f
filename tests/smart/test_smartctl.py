"""Tests of the arguments of smartctl and of parsing its output."""

import itertools
import json
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.drives.fields import Fields, Json
from exporter.runtime.errors import CommandError, ParseError
from exporter.smart.smartctl import (
    OTHER_TEXT,
    Address,
    Logs,
    Scanned,
    arguments,
    may_be_killed,
    parse_scan,
    report,
    scan_arguments,
    version,
)
from tests.duration import PATIENCE_SECONDS
from tests.end_to_end.programs import need

TYPES = (
    *("", "auto", "ata", "sat", "sat,12", "sat,auto", "scsi", "nvme", "nvme,0xffffffff"),
    *("megaraid,3", "sat+megaraid,3", "cciss,0", "aacraid,0,1,2", "areca,1", "areca,1/2"),
    *("3ware,0", "hpt,1/2", "usbjmicron,x", "usbprolific", "usbsunplus", "usbcypress,0x24"),
    *("sntjmicron", "sntrealtek", "sntasmedia", "jmb39x,0", "jmb39x-q,1", "jms56x,0", "marvell"),
)


def logs(argv: list[str]) -> list[str]:
    return [after for option, after in itertools.pairwise(argv) if option == "-l"]


def test_an_ata_drive_is_queried_for_its_statistics_and_not_woken() -> None:
    argv = arguments("/sbin/smartctl", Address("/dev/sda", "sat"), Logs.REGULAR)
    assert ["/sbin/smartctl", "--json=c", "-d", "sat", "-n", "standby,3"] == argv[:6]
    assert "/dev/sda" == argv[-1]
    assert [f"devstat,{page}" for page in (1, 4, 5, 6, 7)] == logs(argv)
    assert {"-i", "-H", "-A", "wcache"} <= set(argv)


def test_an_nvme_drive_is_queried_without_the_drive_database() -> None:
    """It knows no NVMe drive, and reading it is most of the work of a call."""
    expected = "smartctl --json=c -d nvme -B /dev/null -i -H -A -c /dev/nvme0"
    assert expected.split() == arguments("smartctl", Address("/dev/nvme0", "nvme"), Logs.REGULAR)


def test_a_sas_drive_is_queried_for_its_error_and_ssd_logs() -> None:
    argv = arguments("smartctl", Address("/dev/sda", "scsi"), Logs.REGULAR)
    assert ["error", "ssd", "sasphy"] == logs(argv)
    assert "standby,3" in argv


@pytest.mark.parametrize("kind", ["megaraid,3", "cciss,0", "", "sntjmicron/sat", "areca,1"])
def test_a_drive_of_unknown_protocol_is_queried_for_everything_once(kind: str) -> None:
    argv = arguments("smartctl", Address("/dev/bus/0", kind), Logs.DAILY)
    asked = logs(argv)
    assert {"devstat,7", "ssd", "sasphy", "error", "selftest", "sataphy"} <= set(asked)
    assert len(asked) == len(set(asked))
    assert "-B" not in argv


@pytest.mark.parametrize("kind", TYPES)
def test_the_daily_set_is_the_regular_one_and_more(kind: str) -> None:
    address = Address("/dev/sda", kind)
    regular = arguments("smartctl", address, Logs.REGULAR)
    daily = arguments("smartctl", address, Logs.DAILY)
    assert set(regular) < set(daily)
    assert "selftest" in daily
    assert "-x" not in daily


def test_a_drive_known_to_be_an_ssd_is_queried_in_every_power_mode() -> None:
    argv = arguments("smartctl", Address("/dev/sda", "sat"), Logs.REGULAR, spins=False)
    assert "never" == argv[argv.index("-n") + 1]


def test_an_unknown_type_is_left_to_smartctl() -> None:
    assert "-d" not in arguments("smartctl", Address("/dev/sda"), Logs.REGULAR)


@pytest.mark.parametrize(
    "address",
    [
        Address("sda", "sat"),
        Address("--set=wcache,off", "sat"),
        Address("/dev/sda\n", "sat"),
        Address("/dev/sda", "sat -s off"),
        Address("/dev/sda", "sat\0"),
        Address("/dev/sda", "x" * 65),
    ],
)
def test_an_invalid_address_is_not_passed_to_smartctl(address: Address) -> None:
    with pytest.raises(CommandError):
        arguments("smartctl", address, Logs.REGULAR)


@pytest.mark.parametrize("logs_asked", Logs)
@pytest.mark.parametrize("kind", TYPES)
def test_the_real_smartctl_takes_the_arguments(kind: str, logs_asked: Logs) -> None:
    """smartctl checks them before it opens the drive, which fails: bit 1 is set, not bit 0."""
    need("smartctl")
    program = shutil.which("smartctl") or ""
    # Without a type, a missing path is reported as a wrong type.
    argv = arguments(program, Address("/dev/no-such-drive", kind or "sat"), logs_asked)
    done = subprocess.run(argv, capture_output=True, timeout=PATIENCE_SECONDS, check=False)
    messages = report(done.stdout)["smartctl"]
    assert "UNRECOGNIZED" not in str(messages)
    assert "INVALID" not in str(messages)
    if kind != "auto":
        assert 2 == done.returncode, messages


def test_the_real_smartctl_prints_its_version() -> None:
    need("smartctl")
    done = subprocess.run(
        ["smartctl", "--version"], capture_output=True, timeout=PATIENCE_SECONDS, check=True
    )
    found = version(done.stdout.decode())
    assert found is not None
    assert (6, 0) < found


def test_the_real_smartctl_scans() -> None:
    need("smartctl")
    done = subprocess.run(scan_arguments("smartctl"), capture_output=True, timeout=60, check=True)
    assert all(row.address.path.startswith("/dev/") for row in parse_scan(done.stdout))


@pytest.mark.parametrize(
    "kind", ["jmb39x,0", "jmb39x-q,1", "jms56x,0", "jmb39x,0+sat", "sat+jmb39x,1"]
)
def test_a_drive_that_is_talked_to_by_writes_is_not_killed(kind: str) -> None:
    assert not may_be_killed(kind)
    assert may_be_killed("sat")


def test_the_report_is_the_object_that_was_printed() -> None:
    assert {"a": [1, 2.5, None, "x"]} == report(b'{"a":[1,2.5,null,"x"]}\n')


def other_text(found: Json) -> list[str]:
    """The messages about text that stands outside of the report."""
    return [
        row.text("string") or ""
        for row in Fields(found).rows("smartctl", "messages")
        if (row.text("string") or "").startswith(OTHER_TEXT)
    ]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("  Pending defect count:", ""),
        ("  Pending defect count:0 {x}\n\n", "trailing {\n"),
        ('Warning: {"a": 1} is ignored\n', ""),
        ("", "} and more"),
        ("a\n" * 1000, ""),
    ],
)
@pytest.mark.parametrize("indent", [None, 2])
def test_text_beside_the_report_is_skipped_and_reported(
    before: str, after: str, indent: int | None
) -> None:
    """smartctl 7.0 to 7.2 print some text in spite of --json (scsiprint.cpp)."""
    document = {"json_format_version": [1, 0], "smartctl": {"version": [7, 2]}, "a": {"b": 1}}
    found = report(f"{before}{json.dumps(document, indent=indent)}{after}".encode())
    assert ([1, 0], {"b": 1}) == (found["json_format_version"], found["a"])
    (message,) = other_text(found)
    assert " ".join((before[:120] or after).split()) in message


def test_the_banner_before_the_report_is_not_reported() -> None:
    """smartctl 7.2 and older print it before JSON."""
    banner = (
        b"smartctl 7.2 2020-12-30 r5155 [x86_64-linux] (local build)\nCopyright (C) 2002-20\n\n"
    )
    assert {"a": 1} == report(banner + b'{"a": 1}')


@given(
    st.text(st.characters(exclude_characters='"', exclude_categories=["Cs"])),
    st.text(st.characters(exclude_characters='"', exclude_categories=["Cs"])),
)
def test_no_text_beside_the_report_changes_it(before: str, after: str) -> None:
    document = {"json_format_version": [1, 0], "serial_number": "S1"}
    found = report((before + json.dumps(document) + after).encode())
    assert document.items() <= found.items()


def test_bytes_that_are_not_utf_8_are_replaced() -> None:
    assert {"serial_number": "A\ufffdB"} == report(b'{"serial_number":"A\xffB"}')


def test_control_characters_are_taken_as_they_are() -> None:
    assert {"model_name": "A\x01\tB"} == report(b'{"model_name":"A\x01\tB"}')


def test_every_text_can_be_written_again() -> None:
    """Half of a surrogate pair cannot be encoded; an escaped backslash before "ud800" may stay."""
    found = report(rb'{"a":"\ud800","b":"\uDFFFx","c":"\\udabc","d":"\u00e4"}')
    assert "\ufffd\ufffdxä" == f"{found['a']}{found['b']}{found['d']}"
    str(found).encode()


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999"])
def test_a_number_that_is_not_finite_is_unknown(number: str) -> None:
    """Only its own field is lost, and the report is still written as valid JSON."""
    found = report(b'{"temperature":{"current":%s},"power_on_time":5}' % number.encode())
    assert {"temperature": {"current": None}, "power_on_time": 5} == found
    json.dumps(found, allow_nan=False)


@pytest.mark.parametrize(
    "output",
    [
        b"",
        b"\n",
        b"smartctl: not found",
        b'["a list"]',
        b"null",
        b"{",
        b'{"a":',
        b'{"a":"b',
        b'x{"a":1}',
        b"{'a':1}",
        b'{"a":' + b"[" * 500_000,
        b"{" * 10,
        b'{"a":' * 300_000,
        b'{"a":' + b"9" * 10_000 + b"}",
        b"\xff\xfe{\x00}",
    ],
)
def test_invalid_output_raises_a_parse_error(output: bytes) -> None:
    with pytest.raises(ParseError):
        report(output)


@given(st.binary())
def test_any_bytes_are_a_report_or_a_parse_error(output: bytes) -> None:
    for text in (output, b"{" + output, b'{"devices":' + output + b"}"):
        try:
            found = report(text)
            parse_scan(text)
        except ParseError:
            continue
        json.dumps(found, allow_nan=False)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(JSON)
def test_any_json_is_a_scan(devices: object) -> None:
    for whole in (devices, [devices], [{"name": devices, "type": devices, "protocol": devices}]):
        for row in parse_scan(json.dumps({"devices": whole}).encode()):
            assert row.address.path.startswith("/")
            arguments("smartctl", row.address, Logs.DAILY)


@given(st.text(), st.text())
def test_any_address_is_rejected_or_becomes_two_arguments(path: str, kind: str) -> None:
    try:
        argv = arguments("smartctl", Address(f"/{path}", kind), Logs.REGULAR)
    except CommandError:
        return
    assert f"/{path}" == argv[-1]
    assert kind in ("", argv[argv.index("-d") + 1] if kind else "")


def test_a_scan_names_drives_and_what_kept_them_from_being_opened() -> None:
    output = json.dumps(
        {
            "devices": [
                {
                    "name": "/dev/sda",
                    "info_name": "/dev/sda [SAT]",
                    "type": "sat",
                    "protocol": "ATA",
                },
                {"name": "/dev/bus/6", "type": "megaraid,8", "protocol": "SCSI"},
                {"name": "/dev/nvme0", "type": "nvme", "open_error": "Permission denied"},
            ]
        }
    )
    assert (
        Scanned(Address("/dev/sda", "sat"), "ATA"),
        Scanned(Address("/dev/bus/6", "megaraid,8"), "SCSI"),
        Scanned(Address("/dev/nvme0", "nvme"), "", "Permission denied"),
    ) == parse_scan(output.encode())


def test_a_row_that_is_not_understood_costs_itself() -> None:
    rows = [
        7,
        None,
        {},
        {"name": "sda"},
        {"name": "/dev/a\nb"},
        {"name": "/dev/sdb", "type": "a b"},
    ]
    output = json.dumps({"devices": rows}).encode()
    assert (Scanned(Address("/dev/sdb")),) == parse_scan(output)


def test_a_scan_that_found_nothing_is_empty() -> None:
    assert () == parse_scan(b'{"smartctl":{"exit_status":0}}')


def test_a_drive_that_is_found_twice_under_one_address_is_one() -> None:
    row = {"name": "/dev/sda", "type": "sat", "protocol": "ATA"}
    assert 1 == len(parse_scan(json.dumps({"devices": [row, row]}).encode()))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("smartctl 7.3 2022-02-28 r5338 [x86_64-linux] (local build)\n", (7, 3)),
        ("smartctl pre-8.0 2026-08-19\n", None),
        ("smartctl 8.0 2027-01-01\n", (8, 0)),
        ("sudo: a password is required\nsmartctl 6.6 2017-11-05 r4594\n", (6, 6)),
        ("", None),
        ("fio-3.33", None),
    ],
)
def test_the_version_is_in_the_first_line(text: str, expected: tuple[int, int] | None) -> None:
    assert expected == version(text)


@given(st.text())
def test_any_text_has_a_version_or_none(text: str) -> None:
    version(text)
    version(f"smartctl {text}")
