"""Parses the Dockerfile, compose.yml, the DaemonSet and the container README."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

TOP = Path(__file__).parents[2]
CONTAINER = TOP / "container"
README = CONTAINER / "README.md"

_INSTRUCTION = re.compile(r"^([A-Z]+) +(.*)$")


def instructions() -> list[tuple[str, str]]:
    """Instructions of the Dockerfile, with continued lines joined and without comments."""
    lines = [
        line
        for line in (TOP / "Dockerfile").read_text().splitlines()
        if not line.lstrip().startswith("#")
    ]
    text = "\n".join(lines).replace("\\\n", " ")
    found = (_INSTRUCTION.match(line) for line in text.splitlines() if line.strip())
    return [(match[1], match[2]) for match in found if match]


def last(name: str) -> str:
    """Arguments of the last instruction with this name."""
    return [text for each, text in instructions() if each == name][-1]


def services() -> dict[str, dict[str, Any]]:
    """Services of compose.yml by name."""
    found: dict[str, dict[str, Any]] = yaml.safe_load((CONTAINER / "compose.yml").read_text())
    return found["services"]


def daemonset() -> dict[str, Any]:
    """The pod of kubernetes/daemonset.yml."""
    text = (CONTAINER / "kubernetes" / "daemonset.yml").read_text()
    (found,) = (each for each in yaml.safe_load_all(text) if each["kind"] == "DaemonSet")
    pod: dict[str, Any] = found["spec"]["template"]["spec"]
    return pod


def containers() -> dict[str, dict[str, Any]]:
    """Containers of the pod by name."""
    return {each["name"]: each for each in daemonset()["containers"]}


def documented_runs() -> Iterator[tuple[list[str], list[str]]]:
    """Each `docker run` of the README: its flags, and the arguments after the image name."""
    text = README.read_text().replace("\\\n", " ")
    for line in re.findall(r"(?m)^docker run (.*)$", text):
        words = shlex.split(line, comments=True)
        at = words.index("ssd-exporter")
        yield words[:at], words[at + 1 :]
