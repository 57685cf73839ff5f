"""Limits in kernel format, and groups of both versions."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigs.devices.cgroup import (
    Limits,
    RigUnavailable,
    ThrottleGroup,
    sweep,
    v1_settings,
    v2_settings,
)

LIMIT = st.none() | st.integers(min_value=1, max_value=2**63)


def test_version_1_has_a_file_per_limit_and_0_lifts_it() -> None:
    expected = {
        "blkio.throttle.read_iops_device": "7:3 0",
        "blkio.throttle.write_iops_device": "7:3 400",
        "blkio.throttle.read_bps_device": "7:3 1",
        "blkio.throttle.write_bps_device": "7:3 0",
    }
    assert expected == v1_settings("7:3", Limits(write_iops=400, read_bps=1))


def test_version_2_has_one_file_and_max_lifts_a_limit() -> None:
    expected = {"io.max": "7:3 riops=max wiops=400 rbps=1 wbps=max"}
    assert expected == v2_settings("7:3", Limits(write_iops=400, read_bps=1))


@given(limits=st.builds(Limits, LIMIT, LIMIT, LIMIT, LIMIT))
def test_both_versions_have_the_same_limits(limits: Limits) -> None:
    one = [text.split()[1] for text in v1_settings("7:3", limits).values()]
    two = [word.partition("=")[2] for word in v2_settings("7:3", limits)["io.max"].split()[1:]]
    assert [value if value != "0" else "max" for value in one] == two


@pytest.mark.parametrize("value", [0, -1])
def test_a_limit_below_one_is_rejected(value: int) -> None:
    with pytest.raises(ValueError, match="write_iops"):
        Limits(write_iops=value)


def test_version_2_enables_the_io_controller_before_creating_a_group(tmp_path: Path) -> None:
    (tmp_path / "cgroup.controllers").write_text("cpuset cpu io memory pids\n")
    (tmp_path / "cgroup.subtree_control").write_text("cpu memory\n")
    group = ThrottleGroup.create(tmp_path)
    group.limit("7:3", Limits(write_iops=400))

    expected = ("+io", "7:3 riops=max wiops=400 rbps=max wbps=max")
    written = (tmp_path / "cgroup.subtree_control", group.path / "io.max")
    assert expected == tuple(path.read_text() for path in written)


def test_a_missing_io_controller_is_reported(
    tmp_path: Path,
) -> None:
    (tmp_path / "cgroup.controllers").write_text("hugetlb\n")
    with pytest.raises(RigUnavailable, match="neither blkio"):
        ThrottleGroup.create(tmp_path)


def test_only_groups_of_exited_processes_are_removed(tmp_path: Path) -> None:
    # Larger than the maximum pid_max of 2^22.
    dead, alive, foreign = "ssd-rig-4194305-x", "ssd-rig-1-x", "system.slice"
    for name in (dead, alive, foreign):
        (tmp_path / name).mkdir()
    sweep(tmp_path)

    expected = [alive, foreign]
    assert expected == sorted(path.name for path in tmp_path.iterdir())
