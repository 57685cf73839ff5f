"""Changes the setting `probe.directory` in the text of a configuration file.

All other lines stay as they are. The module is pure.
"""

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from exporter.runtime.errors import ConfigError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

#: The comment that marks lines of `enable-probes`. `disable-probes` removes these lines only.
MARK = "# set by ssd-exporter enable-probes"

_HEADER = re.compile(r"\s*\[\s*probe\s*\]\s*(#.*)?")
_ANY_HEADER = re.compile(r"\s*\[")

#: Characters of a path that need no escapes in TOML, in a systemd unit and in the arguments of fio.
_PLAIN = re.compile(r"/[A-Za-z0-9_./+@:,=-]*")


def require_plain(directory: Path) -> None:
    """Checks that a path can be written to the files without escapes.

    Raises:
        ConfigError: the path contains another character, or is not absolute.
    """
    if not _PLAIN.fullmatch(str(directory)):
        raise ConfigError(
            f"the directory {directory} cannot be used",
            "use an absolute path of letters, digits and _ . / + @ : , = -",
        )


def configured_directories(text: str) -> tuple[Path, ...]:
    """Returns the value of `probe.directory` in the text.

    Raises:
        ConfigError: the text is not valid TOML.
    """
    probe = _parsed(text).get("probe")
    value = probe.get("directory", []) if isinstance(probe, dict) else []
    listed = [value] if isinstance(value, str) else value
    return tuple(Path(item) for item in listed if isinstance(item, str) and item)


def managed_directories(text: str) -> tuple[Path, ...]:
    """Returns the directories that `enable-probes` has written to the text; empty if none."""
    for line in text.splitlines():
        if line.startswith("directory") and line.endswith(MARK):
            value = _parsed(line).get("directory")
            return tuple(map(Path, value)) if isinstance(value, list) else ()
    return ()


def with_directories(text: str, directories: Sequence[Path]) -> str:
    """Returns the text with these directories as the value of `probe.directory`.

    Raises:
        ConfigError: the text is not valid TOML or has an unusual form, or somebody has set other
            directories by hand.
    """
    if configured_directories(text) == tuple(directories):
        return text
    before = without_directories(text)
    if others := configured_directories(before):
        raise ConfigError(
            f"probe.directory is already set to {', '.join(map(str, others))}",
            "remove this line from the configuration file, and run the command again",
        )
    listed = ", ".join(f'"{directory}"' for directory in directories)
    setting = f"directory = [{listed}]  {MARK}"
    lines = before.splitlines()
    place = next((n for n, line in enumerate(lines) if _HEADER.fullmatch(line)), None)
    if place is None:
        lines += [f"[probe]  {MARK}", setting]
    else:
        lines.insert(place + 1, setting)
    after = "\n".join(lines) + "\n"
    expected = _parsed(before)
    expected.setdefault("probe", {})["directory"] = [str(directory) for directory in directories]
    if _parsed(after) != expected:
        raise ConfigError(
            "the configuration file has an unusual form and was not changed",
            f"add this line below [probe]: directory = [{listed}]",
        )
    return after


def without_directories(text: str) -> str:
    """Returns the text without the lines of `enable-probes`.

    A header that `enable-probes` has added stays if other settings follow it.
    """
    lines = [
        line
        for line in text.splitlines()
        if not (line.startswith("directory") and line.endswith(MARK))
    ]
    kept = []
    for number, line in enumerate(lines):
        following = next((later for later in lines[number + 1 :] if later.strip()), "[")
        is_own = _HEADER.fullmatch(line) and line.endswith(MARK)
        if not (is_own and _ANY_HEADER.match(following)):
            kept.append(line)
    return "".join(f"{line}\n" for line in kept)


def _parsed(text: str) -> dict[str, Any]:
    try:
        values: dict[str, Any] = tomllib.loads(text)
    except (ValueError, RecursionError) as e:
        raise ConfigError(f"the configuration file is not valid TOML: {e}", "correct it") from e
    return values
