"""The baselines of every drive ever seen here."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.io.baseline import BaselineRules, Baselines

RULES = BaselineRules()

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
_ALMOST = st.dictionaries(
    st.text(),
    st.fixed_dictionaries(
        {"read": st.just([]), "write": st.lists(st.lists(st.integers() | st.floats(), max_size=3))}
    ),
)


def learned() -> Baselines:
    baselines = Baselines(RULES)
    for _ in range(80):
        baselines.for_drive("wwn-1").read.observe(50, 50 * 0.000_2)
        baselines.for_drive("wwn-1").write.observe(50, 50 * 0.002)
    baselines.for_drive("wwn-2")
    return baselines


def test_what_was_learned_is_kept_through_json() -> None:
    kept = json.loads(json.dumps(learned().to_state()))
    again = Baselines(RULES, kept).for_drive("wwn-1")
    assert pytest.approx(0.000_2, rel=0.1) == again.read.seconds
    assert pytest.approx(0.002, rel=0.1) == again.write.seconds


def test_drives_of_which_nothing_was_learned_are_not_kept() -> None:
    assert {"wwn-1"} == learned().to_state().keys()


def test_a_drive_that_is_known_keeps_its_baselines() -> None:
    baselines = learned()
    assert baselines.for_drive("wwn-1") is baselines.for_drive("wwn-1")


@given(_JSON | st.dictionaries(st.text(), _JSON) | _ALMOST)
def test_garbage_is_refused_and_learned_anew(kept: Any) -> None:
    """Whatever JSON can hold, also 1e999."""
    baselines = Baselines(RULES, kept)
    assert baselines.for_drive("wwn-1").read.seconds is None
    json.dumps(baselines.to_state(), allow_nan=False)


def test_garbage_costs_its_own_drive(caplog: pytest.LogCaptureFixture) -> None:
    kept = learned().to_state() | {"wwn-9": {"read": [[1, -5]], "write": []}}
    again = Baselines(RULES, kept)
    assert again.for_drive("wwn-1").read.seconds is not None
    assert again.for_drive("wwn-9").read.seconds is None
    assert "the stored baseline of wwn-9 is not usable" in caplog.text


def test_drives_not_seen_for_longest_are_forgotten_first() -> None:
    baselines = learned()
    for count in range(8191):
        baselines.for_drive(f"drive-{count}")
        baselines.for_drive("wwn-1")
    assert "wwn-1" in baselines.to_state()
    for count in range(8192):
        baselines.for_drive(f"other-{count}")
    assert {} == baselines.to_state()
