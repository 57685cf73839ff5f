"""The daemon's own rounds, read back by their keys."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.background import probe_rounds
from exporter.background.probe_rounds import Round, Rounds
from exporter.commands import kept_rounds
from exporter.diagnosis.steady_state import Phase
from exporter.tools.fio_profiles import PROFILES, Profile


def kept(*profiles: Profile, drive: str = "a drive", runs: int = 5) -> Any:
    rounds = Rounds()
    for profile in profiles:
        key = probe_rounds.key(drive, "1.0", profile, "libaio")
        for number in range(runs):
            rounds.add(key, Round(1000.0 + number, 1e-4), lower_is_better=True)
    return json.loads(json.dumps(rounds.to_keep()))


@pytest.mark.parametrize("profile", PROFILES.values(), ids=lambda profile: profile.name)
def test_every_profile_is_read_back_as_it_was_judged(profile: Profile) -> None:
    ((drive, firmware, series),) = kept_rounds.series(kept(profile), None)
    assert ("a drive", "1.0", "libaio") == (drive, firmware, series.engine)
    found = series.profile
    assert probe_rounds.key("a drive", "1.0", found, "libaio") == (
        probe_rounds.key("a drive", "1.0", profile, "libaio")
    )
    assert probe_rounds.is_latency(profile) == probe_rounds.is_latency(found)
    assert Phase.STEADY is series.judgement.phase
    assert "1970-01-01 00:16 UTC" == series.rounds[0].when


def test_one_profile_is_picked_out() -> None:
    rounds = kept(*PROFILES.values())
    assert ["fsync"] == [s.profile.name for _, _, s in kept_rounds.series(rounds, "fsync")]
    assert [] == list(kept_rounds.series(rounds, "other"))


def test_a_drive_may_hold_what_parts_the_keys() -> None:
    rounds = kept(PROFILES["fsync"], drive="a|b|c")
    assert ["a|b|c"] == [drive for drive, _, _ in kept_rounds.series(rounds, None)]


def test_two_of_a_kind_are_two() -> None:
    profile = PROFILES["page_read"]
    rounds = kept(profile, replace(profile, depth=2))
    assert [1, 2] == [s.profile.depth for _, _, s in kept_rounds.series(rounds, None)]


@pytest.mark.parametrize(
    "key", ["", "|" * 11, "d|f|n|e|randread|x|1|1|1|none|1|None", "d|f|n|e|bad|1|1|1|1|none|1|5"]
)
def test_a_key_that_is_none_is_left_out(key: str) -> None:
    (one,) = kept(PROFILES["fsync"]).values()
    assert [] == list(kept_rounds.series({key: one}, None))


@given(
    st.recursive(
        st.none() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_anything_kept_is_rounds_or_nothing(found: Any) -> None:
    list(kept_rounds.series(found, None))
    (one,) = kept(PROFILES["fsync"]).values()
    list(kept_rounds.series({"d|f|n|e|read|1|1|1|1|none|1|None": found, "x": one}, None))


@given(st.floats())
def test_any_time_can_be_shown(at: float) -> None:
    assert isinstance(kept_rounds._when(at), str)
