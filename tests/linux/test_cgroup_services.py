"""The services of a host: which groups are listed, in which order, and their names."""

import os
from pathlib import Path

import pytest

from exporter.linux import cgroup
from exporter.linux.cgroup import ServiceTree, owning_service, service_name
from exporter.runtime.errors import LimitReached, NotAvailable, ReadError

ID = "0123456789ab" + "c" * 52
POD = "8f3e12ab-1111-2222-3333-444444444444"


def enable(group: Path, controllers: str = "cpu io memory") -> Path:
    """Creates a group that enables controllers for the groups below it."""
    group.mkdir(parents=True, exist_ok=True)
    (group / "cgroup.subtree_control").write_text(f"{controllers}\n")
    return group


def service(group: Path, io_stat: str = "8:0 rbytes=1 wbytes=2 rios=3 wios=4\n") -> Path:
    """Creates a group with counters."""
    group.mkdir(parents=True, exist_ok=True)
    (group / "io.stat").write_text(io_stat)
    return group


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "cgroup.controllers").write_text("cpuset cpu io memory pids\n")
    return enable(tmp_path)


def read(root: Path) -> ServiceTree:
    return cgroup.read_services(root).value


def test_the_services_of_a_slice_come_before_it(root: Path) -> None:
    service(enable(root / "system.slice"))
    for name in ("mysql.service", "xtrabackup.service"):
        service(root / "system.slice" / name)
    groups = read(root).groups
    assert ["mysql.service", "xtrabackup.service", "system.slice"] == [g.name for g in groups]
    assert ["system.slice", "system.slice", None] == [group.parent for group in groups]
    assert b"8:0 rbytes=1 wbytes=2 rios=3 wios=4\n" == groups[0].io_stat
    assert os.stat(root / "system.slice/mysql.service").st_ino == groups[0].inode


def test_the_groups_in_a_service_belong_to_it(root: Path) -> None:
    service(enable(root / "system.slice"))
    service(enable(root / "system.slice/docker.service"))
    service(root / "system.slice/docker.service/payload")
    assert ["docker.service", "system.slice"] == [group.name for group in read(root).groups]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("init.scope", "init.scope"),
        ("system.slice/mysql@3307.service", "mysql@3307.service"),
        (r"system.slice/system-mysql.slice/mysql@a\x2db.service", r"mysql@a\x2db.service"),
        (f"system.slice/docker-{ID}.scope", "docker-0123456789ab.scope"),
        (f"machine.slice/libpod-{ID}.scope", "libpod-0123456789ab.scope"),
        (f"docker/{ID}", "docker/0123456789ab"),
        (
            f"kubepods.slice/kubepods-burstable.slice/cri-containerd-{ID}.scope",
            "cri-containerd-0123456789ab.scope",
        ),
        (f"kubepods/burstable/pod{POD}/{ID}", "pod8f3e12ab/0123456789ab"),
        ("machine.slice/systemd-nspawn@web.service", "systemd-nspawn@web.service"),
        ("lxc.payload.web/system.slice/mysql.service", "lxc.payload.web/mysql.service"),
        ("user.slice/user-1000.slice/session-3.scope", "user-1000.slice"),
        ("user.slice/user-1000.slice/user@1000.service", "user@1000"),
        (
            "user.slice/user-1000.slice/user@1000.service/app.slice/b.service",
            "user@1000/b.service",
        ),
        ("system.slice/run-r0123456789abcdef.service", "run-*.service"),
        ("system.slice/run-u12.scope", "run-*.scope"),
        ("system.slice/run-p12-i34.service", "run-*.service"),
        ("system.slice/runner.service", "runner.service"),
    ],
)
def test_a_service_has_the_name_of_its_unit(path: str, name: str) -> None:
    assert name == service_name(path)


@pytest.mark.parametrize("character", ["\x1b", "\n", "\x9b", "\u202e", "\udcff"])
@pytest.mark.parametrize("path", ["a{}.service", "user.slice/a{}.slice/session-3.scope", "a{}/b{}"])
def test_a_name_is_printable(path: str, character: str) -> None:
    """A user chooses the names of the groups below his own one."""
    name = service_name(path.replace("{}", character))
    assert name.isprintable()
    assert name == service_name(path).replace("{}", repr(character)[1:-1])


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/system.slice/mysql.service", "mysql.service"),
        ("/system.slice/mysql.service/worker", "mysql.service"),
        (f"/system.slice/docker-{ID}.scope/init", "docker-0123456789ab.scope"),
        (f"/docker/{ID}", "docker/0123456789ab"),
        ("/", None),
    ],
)
def test_the_service_of_a_process(path: str, name: str | None) -> None:
    assert name == owning_service(path)


def test_user_units_are_listed_one_by_one(root: Path) -> None:
    manager = root / "user.slice/user-1000.slice/user@1000.service"
    for group in (*reversed([*manager.parents][:2]), manager, manager / "app.slice"):
        service(enable(group))
    service(manager / "app.slice/backup.service")
    assert [
        "user@1000/backup.service",
        "user@1000/app.slice",
        "user@1000",
        "user-1000.slice",
        "user.slice",
    ] == [group.name for group in read(root).groups]


def test_a_slice_without_accounting_is_counted_as_a_whole(root: Path) -> None:
    """systemd before 258 enables the io controller only for units that ask for it."""
    service(enable(root / "system.slice", "cpu memory"))
    (root / "system.slice/mysql.service").mkdir()
    tree = read(root)
    assert (["system.slice"], ("system.slice",)) == ([g.name for g in tree.groups], tree.uncounted)


def test_a_group_that_is_removed_meanwhile_is_omitted(root: Path) -> None:
    (root / "gone.slice").mkdir()
    assert ServiceTree((), ()) == read(root)


@pytest.mark.parametrize("controllers", [None, "", "cpu memory"])
def test_a_host_without_the_controller_says_so(tmp_path: Path, controllers: str | None) -> None:
    """Only cgroup v1, or the io controller belongs to cgroup v1 on a hybrid host."""
    if controllers is not None:
        (tmp_path / "cgroup.controllers").write_text(controllers)
    with pytest.raises(NotAvailable, match="unified_cgroup_hierarchy"):
        cgroup.read_services(tmp_path)


def test_a_host_that_counts_no_service_says_so(root: Path) -> None:
    enable(root, "cpu memory")
    with pytest.raises(NotAvailable, match="DefaultIOAccounting=yes"):
        cgroup.read_services(root)


def test_an_unreadable_group_keeps_its_place(root: Path) -> None:
    group = service(root / "mysql.service")
    (group / "io.stat").unlink()
    (group / "io.stat").mkdir()
    parsed = cgroup.read_services(root)
    assert [None] == [group.io_stat for group in parsed.value.groups]
    assert [ReadError] == [type(fault) for fault in parsed.faults]


def test_the_number_of_groups_is_limited(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroup, "MAX_GROUPS", 3)
    for number in range(5):
        service(root / f"{number}.service")
    parsed = cgroup.read_services(root)
    assert (3, False) == (len(parsed.value.groups), parsed.value.is_complete)
    assert [LimitReached] == [type(fault) for fault in parsed.faults]


def counters(devices: int) -> str:
    return "".join(f"8:{n} rbytes=1 wbytes=2 rios=3 wios=4\n" for n in range(devices))


@pytest.mark.parametrize(
    ("devices", "count"),
    [(6000, 60), (1000, 60)],
)
def test_the_counters_of_all_groups_have_a_limit(root: Path, devices: int, count: int) -> None:
    """The groups of a user use a part of it, and the slices above are read in any case."""
    for name in ("system.slice", "user.slice", "user.slice/user-1000.slice"):
        service(enable(root / name))
    service(root / "system.slice/mysql.service")
    user = root / "user.slice/user-1000.slice"
    large = service(user / "0.service", counters(devices)) / "io.stat"
    for number in range(1, count):
        (user / f"{number}.service").mkdir()
        os.link(large, user / f"{number}.service/io.stat")
    parsed = cgroup.read_services(root)
    contents = {group.path: group.io_stat for group in parsed.value.groups}
    unread = [path for path, content in contents.items() if content is None]
    assert unread
    assert all(path.endswith(".service") and path.startswith("user.slice") for path in unread)
    kept = [content for content in contents.values() if content is not None]
    assert sum(map(len, kept)) <= cgroup.MAX_BYTES
    assert sum(content.count(b"\n") for content in kept) <= cgroup.MAX_GROUP_DEVICES
    assert not parsed.value.is_complete
    assert ["limit"] == [fault.reason for fault in parsed.faults]


def test_the_depth_and_the_directories_are_limited(root: Path) -> None:
    deep = root
    for _ in range(cgroup.MAX_DEPTH + 5):
        deep = service(enable(deep / "a"))
    parsed = cgroup.read_services(root)
    assert (cgroup.MAX_DEPTH, False) == (len(parsed.value.groups), parsed.value.is_complete)
