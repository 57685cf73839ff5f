"""The output and the exit status of `ssd-exporter read`."""

import gzip
import io
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.cli import main
from exporter.commands import read_command
from exporter.drives.health import RejectedValue
from exporter.drives.smart_report import parse_report
from exporter.drives.value_sources import value_sources
from exporter.families import smart_families
from exporter.families.desc import MetricDesc
from exporter.reading import read_details, read_values
from exporter.reading.input_file import Stream
from exporter.reading.read_input import Document, InputLimits, documents
from exporter.reading.read_values import ReadDrive
from exporter.runtime.printable import PrintableStream
from tests.commands.test_check import Latin1
from tests.drives import reports
from tests.drives.reports import Report
from tests.drives.smartctl_printing import printed
from tests.fakes import Terminal

#: The keys of an object that are not metrics.
OTHER_KEYS = {"input", "device", "rejected", "faults"}

FAMILIES = {
    desc.name: desc for desc in vars(smart_families).values() if isinstance(desc, MetricDesc)
}


def compact(report: Report) -> str:
    return json.dumps(report) + "\n"


def indented(report: Report) -> str:
    return json.dumps(report, indent=2) + "\n"


def stream(data: bytes = b"") -> Stream:
    """Standard input with this content."""
    raw: Any = io.BytesIO(data)
    return io.BufferedReader(raw)


def found(content: str | bytes, limits: InputLimits | None = None) -> list[Document]:
    """The documents in standard input."""
    data = content.encode() if isinstance(content, str) else content
    return list(documents("-", stream(data), limits))


def models(content: str | bytes) -> list[str]:
    """The model, or "!" and the line, of each document in standard input."""
    return [
        str(parse_report(each.report).identity.model) if each.report else f"!{each.line}"
        for each in found(content)
    ]


def read(
    *contents: str | bytes,
    as_json: bool = False,
    out: io.StringIO | None = None,
    width: int = 100,
) -> str:
    """What `read` prints for standard input."""
    out = io.StringIO() if out is None else out
    data = b"".join(c.encode() if isinstance(c, str) else c for c in contents)
    with patch.dict(os.environ, {"COLUMNS": str(width)}):
        read_command.run([], as_json=as_json, out=out, standard_input=stream(data))
    return out.getvalue()


def objects(*contents: str | bytes) -> list[dict[str, Any]]:
    """What `read --json` prints for standard input."""
    return [json.loads(line) for line in read(*contents, as_json=True).splitlines()]


def status(content: str | bytes, *, as_json: bool = False) -> int:
    data = content.encode() if isinstance(content, str) else content
    return read_command.run([], as_json=as_json, out=io.StringIO(), standard_input=stream(data))


NVME, ATA, SCSI = reports.nvme(), reports.ata(), reports.scsi()
THREE = [NVME["model_name"], ATA["model_name"], "EXAMPLE SASSSD800"]


class TestInput:
    """Which documents an input contains."""

    @pytest.mark.parametrize(
        "content",
        [
            compact(NVME) + compact(ATA) + compact(SCSI),
            indented(NVME) + indented(ATA) + indented(SCSI),
            json.dumps(NVME) + json.dumps(ATA) + json.dumps(SCSI),
            indented(NVME) + compact(ATA) + printed(SCSI),
            printed(NVME) + printed(ATA) + printed(SCSI),
            printed(NVME) + indented(ATA) + printed(SCSI),
            "\n\n" + compact(NVME) + "\n" + compact(ATA) + "\n\n" + compact(SCSI).rstrip(),
            "\ufeff" + compact(NVME) + compact(ATA) + compact(SCSI),
            "\n".join(json.dumps(each, indent=0) for each in (NVME, ATA, SCSI)),
            (compact(NVME) + indented(ATA) + printed(SCSI)).replace("\n", "\r\n"),
        ],
        ids=[
            "one per line",
            "indented",
            "without line ends",
            "mixed",
            "texts",
            "text and JSON",
            "empty lines",
            "byte order mark",
            "without indentation",
            "Windows line ends",
        ],
    )
    def test_documents_in_all_forms_are_read_in_order(self, content: str) -> None:
        assert models(content) == THREE
        assert models(gzip.compress(content.encode())) == THREE

    @pytest.mark.parametrize(
        "broken",
        [
            compact(ATA)[:700] + "\n",
            compact(ATA).replace(":", "", 1),
            indented(ATA)[:900] + "\n",
            "{\n",
            "garbage\n",
            "\x00\x01\x02\n",
            "[]\n",
            '{"a": 1}\n',
            "{" * 100_000 + "\n",
            '{"devices": []}\n',
            '{"smartctl": ' + "[" * 200_000 + "\n",
        ],
        ids=lambda text: text[:12],
    )
    def test_an_unreadable_document_costs_only_itself(self, broken: str) -> None:
        content = compact(NVME) + broken + compact(SCSI)
        assert [THREE[0], "!2", THREE[2]] == models(content)
        results = objects(content)
        assert ["error" in each for each in results] == [False, True, False]
        assert {"file": "-", "document": 2, "line": 2}.items() <= results[1]["input"].items()
        assert status(content) == status(content, as_json=True) == 1
        assert status(compact(NVME)) == 0

    def test_damaged_documents_of_one_line_each_are_one_error_each(self) -> None:
        line = compact(ATA)[:500] + "\n"
        assert ["!1", "!2", THREE[0]] == models(line * 2 + compact(NVME))

    def test_text_around_the_output_of_smartctl_is_ignored(self) -> None:
        content = "$ sudo smartctl -x /dev/nvme0\n" + printed(NVME) + "$ exit\n"
        assert [THREE[0]] == models(content)
        assert [THREE[1]] == models("$ sudo smartctl -x --json /dev/sda\n" + indented(ATA))

    def test_a_banner_before_json_is_not_a_document(self) -> None:
        banner = "smartctl 7.2 2020-12-30 r5155\nCopyright (C) 2002-20, Bruce Allen\n\n"
        assert [THREE[1]] == models(banner + indented(ATA))

    def test_bytes_that_are_not_utf_8_are_replaced(self) -> None:
        content = compact(ATA).encode().replace(b"EXAMPLE", b"EX\xffMPLE")
        assert models(content) == ["EX\ufffdMPLE SATA SSD 480"]

    @pytest.mark.parametrize("empty", ["", "\n\n", "\ufeff"])
    def test_an_empty_input_is_an_error(self, empty: str) -> None:
        (only,) = objects(empty)
        assert only["error"].startswith("empty")
        assert status(empty) == 1

    def test_a_damaged_archive_is_an_error_after_the_documents_before_it(self) -> None:
        archive = gzip.compress(compact(NVME).encode() + compact(ATA).encode() * 50)
        results = objects(archive[:-20])
        assert results[0]["device"]["model"] == THREE[0]
        assert "cannot be read" in results[-1]["error"]

    def test_text_in_utf_16_and_arrays_have_a_hint(self) -> None:
        (utf_16,) = objects(printed(NVME).encode("utf-16"))
        assert "iconv" in utf_16["error"]
        (array,) = objects(json.dumps([NVME, ATA]))
        assert "jq -c" in array["error"]

    def test_output_of_smartctl_without_a_drive_is_an_error(self) -> None:
        (text,) = objects("smartctl 7.3 2022\n\nUsage: smartctl [options] device\n")
        assert "smartctl -x" in text["error"]
        (report,) = objects(compact(reports.smartctl()))
        assert "neither a drive nor a message" in report["error"]

    def test_any_file_that_is_not_regular_is_an_error_of_that_file(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "fifo")
        good = tmp_path / "good"
        good.write_text(compact(NVME))
        (tmp_path / "link").symlink_to(good)
        names = [tmp_path, tmp_path / "fifo", "/dev/null", tmp_path / "none", "a\x00b"]
        out = io.StringIO()
        files = [*map(str, names), str(tmp_path / "link")]
        assert 1 == read_command.run(files, as_json=True, out=out, standard_input=stream())
        results = [json.loads(line) for line in out.getvalue().splitlines()]
        assert [each["input"]["file"] for each in results] == files
        errors = [each.get("error", "") for each in results]
        for error, word in zip(
            errors, ("directory", "FIFO", "device", "No such file", "null", ""), strict=True
        ):
            assert word in error
        assert errors[-1] == ""


class TestLimits:
    """Input without an end costs limited memory and time."""

    LIMITS = InputLimits(20_000, 50_000, 2_000, 1_000_000, 20_000)

    @pytest.mark.parametrize(
        ("long", "reason"),
        [
            ("{" + "x" * 30_000 + "\n", "a line is longer"),
            ("smartctl 7.3 x\n" + "y" * 30_000 + "\n", "a line is longer"),
            ("smartctl 7.3 x\n" + ("y" * 100 + "\n") * 1000, "longer than"),
            ("smartctl 7.3 x\n" + "y\n" * 3000, "more than 2,000 lines"),
            ("{\n" + ' "a": 1,\n' * 3000, "more than 2,000 lines"),
        ],
        ids=["line", "line of text", "document", "lines", "lines of JSON"],
    )
    def test_a_document_that_is_too_long_costs_only_itself(self, long: str, reason: str) -> None:
        first, second, third = found(compact(NVME) + long + compact(SCSI), self.LIMITS)
        assert first.report == NVME
        assert reason in second.error
        assert third.report == SCSI

    @pytest.mark.parametrize("line", [b"y\n", b"y" * 999 + b"\n", b"y"])
    def test_an_endless_input_ends(self, line: bytes) -> None:
        class Endless(io.RawIOBase):
            def readable(self) -> bool:
                return True

            def readinto(self, buffer: Any) -> int:
                size = len(buffer)
                buffer[:size] = (line * (size // len(line) + 1))[:size]
                return size

        last = list(documents("-", io.BufferedReader(Endless()), self.LIMITS))[-1]
        assert "split it" in last.error

    def test_a_small_archive_of_a_large_file_ends(self) -> None:
        last = found(gzip.compress(bytes(5_000_000)), self.LIMITS)[-1]
        assert "split it" in last.error


class TestJson:
    """`--json` prints one object per document."""

    @pytest.mark.parametrize("report", [NVME, ATA, SCSI], ids=["nvme", "ata", "scsi"])
    @pytest.mark.parametrize("print_it", [compact, printed], ids=["json", "text"])
    def test_every_key_is_a_metric_family_and_every_value_has_a_source(
        self, report: Report, print_it: Any
    ) -> None:
        (only,) = objects(print_it(report))
        for key in only.keys() - OTHER_KEYS:
            desc = FAMILIES[f"ssd_smart_{key}"]
            shown = only[key] if desc.labels[2:] else {"": only[key]}
            assert shown
            for value in shown.values():
                assert value.keys() == {"value", "source", "rule"}
                assert isinstance(value["value"], int | float)
                assert value["source"] not in ("", "unknown")
                assert value["rule"] != "" or key == "endurance_used_ratio"

    def test_values_are_in_base_units_with_their_source(self) -> None:
        (nvme,) = objects(compact(NVME))
        assert nvme["endurance_used_ratio"] == {
            "value": 0.42,
            "source": "nvme_log",
            "rule": "percentage_used / 100",
        }
        assert nvme["host_written_bytes_total"]["value"] == 3_000_000 * 512_000
        assert nvme["power_on_seconds_total"]["value"] == 8760 * 3600
        sensors = {label: each["value"] for label, each in nvme["temperature_celsius"].items()}
        assert sensors == {"drive": 44, "1": 44, "3": 51}
        assert nvme["over_temperature_seconds_total"]["critical"]["rule"].startswith("critical")
        assert nvme["device"] == {
            "model": THREE[0],
            "firmware": "EXF1.2",
            "protocol": "nvme",
            "rotational": False,
            "capacity_bytes": 960_197_124_096,
            "logical_block_bytes": 4096,
            "smartctl_version": "7.5",
        }

    def test_absent_values_have_no_key_and_nothing_is_null(self) -> None:
        text = read(compact(ATA), compact(SCSI), printed(NVME), as_json=True)
        assert "null" not in text
        assert "nand_written_bytes_total" not in text

    def test_serial_numbers_are_not_printed(self) -> None:
        text = read(compact(NVME), printed(ATA), compact(SCSI), as_json=True)
        text += read(compact(NVME), printed(ATA), compact(SCSI))
        for report in (NVME, ATA, SCSI):
            assert report["serial_number"] not in text

    def test_the_exit_status_of_smartctl_is_absent_for_text(self) -> None:
        (from_json,), (from_text,) = objects(compact(ATA)), objects(printed(ATA))
        assert "exit_bit" in from_json
        assert "exit_bit" not in from_text

    def test_a_failed_run_of_smartctl_is_read_and_says_why(self) -> None:
        report = reports.smartctl("Smartctl open device: /dev/sda failed: Permission denied")
        (only,) = objects(compact(report))
        assert "CAP_SYS_RAWIO" in only["device"]["unreadable"]
        assert only["available"]["value"] == 0
        assert 0 == status(compact(report))

    def test_rejected_values_and_faults_are_listed(self) -> None:
        rejected = RejectedValue("endurance_used_ratio", 2.55, "page 7 / 100", "255 is no value")
        only = read_values.plain(with_rejected({**ATA, "rotation_rate": "fast"}, rejected))
        assert only["rejected"] == [
            {
                "metric": "endurance_used_ratio",
                "value": 2.55,
                "rule": "page 7 / 100",
                "reason": "255 is no value",
            }
        ]
        assert only["faults"] == ["rotation_rate: 'fast' is not usable"]

    @given(st.text(st.characters()))
    def test_everything_printed_is_printable(self, name: str) -> None:
        report = {**ATA, "model_name": f"A{name}", "firmware_version": "\x1b[2J\x7f\x9b"}
        report["smartctl"] = {**report["smartctl"], "messages": [{"string": name}]}
        for as_json in (True, False):
            text = read(compact(report), as_json=as_json)
            assert all(c.isprintable() for c in text.replace("\n", ""))


class TestText:
    """The text for people."""

    def test_it_shows_the_table_of_check_and_every_value_with_its_source(self) -> None:
        text = read(compact(NVME))
        assert text.startswith("SSD WARNING - ")
        assert "  healthy                  yes" in text
        assert "  endurance used           42 %     nvme_log: percentage_used / 100\n" in text
        assert "  temperature (3)          51 C     nvme_log: temperature_sensors\n" in text
        assert "WORN OUT IN" not in text

    def test_it_shows_what_was_rejected_and_why(self) -> None:
        rejected = RejectedValue("host_written_bytes_total", 1e15, "241 x 1 GiB", "implausible")
        text = read_details.details(with_rejected(ATA, rejected), 100)
        assert "Reported by the drive, but not used:\n    host written 1 PB" in text
        assert "(241 x 1 GiB): implausible" in text

    def test_documents_of_one_file_are_numbered_and_unreadable_ones_are_last(self) -> None:
        text = read(compact(NVME), "garbage\n", compact(SCSI))
        assert "\nstandard input#1\n" in text
        assert "\nstandard input#3\n" in text
        assert "warning: 1 of 3 documents could not be read" in text.split("\n")[1]
        assert "Could not be read:\n  standard input, line 2: neither" in text

    def test_a_single_document_has_the_name_of_its_file(self, tmp_path: Path) -> None:
        file = tmp_path / "drive.txt"
        file.write_text(printed(ATA))
        out = io.StringIO()
        assert 0 == read_command.run([str(file)], as_json=False, out=out, standard_input=stream())
        assert f"\n{file}\n" in out.getvalue()
        assert "drive.txt " in out.getvalue()
        assert "text of smartctl 7.4" in out.getvalue()

    @pytest.mark.parametrize("width", [80, 120])
    def test_it_fits_the_terminal(self, width: int) -> None:
        text = read(compact(NVME), compact(ATA), compact(SCSI), "garbage\n", width=width)
        summary, *lines = text.split("\n")
        assert summary.startswith("SSD ")
        assert max(map(len, lines)) <= width

    def test_colours_are_only_for_terminals(self) -> None:
        terminal = Terminal()
        stream_of_main: Any = PrintableStream(terminal)
        read(compact(NVME), out=stream_of_main)
        assert "\x1b[33mwarning: \x1b[0m" in terminal.getvalue()
        assert "\x1b[" not in read(compact(NVME))

    def test_characters_that_the_terminal_lacks_are_escaped(self) -> None:
        report = {**ATA, "model_name": "Σ 1"}
        assert "\\u03a3 1" in read(compact(report), out=Latin1())


class TestSources:
    """The source that is shown for a value is the one from which it was read."""

    def test_a_counter_in_the_statistics_and_one_in_an_attribute(self) -> None:
        report = reports.ata()
        row = reports.attribute(187, "Reported_Uncorrect", 7)
        report["ata_smart_attributes"]["table"].append(row)
        sources = value_sources(report, parse_report(report))
        assert sources["media_errors"] == (
            "ata_attribute",
            "187 Reported_Uncorrect: raw value",
        )
        value = {"offset": 8, "value": 3, "flags": {"valid": True}}
        report["ata_device_statistics"] = {"pages": [{"number": 4, "table": [value]}]}
        drive = parse_report(report)
        assert drive.health.media_errors == 3
        assert value_sources(report, drive)["media_errors"].source == "ata_devstat"

    def test_the_power_on_time_names_its_attribute(self) -> None:
        drive = parse_report(ATA)
        source = value_sources(ATA, drive)["power_on_seconds"]
        assert source == ("ata_attribute", "9 Power_On_Hours: hours x 3,600")


def with_rejected(report: Report, rejected: RejectedValue) -> ReadDrive:
    """What a document means, with a rejected value."""
    drive = read_values.interpreted(Document("-", 1, 1, "json", report), report)
    assert drive is not None
    health = replace(drive.report.health, rejected=(rejected,))
    return replace(drive, report=replace(drive.report, health=health))


def test_it_needs_no_configuration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It has no flag for one either, so the daemon's configuration cannot make it fail."""
    file = tmp_path / "drive.json"
    file.write_text(compact(SCSI))
    assert 0 == main(["read", "--json", str(file)])
    assert json.loads(capsys.readouterr().out)["device"]["model"] == THREE[2]
    assert not read_command.COMMAND.reads_settings
    assert 2 == main(["read", "--config.file", str(file)])
    assert "read --help" in capsys.readouterr().err


def test_a_file_that_is_missing_has_no_line_and_a_list_of_drives_a_next_step(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Short names: long ones are broken at the end of the line.
    monkeypatch.chdir(tmp_path)
    Path("scan.json").write_text('{"devices": []}')
    assert main(["read", "none", "scan.json"]) == 1
    text = " ".join(capsys.readouterr().out.split())
    assert "none: cannot be opened: No such file" in text
    assert "save `smartctl -x --json DEVICE` of each" in text
