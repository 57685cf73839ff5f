"""Copies the rule files with shorter intervals and waits."""

import json
from collections.abc import Iterator
from pathlib import Path

import yaml

ALERTS = Path(__file__).parents[2] / "alerts"
#: Groups with an interval of four minutes are evaluated every minute, to shorten the run.
_REAL_INTERVAL, _TEST_INTERVAL = "interval: 4m", "interval: 1m"
_INTERVALS = {"30s": 30.0, "1m": 60.0, "4m": 240.0}
#: Interval of all groups in the comparison, and the longest `for` and keep_firing_for, in seconds.
COMPARED_SECONDS = 10


def paths() -> list[Path]:
    """Returns the rule files of the repository."""
    return sorted(ALERTS.glob("*.yml"))


def write_measured(directory: Path) -> str:
    """Writes the rules with an interval of at most a minute; returns a pattern of the files."""
    directory.mkdir(parents=True)
    for path in paths():
        text = path.read_text().replace(_REAL_INTERVAL, _TEST_INTERVAL)
        (directory / path.name).write_text(text)
    return str(directory / "*.yml")


def write_compared(directory: Path) -> str:
    """Writes the rules with short waits, so that alerts fire soon; returns a pattern of the files.

    Expressions, labels and texts are unchanged.
    """
    directory.mkdir(parents=True)
    for path in paths():
        document = yaml.safe_load(path.read_text())
        for group in document["groups"]:
            group["interval"] = f"{COMPARED_SECONDS}s"
            for rule in group["rules"]:
                for wait in {"for", "keep_firing_for"} & rule.keys():
                    rule[wait] = f"{COMPARED_SECONDS}s"
        # JSON is valid YAML.
        (directory / path.name).write_text(json.dumps(document))
    return str(directory / "*.yml")


def write_nothing(directory: Path) -> None:
    """Replaces the written files by files without rules."""
    for path in directory.glob("*.yml"):
        path.write_text("groups: []\n")


def groups() -> Iterator[tuple[str, float, list[tuple[str, str]]]]:
    """Name, interval and rules of each group except the thresholds, which are constants."""
    for path in paths():
        for group in yaml.safe_load(path.read_text()).get("groups", ()):
            if not group["name"].startswith("ssd-thresholds"):
                rules = [
                    (rule.get("alert") or rule["record"], rule["expr"]) for rule in group["rules"]
                ]
                yield group["name"], _INTERVALS[group["interval"]], rules
