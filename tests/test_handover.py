"""What a process hands to the agent that it becomes."""

import os
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from exporter import handover
from exporter.handover import Handover
from exporter.smart.discovery import Override
from exporter.smart.poller import PollingPlan

#: A path and what is typed on a command line may hold bytes that are no UTF-8.
WORDS = st.binary(max_size=9).map(lambda raw: os.fsdecode(raw.replace(b"\0", b"")))
SECONDS = st.none() | st.floats(0.1, 1e6)
OVERRIDES = st.builds(Override, WORDS, SECONDS, SECONDS, st.booleans())
PLANS = st.builds(
    PollingPlan,
    program=WORDS,
    nvme_interval_seconds=st.floats(1, 1e6),
    processes=st.integers(1, 100),
    include=WORDS,
    drives=st.lists(st.tuples(WORDS, WORDS), max_size=3).map(tuple),
    overrides=st.dictionaries(WORDS, OVERRIDES, max_size=3),
)
HANDOVERS = st.builds(
    Handover,
    PLANS,
    *[WORDS.map(Path)] * 3,
    level=st.sampled_from(["debug", "info"]),
    again=st.lists(WORDS, max_size=3).map(tuple),
)


@given(HANDOVERS)
def test_what_is_handed_over_arrives_as_it_was(handed: Handover) -> None:
    assert handed == handover.unpacked(handover.packed(handed))


def test_a_text_longer_than_a_pipe_usually_holds_is_read_whole() -> None:
    text = bytes(range(256)) * 1024
    with open(handover.pipe_with(text), "rb") as pipe:
        assert text == pipe.read()
