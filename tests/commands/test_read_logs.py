"""`ssd-exporter read` reads raw log pages, and nvme-cli's output of log pages."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.cli import main
from exporter.commands import read_command
from exporter.drives.nvme_logs.controller import Controller
from exporter.drives.nvme_logs.log_document import parse_logs
from exporter.drives.nvme_logs.log_encoding import LOGS_KEY, encode_logs
from exporter.drives.nvme_logs.log_values import NvmeLogValues
from exporter.reading.nvme_cli_logs import log_report, parse_log_text
from exporter.reading.raw_log import page_bytes
from exporter.runtime.errors import ParseError
from tests.commands.test_read import found, read, stream
from tests.commands.test_read_nvme_cli import id_ctrl, smart_log
from tests.drives.nvme_logs import pages
from tests.drives.nvme_logs.pages import REAL_PAGES, ocp

OCP = next(real for real in REAL_PAGES if real.page == 0xC0)
INTEL = next(real for real in REAL_PAGES if "INTEL" in real.source)


def smartctl_dump(data: bytes) -> str:
    """`smartctl -l nvmelog,0xc0,512` (smartmontools 7.3, dStrHex)."""
    lines = ["smartctl 7.3 2022-02-28 r5338", "", "NVMe Log 0xc0 (0x0200 bytes)"]
    for at in range(0, len(data), 16):
        row = data[at : at + 16]
        left, right = row[:8].hex(" "), row[8:].hex(" ")
        text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        lines.append(f" {at:02x}{'':<5}{left}  {right}    {text}")
    return "\n".join(lines) + "\n\n"


def nvme_dump(data: bytes) -> str:
    """`nvme get-log /dev/nvme0 --log-id=0xc0 --log-len=512` (nvme-cli 2.4)."""
    lines = ["Device:nvme0 log-id:192 namespace-id:0xffffffff"]
    lines.append("       0  1  2  3  4  5  6  7  8  9  a  b  c  d  e  f")
    for at in range(0, len(data), 16):
        row = data[at : at + 16]
        text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        lines.append(f'{at:04x}: {row.hex(" ")} "{text}"')
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("dump", [smartctl_dump, nvme_dump, lambda data: data])
def test_a_page_is_read_from_a_dump_or_as_it_is(dump: Any) -> None:
    for real in REAL_PAGES:
        content = dump(real.data)
        assert real.data == page_bytes(content if isinstance(content, bytes) else content.encode())


def test_a_dump_with_a_gap_is_not_a_page() -> None:
    lines = smartctl_dump(OCP.data).split("\n")
    del lines[9]
    with pytest.raises(ParseError, match="gap at 60h"):
        page_bytes("\n".join(lines).encode())


@given(st.binary(max_size=3000) | st.text(st.sampled_from("0123456789abcdef: \n"), max_size=3000))
def test_any_content_is_a_page_or_an_error(content: bytes | str) -> None:
    try:
        page_bytes(content if isinstance(content, bytes) else content.encode())
    except ParseError as e:
        assert str(e)  # noqa: PT017 - both are allowed


def ran(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    status = main(["read", *arguments])
    return status, capsys.readouterr().out


def test_the_values_of_a_page_are_printed_with_their_units(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "c0.bin"
    file.write_bytes(OCP.data)
    status, text = ran("--log", "0xc0", str(file), capsys=capsys)
    assert 0 == status
    lines = [" ".join(line.split()) for line in text.split("\n")]
    assert f"{file}, log page C0h" == lines[0]
    assert "nand_written_bytes 657 TB" in lines
    assert "capacitor_health_percent 219 %" in lines
    assert "refreshed_blocks 3,563,200" in lines
    status, text = ran("--json", "--log", "192", str(file), capsys=capsys)
    values = json.loads(text)
    assert (656577089470464, "0xc0") == (values["nand_written_bytes"], values["log"])
    assert "bad_system_blocks" not in values


def test_a_page_of_a_vendor_needs_the_vendor(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "ca.txt"
    file.write_text(nvme_dump(INTEL.data))
    status, text = ran("--log=0xca", str(file), capsys=capsys)
    assert 1 == status
    assert "no layout is known for vendor unknown" in text
    status, text = ran("--log=0xca", "--vendor=0x8086", "--json", str(file), capsys=capsys)
    assert (0, 7547837550166016) == (status, json.loads(text)["nand_written_bytes"])
    seagate = next(real for real in REAL_PAGES if real.page == 0xC4)
    file.write_bytes(seagate.data)
    status, text = ran(
        *("--log=0xc4", "--vendor=0x1bb1", "--model=XM1441", "--json", str(file)), capsys=capsys
    )
    assert (0, 2888) == (status, json.loads(text)["erase_count_max"])


def test_the_latency_monitor_is_printed_per_bucket() -> None:
    parts = ((0, 1, 7), (4, 2, 1), *((6 + n, 1, n + 1) for n in range(4)), (494, 2, 4))
    data = pages.page((*parts, (44, 4, 12), (214, 2, 13)), 496) + pages.OCP_LATENCY_GUID
    out = io.StringIO()
    status = read_command.run_log(
        [], 0xC3, Controller(), as_json=False, out=out, standard_input=stream(data)
    )
    assert 0 == status
    lines = [" ".join(line.split()) for line in out.getvalue().split("\n")]
    assert "active read from 0.01 s below 0.015 s 12, the first took 0.013 s" in lines
    assert "static deallocate from 0.025 s 0" in lines
    assert "window_seconds 5 min" in lines


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--log=0x100", "f"], "not a log page such as 0xc0: 0x100"),
        (["--log=x", "f"], "not a log page such as 0xc0: x"),
        (["--vendor=0x12345", "--log=2", "f"], "not a PCI vendor ID such as 0x8086: 0x12345"),
        (["--vendor=0x8086", "f"], "add --log PAGE"),
        (["--model=X", "f"], "add --log PAGE"),
    ],
)
def test_a_mistake_in_the_arguments_has_status_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        status = main(["read", *arguments])
    except SystemExit as e:
        status = int(str(e.code))
    assert 2 == status
    assert message in capsys.readouterr().err


def test_a_file_that_is_too_large_or_missing_has_status_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    large = tmp_path / "large"
    large.write_bytes(b"\0" * ((1 << 20) + 1))
    status, text = ran("--log=0xc0", str(large), str(tmp_path / "missing"), capsys=capsys)
    assert 1 == status
    assert "it is no log page" in text
    assert "No such file" in text
    large.write_bytes(b"\0" * 20_000)
    assert "20,000 bytes are no log page" in ran("--log=0xc0", str(large), capsys=capsys)[1]


#: `nvme ocp smart-add-log -o json` of the drive of `OCP`: the two generations of keys. Keys that
#: the exporter does not use are left out.
GENERATIONS: dict[str, dict[str, Any]] = {
    "1": {
        "Physical media units written": {"hi": 0, "lo": 656577089470464},
        "Physical media units read": {"hi": 0, "lo": 827862865477632},
        "Bad user nand blocks - Raw": 0,
        "Bad user nand blocks - Normalized": 100,
        "Bad system nand blocks - Raw": (1 << 48) - 1,
        "Bad system nand blocks - Normalized": 65535,
        "XOR recovery count": 0,
        "Uncorrectable read error count": 0,
        "Soft ecc error count": 426,
        "End to end detected errors": 0,
        "End to end corrected errors": 0,
        "System data percent used": 0,
        "Refresh counts": 3563200,
        "Max User data erase counts": 302,
        "Min User data erase counts": 1,
        "Number of Thermal throttling events": 0,
        "Current throttling status": 0,
        "PCIe correctable error count": 0,
        "Incomplete shutdowns": 0,
        "Percent free blocks": 100,
        "Capacitor health": 219,
        "Unaligned I/O": 114116,
        "NUSE - Namespace utilization": 5,
        "PLP start count": 2,
        "Endurance estimate": 18607325,
        "Log page version": 3,
        "Log page GUID": "0xafd514c97c6f4f9ca4f2bfea2810afc5",
        "PCIe Link Retraining Count": 0,
        "Power State Change Count": 0,
    },
    "2": {
        "physical_media_units_written": {"hi": 0, "lo": 656577089470464},
        "physical_media_units_read": {"hi": 0, "lo": 827862865477632},
        "bad_user_nand_blocks_raw": 0,
        "bad_user_nand_blocks_normalized": 100,
        "bad_system_nand_blocks_raw": (1 << 48) - 1,
        "bad_system_nand_blocks_normalized": 65535,
        "xor_recovery_count": 0,
        "uncorrectable_read_errors": 0,
        "soft_ecc_error_count": 426,
        "end_to_end_detected_errors": 0,
        "end_to_end_corrected_errors": 0,
        "system_data_percent_used": 0,
        "refresh_count": 3563200,
        "max_user_data_erase_count": 302,
        "min_user_data_erase_count": 1,
        "thermal_throttling_events": 0,
        "current_throttling_status": 0,
        "pcie_correctable_errors": 0,
        "incomplete_shutdowns": 0,
        "percent_free_blocks": 100,
        "capacitor_health": 219,
        "unaligned_io": 114116,
        "plp_start_count": 2,
        "endurance_estimate": 18607325,
        "log_page_version": 3,
        "pcie_link_retraining_count": 0,
        "power_state_change_count": 0,
    },
}

#: The text of nvme-cli 2.x, and that of the command of Western Digital (facebook/CacheLib).
OCP_TEXT = """SMART Cloud Attributes :-
  Physical media units written -\t\t0 656577089470464
  Physical media units read    -\t\t0 827862865477632
  Bad user nand blocks - Raw\t\t\t0
  Bad user nand blocks - Normalized\t\t100
  Bad system nand blocks - Raw\t\t\t281474976710655
  Bad system nand blocks - Normalized\t\t65535
  XOR recovery count\t\t\t\t0
  Uncorrectable read error count\t\t0
  Soft ecc error count\t\t\t\t426
  End to end detected errors\t\t\t0
  End to end corrected errors\t\t\t0
  System data percent used\t\t\t0
  Refresh counts\t\t\t\t3563200
  Max User data erase counts\t\t\t302
  Min User data erase counts\t\t\t1
  Number of Thermal throttling events\t\t0
  Current throttling status\t\t\t0x0
  PCIe correctable error count\t\t\t0
  Incomplete shutdowns\t\t\t\t0
  Percent free blocks\t\t\t\t100
  Capacitor health\t\t\t\t219
  Unaligned I/O\t\t\t\t\t114116
  Security Version Number\t\t\t0
  NUSE - Namespace utilization\t\t\t5
  PLP start count\t\t\t\t2
  Endurance estimate\t\t\t\t18607325
  Log page version\t\t\t\t3
  Log page GUID\t\t\t\t\t0xafd514c97c6f4f9ca4f2bfea2810afc5
  Errata Version Field                          0
  Point Version Field                           0
  NVMe Base Errata Version                      0
  PCIe Link Retraining Count                    0
  Power State Change Count                      0

"""
WDC_TEXT = OCP_TEXT.replace("written -\t\t0", "written     \t      \t: 0").replace(
    " -\t\t0", " \t: 0"
)

STATS: dict[str, Any] = {
    "program_fail_count": {"normalized": 100, "raw": 0},
    "erase_fail_count": {"normalized": 100, "raw": 0},
    "wear_leveling": {"normalized": 70, "raw": {"min": 3523, "max": 3603, "avg": 3562}},
    "end_to_end_error_detection_count": {"normalized": 100, "raw": 0},
    "crc_error_count": {"normalized": 100, "raw": 0},
    "timed_workload_media_wear": {"normalized": 100, "raw": 63.999},
    "thermal_throttle_status": {"normalized": 100, "raw": {"pct": 0, "cnt": 0}},
    "nand_bytes_written": {"normalized": 100, "raw": 224943088},
    "host_bytes_written": {"normalized": 100, "raw": 172365270},
}
SOLIDIGM_STATS: dict[str, Any] = {
    "program_fail_count": {"normalized": 100, "raw": 0},
    "erase_fail_count": {"normalized": 100, "raw": 0},
    "wear_leveling_count": {"normalized": 70, "min": 3523, "max": 3603, "avg": 3562},
    "e2e_error_detect_count": {"normalized": 100, "raw": 0},
    "crc_error_count": {"normalized": 100, "raw": 0},
    "thermal_throttle_status": {"normalized": 100, "percentage": 0, "count": 0},
    "nand_bytes_written": {"normalized": 100, "raw": 224943088},
    "host_bytes_written": {"normalized": 100, "raw": 172365270},
}
#: facebook/CacheLib, NandWritesTest.cpp (nvme-cli 1.x), and the form of nvme-cli 2.x.
INTEL_TEXT = """Additional Smart Log for NVME device:nvme0 namespace-id:ffffffff
key                               normalized raw
program_fail_count              : 100%       0
erase_fail_count                : 100%       0
wear_leveling                   :  70%       min: 3523, max: 3603, avg: 3562
end_to_end_error_detection_count: 100%       0
crc_error_count                 : 100%       0
timed_workload_media_wear       : 100%       63.999%
timed_workload_timer            : 100%       65535 min
thermal_throttle_status         : 100%       0%, cnt: 0
nand_bytes_written              : 100%       sectors: 224943088
host_bytes_written              : 100%       sectors: 172365270
"""
SOLIDIGM_TEXT = """Additional Smart Log for NVMe device:nvme0 namespace-id:ffffffff UUID-idx:0
ID             KEY                                 Normalized     Raw
0xab    program_fail_count                             100         0
0xac    erase_fail_count                               100         0
0xad    wear_leveling_count                             70         min: 3523, max: 3603, avg: 3562
0xb8    e2e_error_detect_count                         100         0
0xc7    crc_error_count                                100         0
0xea    thermal_throttle_status                        100         0%, cnt: 0
0xf4    nand_bytes_written                             100         224943088
0xf5    host_bytes_written                             100         172365270
"""


def read_values(content: str) -> NvmeLogValues:
    (document,) = found(content)
    assert not document.error
    assert "nvme-cli" == document.form
    assert document.report is not None
    logs = parse_logs(document.report)
    assert {} == logs.missing
    return logs.values


def of_page(real: pages.RealPage) -> NvmeLogValues:
    logs = {"controller": {"vendor_id": real.controller.vendor_id}}
    content = {str(real.page): {"hex": real.data.hex()}}
    return parse_logs({"ssd_exporter_nvme_logs": {**logs, "pages": content}}).values


@pytest.mark.parametrize(
    "content",
    [*(json.dumps(each, indent=2) for each in GENERATIONS.values()), OCP_TEXT, WDC_TEXT],
    ids=[*GENERATIONS, "text", "text of wdc"],
)
def test_each_form_of_the_ocp_page_yields_the_values_of_the_page(content: str) -> None:
    assert of_page(OCP) == read_values(content)


@pytest.mark.parametrize(
    "content",
    [
        json.dumps({"Intel Smart log": "nvme0n1", "Device stats": STATS}),
        json.dumps({"Solidigm SMART log": "nvme0", "Device stats": SOLIDIGM_STATS}),
        INTEL_TEXT,
        SOLIDIGM_TEXT,
    ],
    ids=["intel", "solidigm", "text of intel", "text of solidigm"],
)
def test_each_form_of_intels_page_yields_the_values_of_the_page(content: str) -> None:
    assert of_page(INTEL) == read_values(content)


def test_log_pages_are_joined_with_the_identity_and_the_health_log() -> None:
    documents = (id_ctrl(vid=0x8086), smart_log(), {"Intel Smart log": "", "Device stats": STATS})
    (document,) = found("".join(json.dumps(each) + "\n" for each in documents) + OCP_TEXT)
    assert document.report is not None
    values = parse_logs(document.report).values
    assert 656577089470464 == values.nand_written_bytes  # OCP before the page of the vendor
    assert 172365270 << 25 == values.host_written_bytes
    assert (3, 60.0) == (
        values.thermal_management_1_transitions,
        values.thermal_management_1_seconds,
    )
    assert "Example Datacenter NVMe 960" == str(document.report["model_name"]).strip()


def test_a_report_with_log_pages_shows_each_value_with_its_source() -> None:
    parts = ((0, 1, 7), (4, 2, 1), *((6 + n, 1, n + 1) for n in range(4)), (494, 2, 4))
    latency = pages.page((*parts, (44, 4, 12), (214, 2, 13)), 496) + pages.OCP_LATENCY_GUID
    pages_read = {0xC0: (1.7e9, OCP.data), 0xC3: (1.7e9, latency)}
    report = {
        "device": {"name": "/dev/nvme0", "type": "nvme", "protocol": "NVMe"},
        "model_name": "SAMSUNG MZQL21T9HCJR-00A07",
        "smart_status": {"passed": True},
        "nvme_smart_health_information_log": {"critical_warning": 0, "media_errors": 0},
        LOGS_KEY: encode_logs(OCP.controller, pages_read, {0xCA: "timeout: no answer"}),
    }
    text = read(json.dumps(report), width=160)
    shown = [" ".join(line.split()) for line in text.split("\n")]
    origin = "nvme_log: log pages other than the SMART log"
    assert f"slow requests (read 0.01) 12 {origin}" in shown
    assert f"slowest request (read) 0.013 s {origin}" in shown
    assert f"log missing (0xca timeout) 1 {origin}" in shown
    assert any(line.startswith("capacitor health ") for line in shown)
    assert any("log pages: sum of the bad flash blocks" in line for line in shown)
    assert "unknown" not in text


def test_the_vendor_of_the_identity_selects_the_layout() -> None:
    """DapuStor's command prints the JSON of Intel. The unit of its byte counters is not known."""
    log = {"Intel Smart log": "nvme0", "Device stats": STATS}
    (document,) = found("".join(json.dumps(each) + "\n" for each in (id_ctrl(vid=0x1E3B), log)))
    assert document.report is not None
    values = parse_logs(document.report).values
    assert (3603, None) == (values.erase_count_max, values.nand_written_bytes)


def test_a_number_that_does_not_fit_is_not_supported() -> None:
    document = GENERATIONS["1"] | {"Capacitor health": 1 << 20, "Soft ecc error count": -1}
    values = read_values(json.dumps(document))
    assert values.capacitor_health_percent is values.soft_ecc_errors is None


def test_other_documents_are_no_log_pages() -> None:
    assert log_report({"Device stats": {}}) is None
    assert log_report({}) is None
    assert parse_log_text("smartctl 7.3") is None
    assert parse_log_text("") is None


@given(st.text(max_size=400), st.sampled_from([OCP_TEXT, INTEL_TEXT, SOLIDIGM_TEXT]))
def test_any_text_after_the_first_line_yields_a_document(text: str, example: str) -> None:
    document = parse_log_text(example.split("\n", 1)[0] + "\n" + text + "\n" + example[200:])
    assert document is not None
    report = log_report(document)
    if report is not None:
        parse_logs({"ssd_exporter_nvme_logs": report})


def test_a_page_with_a_version_is_the_page_that_was_printed() -> None:
    newer = GENERATIONS["1"] | {"Log page version": 6, "Media dies offline": 2}
    report = log_report(newer)
    assert report is not None
    expected = ocp((220, 2, 2), version=6)
    data: Any = report["pages"]
    assert expected[494:] == bytes.fromhex(data["192"]["hex"])[494:]
    assert 2 == read_values(json.dumps(newer)).media_dies_offline
