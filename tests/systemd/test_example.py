"""The example configuration contains every key with its default."""

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import pytest

from exporter.cli import main
from exporter.config.profiles import PROFILES, ProfileSettings
from exporter.config.settings import DeviceSettings, Settings, SmartDrive
from exporter.config_validation import parse_record, validated
from tests.unit_file import SYSTEMD

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

EXAMPLE = SYSTEMD / "config.toml"

#: A commented key or table; prose has a space after the #.
_COMMENTED = re.compile(r"^#(?=[\w\[])", re.MULTILINE)

#: Tables with names chosen by the user, and their record types.
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
    """Every key in dotted form with its default as a TOML value."""
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
    """Every key of a file in dotted form; the first one of an array of tables."""
    for name, found in table.items():
        key = f"{where}{name}"
        value = found[0] if isinstance(found, list) and isinstance(found[0], dict) else found
        if isinstance(value, dict) and key != "role":
            yield from given(value, f"{key}.")
        else:
            yield key, value


def test_the_example_sets_nothing() -> None:
    read = parse_record(Settings, tomllib.loads(EXAMPLE.read_text()), "", Settings())
    assert Settings() == read


def test_the_example_has_exactly_all_keys(uncommented: dict[str, Any]) -> None:
    expected = {key for key, _ in defaults(Settings())}
    for where, kind in _NAMED.values():
        keys = (str(field.metadata.get("key", field.name)) for field in fields(kind))
        expected |= {f"{where}.{key}" for key in keys}
    assert expected == {key for key, _ in given(uncommented)}


def test_the_example_shows_the_defaults(uncommented: dict[str, Any]) -> None:
    """Keys without default show an example."""
    shown = dict(given(uncommented))
    for key, default in defaults(Settings()):
        if default not in (None, "", [], {}):
            value = [shown[key]] if isinstance(default, list) and key == _ONE else shown[key]
            assert default == value, key
    profile = PROFILES["page_read"]
    for field in fields(ProfileSettings):
        expected = _plain(getattr(profile, field.name))
        assert expected == shown[f"probe.profile.page_read.{field.name}"], field.name


#: A list that may be written as a single item.
_ONE = "web.listen_address"


def test_the_uncommented_example_is_valid(uncommented: dict[str, Any]) -> None:
    del uncommented["disk"]["device_include"]  # the other one of the two
    validated(parse_record(Settings, uncommented, ""))


def test_config_check_accepts_the_example(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = [f"--state.directory={tmp_path}", f"--config.file={EXAMPLE}"]
    assert 0 == main(["--config.check", *flags])
    assert "the configuration is valid\n" == capsys.readouterr().out


def test_the_probe_directory_is_writable_with_the_drop_in(uncommented: dict[str, Any]) -> None:
    drop_in = (SYSTEMD / "probe.conf").read_text()
    directory = uncommented["probe"]["directory"]
    assert f"\nReadWritePaths=-{directory}\n" in drop_in
    assert f'directory = "{directory}"' in drop_in
    assert directory.endswith("/mysql-probe")
