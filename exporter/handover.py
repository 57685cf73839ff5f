"""What a process hands to the agent that it becomes: all that there is to know, through a pipe."""

import errno
import fcntl
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exporter.smart.discovery import Override
from exporter.smart.poller import PollingPlan

#: What a pipe holds unless more is asked for: pipe(7).
_PIPE_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Handover:
    """What the agent is told.

    directory: where it leaves what the drives say. sysfs, root: where /sys and the / with the
    device nodes are. level: of its log. again: Python's arguments, by which a process reads the
    settings once more.
    """

    plan: PollingPlan
    directory: Path
    sysfs: Path
    root: Path
    level: str
    again: tuple[str, ...]


def packed(handover: Handover) -> bytes:
    """As it goes through the pipe."""
    plan = handover.plan
    text = json.dumps(
        {
            "plan": {
                **_values(plan),
                "overrides": {k: _values(o) for k, o in plan.overrides.items()},
            },
            "directory": str(handover.directory),
            "sysfs": str(handover.sysfs),
            "root": str(handover.root),
            "level": handover.level,
            "again": handover.again,
        },
        ensure_ascii=False,
    )
    return text.encode("utf-8", "surrogateescape")


def unpacked(text: bytes) -> Handover:
    """The same out of what `packed` gave."""
    handed: Mapping[str, Any] = json.loads(text.decode("utf-8", "surrogateescape"))
    given = handed["plan"]
    plan = PollingPlan(
        **{
            **given,
            "drives": tuple((path, kind) for path, kind in given.get("drives", ())),
            "overrides": {name: Override(**each) for name, each in given["overrides"].items()},
        }
    )
    return Handover(
        plan,
        directory=Path(handed["directory"]),
        sysfs=Path(handed["sysfs"]),
        root=Path(handed["root"]),
        level=handed["level"],
        again=tuple(handed["again"]),
    )


def pipe_with(text: bytes) -> int:
    """The end to read of a pipe that holds a text, for the program that we become.

    One argument holds 128 KB (MAX_ARG_STRLEN in the kernel's include/uapi/linux/binfmts.h); a
    pipe may hold a megabyte (pipe(7), pipe-max-size), as much as the file with the settings.

    Raises:
        OSError: the text is larger than what a pipe may hold.
    """
    reading, writing = os.pipe()
    try:
        os.set_blocking(writing, False)
        if len(text) > _PIPE_BYTES:
            fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, len(text))
        is_whole = os.write(writing, text) == len(text)
    except OSError:
        os.close(reading)
        raise
    finally:
        os.close(writing)
    if not is_whole:
        os.close(reading)
        raise OSError(errno.E2BIG, os.strerror(errno.E2BIG))
    os.set_inheritable(reading, True)
    return reading


def _values(record: PollingPlan | Override) -> dict[str, Any]:
    """What differs from the defaults: thousands of drives have a line of settings each."""
    usual = type(record)()
    values = {name: getattr(record, name) for name in record.__dataclass_fields__}
    return {name: value for name, value in values.items() if value != getattr(usual, name)}
