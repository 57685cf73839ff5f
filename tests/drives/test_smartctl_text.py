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
from exporter.drives.smartctl_text.text_lines import whole_integer
from exporter.drives.smartctl_text.text_report import is_banner, parse_text
from rigs.corpus.documents import CORPUS, document, paths
from tests.drives import reports
from tests.drives.reports import Report
from tests.drives.smartctl_printing import printed, size_text

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
        ("3/32", None),  # 24 or 32 bits follow the 3: unknown
        ("5678h+12m", 5678 * 60 + 12),
        ("0 0 1323", 1323),
        ("0 0 70000", None),  # not three words
        ("70000 (0 3)", None),
        ("12 dies", None),
        ("12,345", None),
        ("12?345", None),
        ("12 (0", None),
        ("5678h+12m+", None),
        ("?", None),
        ("", None),
        ("9" * 30, None),
        ("dead", None),
    ],
)
def test_a_text_whose_format_is_unknown_has_no_raw_value(text: str, expected: int | None) -> None:
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
        ("5678h+12m9", None),
        ("5,678h+12m", None),
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
    assert "Hardware impending failure" in health.messages


def test_link_errors_are_read_from_the_text_of_smartctl_7_2() -> None:
    """It prints the last two counters without the word "count"."""
    text = printed(reports.scsi())
    old = text.replace("synchronization count =", "synchronization =")
    old = old.replace("problem count =", "problem =")
    assert old != text
    assert read(text).health.interface_errors == read(old).health.interface_errors


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
    assert number == whole_integer(text) == whole_integer(f"{text} bytes")


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


#: What stands between the digits in the texts that people send: separators of locales, their bytes
#: as Latin-1, as "?", as escapes and as entities.
SEPARATORS = (
    *(
        ",",
        ".",
        "'",
        "\u2019",
        "_",
        " ",
        "\u00a0",
        "\u202f",
        "\u2009",
        "\u066c",
        "\ufffd",
        "\ufffd" * 2,
    ),
    *("?", "\\xa0", "\\xc2\\xa0", "\\xe2\\x80\\xaf", "\\302\\240", "\\u202f", "<a0>", "<U+00A0>"),
    *("&nbsp;", "\u00c2\u00a0", "\u00e2\u20ac\u00af", "\u00e2\u20ac\u2122"),
)
NUMBERS = st.integers(0, (1 << 128) - 1) | st.integers(0, 10**7)


def indian(number: int, separator: str) -> str:
    """The number in groups of two digits, and three digits in the last group."""
    high, low = divmod(number, 1000)
    if not high:
        return str(number)
    digits = str(high)
    pairs = [digits[max(0, end - 2) : end] for end in range(len(digits), 0, -2)][::-1]
    return separator.join([*pairs, f"{low:03}"])


def with_units_written(text: str, other: str = "1") -> str:
    """The text of a drive with these data units written, and other power-on hours."""
    lines = printed(reports.nvme()).split("\n")
    shown = {"Data Units Written": text, "Power On Hours": other}
    return "\n".join(
        f"{name}: {shown[name]}" if (name := line.partition(":")[0]) in shown else line
        for line in lines
    )


def units_written(text: str, other: str = "1") -> DriveReport:
    """What a drive reports whose text has these data units written, and other power-on hours."""
    return read(with_units_written(text, other))


def units_of(found: DriveReport) -> float | None:
    """The data units written, also if the drive cannot have written so many."""
    written = found.health.host_written
    if written is not None:
        return written.bytes // 512_000
    rejected = (r for r in found.health.rejected if r.metric == "host_written_bytes_total")
    return next((each.value / 512_000 for each in rejected), None)


@given(NUMBERS, st.sampled_from(SEPARATORS), st.booleans(), st.booleans())
def test_every_grouping_of_a_number_is_read_exactly(
    number: int, separator: str, in_india: bool, with_size: bool
) -> None:
    text = indian(number, separator) if in_india else f"{number:,}".replace(",", separator)
    size = f" [{size_text(number * 512_000)}]" if with_size and number < 10**18 else ""
    report = parse_text(with_units_written(text + size, other=f"1{separator}234{separator}567"))
    assert report is not None
    log: Any = report["nvme_smart_health_information_log"]
    assert (number, 1_234_567) == (log["data_units_written"], log["power_on_hours"])
    assert () == parse_report(report).faults


@given(st.data(), NUMBERS, st.sampled_from((*SEPARATORS, "")))
def test_a_number_with_a_foreign_character_is_exact_or_a_fault(
    data: st.DataObject, number: int, separator: str
) -> None:
    text = f"{number:,}".replace(",", separator)
    at = data.draw(st.integers(0, len(text)))
    junk = data.draw(
        st.text(
            st.characters(exclude_categories=["Cs", "Nd"], exclude_characters="\n"),
            min_size=1,
            max_size=3,
        )
    )
    mutated = text[:at] + junk + text[at + data.draw(st.integers(0, 1)) :]
    is_lost = len(re.sub("[^0-9]", "", mutated)) < len(re.sub("[^0-9]", "", text))
    found = units_written(mutated)
    units = units_of(found)
    if units is not None:
        # A digit that became a separator cannot be told from a smaller number with separators.
        assert is_lost or units == pytest.approx(number)
    elif number:
        is_absent = mutated.strip()[:1].isalpha() or mutated.strip()[:1] in ("<", "(", "[")
        assert is_absent or is_lost or found.faults


@pytest.mark.parametrize(
    "text",
    [
        "1,234,567x",
        "1,234.567",
        "12345,678",
        "1,23,4567",
        "1?234",
        "28\u2013604",
        "0x1234",
        "1e100",
        "1234 5",
        "12/345",
        "12:345",
        "1,234 [14.6 TB]",
        "28,604,965 [14.6 MB]",
        "28,604,965 [14,5 TB]",
        "9" * 41,
    ],
)
def test_a_part_of_a_number_is_never_the_number(text: str) -> None:
    found = units_written(text)
    assert units_of(found) is None
    assert ["data_units_written" in fault for fault in found.faults] == [True]


@pytest.mark.parametrize("text", ["-", "Not reported", "<not available>"])
def test_a_text_that_says_that_there_is_no_number_is_absent(text: str) -> None:
    found = units_written(text)
    assert (None, ()) == (found.health.host_written, found.faults)


def test_an_unknown_separator_of_one_number_is_read_in_all_numbers() -> None:
    found = units_written("28?604?965 [14.6 TB]", other="9?025")
    assert 9025 * 3600 == found.health.power_on_seconds
    assert units_written("1", other="9?025").health.power_on_seconds is None
    text = printed(reports.nvme()).replace(reports.nvme()["serial_number"], "1?234?567")
    assert "1?234?567" == read(text).identity.serial
    assert read(text.replace("8,760", "8?760")).health.power_on_seconds is None


@pytest.mark.parametrize("brief", [True, False])
@pytest.mark.parametrize("damage", ["1?0", "1000", "1,00", "x"])
def test_a_damaged_row_of_the_attribute_table_is_a_fault(brief: bool, damage: str) -> None:
    report = reports.ata()
    text = printed(report, brief=brief)
    number = report["ata_smart_attributes"]["table"][1]["id"]
    row = next(line for line in text.split("\n") if line.startswith(f"{number:3} "))
    value = re.search(r" [0-9]{3} ", row)
    assert value is not None
    found = read(text.replace(row, row.replace(value[0], f" {damage} ", 1)))
    assert number not in {each.id for each in found.health.attributes}
    assert len(report["ata_smart_attributes"]["table"]) - 1 == len(found.health.attributes)
    assert 1 == len(found.faults)


def test_a_capacity_with_unknown_separators_is_read() -> None:
    for example in (reports.ata(), reports.scsi(), reports.nvme()):
        found = read(printed(example, separator="?"))
        assert parse_report(example).identity.capacity_bytes == found.identity.capacity_bytes


#: A line of each protocol with a number, a damaged form, and the value that must be absent.
DAMAGED = (
    (reports.nvme, "Unsafe Shutdowns:", r"(\d+)$", r"\1?\1", "unsafe_shutdowns"),
    (reports.nvme, "Critical Warning:", r"0x(\d)(\d)", r"0x\1?\2", "critical_warnings"),
    (reports.nvme, "Percentage Used:", r"(\d+)%", r"\1.5.5%", "endurance"),
    (reports.ata, "Device Error Count:", r"(\d+) ", r"\1?000 ", "error_log_entries"),
    (reports.scsi, "Current Drive Temperature:", r"(\d)(\d) C", r"\1?\2 C", "temperatures"),
    (reports.scsi, "read:", r"(\d+)\.(\d+)", r"\1'000'\2", "host_read"),
    (reports.scsi, "Elements in grown", r": *(\d+)", r": \1?0", "reallocated_sectors"),
    (reports.scsi, "Percentage used", r"(\d+)%", r"\1?%", "endurance"),
    (reports.scsi, "Accumulated power on", r" (\d+)", r" \1?000", "power_on_seconds"),
)


@pytest.mark.parametrize(("example", "start", "pattern", "damaged", "field"), DAMAGED)
def test_a_damaged_number_of_any_line_is_absent_and_a_fault(
    example: Any, start: str, pattern: str, damaged: str, field: str
) -> None:
    report = example()
    if example is reports.ata:
        report["ata_smart_error_log"] = {"extended": {"count": 4}}
    text = printed(report)
    lines = [
        re.sub(pattern, damaged, line, count=1) if line.startswith(start) else line
        for line in text.split("\n")
    ]
    assert text != "\n".join(lines)
    found = read("\n".join(lines))
    assert not getattr(found.health, field)
    assert found.faults


def test_a_damaged_row_of_a_log_is_a_fault() -> None:
    ata = sata_with_statistics()
    ata["ata_smart_self_test_log"] = {"standard": {"table": [reports.ata_test(0, 900)]}}
    scsi = {**reports.scsi(), "scsi_self_test_0": reports.scsi_test(0, 12_000)}
    nvme = reports.nvme()
    nvme["nvme_self_test_log"]["table"] = [reports.nvme_test(0, 8000)]
    for report, hours in ((ata, "900"), (scsi, "12000"), (nvme, "8000")):
        text = printed(report)
        found = read(re.sub(rf"(?m)^(#? ?\d.*Completed.* ){hours}", rf"\g<1>{hours[0]} 000", text))
        assert found.health.self_test is None
        assert found.faults, report["device"]
    text = printed(ata).replace("123456789", "123?456?789")
    assert any("123?456?789" in fault for fault in read(text).faults)
