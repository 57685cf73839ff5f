"""Tests the built-in profiles, and those of the configuration."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter import config_validation
from exporter.config.profiles import (
    GIB,
    MIB,
    ON_BY_DEFAULT,
    PROFILES,
    Engine,
    Profile,
    ProfileSettings,
    Rw,
    Sync,
    profile,
    with_engine,
)
from exporter.runtime.errors import ConfigError


def configured(name: str, **values: object) -> Profile:
    """Returns a profile from a table of the configuration file."""
    where = f"probe.profile.{name}"
    return profile(name, config_validation.parse_record(ProfileSettings, values, where))


@pytest.mark.parametrize("name", PROFILES)
def test_the_built_in_profiles_are_valid_settings(name: str) -> None:
    assert PROFILES[name] == configured(name)
    assert name == PROFILES[name].name


def test_the_default_profiles_make_at_most_200_operations_a_second() -> None:
    for name in ON_BY_DEFAULT:
        each = PROFILES[name]
        assert each.rate_iops is not None
        assert each.rate_iops * each.jobs <= 200
        assert each.operations_at_most / each.rate_iops < each.runtime_seconds


def test_profiles_that_fill_the_cache_are_off_by_default() -> None:
    assert {"burst", "slc"} == set(PROFILES) - set(ON_BY_DEFAULT)
    assert PROFILES["slc"].interval_seconds is None


def test_reads_write_nothing() -> None:
    assert 0 == PROFILES["page_read"].written_bytes_at_most
    assert not PROFILES["page_read"].writes
    assert PROFILES["fsync"].writes


def test_a_minimal_run_has_the_same_parameters_and_fewer_operations() -> None:
    for each in PROFILES.values():
        small = each.minimal()
        assert small.operations_at_most <= min(32, each.operations_at_most)
        assert (each.name, each.block_bytes, each.engine) == (
            small.name,
            small.block_bytes,
            small.engine,
        )


def test_a_setting_changes_only_its_own_key() -> None:
    changed = configured("fsync", sync="fsync", interval_seconds=600)
    assert (Sync.FSYNC, 600.0) == (changed.sync, changed.interval_seconds)
    assert (4096, 200, 100) == (changed.block_bytes, changed.number_ios, changed.rate_iops)


def test_a_new_profile_starts_from_page_read() -> None:
    made = configured("mine", block_bytes=4096, engine="libaio", depth=8)
    assert ("mine", Rw.RANDREAD, 200, 512) == (
        made.name,
        made.rw,
        made.rate_iops,
        made.number_ios,
    )


def test_0_removes_a_cap() -> None:
    made = configured("mine", rate_iops=0, number_ios=0, interval_seconds=0)
    assert (None, None, None) == (made.rate_iops, made.number_ios, made.interval_seconds)
    assert not made.is_rate_capped
    assert 64 * MIB // 16_384 == made.operations_at_most


@pytest.mark.parametrize(
    ("values", "key", "hint"),
    [
        ({"block_bytes": 511}, "block_bytes", "512 to"),
        ({"block_bytes": 1000}, "block_bytes", "multiple of 512"),
        ({"block_bytes": 0}, "block_bytes", "512 to"),
        ({"size_bytes": 1 << 40}, "size_bytes", "to 68719476736"),
        ({"size_bytes": 1 << 20}, "size_bytes", "number_ios times block_bytes"),
        ({"depth": 32}, "depth", "libaio"),
        ({"depth": 1000, "engine": "libaio"}, "depth", "1 to 256"),
        ({"jobs": 17}, "jobs", "1 to 16"),
        ({"rate_iops": -1}, "rate_iops", "1 to 1000"),
        ({"number_ios": 10_000_000}, "number_ios", "1 to 1000000"),
        ({"runtime_seconds": float("nan")}, "runtime_seconds", "1 to 600"),
        ({"interval_seconds": 1}, "interval_seconds", "10 to"),
        ({"direct": False, "engine": "libaio"}, "direct", "set direct to true"),
        ({"sync": "fsync"}, "sync", "set sync to none"),
        ({"rw": "trim"}, "rw", "one of read, write"),
        ({"engine": "mmap"}, "engine", "one of psync"),
        ({"filename": "/dev/sda"}, "filename", "known keys are"),
        ({"extra": "--rw=trim"}, "extra", "known keys are"),
    ],
)
def test_a_harmful_or_misleading_setting_is_refused_by_its_key(
    values: dict[str, object], key: str, hint: str
) -> None:
    with pytest.raises(ConfigError, match=hint) as raised:
        configured("mine", **values)
    assert f"probe.profile.mine.{key}" in str(raised.value)


@pytest.mark.parametrize("name", ["", "global", "Fsync", "a-b", "9", "a" * 33, "a b", "é", "a\n"])
def test_an_invalid_profile_name_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="the name global is reserved"):
        profile(name, ProfileSettings())


@given(
    st.builds(
        ProfileSettings,
        st.none() | st.sampled_from(Rw),
        st.none() | st.integers(),
        st.none() | st.integers(),
        st.none() | st.sampled_from(Engine),
        st.none() | st.integers(),
        st.none() | st.integers(),
        st.none() | st.booleans(),
        st.none() | st.sampled_from(Sync),
        st.none() | st.integers(),
        st.none() | st.integers(),
        st.none() | st.floats(),
        st.none() | st.floats(),
    ),
    st.sampled_from(["mine", *PROFILES]),
)
def test_all_settings_are_within_bounds_or_refused(settings: ProfileSettings, name: str) -> None:
    try:
        made = profile(name, settings)
    except ConfigError:
        return
    assert made.written_bytes_at_most <= 16 * 64 * GIB
    assert 1 <= made.runtime_seconds <= 600
    assert made.interval_seconds is None or made.interval_seconds >= 10


def test_a_missing_engine_is_replaced_by_the_next() -> None:
    burst = PROFILES["burst"]
    assert burst == with_engine(burst, {"libaio", "psync"})
    fallen = with_engine(burst, {"psync"})
    assert (Engine.PSYNC, 1) == (fallen.engine, fallen.depth)
    uring = configured("mine", engine="io_uring", depth=4)
    assert (Engine.LIBAIO, 4) == (
        with_engine(uring, {"libaio"}).engine,
        with_engine(uring, {"libaio"}).depth,
    )
    assert PROFILES["fsync"] == with_engine(PROFILES["fsync"], {"io_uring", "libaio", "psync"})
