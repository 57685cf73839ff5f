"""Option files that any user can name: what is opened, and for which server it is read."""

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.linux import mountinfo
from exporter.linux.mysql import mysqld, mysqld_processes
from exporter.linux.mysql.mysql_directories import OptionFiles
from exporter.linux.mysql.option_files import OptionFileReader
from exporter.runtime.errors import LimitReached
from tests.linux import trees

HOST = trees.mount_line("8:1", "/")
SESSION = "0::/user.slice/user-1000.slice/session-3.scope"
#: A user other than the owner of the files that a test writes.
OTHER_USER = os.getuid() + 1
OPTIONS = "[mysqld]\ndatadir=/from/the/file\n"


def datadir(
    proc: Path,
    path: Path | str,
    root: Path | str = "/",
    *,
    uid: int = OTHER_USER,
    group: int = OTHER_USER,
    is_in_session: bool = False,
) -> str:
    """Returns the data directory of a server with this option file, as the exporter sees it."""
    argv = ["mysqld", f"--defaults-file={path}"]
    cgroup = SESSION if is_in_session else "0::/system.slice/mysql.service"
    trees.process(proc, 10, argv, HOST, cgroup=cgroup, uid=uid, groups=(4, group))
    (server,) = mysqld.read(proc, Path(root), mountinfo.parse(HOST).value).value
    return server.directories[0].directory


def option_file(path: Path, mode: int = 0o644) -> Path:
    path.write_text(OPTIONS)
    path.chmod(mode)
    return path


def test_a_file_of_the_kernel_is_not_read(tmp_path: Path) -> None:
    """Reading /proc/kmsg removes messages. This test uses a file of /proc with valid options."""
    argv = [sys.executable, "-c", "print(flush=True); input()", f"\n{OPTIONS}"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        command_line = f"/proc/{process.pid}/cmdline"
        assert OPTIONS in Path(command_line).read_text()
        assert "/var/lib/mysql" == datadir(tmp_path, command_line)
        process.communicate(b"\n")


def test_a_pipe_that_replaces_the_file_at_any_moment_is_not_opened(tmp_path: Path) -> None:
    """A user replaces the file and the pipe by each other while the exporter opens the path."""
    path, pipe = tmp_path / "my.cnf", tmp_path / "pipe"
    os.mkfifo(pipe)
    was_opened, is_over = threading.Event(), threading.Event()

    def wait_for_a_reader() -> None:
        os.close(os.open(pipe, os.O_WRONLY))
        was_opened.set()

    def replace() -> None:
        while not is_over.is_set():
            option_file(tmp_path / "new").replace(path)
            os.link(pipe, tmp_path / "new")
            (tmp_path / "new").replace(path)

    option_file(path)
    threads = [threading.Thread(target=each) for each in (wait_for_a_reader, replace)]
    for thread in threads:
        thread.start()
    try:
        for number in range(1500):
            datadir(tmp_path / f"proc{number}", path)
        assert not was_opened.is_set()
    finally:
        is_over.set()
        os.close(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK))
        for thread in threads:
            thread.join()


@pytest.mark.parametrize(
    ("mode", "uid", "group", "is_read"),
    [
        (0o600, OTHER_USER, OTHER_USER, False),
        (0o640, OTHER_USER, OTHER_USER, False),
        (0o604, OTHER_USER, OTHER_USER, True),
        (0o640, OTHER_USER, os.getgid(), True),
        (0o600, OTHER_USER, os.getgid(), False),
        (0o600, os.getuid(), OTHER_USER, True),
    ],
)
def test_a_file_is_read_if_the_server_can_read_it(
    tmp_path: Path, mode: int, uid: int, group: int, is_read: bool
) -> None:
    option_file(tmp_path / "my.cnf", mode)
    expected = "/from/the/file" if is_read else "/var/lib/mysql"
    assert expected == datadir(tmp_path / "proc", "/my.cnf", tmp_path, uid=uid, group=group)


def test_the_default_files_are_read_if_the_server_can_read_them(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    option_file(tmp_path / "etc/my.cnf", 0o600)
    for pid, uid in ((10, OTHER_USER), (11, os.getuid())):
        trees.process(tmp_path / "proc", pid, ["mysqld"], HOST, uid=uid)
    servers = mysqld.read(tmp_path / "proc", tmp_path, mountinfo.parse(HOST).value).value
    found = [server.directories[0].directory for server in servers]
    assert ["/var/lib/mysql", "/from/the/file"] == found


@pytest.mark.parametrize(
    ("directory_mode", "file_mode", "is_read"),
    [(0o755, 0o644, True), (0o755, 0o600, False), (0o711, 0o644, False)],
)
def test_a_directory_is_included_if_the_server_can_list_it(
    tmp_path: Path, directory_mode: int, file_mode: int, is_read: bool
) -> None:
    (tmp_path / "conf.d").mkdir()
    option_file(tmp_path / "conf.d/a.cnf", file_mode)
    (tmp_path / "conf.d").chmod(directory_mode)
    (tmp_path / "my.cnf").write_text("!includedir /conf.d\n")
    expected = "/from/the/file" if is_read else "/var/lib/mysql"
    assert expected == datadir(tmp_path / "proc", "/my.cnf", tmp_path)


def many_names(directory: Path, count: int) -> None:
    directory.mkdir()
    for number in range(count):
        (directory / f"{number}.txt").touch()


def test_a_directory_with_many_names_is_not_read_and_reported(tmp_path: Path) -> None:
    many_names(tmp_path / "conf.d", 2_001)
    option_file(tmp_path / "conf.d/a.cnf")
    (tmp_path / "my.cnf").write_text("!includedir /conf.d\n")
    trees.process(tmp_path / "proc", 10, ["mysqld", "--defaults-file=/my.cnf"], HOST)
    parsed = mysqld.read(tmp_path / "proc", tmp_path, mountinfo.parse(HOST).value)
    assert "/var/lib/mysql" == parsed.value[0].directories[0].directory
    assert ["limit"] == [fault.reason for fault in parsed.faults]
    assert "/conf.d: not read: it has more than the remaining 2000 names" == str(parsed.faults[0])


def test_the_names_of_all_servers_have_a_limit_and_users_get_what_remains(tmp_path: Path) -> None:
    """A unit has mounts of its own. Its directory is listed before those of the user's servers."""
    unit_mounts = HOST.replace("rw,relatime", "rw,nosuid")
    proc = tmp_path / "proc"
    trees.process(proc, 1, ["init"], HOST)
    trees.process(proc, 8, ["mysqld", "--no-defaults"], HOST)
    for pid in range(10, 30):
        many_names(tmp_path / f"{pid}.d", 1_990)
        (tmp_path / f"{pid}.cnf").write_text(f"!includedir /{pid}.d\n")
        argv = ["mysqld", f"--defaults-file=/{pid}.cnf"]
        trees.process(proc, pid, argv, HOST, cgroup=SESSION)
    (tmp_path / "unit.d").mkdir()
    option_file(tmp_path / "unit.d/a.cnf")
    (tmp_path / "unit.cnf").write_text("!includedir /unit.d\n")
    trees.process(proc, 9000, ["mysqld", "--defaults-file=/unit.cnf"], unit_mounts)
    parsed = mysqld.read(proc, tmp_path, mountinfo.parse(HOST).value)
    assert "/from/the/file" == parsed.value[-1].directories[0].directory
    reached = [str(fault) for fault in parsed.faults if fault.reason == "limit"]
    # 20,000 names: ten directories, and the 11th is listed up to the remaining 99 names.
    assert 10 == len(reached)
    assert "/20.d: not read: it has more than the remaining 99 names" == reached[0]


def test_a_directory_is_listed_once_for_all_includes_and_servers(tmp_path: Path) -> None:
    """400 includes of 1,990 names are within the limit of 20,000 names."""
    many_names(tmp_path / "conf.d", 1_990)
    option_file(tmp_path / "conf.d/a.cnf")
    (tmp_path / "my.cnf").write_text("!includedir /conf.d\n" * 20)
    for pid in range(10, 30):
        trees.process(tmp_path / "proc", pid, ["mysqld", "--defaults-file=/my.cnf"], HOST)
    parsed = mysqld.read(tmp_path / "proc", tmp_path, mountinfo.parse(HOST).value)
    assert {"/from/the/file"} == {s.directories[0].directory for s in parsed.value}
    assert () == parsed.faults


def test_the_administrators_server_reads_every_file_unless_it_is_in_a_session(
    tmp_path: Path,
) -> None:
    """In a session, a link called mysqld to sudo has arguments of the user and runs as root."""
    option_file(tmp_path / "my.cnf", 0o600)
    assert "/from/the/file" == datadir(tmp_path / "a", "/my.cnf", tmp_path, uid=0)
    if os.getuid() == 0:
        assert "/var/lib/mysql" == datadir(
            tmp_path / "b", "/my.cnf", tmp_path, uid=0, is_in_session=True
        )


def test_without_credentials_only_files_for_everyone_are_read(tmp_path: Path) -> None:
    status = os.stat(option_file(tmp_path / "my.cnf", 0o640))
    assert 0o640 == stat.S_IMODE(status.st_mode)
    trees.process(tmp_path / "proc", 10, ["mysqld", "--defaults-file=/my.cnf"], HOST)
    (tmp_path / "proc/10/status").write_text("Uid:\t0\t1000\t0\t0\nGid:\t0\t0\t0\t0\nGroups:\t\n")
    (server,) = mysqld.read(tmp_path / "proc", tmp_path, mountinfo.parse(HOST).value).value
    assert "/var/lib/mysql" == server.directories[0].directory


def test_unusual_option_files(tmp_path: Path) -> None:
    """A pipe, a directory, a huge file and a null byte are not read and do not block."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "huge").write_text("[mysqld]\ndatadir=/x\n" + "#" * (1 << 20))
    (tmp_path / "main").write_text("!include /a\0b\n!includedir /a\0b\n!includedir /huge\n")
    paths = ("/pipe", "/folder", "/huge", "/missing", "/main", "/a\0b")
    parsed = OptionFileReader(tmp_path).read(OptionFiles(paths), None)
    assert {} == parsed.value
    assert ["/pipe", "/folder", "/huge"] == [str(f).partition(":")[0] for f in parsed.faults]


def test_bounded_includes(tmp_path: Path) -> None:
    """Of a directory with 200 files only the first 64 are read."""
    (tmp_path / "conf.d").mkdir()
    for number in range(200):
        (tmp_path / f"conf.d/{number:03}.cnf").write_text(f"[mysqld]\ndatadir=/d{number}\n")
    (tmp_path / "main").write_text("!includedir /conf.d\n")
    assert {"datadir": "/d63"} == OptionFileReader(tmp_path).read(
        OptionFiles(("/main",)), None
    ).value


def test_broken_lines(tmp_path: Path) -> None:
    """Of 64 included files with 120,000 broken lines each, few faults are kept."""
    (tmp_path / "broken").write_text("!\n" * 120_000)
    (tmp_path / "main").write_text("!include /broken\n" * 64)
    parsed = OptionFileReader(tmp_path).read(OptionFiles(("/main",)), None)
    assert len(parsed.faults) == 21
    assert "more faults are not listed" in str(parsed.faults[-1])


def test_bounded_option_bytes(tmp_path: Path) -> None:
    """The option files of one server are read up to a total of 1 MiB, and this is reported."""
    text = "[mysqld]\n" + "#" * (200 << 10) + "\n"
    (tmp_path / "conf.d").mkdir()
    for number in range(10):
        (tmp_path / f"conf.d/{number}.cnf").write_text(f"{text}datadir=/d{number}\n")
    (tmp_path / "main").write_text("!includedir /conf.d\n")
    parsed = OptionFileReader(tmp_path).read(OptionFiles(("/main",)), None)
    assert {"datadir": "/d4"} == parsed.value
    reached = [str(fault) for fault in parsed.faults if isinstance(fault, LimitReached)]
    assert "/5.cnf: not read" in reached[0]


def test_credentials() -> None:
    text = "Name:\tmysqld\nUid:\t110\t110\t110\t110\nGid:\t115\t115\t115\t115\nGroups:\t4 115 \n"
    found = mysqld_processes.parse_credentials(text)
    assert mysqld_processes.Credentials(110, frozenset({4, 115})) == found
    assert mysqld_processes.parse_credentials(text.replace("110\t110", "1000\t110")) is None
    assert mysqld_processes.parse_credentials(text.replace("115\t115", "1000\t115", 1)) is None


@given(st.text() | st.text(alphabet="UGidroups:\t\n 0123456789"))
def test_any_status(text: str) -> None:
    """Any text yields credentials or None."""
    found = mysqld_processes.parse_credentials(text)
    assert found is None or found.uid >= 0
