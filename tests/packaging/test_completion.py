"""bash, zsh and fish complete the commands, flags and values of the command line."""

from collections.abc import Mapping

import pytest

from exporter.cli import command_parser, parser
from exporter.commands.registry import COMMANDS
from tests.packaging import written
from tests.packaging.shells import completed

LEVELS = {"debug", "info", "warning", "error"}


def long_flags(name: str = "") -> set[str]:
    of = command_parser(name) if name else parser()
    return {
        flag for action in of._actions for flag in action.option_strings if flag.startswith("--")
    }


#: What is offered for each line, in a directory with a file and two directories.
EXPECTED: dict[str, set[str]] = {
    "ssd-exporter ": set(COMMANDS),
    "ssd-exporter che": {"check"},
    "ssd-exporter --": long_flags(),
    **{f"ssd-exporter {name} --": long_flags(name) for name in COMMANDS},
    "ssd-exporter --log.level=warning --onc": {"--once"},
    "ssd-exporter check --js": {"--json"},
    "ssd-exporter --js": set(),
    "ssd-exporter --log.level=": LEVELS,
    "ssd-exporter --log.level=w": {"warning"},
    "ssd-exporter check --log.level ": LEVELS,
    "ssd-exporter check --log.level w": {"warning"},
    "ssd-exporter --config.file=se": {"settings.toml"},
    "ssd-exporter --state.directory=s": {"state"},
    "ssd-exporter capture n": {"new"},
    "ssd-exporter capture s": {"state"},
    "ssd-exporter read settings.toml se": {"settings.toml"},
    "ssd-exporter self-test /dev/sda ": {"short", "long", "abort"},
    "ssd-exporter self-test --type=sat /dev/sda sh": {"short"},
    "ssd-exporter self-test --type sat /dev/sda sh": {"short"},
    "ssd-exporter help che": {"check"},
    "ssd-exporter forget ": set(),
    "ssd-exporter nonsense x": set(),
    "ssd-exporter --no-such=": set(),
    "ssd-exporter forget a b": set(),
}


@pytest.fixture(scope="module", params=["bash", "zsh", "fish"])
def answers(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, set[str]]:
    """What a shell offers for each line."""
    here = tmp_path_factory.mktemp("here")
    (here / "settings.toml").touch()
    (here / "state").mkdir()
    (here / "new").mkdir()
    work = tmp_path_factory.mktemp("completion")
    return completed(request.param, list(EXPECTED), work, here)


@pytest.mark.parametrize("line", EXPECTED)
def test_a_line_is_completed(answers: Mapping[str, set[str]], line: str) -> None:
    assert EXPECTED[line] == answers[line]


def test_zsh_and_fish_explain_what_they_offer() -> None:
    for shell in ("zsh", "fish"):
        script = written.by("completion.py", shell)
        for name, listed in COMMANDS.items():
            assert listed.summary.partition("'")[0] in script, name
        assert "print JSON with stable keys" in script
