"""smartctl's text is read as its JSON is: identity, attributes, statistics and logs."""

import copy
import dataclasses
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.drives.health import DriveReport
from exporter.drives.smart_report import parse_report
from exporter.drives.smartctl_text.raw_text import PowerOn, power_on_time, raw_value
from exporter.drives.smartctl_text.text_lines import grouped_integer
from exporter.drives.smartctl_text.text_report import is_banner, parse_text
from tests.corpus.documents import CORPUS, document, paths
from tests.drives import reports
from tests.drives.reports import Report
from tests.drives.smartctl_printing import printed

#: Fields that the text does not contain: the exit status of smartctl, and its messages if there is
#: nothing else.
_NOT_IN_TEXT = {"exit_status", "messages"}

#: Raw texts that do not show the upper bits of the raw value. Some drives use them all the same.
_HIDES_BITS = re.compile(r"[0-9]+( \((Min/Max|Average) .*\))?")

#: Somebody has changed the raw values in this file, but not their texts.
_CHANGED = "ata/wd-WDC-WD140EDFZ-11A0VA0-2.json"


def read(text: str) -> DriveReport:
    report = parse_text(text)
    assert report is not None
    return parse_report(report)


def differences(expected: DriveReport, actual: DriveReport) -> dict[str, tuple[Any, Any]]:
    found = {}
    for before, after in (
        (expected.identity, actual.identity),
        (expected.health, actual.health),
    ):
        for field in dataclasses.fields(before):
            pair = getattr(before, field.name), getattr(after, field.name)
            if pair[0] != pair[1] and field.name not in _NOT_IN_TEXT:
                found[field.name] = pair
    return found


def without_hidden_values(report: Report) -> Report:
    """The report without values that smartctl prints only in JSON, or as a statistic."""
    shown = copy.deepcopy(report)
    if shown["device"]["protocol"] == "ATA":
        rows = shown.get("ata_smart_attributes", {}).get("table", [])
        if not any(row["id"] == 9 and "h+" in row["raw"]["string"] for row in rows):
            shown.get("power_on_time", {}).pop("minutes", None)
        shown.get("temperature", {}).pop("lifetime_over_limit_minutes", None)
        for row in rows:
            if _HIDES_BITS.fullmatch(row["raw"]["string"]):
                row["raw"]["value"] = raw_value(row["raw"]["string"])
    return shown


def statistic(offset: int, value: int | None, name: str = "Statistic") -> Report:
    return {
        "offset": offset,
        "name": name,
        "size": 4,
        **({} if value is None else {"value": value}),
        "flags": {"value": 192, "valid": value is not None, "normalized": offset == 8},
    }


def sata_with_statistics() -> Report:
    report = reports.ata()
    report["ata_device_statistics"] = {
        "pages": [
            {
                "number": 1,
                "name": "General Statistics",
                "table": [statistic(0x18, 123_456_789), statistic(0x28, 987_654_321)],
            },
            {"number": 4, "name": "General Errors Statistics", "table": [statistic(0x08, 3)]},
            {
                "number": 7,
                "name": "Solid State Device Statistics",
                "table": [statistic(0x08, 12), statistic(0x10, None)],
            },
        ]
    }
    return report


def sas_with_corrected_errors() -> Report:
    """Report of a SAS drive with all counters of the error counter log, as smartctl prints it."""
    report = reports.scsi()
    for number, row in enumerate(report["scsi_error_counter_log"].values(), 1):
        row |= {
            "errors_corrected_by_eccfast": 100 * number,
            "errors_corrected_by_eccdelayed": 20 * number,
            "errors_corrected_by_rereads_rewrites": 3 * number,
            "total_errors_corrected": 123 * number,
            "correction_algorithm_invocations": 200 * number,
        }
    return report


@pytest.mark.parametrize("brief", [True, False], ids=["-x", "-a"])
@pytest.mark.parametrize(
    "report",
    [reports.nvme(), reports.ata(), sata_with_statistics(), sas_with_corrected_errors()],
    ids=["nvme", "ata", "ata with statistics", "scsi"],
)
def test_the_text_of_a_drive_means_the_same_as_its_json(report: Report, brief: bool) -> None:
    report = without_hidden_values(report)
    assert {} == differences(parse_report(report), read(printed(report, brief=brief)))


@pytest.mark.parametrize("separator", [",", ".", "'", " ", "\u00a0", "\u202f", "\u2019", ""])
def test_the_separators_of_all_locales_are_read(separator: str) -> None:
    report = reports.nvme()
    assert {} == differences(parse_report(report), read(printed(report, separator=separator)))


def test_windows_line_ends_are_read() -> None:
    report = sas_with_corrected_errors()
    text = printed(report).replace("\n", "\r\n")
    assert {} == differences(parse_report(report), read(text))


@pytest.mark.skipif(not CORPUS.is_dir(), reason="no corpus beside the checkout")
@pytest.mark.parametrize(
    "file",
    sorted(f for f in paths() - {_CHANGED} if f.startswith(("ata/", "nvme/", "scsi/"))),
)
def test_a_real_report_means_the_same_as_text(file: str) -> None:
    report: Any = document(file)
    expected = parse_report(report)
    if expected.identity.protocol is None or "protocol" not in report.get("device", {}):
        return
    shown = without_hidden_values(report)
    assert {} == differences(parse_report(shown), read(printed(shown)))


WORDS = st.integers(0, (1 << 16) - 1)
BYTES = st.integers(0, 255)
RAW = st.integers(0, (1 << 48) - 1)


@given(RAW)
def test_numbers_and_hexadecimal_numbers_are_the_raw_value(raw: int) -> None:
    assert raw == raw_value(str(raw)) == raw_value(f"0x{raw:012x}") == raw_value(f"0x{raw:016x}")


@given(RAW)
def test_packed_words_and_bytes_are_combined(raw: int) -> None:
    """raw16, raw8, raw16(raw16), raw24(raw8), and tempminmax with an unknown layout."""
    low, middle, high = (raw >> shift & 0xFFFF for shift in (0, 16, 32))
    parts = [raw >> shift & 0xFF for shift in range(0, 48, 8)]
    upper = " ".join(map(str, parts[:0:-1]))
    assert raw == raw_value(f"{high} {middle} {low}")
    assert raw == raw_value(" ".join(map(str, reversed(parts))))
    assert raw == raw_value(f"{low} ({high} {middle})")
    assert raw == raw_value(f"{raw & 0xFFFFFF} ({parts[5]} {parts[4]} {parts[3]})")
    assert raw == raw_value(f"{parts[0]} ({upper})")


@given(WORDS, WORDS)
def test_an_average_is_the_next_word(low: int, average: int) -> None:
    assert average << 16 | low == raw_value(f"{low} (Average {average})")


@given(st.integers(0, (1 << 32) - 1))
def test_a_time_is_converted_to_the_unit_of_the_drive(count: int) -> None:
    minutes, seconds = divmod(count, 60)
    assert count == raw_value(f"{count // 60}h+{count % 60:02}m")
    assert count == raw_value(f"{minutes // 60}h+{minutes % 60:02}m+{seconds:02}s")
    assert 7 << 32 | count == raw_value(f"{count // 60}h+{count % 60:02}m (7)")


@given(st.integers(0, (1 << 32) - 1), st.integers(0, 3_599_999))
def test_hours_and_milliseconds_are_combined(hours: int, milliseconds: int) -> None:
    seconds, thousandths = divmod(milliseconds, 1000)
    text = f"{hours}h+{seconds // 60:02}m+{seconds % 60:02}.{thousandths:03}s"
    assert milliseconds << 32 | hours == raw_value(text)
    assert (hours, seconds // 60) == power_on_time(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("14 (Min/Max 3/52)", 14),
        ("-5 (Min/Max -9/52)", 251),
        ("29 (Min/Max 15/51 #27)", 29),
        ("30.5", 305),
        ("0/42498290", 42_498_290),
        ("5/42498290", 5 << 32 | 42_498_290),
        ("3/32", 3),  # 24 or 32 bits follow the 3: unknown
        ("5678h+12m", 5678 * 60 + 12),
        ("0 0 1323", 1323),
        ("0 0 70000", 0),  # not three words: the leading number
        ("12 dies", 12),
        ("?", None),
        ("", None),
        ("9" * 30, None),
        ("dead", None),
    ],
)
def test_a_text_whose_format_is_unknown_is_its_leading_number(
    text: str, expected: int | None
) -> None:
    assert expected == raw_value(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1323", PowerOn(1323, None)),
        ("34013 (105 34 0)", PowerOn(34_013, None)),
        ("5678h+12m", PowerOn(5678, 12)),
        ("0 0 1323", None),  # smartctl reads no time from this format either
        ("99999999", None),
        ("0x000000000012", None),
    ],
)
def test_the_power_on_time_is_the_one_that_smartctl_reads(
    text: str, expected: PowerOn | None
) -> None:
    assert expected == power_on_time(text)


def test_a_raw_value_that_is_no_number_is_a_fault_of_its_attribute_only() -> None:
    report = reports.ata()
    report["ata_smart_attributes"]["table"][0]["raw"]["string"] = "unreadable"
    found = read(printed(report))
    assert len(found.health.attributes) == len(report["ata_smart_attributes"]["table"]) - 1
    assert ["'unreadable' is not usable" in fault for fault in found.faults] == [True]


def test_a_failing_drive_lists_its_failed_attributes_twice_and_they_are_read_once() -> None:
    report = reports.ata()
    report["smart_status"] = {"passed": False}
    row = report["ata_smart_attributes"]["table"][0]
    row["when_failed"], row["flags"]["value"] = "now", 51
    text = printed(report, brief=False)
    lines = text.split("\n")
    copy_of_row = next(line for line in lines if "FAILING_NOW" in line)
    start = next(n for n, line in enumerate(lines) if line.startswith("SMART overall-health"))
    lines[start + 1 : start + 1] = ["Failed Attributes:", copy_of_row, ""]
    found = read("\n".join(lines))
    assert () == found.faults
    assert found.health.healthy is False
    first = found.health.attributes[0]
    assert ("now", True) == (first.failed, first.prefailure)
    assert len(report["ata_smart_attributes"]["table"]) == len(found.health.attributes)


def test_a_long_name_that_touches_the_flags_is_separated_from_them() -> None:
    report = reports.ata()
    report["ata_smart_attributes"]["table"][0]["name"] = "A_Name_Of_24_Characters_"
    for brief in (True, False):
        names = [row.name for row in read(printed(report, brief=brief)).health.attributes]
        assert "A_Name_Of_24_Characters_" == names[0]


@pytest.mark.parametrize("status", [0, 1, 2, 3, 4, 5, 6, 7, 8, 15])
def test_every_result_of_a_self_test_is_read(status: int) -> None:
    ata = reports.ata()
    test = reports.ata_test(status << 4 | 3, 900)
    ata["ata_smart_self_test_log"] = {"standard": {"table": [test]}}
    scsi = {**reports.scsi(), "scsi_self_test_0": reports.scsi_test(min(status, 7), 12_000)}
    nvme = reports.nvme()
    nvme["nvme_self_test_log"]["table"] = [reports.nvme_test(min(status, 9), 8000)]
    for report in (ata, scsi, nvme):
        expected = parse_report(without_hidden_values(report)).health.self_test
        assert expected == read(printed(report)).health.self_test


def test_statistics_override_the_attributes_as_they_do_in_smartctl() -> None:
    report = reports.ata()
    table = [statistic(0x08, 77), statistic(0x10, 4321)]
    pages = [{"number": 1, "name": "General Statistics", "table": table}]
    report["ata_device_statistics"] = {"pages": pages}
    health = read(printed(report)).health
    assert (77, 4321 * 3600) == (health.power_cycles, health.power_on_seconds)


def test_a_predicted_failure_of_a_sas_drive_is_read() -> None:
    reason = {"asc": 93, "ascq": 16, "ie_string": "HARDWARE IMPENDING FAILURE"}
    health = read(
        printed({**reports.scsi(), "smart_status": {"passed": False, "scsi": reason}})
    ).health
    assert health.healthy is False
    assert "HARDWARE IMPENDING FAILURE" in health.messages


@pytest.mark.parametrize(
    "message",
    [
        "Smartctl open device: /dev/sda failed: Permission denied",
        "/dev/vda: Unable to detect device type",
        "Read Device Identity failed: Input/output error",
        "/dev/sda: Unknown USB bridge [0x1234:0x5678 (0x100)]",
    ],
)
def test_the_message_of_a_failed_run_explains_why_there_is_no_data(message: str) -> None:
    health = read(f"smartctl 7.3 2022-02-28 r5338\n\n{message}\n").health
    assert (message,) == health.messages
    assert "" != health.unreadable


def test_a_sleeping_drive_has_only_its_power_mode() -> None:
    health = read("smartctl 7.3 2022\n\nDevice is in STANDBY mode, exit(2)\n").health
    assert "standby" == health.power_mode


def test_a_warning_of_the_drive_database_is_a_message() -> None:
    text = printed(reports.ata()) + "\n==> WARNING: A firmware update\nmay be available\n\nend\n"
    assert "WARNING: A firmware update may be available" in read(text).health.messages


def test_only_the_banner_is_recognized_as_the_start_of_an_output() -> None:
    assert is_banner("smartctl 7.3 2022-02-28 r5338 [x86_64-linux-6.1.0] (local build)")
    assert is_banner("smartctl pre-7.4 2023-06-13 r5481\r\n")
    assert not is_banner("smartctl -x /dev/sda")


def test_text_of_another_program_is_not_a_report() -> None:
    assert parse_text("Filesystem 1K-blocks Used\n/dev/sda1 1 1\n") is None
    assert parse_text("") is None


@given(st.text(st.characters() | st.sampled_from("0123456789 :#x()/+-|\n"), max_size=400))
def test_any_text_is_a_report_or_not_but_never_an_error(text: str) -> None:
    found = parse_text(text)
    if found is not None:
        parse_report(found)


@given(st.data())
def test_any_damage_to_an_output_is_never_an_error(data: st.DataObject) -> None:
    report = data.draw(
        st.sampled_from([reports.ata(), sata_with_statistics(), reports.nvme(), reports.scsi()])
    )
    lines = printed(report, brief=data.draw(st.booleans())).split("\n")
    for _ in range(data.draw(st.integers(1, 5))):
        line = data.draw(st.integers(0, len(lines) - 1))
        at = data.draw(st.integers(0, len(lines[line])))
        junk = data.draw(st.text(max_size=12) | st.sampled_from(["-", "99999999999999999999", " "]))
        lines[line] = lines[line][:at] + junk + lines[line][at + data.draw(st.integers(0, 9)) :]
    found = parse_text("\n".join(lines))
    if found is not None:
        assert isinstance(parse_report(found), DriveReport)


@given(st.text(max_size=60))
def test_any_raw_text_is_a_raw_value_or_none(text: str) -> None:
    found = raw_value(text)
    assert found is None or 0 <= found < 1 << 64
    power_on_time(text)


@given(st.integers(0, (1 << 64) - 1), st.sampled_from([",", ".", "'", " ", "\u202f", "\ufffd"]))
def test_grouped_digits_are_one_number(number: int, separator: str) -> None:
    text = f"{number:,}".replace(",", separator)
    assert number == grouped_integer(f"{text} [1.02 TB]") == grouped_integer(text)


def test_lines_without_an_end_are_cut_before_they_are_searched() -> None:
    """The time for a line does not grow with the square of its length."""
    for start in (
        "# 1  Short",
        "read: ",
        "SMART Health Status: ",
        "  5 ",
        "0x01  0x008",
        "Model: ",
    ):
        assert parse_text(f"smartctl 7.3 x\n{start}{' a' * 2_000_000}\n") is not None
