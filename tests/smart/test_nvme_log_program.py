"""The program that reads log pages, with a simulated drive below its system calls."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from exporter.smart import nvme_log_program
from exporter.smart.polling.log_answers import LogAnswers, parse_log_answers
from rigs.devices import drive_shim
from tests.smart import logging_drive

DEVICE = "/dev/nvme9"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return drive_shim.build(tmp_path_factory.mktemp("shim"))


def read(*arguments: str, library: Path, answers: Path) -> dict[str, LogAnswers]:
    simulated = {
        "LD_PRELOAD": str(library),
        "DRIVE_SHIM_DEVICE": DEVICE,
        "DRIVE_SHIM_DIRECTORY": str(answers),
    }
    done = subprocess.run(
        [sys.executable, "-I", "-S", nvme_log_program.__file__, *arguments],
        env={**os.environ, **simulated},
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert b"" == done.stderr
    return parse_log_answers(done.stdout)


def test_the_pages_of_a_drive_are_read_with_one_command_each(library: Path, tmp_path: Path) -> None:
    (tmp_path / "log-192").write_bytes(bytes(range(256)) * 2)
    (tmp_path / "log-9").write_bytes(b"\x09" * 512)
    answers = read(DEVICE, "192:512:0", "9:512:1", library=library, answers=tmp_path)[DEVICE]
    assert {192: bytes(range(256)) * 2, 9: b"\x09" * 512} == answers.pages
    assert {} == answers.refused
    # The drive sees the number, RAE, the dwords less one, and the log specific identifier.
    assert ["02 000000c0|8000|007f0000 00000000", "02 00000009|8000|007f0000 00010000"] == (
        (tmp_path / "commands").read_text().splitlines()
    )


def test_a_page_that_the_drive_refuses_has_its_status(library: Path, tmp_path: Path) -> None:
    (tmp_path / "log-2").write_bytes(bytes(512))
    answers = read(DEVICE, "192:512:0", "2:512:0", library=library, answers=tmp_path)[DEVICE]
    assert {192: 0x4002} == answers.refused
    assert {2: bytes(512)} == answers.pages
    assert answers.unanswered is None


def test_identify_is_followed_by_the_list_of_pages(library: Path, tmp_path: Path) -> None:
    identify = bytearray(logging_drive.identify())
    identify[261] = 1 << 5
    (tmp_path / "identify-1").write_bytes(identify)
    (tmp_path / "log-0").write_bytes(logging_drive.supported(0xC0))
    answers = read(DEVICE, "identify", library=library, answers=tmp_path)[DEVICE]
    assert bytes(identify) == answers.identify
    assert {0: logging_drive.supported(0xC0)} == answers.pages


def test_a_drive_without_the_list_is_not_asked_for_it(library: Path, tmp_path: Path) -> None:
    (tmp_path / "identify-1").write_bytes(logging_drive.identify())
    answers = read(DEVICE, "identify", library=library, answers=tmp_path)[DEVICE]
    assert {} == answers.refused


def test_a_device_that_is_not_there_costs_only_itself(library: Path, tmp_path: Path) -> None:
    (tmp_path / "log-2").write_bytes(bytes(512))
    arguments = "/dev/nvme-none", "2:512:0", DEVICE, "2:512:0"
    answers = read(*arguments, library=library, answers=tmp_path)
    assert "No such file or directory" == answers["/dev/nvme-none"].unusable
    assert {2: bytes(512)} == answers[DEVICE].pages


def test_a_file_that_is_no_device_is_not_asked(library: Path, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    answers = read(str(file), "2:512:0", library=library, answers=tmp_path)
    assert "not a device" == answers[str(file)].unusable
    assert {} == answers[str(file)].pages
