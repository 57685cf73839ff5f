"""Running servers: their processes and option files, and that no passwords are kept."""

import os
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.linux import mountinfo, mysqld
from exporter.linux.mysql_directories import OptionFiles, RoleDirectory
from exporter.linux.mysqld import MysqlServer, ServerProcess
from tests.linux import trees
from tests.linux.trees import mount_line

HOST = mount_line("8:1", "/") + mount_line("8:2", "/data")


def write(root: Path, path: str, text: str) -> None:
    place = root / path.lstrip("/")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)


def read(root: Path, host: str = HOST) -> tuple[MysqlServer, ...]:
    mounts = mountinfo.parse(host).value
    return mysqld.read(root / "proc", root, mounts).value


def directories(server: MysqlServer) -> dict[str, str]:
    return {each.role: each.directory for each in server.directories}


def test_server_processes(tmp_path: Path) -> None:
    """Servers are found by their names; other names that start with mysqld do not count."""
    for pid, name in enumerate(["mysqld", "mariadbd", "mysqld_safe", "mysqld_exporter"], start=10):
        trees.process(tmp_path, pid, [f"/usr/sbin/{name}", "--datadir=/a b"], HOST)
    (tmp_path / "self").mkdir()
    argv = [("/usr/sbin/mysqld", "--datadir=/a b"), ("/usr/sbin/mariadbd", "--datadir=/a b")]
    expected = (ServerProcess(10, argv[0]), ServerProcess(11, argv[1]))
    assert expected == mysqld.find_server_processes(tmp_path)
    assert psutil.PROCFS_PATH == "/proc"


@pytest.mark.parametrize("stat", ["", "garbage", "10 (mysqld) S 1", "10 (mysqld", "\0"])
def test_malformed_process_is_skipped(tmp_path: Path, stat: str) -> None:
    """Truncated files of one process do not affect others."""
    for pid in (10, 11):
        trees.process(tmp_path, pid, ["mysqld"], HOST)
    (tmp_path / "10/stat").write_text(stat)
    assert [11] == [each.pid for each in mysqld.find_server_processes(tmp_path)]


def test_no_proc(tmp_path: Path) -> None:
    """Without /proc, or with no process in it, there are no servers."""
    assert mysqld.find_server_processes(tmp_path / "proc") == ()
    assert mysqld.find_server_processes(tmp_path) == ()
    assert psutil.PROCFS_PATH == "/proc"


def test_invalid_utf8_in_arguments(tmp_path: Path) -> None:
    """Bytes that are not UTF-8 become escapes, as in all names."""
    trees.process(tmp_path, 10, ["mysqld"], HOST)
    (tmp_path / "10/cmdline").write_bytes(b"mysqld\0--datadir=/\xff\0")
    assert mysqld.find_server_processes(tmp_path)[0].argv[1] == "--datadir=/\\xff"


def test_server(tmp_path: Path) -> None:
    """Option files and includes are read in order; the command line overrides them."""
    trees.process(tmp_path / "proc", 10, ["/usr/sbin/mysqld", "--log-bin=/arg/bin"], HOST)
    write(tmp_path, "/etc/my.cnf", "[mysqld]\ndatadir=/first\nlog-bin=/file/bin\n")
    write(
        tmp_path,
        "/etc/mysql/my.cnf",
        "[mysqld]\ndatadir=/second\n!includedir /etc/mysql/conf.d\n!include /etc/one.cnf\n",
    )
    write(tmp_path, "/etc/mysql/conf.d/b.cnf", "[mysqld]\ndatadir=/fourth\n")
    write(tmp_path, "/etc/mysql/conf.d/a.cnf", "[mysqld]\ndatadir=/third\n!include /etc/deep.cnf")
    write(tmp_path, "/etc/mysql/conf.d/c.cnf.bak", "[mysqld]\ndatadir=/backup\n")
    write(tmp_path, "/etc/deep.cnf", "[mysqld]\ntmpdir=/deep\n")
    write(tmp_path, "/etc/one.cnf", "[mysqld]\ninnodb_undo_directory=/undo\n")
    (server,) = read(tmp_path)
    expected = {
        "mysql-data": "/fourth",
        "mysql-redo": "/fourth",
        "mysql-undo": "/undo",
        "mysql-doublewrite": "/fourth",
        "mysql-binlog": "/arg",
    }
    assert expected == directories(server)
    assert (10, "/system.slice/mysql.service") == (server.pid, server.cgroup)


def test_linked_datadir(tmp_path: Path) -> None:
    """A data directory that is a symbolic link is resolved."""
    trees.process(tmp_path / "proc", 10, ["mysqld"], HOST)
    (tmp_path / "var/lib").mkdir(parents=True)
    (tmp_path / "var/lib/mysql").symlink_to("/data/mysql")
    (server,) = read(tmp_path)
    assert RoleDirectory("mysql-data", "/data/mysql") == server.directories[0]


def test_container(tmp_path: Path) -> None:
    """A server in a container has its own mounts, and does not read the host's option files."""
    inside = mount_line("0:60", "/", "overlay", "overlay") + mount_line("8:2", "/var/lib/mysql")
    trees.process(tmp_path / "proc", 10, ["mysqld"], inside, cgroup="0::/docker/abc")
    write(tmp_path, "/etc/my.cnf", "[mysqld]\ndatadir=/the/hosts\n")
    (server,) = read(tmp_path)
    assert directories(server)["mysql-data"] == "/var/lib/mysql"
    found = mountinfo.mount_containing(server.mounts, "/var/lib/mysql")
    assert found is not None
    assert found.number == "8:2"


def test_hidden_process(tmp_path: Path) -> None:
    """A server whose mounts cannot be read is omitted."""
    trees.process(tmp_path / "proc", 10, ["mysqld"], HOST)
    (tmp_path / "proc/10/mountinfo").unlink()
    assert read(tmp_path) == ()


def test_hidden_cgroup(tmp_path: Path) -> None:
    """A server whose cgroup cannot be read is listed without it."""
    trees.process(tmp_path / "proc", 10, ["mysqld"], HOST)
    (tmp_path / "proc/10/cgroup").unlink()
    assert [None] == [each.cgroup for each in read(tmp_path)]


def test_no_passwords_are_kept(tmp_path: Path) -> None:
    """Passwords of command lines and files are not in the records or faults."""
    argv = ["mysqld", "--datadir=/d", "--password=hunter2", "--defaults-extra-file=/x.cnf"]
    trees.process(tmp_path / "proc", 10, argv, HOST)
    write(tmp_path, "/x.cnf", "[mysqld]\nmaster-password=hunter2\n[hunter2\n!hunter2\n")
    parsed = mysqld.read(tmp_path / "proc", tmp_path, mountinfo.parse(HOST).value)
    assert len(parsed.faults) == 2
    assert "hunter2" not in repr(parsed)


def test_unusual_option_files(tmp_path: Path) -> None:
    """A pipe, a directory, a huge file and a null byte are not read and do not block."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    write(tmp_path, "/huge", "[mysqld]\ndatadir=/x\n" + "#" * (1 << 20))
    write(tmp_path, "/main", "!include /a\0b\n!includedir /a\0b\n!includedir /huge\n")
    paths = ("/pipe", "/folder", "/huge", "/missing", "/main", "/a\0b")
    parsed = mysqld.read_option_files(tmp_path, OptionFiles(paths))
    assert {} == parsed.value
    assert ["/pipe", "/folder", "/huge"] == [str(f).partition(":")[0] for f in parsed.faults]


def test_bounded_includes(tmp_path: Path) -> None:
    """Of a directory with 200 files only the first 64 are read."""
    for number in range(200):
        write(tmp_path, f"/conf.d/{number:03}.cnf", f"[mysqld]\ndatadir=/d{number}\n")
    write(tmp_path, "/main", "!includedir /conf.d\n")
    assert {"datadir": "/d63"} == mysqld.read_option_files(tmp_path, OptionFiles(("/main",))).value


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
    assert expected == mysqld.parse_cgroup(text)


@given(st.text())
def test_any_cgroup(text: str) -> None:
    """Any text yields an absolute path or None."""
    found = mysqld.parse_cgroup(text)
    assert found is None or found.startswith("/")


def test_this_machine() -> None:
    """The running kernel's /proc is read without an error."""
    assert all(each.argv for each in mysqld.find_server_processes(Path("/proc")))
