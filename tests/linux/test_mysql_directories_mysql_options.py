"""MySQL's and MariaDB's option files and arguments."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.linux import mysql_directories
from exporter.linux.mysql_directories import (
    KNOWN_OPTIONS,
    OptionFiles,
    OptionInclude,
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
    """A file as packages and people write it: comments, quotes, both dashes, includes."""
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
    """The groups that a server reads, those for one version among them, and no others."""
    assert ours == bool(settings(f"[{group}]\ndatadir=/x"))


def test_group_suffix() -> None:
    """With a suffix its groups are read besides the plain ones."""
    text = "[mysqld]\ndatadir=/a\n[mysqld@two]\ndatadir=/b\n[mysqld@three]\ndatadir=/c"
    assert settings(text) == [("datadir", "/a")]
    assert settings(text, "@two") == [("datadir", "/a"), ("datadir", "/b")]


@pytest.mark.parametrize("line", ["[mysqld", "!includefile /secret", "!include", "!"])
def test_faults_quote_nothing(line: str) -> None:
    """A line that is not understood is a fault by number: its text may hold a password."""
    parsed = mysql_directories.parse_option_file(f"[mysqld]\ndatadir=/x\n{line}\n")
    assert (OptionSetting("datadir", "/x"),) == parsed.value
    assert [True] == [str(fault).startswith("line 3: ") for fault in parsed.faults]
    assert not any("secret" in str(fault) for fault in parsed.faults)


def test_arguments() -> None:
    """Options with a value after "=" or in the next argument, short ones, denied ones."""
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


def test_last_argument_without_its_value() -> None:
    """A command line that ends before a value has an empty one."""
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
    """The command line says which files are read."""
    assert expected == mysql_directories.parse_option_file_arguments(["mysqld", *arguments])


LINES = st.lists(
    st.sampled_from(["[mysqld]", "[client]", "!include /x", "datadir=/a", 'log-bin="', "'", "="])
    | st.text(string.printable)
    | st.text()
)


@given(LINES.map("\n".join) | st.text())
def test_any_text(text: str) -> None:
    """Any text gives settings of known names and faults, never an exception."""
    for item in mysql_directories.parse_option_file(text).value:
        assert isinstance(item, OptionInclude) or item.name in KNOWN_OPTIONS


@given(st.lists(st.text() | st.sampled_from(["--datadir", "-h", "-t", "--", "--log-bin="])))
def test_any_arguments(argv: list[str]) -> None:
    """Any command line gives options of known names."""
    assert mysql_directories.parse_arguments(argv).keys() <= KNOWN_OPTIONS
    mysql_directories.parse_option_file_arguments(argv)


@given(st.text(string.ascii_letters + string.digits + "/_- .#;=", min_size=1))
def test_quoted_values_survive(value: str) -> None:
    """Whatever a quoted value holds, comment signs too, comes back."""
    assert settings(f'[mysqld]\ndatadir = "{value}" # x') == [("datadir", value)]
