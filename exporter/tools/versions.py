"""Which versions of the programs we run are installed."""

import re

from exporter.errors import CommandError
from exporter.tools.command import Runner

_TIMEOUT_SECONDS = 5.0

#: "smartctl 7.3 2022-02-28 r5338 [x86_64-linux-...] (local build)", "fio-3.33"
_VERSION = re.compile(r"\A(?:smartctl |fio-)(\d[\w.~+-]*)")


def version(runner: Runner, program: str) -> str:
    """The version that the program says it is; empty where it is not installed or says none."""
    try:
        return parse(runner.run([program, "--version"], _TIMEOUT_SECONDS))
    except CommandError:
        return ""


def parse(text: str) -> str:
    found = _VERSION.match(text)
    return found[1] if found else ""
