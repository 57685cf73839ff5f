"""The wear of an eMMC: life_time and pre_eol_info."""

import contextlib
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from exporter.linux import mmc_sysfs
from exporter.linux.mmc_sysfs import MmcHealth, parse_life_time, parse_reserve
from exporter.runtime.errors import LimitReached, ParseError, ReadError
from tests.linux.texts import cut, texts


def write(card: Path, life_time: str | None, pre_eol_info: str | None) -> None:
    for name, content in (("life_time", life_time), ("pre_eol_info", pre_eol_info)):
        if content is not None:
            (card / name).write_text(content)


@pytest.mark.parametrize(
    ("code", "ratio"),
    [
        ("0x00", None),
        ("0x01", 0.0),
        ("0x02", 0.1),
        ("0x07", 0.6),
        ("0x09", 0.8),
        ("0x0a", 0.9),
        ("0x0A", 0.9),
        ("0x0b", 1.0),
    ],
)
def test_a_code_is_the_lower_bound_of_its_range(code: str, ratio: float | None) -> None:
    assert (ratio, None) == parse_life_time(f"{code} 0x00\n")
    assert (None, ratio) == parse_life_time(f"0x00 {code}\n")


@pytest.mark.parametrize(
    ("text", "reserve"),
    [
        ("0x00\n", ""),
        ("0x01\n", "normal"),
        ("0x02\n", "warning"),
        ("0x03\n", "urgent"),
        ("03\n", "urgent"),
    ],
)
def test_state_of_the_reserved_blocks(text: str, reserve: str) -> None:
    assert reserve == parse_reserve(text)


@pytest.mark.parametrize(
    "text",
    [
        *("", "\n", "garbage\n", "0x01\n", "0x01 0x02 0x03\n", "0x01  0x02\n", " 0x01 0x02\n"),
        *("0x1 0x2\n", "01 02\n", "0x001 0x002\n", "0x01,0x02\n", "-0x1 0x02\n", "- -\n"),
        *("0x0c 0x01\n", "0x01 0x0c\n", "0xff 0xff\n", "0x01 0x02\n\n", "0x01 0x02\r\n", "\0" * 9),
    ],
)
def test_any_other_life_time_is_a_parse_error(text: str) -> None:
    with pytest.raises(ParseError, match=r"^life_time: "):
        parse_life_time(text)


@pytest.mark.parametrize(
    "text", ["", "\n", "0x04\n", "0xff\n", "ff\n", "0x1\n", "1\n", "-\n", "0x01 0x02\n", "0x٠١\n"]
)
def test_any_other_reserve_is_a_parse_error(text: str) -> None:
    with pytest.raises(ParseError, match=r"^pre_eol_info: "):
        parse_reserve(text)


def test_truncated_file_is_a_parse_error() -> None:
    for text in cut("0x01 0x0a\n"):
        with pytest.raises(ParseError):
            parse_life_time(text)
    for text in cut("0x01\n"):
        with pytest.raises(ParseError):
            parse_reserve(text)


@given(texts("0x01", "0x0b", "0x"))
@example("0x0b 0x0b\n")
def test_any_text_is_a_wear_or_a_parse_error(text: str) -> None:
    with contextlib.suppress(ParseError):
        assert all(ratio is None or 0 <= ratio <= 1 for ratio in parse_life_time(text))
    with contextlib.suppress(ParseError):
        assert parse_reserve(text) in ("", "normal", "warning", "urgent")


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_any_files_are_a_wear_and_faults(
    tmp_path_factory: pytest.TempPathFactory, life_time: bytes, pre_eol_info: bytes
) -> None:
    card = tmp_path_factory.mktemp("card")
    (card / "life_time").write_bytes(life_time)
    (card / "pre_eol_info").write_bytes(pre_eol_info)
    parsed = mmc_sysfs.read_health(card)
    assert len(parsed.faults) <= 2
    assert all(len(str(fault)) < 600 for fault in parsed.faults)


def test_no_files_are_no_emmc(tmp_path: Path) -> None:
    assert mmc_sysfs.read_health(tmp_path).value is None


def test_each_file_is_read_without_the_other(tmp_path: Path) -> None:
    write(tmp_path, "0x02 0x03\n", None)
    assert MmcHealth(0.1, 0.2) == mmc_sysfs.read_health(tmp_path).value
    (tmp_path / "life_time").unlink()
    write(tmp_path, None, "0x02\n")
    assert MmcHealth(reserve="warning") == mmc_sysfs.read_health(tmp_path).value


def test_one_malformed_file_does_not_affect_the_other(tmp_path: Path) -> None:
    write(tmp_path, "0x02 0x03\n", "0x09\n")
    parsed = mmc_sysfs.read_health(tmp_path)
    assert MmcHealth(0.1, 0.2) == parsed.value
    (fault,) = parsed.faults
    assert f"{tmp_path}/pre_eol_info: pre_eol_info: a reserved code: '0x09\\n'" == str(fault)


def test_a_file_that_cannot_be_read_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "life_time").mkdir()
    write(tmp_path, None, "0x01\n" * 50)
    parsed = mmc_sysfs.read_health(tmp_path)
    assert MmcHealth() == parsed.value
    assert [ReadError, LimitReached] == [type(fault) for fault in parsed.faults]
