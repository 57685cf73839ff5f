"""The daemon's saved rounds, parsed from their keys."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.commands import steady_state_command
from exporter.commands.steady_state_command import saved_series
from exporter.config.profiles import PROFILES, Profile
from exporter.probe import results
from exporter.probe.results import Round, RoundHistory
from exporter.probe.steady_state import SteadyPhase


def kept(*profiles: Profile, drive: str = "a drive", runs: int = 5) -> Any:
    rounds = RoundHistory()
    for profile in profiles:
        key = results.series_key(drive, "1.0", profile, "libaio")
        for number in range(runs):
            rounds.add(key, Round(1000.0 + number, 1e-4), lower_is_better=True)
    return json.loads(json.dumps(rounds.to_state()))


@pytest.mark.parametrize("profile", PROFILES.values(), ids=lambda profile: profile.name)
def test_every_profile_is_read_back_as_it_was_judged(profile: Profile) -> None:
    ((drive, firmware, series),) = saved_series(kept(profile), None)
    assert ("a drive", "1.0", "libaio") == (drive, firmware, series.engine)
    found = series.profile
    assert results.series_key("a drive", "1.0", found, "libaio") == (
        results.series_key("a drive", "1.0", profile, "libaio")
    )
    assert results.is_latency_judged(profile) == results.is_latency_judged(found)
    assert SteadyPhase.STEADY is series.judgement.phase
    assert "1970-01-01 00:16 UTC" == series.rounds[0].when


def test_one_profile_is_selected() -> None:
    rounds = kept(*PROFILES.values())
    assert ["fsync"] == [s.profile.name for _, _, s in saved_series(rounds, "fsync")]
    assert [] == list(saved_series(rounds, "other"))


def test_a_drive_name_may_contain_the_separator() -> None:
    rounds = kept(PROFILES["fsync"], drive="a|b|c")
    assert ["a|b|c"] == [drive for drive, _, _ in saved_series(rounds, None)]


def test_two_drives_of_one_profile_are_two_series() -> None:
    profile = PROFILES["page_read"]
    rounds = kept(profile, replace(profile, depth=2))
    assert [1, 2] == [s.profile.depth for _, _, s in saved_series(rounds, None)]


@pytest.mark.parametrize(
    "key", ["", "|" * 11, "d|f|n|e|randread|x|1|1|1|none|1|None", "d|f|n|e|bad|1|1|1|1|none|1|5"]
)
def test_an_invalid_key_is_ignored(key: str) -> None:
    (one,) = kept(PROFILES["fsync"]).values()
    assert [] == list(saved_series({key: one}, None))


@given(
    st.recursive(
        st.none() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_any_saved_value_gives_rounds_or_nothing(found: Any) -> None:
    list(saved_series(found, None))
    (one,) = kept(PROFILES["fsync"]).values()
    list(saved_series({"d|f|n|e|read|1|1|1|1|none|1|None": found, "x": one}, None))


@given(st.floats())
def test_any_time_can_be_shown(at: float) -> None:
    assert isinstance(steady_state_command._when(at), str)
