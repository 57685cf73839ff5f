"""Running servers: their processes and option files, and that no passwords are kept."""

from collections.abc import Iterable
from pathlib import Path

from exporter.linux import mountinfo
from exporter.linux.mysql import mysqld
from exporter.linux.mysql.mysql_directories import RoleDirectory
from exporter.linux.mysql.mysqld import MysqlServer
from exporter.runtime.errors import LimitReached, Parsed, SourceError
from tests.linux import trees
from tests.linux.trees import mount_line

HOST = mount_line("8:1", "/") + mount_line("8:2", "/data")


def write(root: Path, path: str, text: str) -> None:
    place = root / path.lstrip("/")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)


def read(root: Path, host: str = HOST) -> tuple[MysqlServer, ...]:
    return parse(root, host).value


def parse(root: Path, host: str = HOST) -> Parsed[tuple[MysqlServer, ...]]:
    return mysqld.read(root / "proc", root, mountinfo.parse(host).value)


def limits(faults: Iterable[SourceError]) -> list[str]:
    """Returns the texts of the limits that were reached."""
    return [str(fault) for fault in faults if isinstance(fault, LimitReached)]


def directories(server: MysqlServer) -> dict[str, str]:
    return {each.role: each.directory for each in server.directories}


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


def test_port_of_a_server_in_a_container_is_known_from_its_command_line_only(
    tmp_path: Path,
) -> None:
    inside = mount_line("0:60", "/", "overlay", "overlay") + mount_line("8:2", "/var/lib/mysql")
    write(tmp_path, "/etc/my.cnf", "[mysqld]\nport=3310\n")
    for pid, argv, mounts in (
        (10, ["mysqld"], HOST),
        (11, ["mysqld"], inside),
        (12, ["mysqld", "--port=3311"], inside),
    ):
        trees.process(tmp_path / "proc", pid, argv, mounts, cgroup=f"0::/docker/{pid}")
    assert {10: 3310, 11: None, 12: 3311} == {each.pid: each.port for each in read(tmp_path)}


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


def test_bounded_option_bytes_of_all_servers(tmp_path: Path) -> None:
    """The option files of all servers are read up to a total of 8 MiB, the oldest server first."""
    write(tmp_path, "/etc/my.cnf", "[mysqld]\ndatadir=/data/real\n")
    trees.process(tmp_path / "proc", 9, ["mysqld"], HOST)
    comment = "#" * (240 << 10)
    write(tmp_path, "/conf.d/first.cnf", f"{comment}\n")
    write(tmp_path, "/conf.d/last.cnf", f"{comment}\n[mysqld]\ndatadir=/data/complete\n")
    # Four files are within the limit of one server, and 34 within that of all.
    write(tmp_path, "/main", "!include /conf.d/first.cnf\n" * 3 + "!include /conf.d/last.cnf\n")
    for pid in range(10, 40):
        trees.process(tmp_path / "proc", pid, ["mysqld", "--defaults-file=/main"], HOST)
    parsed = parse(tmp_path)
    assert len(parsed.value) == 31
    found = [directories(server)["mysql-data"] for server in parsed.value]
    assert ["/data/real", *["/data/complete"] * 8] == found[:9]
    assert "/data/complete" not in found[9:]
    assert limits(parsed.faults)


def test_bounded_tmpdirs(tmp_path: Path) -> None:
    """Of 340,000 directories for temporary files, 16 are kept."""
    argv = ["mysqld", "--no-defaults", "--tmpdir=" + "/t:" * 20_000]
    trees.process(tmp_path / "proc", 10, argv, HOST)
    write(tmp_path, "/etc/my.cnf", "[mysqld]\ntmpdir=" + "/t:" * 80_000)
    trees.process(tmp_path / "proc", 11, ["mysqld"], HOST)
    parsed = parse(tmp_path)
    counts = [[d.role for d in s.directories].count("mysql-tmp") for s in parsed.value]
    assert [16, 16] == counts
    assert ["tmpdir: only the first 16 directories are used"] * 2 == limits(parsed.faults)


def test_kept_mounts(tmp_path: Path) -> None:
    """Of 5,000 mounts, a server keeps those that contain its directories."""
    many = HOST + "".join(mount_line("8:2", f"/m/{number}") for number in range(5000))
    trees.process(tmp_path / "proc", 10, ["mysqld", "--datadir=/data/x"], many)
    (server,) = read(tmp_path)
    assert ["/data"] == [mount.mountpoint for mount in server.mounts]


def test_mounts_of_one_namespace_are_read_once(tmp_path: Path) -> None:
    """Processes with the same first mount share the mounts, which are read once."""
    for pid in (10, 11):
        trees.process(tmp_path / "proc", pid, ["mysqld"], HOST)
    trees.process(tmp_path / "proc", 1, ["init"], HOST)
    for pid in (10, 11):
        (tmp_path / f"proc/{pid}/mountinfo").write_text(HOST.split("\n")[0] + "\nbroken\n")
    parsed = parse(tmp_path)
    assert [10, 11] == [server.pid for server in parsed.value]
    assert parsed.faults == ()


def test_huge_namespace(tmp_path: Path) -> None:
    """A server in a namespace with 20,000 mounts is omitted and reported; others are not."""
    inside = mount_line("0:60", "/", "overlay", "overlay")
    huge = inside + "".join(mount_line("8:2", f"/m/{number}") for number in range(20_000))
    trees.process(tmp_path / "proc", 1, ["init"], HOST)
    trees.process(tmp_path / "proc", 10, ["mysqld"], huge)
    trees.process(tmp_path / "proc", 11, ["mysqld"], HOST)
    parsed = parse(tmp_path)
    assert [11] == [server.pid for server in parsed.value]
    assert "proc/10/mountinfo: not read, because it is larger" in limits(parsed.faults)[0]


def test_deep_path_is_not_resolved(tmp_path: Path) -> None:
    """A path with 2,000 components costs 128 lookups, and is kept as it is."""
    (tmp_path / "link").symlink_to("/" + "a/" * 2000)
    trees.process(tmp_path / "proc", 10, ["mysqld", "--datadir=/link/x"], HOST)
    (server,) = read(tmp_path)
    assert directories(server)["mysql-data"] == "/link/x"
