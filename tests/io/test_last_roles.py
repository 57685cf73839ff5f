"""The role of a MySQL server outlives the server, because it ends when its filesystem fails."""

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.io import last_roles
from exporter.linux import topology
from exporter.linux.topology import RememberedRole, Topology
from exporter.runtime import untrusted_file
from tests.fuzz import examples
from tests.linux import trees
from tests.linux.trees import Sys, mount_line

DAY = 86400.0


class Host:
    """A host with MySQL on vdb. `survey` reads the topology and remembers its roles."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.now = 1000 * DAY
        self.remembered: tuple[RememberedRole, ...] = ()
        self.sys = Sys(place / "sys")
        trees.virtio(self.sys)
        trees.virtio(self.sys, "vdb")
        (place / "proc/1").mkdir(parents=True)
        self.root = mount_line(self.sys.number("vda"), "/")
        self.data = mount_line(self.sys.number("vdb"), "/var/lib/mysql")
        self.failed = mount_line(
            self.sys.number("vdb"), "/var/lib/mysql", super_options="rw,emergency_ro"
        )
        self.mounts(self.root, self.data)

    def mounts(self, *lines: str) -> None:
        (self.place / "proc/1/mountinfo").write_text("".join(lines))

    def starts(self, pid: int, *arguments: str) -> None:
        lines = (self.place / "proc/1/mountinfo").read_text()
        trees.process(self.place / "proc", pid, ["/usr/sbin/mysqld", *arguments], lines)

    def ends(self, pid: int) -> None:
        (self.place / "proc" / str(pid)).rename(self.place / f"ended-{pid}-{self.now}")

    def survey(self, keep_days: float = 7.0) -> Topology:
        found = topology.read(
            self.sys.root, self.place / "proc", self.place, remembered=self.remembered
        ).value
        self.remembered = last_roles.remembered_roles(
            self.remembered, found.roles, found.servers, now=self.now, keep_days=keep_days
        )
        return found


def data_drives(found: Topology) -> list[tuple[str, ...]]:
    return [role.devices for role in found.roles if role.name == "mysql-data"]


@pytest.fixture
def host(tmp_path: Path) -> Host:
    host = Host(tmp_path)
    host.starts(77)
    host.survey()
    return host


def test_the_role_remains_after_the_server_has_ended(host: Host) -> None:
    host.ends(77)
    found = host.survey()
    assert () == found.servers
    assert [("vdb",)] == data_drives(found)
    assert {True} == {role.has_ended for role in found.roles}
    assert [("vdb",)] == data_drives(host.survey())


def test_the_mountpoint_of_an_ended_server_keeps_its_usage_and_state(host: Host) -> None:
    host.ends(77)
    host.mounts(host.failed)
    (data,) = [each for each in host.survey().filesystems if each.mountpoint == "/var/lib/mysql"]
    assert (True, True) == (data.readonly, data.failed)


def test_the_role_remains_after_a_restart_of_the_exporter(host: Host) -> None:
    host.ends(77)
    host.remembered = last_roles.from_state(last_roles.to_state(host.remembered))
    assert [("vdb",)] == data_drives(host.survey())


def test_a_restarted_server_replaces_its_last_role(host: Host) -> None:
    host.ends(77)
    host.survey()
    host.starts(78, "--datadir=/srv/mysql")
    assert [("vda",)] == data_drives(host.survey())[:1]
    assert [("vda",)] == data_drives(host.survey())


def test_an_unmounted_filesystem_has_no_role(host: Host) -> None:
    """The directory then belongs to the root filesystem, which never had the role."""
    host.ends(77)
    host.mounts(host.root)
    assert [] == data_drives(host.survey())


def test_the_role_is_dropped_after_a_week(host: Host) -> None:
    host.ends(77)
    host.survey()
    host.now += 8 * DAY
    host.survey()
    assert [] == data_drives(host.survey())


def test_a_role_of_a_clock_that_was_weeks_ahead_is_dropped(host: Host) -> None:
    """Otherwise it would be kept until that time."""
    host.ends(77)
    host.survey()
    host.now -= 8 * DAY
    host.survey()
    assert [] == data_drives(host.survey())


def test_roles_are_dropped_at_once_if_the_setting_is_zero(host: Host) -> None:
    host.ends(77)
    host.now += 30
    host.survey(keep_days=0)
    assert [] == data_drives(host.survey(keep_days=0))


def test_the_last_role_in_a_container_is_kept_by_device(tmp_path: Path) -> None:
    """The host does not mount the volume, so it is known by its drive, and is not saved."""
    host = Host(tmp_path)
    host.mounts(host.root)
    trees.process(tmp_path / "proc", 77, ["mysqld"], host.data)
    host.survey()
    host.ends(77)
    assert [("vdb",)] == data_drives(host.survey())
    assert [] == last_roles.to_state(host.remembered)


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text() | st.integers(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(
                st.sampled_from(["name", "directory", "mountpoint", "cgroup", "seen_at"]), inner
            )
        ),
    )
)
@settings(max_examples=examples(200))
def test_any_saved_value(saved: Any) -> None:
    for role in last_roles.from_state(saved):
        assert role.name
        assert role.mountpoint
        assert 0 <= role.seen_at_unix_time <= untrusted_file.MAX_UNIX_TIME


@pytest.mark.parametrize(
    "seen_at",
    [10**400, -1, math.nan, math.inf, 1e300, True, "1", None],
    ids=lambda it: f"{it!r:.6}",
)
def test_a_saved_role_without_a_valid_time_is_left_out(seen_at: Any) -> None:
    saved = {"name": "mysql-data", "directory": "/d", "mountpoint": "/", "cgroup": None}
    assert [1.0] == [
        role.seen_at_unix_time
        for role in last_roles.from_state([saved | {"seen_at": seen_at}, saved | {"seen_at": 1}])
    ]
