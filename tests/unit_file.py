"""Reads the unit files of the package."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

SYSTEMD = Path(__file__).parents[1] / "systemd"
_CONFIG = "/etc/ssd-exporter/config.toml"


@dataclass(frozen=True, slots=True)
class UnitFile:
    """A unit file: the values of each key."""

    values: Mapping[str, list[str]]

    @classmethod
    def read(cls, name: str) -> "UnitFile":
        values: dict[str, list[str]] = {}
        for line in (SYSTEMD / f"{name}.service").read_text().splitlines():
            key, equals, value = line.partition("=")
            if equals and not line.startswith("#"):
                values.setdefault(key, []).append(value)
        return cls(values)

    def one(self, key: str) -> str:
        (value,) = self.values[key]
        return value

    def mode(self, key: str) -> int:
        return int(self.one(key), 8)

    def environment(self) -> dict[str, str]:
        """Returns the variables of Environment=."""
        words = [word for line in self.values.get("Environment", []) for word in shlex.split(line)]
        return dict(word.split("=", 1) for word in words)

    def arguments(self, config: Path, flags: Mapping[str, tuple[str, ...]]) -> list[str]:
        """Returns the arguments of ExecStart=; `flags` are the values of its variables."""
        words: list[str] = []
        for word in shlex.split(self.one("ExecStart"))[1:]:
            variable = word.removeprefix("$")
            words += flags[variable] if word != variable else [word.replace(_CONFIG, str(config))]
        return words
