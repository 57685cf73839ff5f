"""The example of a configuration: every key, with its default."""

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import pytest

from exporter.cli import main
from exporter.config import DeviceSettings, Settings, SmartDrive
from exporter.config_validation import parse_record, validated
from exporter.probe.profiles import PROFILES, ProfileSettings
from tests.systemd.package import SYSTEMD

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

EXAMPLE = SYSTEMD / "config.toml"

#: A key or a table that is commented out; prose has a blank after its sign.
_COMMENTED = re.compile(r"^#(?=[\w\[])", re.MULTILINE)

#: Tables under names of the user's own, and the record that one of them is.
_NAMED: Mapping[str, tuple[str, type]] = {
    "device": ("device.sda", DeviceSettings),
    "smart.drive": ("smart.drive", SmartDrive),
    "probe.profile": ("probe.profile.page_read", ProfileSettings),
}


@pytest.fixture(scope="module")
def uncommented() -> dict[str, Any]:
    read: dict[str, Any] = tomllib.loads(_COMMENTED.sub("", EXAMPLE.read_text()))
    return read


def defaults(value: Any, where: str = "") -> Iterator[tuple[str, Any]]:
    """Every key, dotted, with its default as TOML has it."""
    for field in fields(value):
        key = f"{where}{field.metadata.get('key', field.name)}"
        found = getattr(value, field.name)
        if is_dataclass(found):
            yield from defaults(found, f"{key}.")
        elif isinstance(found, Mapping) and found:
            yield from ((f"{key}.{_plain(name)}", _plain(each)) for name, each in found.items())
        elif key not in _NAMED:
            yield key, _plain(found)


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return str(value) if isinstance(value, Path) else value


def given(table: Mapping[str, Any], where: str = "") -> Iterator[tuple[str, Any]]:
    """Every key of a file, dotted; of several tables of one name the first."""
    for name, found in table.items():
        key = f"{where}{name}"
        value = found[0] if isinstance(found, list) and isinstance(found[0], dict) else found
        if isinstance(value, dict) and key != "role":
            yield from given(value, f"{key}.")
        else:
            yield key, value


def test_as_it_is_shipped_it_sets_nothing() -> None:
    read = parse_record(Settings, tomllib.loads(EXAMPLE.read_text()), "", Settings())
    assert Settings() == read


def test_it_has_every_key_and_no_other(uncommented: dict[str, Any]) -> None:
    expected = {key for key, _ in defaults(Settings())}
    for where, kind in _NAMED.values():
        keys = (str(field.metadata.get("key", field.name)) for field in fields(kind))
        expected |= {f"{where}.{key}" for key in keys}
    assert expected == {key for key, _ in given(uncommented)}


def test_it_shows_each_default_as_it_is(uncommented: dict[str, Any]) -> None:
    """Where there is none it shows an example."""
    shown = dict(given(uncommented))
    for key, default in defaults(Settings()):
        if default not in (None, "", [], {}):
            value = [shown[key]] if isinstance(default, list) and key == _ONE else shown[key]
            assert default == value, key
    profile = PROFILES["page_read"]
    for field in fields(ProfileSettings):
        its = _plain(getattr(profile, field.name))
        assert its == shown[f"probe.profile.page_read.{field.name}"], field.name


#: A list that may be given as its one item.
_ONE = "web.listen_address"


def test_with_every_key_it_is_a_configuration(uncommented: dict[str, Any]) -> None:
    del uncommented["disk"]["device_include"]  # the other one of the two
    validated(parse_record(Settings, uncommented, ""))


def test_the_program_finds_it_good(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = [f"--state.directory={tmp_path}", f"--config.file={EXAMPLE}"]
    assert 0 == main(["--config.check", *flags])
    assert "the configuration is valid\n" == capsys.readouterr().out


def test_probes_write_where_the_unit_lets_them(uncommented: dict[str, Any]) -> None:
    drop_in = (SYSTEMD / "probe.conf").read_text()
    directory = uncommented["probe"]["directory"]
    assert f"\nReadWritePaths=-{directory}\n" in drop_in
    assert f'directory = "{directory}"' in drop_in
    assert directory.endswith("/mysql-probe")
