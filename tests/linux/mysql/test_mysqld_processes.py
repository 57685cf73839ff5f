"""Server processes: how they are found, and which are selected if there are many."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.linux.mysql import mysqld_processes
from exporter.linux.mysql.mysqld_processes import (
    Credentials,
    ServerCandidate,
    ServerProcess,
    find_server_processes,
    select,
)
from tests.linux import trees
from tests.linux.trees import mount_line

HOST = mount_line("8:1", "/")
UNIT = "/system.slice/mysql.service"
SESSION = "/user.slice/user-1000.slice/session-3.scope"


def test_server_processes(tmp_path: Path) -> None:
    """Servers are found by their names; other names that start with mysqld do not count."""
    for pid, name in enumerate(["mysqld", "mariadbd", "mysqld_safe", "mysqld_exporter"], start=10):
        trees.process(tmp_path, pid, [f"/usr/sbin/{name}", "--datadir=/a b"], HOST)
    mysql = Credentials(1000, frozenset({1000}))
    (tmp_path / "self").mkdir()
    argvs = [("/usr/sbin/mysqld", "--datadir=/a b"), ("/usr/sbin/mariadbd", "--datadir=/a b")]
    expected = tuple(
        ServerProcess(pid, argv, UNIT, mysql) for pid, argv in enumerate(argvs, start=10)
    )
    assert expected == find_server_processes(tmp_path).value


@pytest.mark.parametrize("stat", ["", "garbage", "10 (mysqld) S 1", "10 (mysqld", "\0"])
def test_malformed_process_is_skipped(tmp_path: Path, stat: str) -> None:
    """Truncated files of one process do not affect others."""
    for pid in (10, 11):
        trees.process(tmp_path, pid, ["mysqld"], HOST)
    (tmp_path / "10/stat").write_text(stat)
    assert [11] == [each.pid for each in find_server_processes(tmp_path).value]


def test_no_proc(tmp_path: Path) -> None:
    """Without /proc, or with no process in it, there are no servers."""
    assert find_server_processes(tmp_path / "proc").value == ()
    assert find_server_processes(tmp_path).value == ()


def test_invalid_utf8_in_arguments(tmp_path: Path) -> None:
    """Bytes that are not UTF-8 become escapes, as in all names."""
    trees.process(tmp_path, 10, ["mysqld"], HOST)
    (tmp_path / "10/cmdline").write_bytes(b"mysqld\0--datadir=/\xff\0")
    assert find_server_processes(tmp_path).value[0].argv[1] == "--datadir=/\\xff"


def test_huge_command_line(tmp_path: Path) -> None:
    """Of a command line of 6 MiB, the first complete arguments are read, and this is reported."""
    trees.process(tmp_path, 10, ["mysqld", "--datadir=/d", "x" * (6 << 20)], HOST)
    parsed = find_server_processes(tmp_path)
    assert ("mysqld", "--datadir=/d") == parsed.value[0].argv
    assert ["limit"] == [fault.reason for fault in parsed.faults]


def test_many_processes_do_not_hide_the_server(tmp_path: Path) -> None:
    """A user's 200 processes have lower process IDs than the server and are older."""
    for pid in range(10, 210):
        trees.process(tmp_path, pid, ["mysqld"], HOST, cgroup=f"0::{SESSION}")
    trees.process(tmp_path, 9000, ["mysqld", "--datadir=/real"], HOST)
    parsed = find_server_processes(tmp_path)
    assert 9000 == parsed.value[0].pid
    assert len(parsed.value) == 64
    (fault,) = parsed.faults
    assert str(fault).startswith("201 processes have the name of a MySQL server, and 64 of them")


@pytest.mark.parametrize(
    ("cgroup", "login", "is_of_user"),
    [
        (UNIT, (1 << 32) - 1, False),
        (SESSION, (1 << 32) - 1, True),
        ("/system.slice/cron.service", 1000, True),
    ],
)
def test_a_process_in_a_user_slice_or_of_a_cron_job_is_of_a_user(
    tmp_path: Path, cgroup: str, login: int, is_of_user: bool
) -> None:
    trees.process(tmp_path, 10, ["mysqld"], HOST, cgroup=f"0::{cgroup}", login=login)
    assert is_of_user == find_server_processes(tmp_path).value[0].is_of_user
    (tmp_path / "10/loginuid").unlink()
    assert (cgroup == SESSION) == find_server_processes(tmp_path).value[0].is_of_user


@pytest.mark.parametrize(
    ("cgroup", "expected"),
    [
        (UNIT, None),
        (SESSION, "/user.slice/user-1000.slice"),
        (f"{SESSION}/user.slice/user-7.slice", "/user.slice/user-1000.slice"),
        ("/user.slice/x.service", "/user.slice"),
        ("/docker/a/user.slice/user-0.slice/b", "/docker/a/user.slice/user-0.slice"),
    ],
)
def test_user_slice(cgroup: str, expected: str | None) -> None:
    assert expected == mysqld_processes.user_slice(cgroup)


def processes(
    count: int, cgroup: str | None, *, owner: int = 0, first: int = 1
) -> list[ServerCandidate]:
    return [ServerCandidate(pid, cgroup, owner, started=pid) for pid in range(first, first + count)]


def test_units_come_before_sessions() -> None:
    """64 servers of units are selected, none of the 500 of a user."""
    units = [each for n in range(64) for each in processes(1, f"/system.slice/mysqld@{n}.service")]
    assert set(units) == set(select([*processes(500, SESSION), *units]))


def test_control_groups_get_equal_shares() -> None:
    """A system account with 500 processes, and a user's cron jobs, do not displace servers."""
    attack = processes(500, "/system.slice/apache2.service", owner=33)
    cron = processes(500, "/system.slice/cron.service", owner=1000, first=1000)
    servers = processes(20, UNIT, owner=110, first=5000)
    selected = select([*attack, *cron, *servers])
    assert set(servers) <= set(selected)
    assert 22 == len(set(attack) & set(selected))


def test_the_groups_below_a_unit_count_as_one() -> None:
    """A unit with Delegate= creates any number of them."""
    ci = "/system.slice/ci.service"
    jobs = [each for n in range(100) for each in processes(1, f"{ci}/job-{n}")]
    servers = processes(20, UNIT, owner=110, first=5000)
    assert set(servers) <= set(select([*jobs, *servers]))


def test_units_come_before_cron_jobs() -> None:
    """Without control groups too, a process of a login comes last."""
    jobs = [ServerCandidate(n, None, 1000 + n, n, is_of_user=True) for n in range(500)]
    servers = processes(20, None, owner=110, first=5000)
    assert set(servers) <= set(select([*jobs, *servers]))


def test_a_user_counts_once() -> None:
    """A user who creates many control groups in his slice gets the share of one user."""
    own = "/user.slice/user-1000.slice/user@1000.service"
    many = [each for n in range(500) for each in processes(1, f"{own}/{n}", owner=100_000 + n)]
    other = processes(10, "/user.slice/user-1001.slice/session-9.scope", owner=1001, first=9000)
    assert set(other) <= set(select([*many, *other]))


def test_owners_without_control_groups() -> None:
    """With cgroup v1, each owner gets the same number."""
    servers = processes(5, None, owner=110, first=9000)
    assert set(servers) <= set(select([*processes(500, None, owner=1000), *servers]))


def test_the_oldest_of_a_group() -> None:
    """Within a control group, processes that were started later are not selected."""
    candidates = processes(300, UNIT)
    assert set(candidates[:64]) == set(select(reversed(candidates)))


@pytest.mark.parametrize("others", [63, 64, 65, 70, 500])
def test_older_processes_of_the_unit_do_not_hide_the_server_with_an_open_data_directory(
    tmp_path: Path, others: int
) -> None:
    """For example wrappers and checks that are called mysqld, in the container of the server."""
    for pid in range(10, 10 + others):
        trees.process(tmp_path, pid, ["mysqld"], HOST, started=pid, parent=7)
    trees.process(tmp_path, 9000, ["mysqld", "--datadir=/real"], HOST, started=9000, parent=7)
    (tmp_path / "locks").write_text("1: POSIX  ADVISORY  WRITE 9000 08:01:131 0 EOF\n")
    found = find_server_processes(tmp_path)
    assert 9000 in [each.pid for each in found.value]
    assert min(64, others + 1) == len(found.value)
    assert (others >= 64) == bool(found.faults)


def test_the_main_process_of_the_unit_comes_before_older_ones(tmp_path: Path) -> None:
    """The locks may be unknown, as in another PID namespace."""
    for pid in range(10, 80):
        trees.process(tmp_path, pid, ["mysqld"], HOST, started=pid, parent=7)
    trees.process(tmp_path, 9000, ["mysqld", "--datadir=/real"], HOST, started=9000, parent=1)
    assert 9000 == find_server_processes(tmp_path).value[0].pid


def test_a_unit_comes_before_many_containers_with_older_processes() -> None:
    """Each of them is a control group."""
    containers = [
        each for n in range(500) for each in processes(1, f"/docker/{n}", owner=0, first=10 + n)
    ]
    unit = ServerCandidate(9000, UNIT, 110, started=900_000, is_main=True)
    assert unit == select([*containers, unit])[0]
    locking = containers[-1]
    assert [locking, unit] == list(select([*containers, unit], frozenset({locking.pid}))[:2])


def test_locks_give_no_group_a_larger_share() -> None:
    """A user can lock as many files as he likes."""
    attack = processes(500, SESSION)
    servers = processes(5, UNIT, first=9000)
    locking = frozenset(each.pid for each in attack)
    assert set(servers) <= set(select([*attack, *servers], locking))


def test_a_group_name_inside_another_path() -> None:
    """A path that only resembles a user slice is not one. A namespace shows a path with "..\"."""
    unit = ServerCandidate(2, "/system.slice/user.slicer.service", 0, started=900)
    outside = [ServerCandidate(n, f"/../..{SESSION}", 1000, n) for n in range(10, 100)]
    assert unit == select([*outside, unit])[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0::/system.slice/mysql.service\n", "/system.slice/mysql.service"),
        ("12:blkio:/x\n1:name=systemd:/y\n0::/\n", "/"),
        ("12:blkio:/x\n", None),
        ("", None),
    ],
)
def test_cgroup(text: str, expected: str | None) -> None:
    """The v2 path is that of hierarchy 0; those of v1 do not count."""
    assert expected == mysqld_processes.parse_cgroup(text)


@given(st.text())
def test_any_cgroup(text: str) -> None:
    """Any text yields an absolute path or None."""
    found = mysqld_processes.parse_cgroup(text)
    assert found is None or found.startswith("/")


def test_this_machine() -> None:
    """The running kernel's /proc is read without an error."""
    assert all(each.argv for each in find_server_processes(Path("/proc")).value)
