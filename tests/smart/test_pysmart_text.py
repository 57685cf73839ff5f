"""Parsing what smartctl prints as text: the protocol, and lines that pySMART can read."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.errors import ParseError
from exporter.smart import pysmart
from exporter.smart.second_opinion import second_opinion
from tests.smart import smartctl_texts

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
@settings(deadline=None, max_examples=200)
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
