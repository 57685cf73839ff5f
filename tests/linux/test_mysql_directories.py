"""Which directory does what for a server."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.linux import mysql_directories
from exporter.linux.mysql_directories import KNOWN_OPTIONS, Options


def roles(options: Options) -> list[tuple[str, str]]:
    return [(each.role, each.directory) for each in mysql_directories.role_directories(options)]


def test_defaults() -> None:
    """Without options everything lies in /var/lib/mysql, and no logs are known of."""
    expected = ["mysql-data", "mysql-redo", "mysql-undo", "mysql-doublewrite"]
    assert [(role, "/var/lib/mysql") for role in expected] == roles({})


def test_everything_apart() -> None:
    """Each option moves its role; relative paths start in the data directory."""
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
    """A binary log without a path lies in the data directory; a denied one nowhere."""
    assert directory == dict(roles(options)).get("mysql-binlog")


@pytest.mark.parametrize("value", [False, "OFF", "0"])
def test_no_doublewrite(value: str | bool) -> None:
    """A server that does not write twice has no doublewrite directory."""
    options: Options = {"innodb_doublewrite": value, "innodb_doublewrite_dir": "/x"}
    assert "mysql-doublewrite" not in dict(roles(options))


def test_relative_datadir() -> None:
    """A relative data directory starts where the server did, which nobody knows."""
    assert roles({"datadir": "data", "log_bin": "/binlog/x"}) == []


@given(st.dictionaries(st.sampled_from(sorted(KNOWN_OPTIONS)), st.text() | st.booleans()))
def test_any_options(options: dict[str, str | bool]) -> None:
    """Whatever the options say, the directories are absolute."""
    assert all(directory.startswith("/") for _, directory in roles(options))
