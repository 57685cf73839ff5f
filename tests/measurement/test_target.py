"""Tests the selection of the directory and of the state directory."""

from pathlib import Path

import pytest

from exporter.config.settings import ProbeSettings, Settings, StateSettings
from exporter.measurement import target
from exporter.runtime.errors import ConfigError


def settings(*directories: Path, state: Path | None = None) -> Settings:
    return Settings(probe=ProbeSettings(directory=directories), state=StateSettings(state))


def test_the_named_directory_is_used_else_the_configured_one() -> None:
    here, there = Path("/mnt/here"), Path("/mnt/there")
    assert here == target.select_directory(here, settings(there))
    assert there == target.select_directory(None, settings(there))
    assert Path.cwd() / "new" == target.select_directory(Path("new"), settings())


@pytest.mark.parametrize("name", ["/mnt/a\nb", "/mnt/a\\b", "/mnt/\x1b[2J"])
def test_a_path_that_fio_cannot_open_is_a_config_error(name: str) -> None:
    with pytest.raises(ConfigError, match="fio accepts no backslash"):
        target.select_directory(Path(name), settings())


def test_the_daemon_s_state_directory_is_used_or_a_new_one_created(tmp_path: Path) -> None:
    assert tmp_path == target.state_directory(settings(state=tmp_path), {})
    environment = {"HOME": str(tmp_path), "STATE_DIRECTORY": str(tmp_path / "new")}
    assert tmp_path / "new" == target.state_directory(settings(), environment)
