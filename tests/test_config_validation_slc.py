"""The daemon probes write caches only where that is bearable."""

from pathlib import Path

import pytest

from exporter.cli import parser, settings
from exporter.errors import ConfigError

WEEKLY = "[probe.profile.slc]\ninterval_seconds = 604800\n"


def read(place: Path, text: str) -> None:
    file = place / "config.toml"
    file.write_text(text)
    settings(parser().parse_args([f"--config.file={file}"]))


def chosen(more: str = "") -> str:
    return f'[probe]\nprofiles = ["slc"]\n{more}'


def test_weekly_and_within_the_budget_it_may_run(tmp_path: Path) -> None:
    read(tmp_path, chosen("budget_bytes_per_day = 40_000_000_000\n") + WEEKLY)
    read(tmp_path, chosen() + WEEKLY + "size_bytes = 268435456\n")


@pytest.mark.parametrize(
    ("profile", "words"),
    [
        ("", "which has no interval"),
        ("[probe.profile.slc]\ninterval_seconds = 86400\n", "it must be at least 604800"),
        (WEEKLY, "a run of which may be charged 34359738368 bytes, and .* must hold a whole run"),
        (f"{WEEKLY}rate_iops = 10\n", "a drive shows no cliff"),
    ],
)
def test_else_it_is_a_mistake(tmp_path: Path, profile: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        read(tmp_path, chosen() + profile)
