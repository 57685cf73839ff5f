"""Tests of parsing smartctl's text with pySMART: values, errors, time and side effects."""

import os
import sys
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.runtime.errors import NotAvailable, ParseError, SourceError
from exporter.smart import pysmart
from exporter.smart.second_opinion import second_opinion
from tests.fuzz import examples
from tests.processes import run_program
from tests.smart import smartctl_texts

PROTOCOLS = tuple(smartctl_texts.PAIRS)


def printed(program: str, **env: str) -> str:
    """The output of a new Python process: an import has its effects once in a process."""
    done = run_program(
        [sys.executable, "-c", program],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sys.path), **env},
        check=True,
    )
    return done.stdout.strip()


@pytest.mark.parametrize("language", ["", "de_DE.UTF-8"])
def test_the_import_restores_language_and_logger_class(language: str) -> None:
    program = (
        "import logging, os; from exporter.smart import pysmart; pysmart.parse_device([], 'ATA');"
        "print(os.environ.get('LANG', 'none'), logging.getLoggerClass().__name__,"
        " logging.getLogger().handlers)"
    )
    env = {"LANG": language} if language else {}
    assert f"{language or 'none'} Logger []" == printed(program, **env)


def test_the_command_line_does_not_import_pysmart() -> None:
    program = (
        "import sys; import exporter.cli, exporter.commands.self_test,"
        " exporter.commands.pysmart_comparison;"
        "print([name for name in sys.modules if 'pySMART' in name or 'chardet' in name])"
    )
    assert "[]" == printed(program)


def test_without_pysmart_the_error_names_the_package_to_install(tmp_path: Any) -> None:
    (tmp_path / "pySMART.py").write_text("raise ImportError('not here')")
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "from exporter.smart import pysmart\nfrom exporter.runtime.errors import NotAvailable\n"
        "try: pysmart.parse_device([], 'ATA')\nexcept NotAvailable as e: print(e)"
    )
    assert "pySMART is not installed (not here): pip install pySMART" == printed(program)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_drive_is_read_from_text_alone_without_a_process(protocol: str) -> None:
    asked: list[list[str]] = []

    def answer(arguments: Any) -> tuple[list[str], int]:
        asked.append(list(arguments))
        return pysmart.normalized(smartctl_texts.PAIRS[protocol][0]().splitlines()), 0

    device = pysmart.new_device(answer, protocol)
    assert "PASS" == device.assessment
    assert [True] == ["--all" in arguments for arguments in asked]


def test_a_fresh_device_does_not_repeat_the_messages_of_the_last() -> None:
    lines = smartctl_texts.ata(when_hot="In_the_past").splitlines()
    first, second = (pysmart.parse_device(lines, "ATA").messages for _ in range(2))
    assert 1 == len(first)
    assert first == second


def test_an_unsupported_protocol_is_a_parse_error() -> None:
    with pytest.raises(ParseError, match="does not support the protocol 'USB'"):
        pysmart.parse_device([], "USB")


#: Besides cut tables: hexadecimal flags of -f brief, and numbers that are none.
BROKEN = {
    "brief flags": ("ATA", "0x0033", "PO--CK"),
    "no hours": ("NVMe", "8,760", "unknown"),
    "no size": ("NVMe", "[6.32 TB]", "[much]"),
    "no defects": ("SCSI", "list: 4", "list: many"),
    "no counts": ("SCSI", "read:          0", "read:          "),
}


@pytest.mark.parametrize("name", BROKEN)
def test_exceptions_of_pysmart_become_a_parse_error(name: str) -> None:
    protocol, good, bad = BROKEN[name]
    text = smartctl_texts.PAIRS[protocol][0]()
    assert good in text
    with pytest.raises(ParseError, match="pySMART cannot parse smartctl's text"):
        pysmart.parse_device(text.replace(good, bad).splitlines(), protocol)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_text_cut_off_anywhere_is_read_or_an_error(protocol: str) -> None:
    text = smartctl_texts.PAIRS[protocol][0]()
    report = smartctl_texts.pair(protocol)
    for end in range(0, len(text), 97):
        report["smartctl"]["output"] = text[:end].splitlines() or [""]
        try:
            second_opinion(report)
        except SourceError as e:
            assert isinstance(e, ParseError)  # noqa: PT017


LINES = st.lists(
    st.one_of(
        st.text(max_size=80),
        st.sampled_from(
            sorted({line for one, _ in smartctl_texts.PAIRS.values() for line in one().split("\n")})
        ),
    ),
    max_size=60,
)


@given(LINES, st.sampled_from(PROTOCOLS))
@settings(deadline=None)
def test_any_text_gives_values_or_an_error(lines: list[str], protocol: str) -> None:
    report = {"device": {"protocol": protocol}, "smartctl": {"output": ["", *lines]}}
    try:
        found = second_opinion(report)
    except ParseError:
        return
    assert not [value for value in found.values() if value is None]


@pytest.mark.parametrize("report", [{}, {"smartctl": []}, {"smartctl": {"output": []}}])
def test_a_report_without_text_is_not_parsed_by_pysmart(report: dict[str, object]) -> None:
    with pytest.raises(NotAvailable, match="--json=co"):
        second_opinion(report)


def test_a_report_without_protocol_is_a_parse_error() -> None:
    with pytest.raises(ParseError, match="protocol"):
        second_opinion({"smartctl": {"output": ["smartctl 7.4"]}, "device": {"protocol": 1}})


def test_a_hostile_self_test_log_is_parsed_in_bounded_time() -> None:
    """pySMART's expressions backtrack over the gaps; these lines have the maximum of gaps."""
    worst = ["# 1" + "  a" * 160 + "!", "# 1" + " " * 480 + "x", "#1  " + "a   " * 15 + "["] * 20
    lines = ["", "", "", "", "SMART Self-test log", *worst]
    began = time.process_time()
    for protocol in PROTOCOLS:
        pysmart.parse_device(lines, protocol)
    assert time.process_time() - began < 5.0


NEWER = (
    smartctl_texts.nvme_entry(0, "Extended", "Completed without error", 8700),
    smartctl_texts.nvme_entry(1, "Short", "Aborted: Self-test command", 8600, "1"),
)


@pytest.mark.parametrize("namespace", ["", ", NSID 0xffffffff"])
def test_nvme_self_tests_of_all_namespaces_and_of_smartctl_7_5_are_read(namespace: str) -> None:
    text = smartctl_texts.nvme(log=smartctl_texts.nvme_log(*NEWER, namespace=namespace))
    tests = pysmart.parse_device(text.splitlines(), "NVMe").tests
    assert [("Completed without error", 8700), ("Aborted: Self-test command", 8600)] == [
        (test.status, test.hours) for test in tests
    ]


def test_the_second_product_name_of_dells_drives_does_not_become_the_model() -> None:
    text = smartctl_texts.ata().replace(
        "Firmware Version", "Add. Product Id:  DELL(tm)\nFirmware Version"
    )
    assert "EXAMPLE SSD 480" == pysmart.parse_device(text.splitlines(), "ATA").model


STANDBY = smartctl_texts.BANNER.format(version="7.4") + "Device is in STANDBY mode, exit(2)\n"


@pytest.mark.parametrize(
    ("text", "protocol"),
    [
        (smartctl_texts.ata(), "ATA"),
        (smartctl_texts.nvme(), "NVMe"),
        (smartctl_texts.scsi(), "SCSI"),
        (smartctl_texts.ata().replace("EXAMPLE SSD 480", "NVMe Version: 1.4"), "ATA"),
        (STANDBY, None),
    ],
    ids=["ATA", "NVMe", "SCSI", "a model named like another protocol", "standby"],
)
def test_the_protocol_follows_from_the_text(text: str, protocol: str | None) -> None:
    assert protocol == pysmart.parse_protocol(text.splitlines())


def test_more_lines_than_smartctl_prints_are_dropped() -> None:
    assert 8194 == len(pysmart.normalized(["line"] * 10_000))


@given(st.data())
@settings(deadline=None, max_examples=examples(200))
def test_a_broken_line_gives_values_or_a_parse_error(data: st.DataObject) -> None:
    protocol = data.draw(st.sampled_from(sorted(smartctl_texts.PAIRS)))
    text = smartctl_texts.PAIRS[protocol][0]()
    start = data.draw(st.integers(0, len(text)))
    end = start + data.draw(st.integers(0, 40))
    broken = text[:start] + data.draw(st.text(max_size=40)) + text[end:]
    report = {"smartctl": {"output": broken.splitlines()}, "device": {"protocol": protocol}}
    try:
        opinion = second_opinion(report)
    except ParseError:
        return
    assert isinstance(opinion, dict)
