"""Option files and command lines of MySQL and MariaDB, and the directories that they set."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.linux.mysql import mysql_directories
from exporter.linux.mysql.mysql_directories import (
    KNOWN_OPTIONS,
    OptionFiles,
    OptionInclude,
    Options,
    OptionSetting,
)

FILE = """
# The MySQL server
[client]
datadir = /not/ours
password = swordfish

[mysqld]
user=mysql
password = "hunter2"
datadir = "/srv/my data"   # moved in 2024
innodb-log-group-home-dir=/redo ; kept: only # begins a comment here
innodb_undo_directory = '/undo#1'
loose-innodb_doublewrite_dir=/dblwr
log-bin # base name left to the server
skip-innodb-doublewrite
tmpdir=/tmp\\svar
!includedir /etc/mysql/conf.d/
!include /etc/mysql/last.cnf
"""


def settings(text: str, suffix: str = "") -> list[tuple[str, str | bool]]:
    found = mysql_directories.parse_option_file(text, suffix).value
    return [(s.name, s.value) for s in found if isinstance(s, OptionSetting)]


def test_file() -> None:
    """A file with comments, quotes, dashes and underscores, and includes."""
    expected = (
        OptionSetting("datadir", "/srv/my data"),
        OptionSetting("innodb_log_group_home_dir", "/redo ; kept: only"),
        OptionSetting("innodb_undo_directory", "/undo#1"),
        OptionSetting("innodb_doublewrite_dir", "/dblwr"),
        OptionSetting("log_bin", value=True),
        OptionSetting("innodb_doublewrite", value=False),
        OptionSetting("tmpdir", "/tmp var"),
        OptionInclude("/etc/mysql/conf.d/", is_directory=True),
        OptionInclude("/etc/mysql/last.cnf", is_directory=False),
    )
    parsed = mysql_directories.parse_option_file(FILE)
    assert (expected, ()) == (parsed.value, parsed.faults)


@pytest.mark.parametrize(
    ("group", "ours"),
    [
        ("mysqld", True),
        ("server", True),
        ("mariadb", True),
        ("mariadbd", True),
        ("mysqld-8.0", True),
        ("mariadb-10.11", True),
        (" mysqld ", True),
        ("mysqld_safe", False),
        ("mysqldump", False),
        ("client", False),
        ("mysqld-eight", False),
    ],
)
def test_groups(group: str, ours: bool) -> None:
    """A server reads its own groups, also those for one version, and no others."""
    assert ours == bool(settings(f"[{group}]\ndatadir=/x"))


def test_group_suffix() -> None:
    """With a suffix, the groups with that suffix are read in addition."""
    text = "[mysqld]\ndatadir=/a\n[mysqld@two]\ndatadir=/b\n[mysqld@three]\ndatadir=/c"
    assert settings(text) == [("datadir", "/a")]
    assert settings(text, "@two") == [("datadir", "/a"), ("datadir", "/b")]


@pytest.mark.parametrize("line", ["[mysqld", "!includefile /secret", "!include", "!"])
def test_faults_quote_nothing(line: str) -> None:
    """The fault of a malformed line has its number, not its text, which may hold a password."""
    parsed = mysql_directories.parse_option_file(f"[mysqld]\ndatadir=/x\n{line}\n")
    assert (OptionSetting("datadir", "/x"),) == parsed.value
    assert [True] == [str(fault).startswith("line 3: ") for fault in parsed.faults]
    assert not any("secret" in str(fault) for fault in parsed.faults)


def test_arguments() -> None:
    """Values after "=" or in the next argument, short options, and disabled options."""
    argv = [
        "/usr/sbin/mysqld",
        "--datadir=/a",
        "--user=mysql",
        "--password=hunter2",
        "--innodb-log-group-home-dir",
        "/redo",
        "--log-bin",
        "--relay_log=/relay/bin",
        "--skip-innodb-doublewrite",
        "-t",
        "/tmp1",
        "-h/b",
        "--",
        "--datadir=/c",
    ]
    expected = {
        "datadir": "/b",
        "innodb_log_group_home_dir": "/redo",
        "log_bin": True,
        "relay_log": "/relay/bin",
        "innodb_doublewrite": False,
        "tmpdir": "/tmp1",
    }
    assert expected == mysql_directories.parse_arguments(argv)


def test_missing_last_value_is_empty() -> None:
    """A command line that ends before a value yields an empty one."""
    assert mysql_directories.parse_arguments(["mysqld", "--datadir"]) == {"datadir": ""}
    assert mysql_directories.parse_arguments([]) == {}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], OptionFiles()),
        (["--no-defaults", "--datadir=/x"], OptionFiles(())),
        (["--defaults-file=/a.cnf"], OptionFiles(("/a.cnf",))),
        (
            ["--defaults-extra-file=/a.cnf"],
            OptionFiles(("/etc/my.cnf", "/etc/mysql/my.cnf", "/a.cnf")),
        ),
        (
            ["--defaults-file=/a.cnf", "--defaults-group-suffix=_2"],
            OptionFiles(("/a.cnf",), "_2"),
        ),
    ],
)
def test_option_files(arguments: list[str], expected: OptionFiles) -> None:
    """The command line sets which option files are read."""
    assert expected == mysql_directories.parse_option_file_arguments(["mysqld", *arguments])


LINES = st.lists(
    st.sampled_from(["[mysqld]", "[client]", "!include /x", "datadir=/a", 'log-bin="', "'", "="])
    | st.text(string.printable)
    | st.text()
)


@given(LINES.map("\n".join) | st.text())
def test_any_text(text: str) -> None:
    """Any text yields known settings and faults, never an exception."""
    for item in mysql_directories.parse_option_file(text).value:
        assert isinstance(item, OptionInclude) or item.name in KNOWN_OPTIONS


@given(st.lists(st.text() | st.sampled_from(["--datadir", "-h", "-t", "--", "--log-bin="])))
def test_any_arguments(argv: list[str]) -> None:
    """Any command line yields only known options."""
    assert mysql_directories.parse_arguments(argv).keys() <= KNOWN_OPTIONS
    mysql_directories.parse_option_file_arguments(argv)


@given(st.text(string.ascii_letters + string.digits + "/_- .#;=", min_size=1))
def test_quoted_value_is_unchanged(value: str) -> None:
    """A quoted value may contain any text, also comment signs."""
    assert settings(f'[mysqld]\ndatadir = "{value}" # x') == [("datadir", value)]


def roles(options: Options) -> list[tuple[str, str]]:
    return [
        (each.role, each.directory) for each in mysql_directories.role_directories(options).value
    ]


def test_defaults() -> None:
    """Without options everything is in /var/lib/mysql, and logs are not listed."""
    expected = ["mysql-data", "mysql-redo", "mysql-undo", "mysql-doublewrite"]
    assert [(role, "/var/lib/mysql") for role in expected] == roles({})


def test_each_option_moves_its_role() -> None:
    """Relative paths start in the data directory."""
    options = {
        "datadir": "/data/",
        "innodb_log_group_home_dir": "../redo",
        "innodb_undo_directory": ".",
        "innodb_data_home_dir": "/home",
        "log_bin": "/binlog/mysql-bin",
        "relay_log": "relay/relay-bin.log",
        "tmpdir": "/tmp1:/tmp2",
    }
    expected = [
        ("mysql-data", "/data"),
        ("mysql-redo", "/redo"),
        ("mysql-undo", "/data"),
        ("mysql-doublewrite", "/home"),
        ("mysql-binlog", "/binlog"),
        ("mysql-relaylog", "/data/relay"),
        ("mysql-tmp", "/tmp1"),
        ("mysql-tmp", "/tmp2"),
    ]
    assert expected == roles(options)


@pytest.mark.parametrize(
    ("options", "directory"),
    [
        ({"log_bin": True}, "/var/lib/mysql"),
        ({"log_bin": ""}, "/var/lib/mysql"),
        ({"log_bin": "binlog"}, "/var/lib/mysql"),
        ({"log_bin": False}, None),
    ],
)
def test_binlog(options: Options, directory: str | None) -> None:
    """A binary log without a path is in the data directory; a disabled one is not listed."""
    assert directory == dict(roles(options)).get("mysql-binlog")


@pytest.mark.parametrize("value", [False, "OFF", "0"])
def test_no_doublewrite(value: str | bool) -> None:
    """A server with doublewrite disabled has no doublewrite directory."""
    options: Options = {"innodb_doublewrite": value, "innodb_doublewrite_dir": "/x"}
    assert "mysql-doublewrite" not in dict(roles(options))


def test_relative_datadir() -> None:
    """A relative data directory starts in the server's working directory, which is unknown."""
    assert roles({"datadir": "data", "log_bin": "/binlog/x"}) == []


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, 3306),
        ("3307", 3307),
        ("0", 3306),
        ("65535", 65535),
        ("65536", None),
        ("-1", None),
        ("many", None),
        (True, None),
    ],
)
def test_port(value: str | bool | None, expected: int | None) -> None:
    options = {} if value is None else {"port": value}
    assert expected == mysql_directories.server_port(options)


def test_port_in_arguments_and_option_files() -> None:
    for argv in (["--port=3307"], ["--port", "3307"], ["-P", "3307"], ["-P3307"]):
        options = mysql_directories.parse_arguments(["mysqld", *argv])
        assert 3307 == mysql_directories.server_port(options)
    items = mysql_directories.parse_option_file("[client]\nport=1\n[mysqld]\nport = 3308\n").value
    assert [OptionSetting("port", "3308")] == list(items)


@given(st.dictionaries(st.sampled_from(sorted(KNOWN_OPTIONS)), st.text() | st.booleans()))
def test_any_options(options: dict[str, str | bool]) -> None:
    """All directories are absolute, for any options."""
    assert all(directory.startswith("/") for _, directory in roles(options))
