"""Prints what each version of smartctl reports: python -m rigs.smartctl_versions DIRECTORY.

The directory contains one program per version: DIRECTORY/7.3/smartctl, for example. Debian has
packages of some versions; the others are built from the release tags of smartmontools.
"""

import argparse
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import NamedTuple

from exporter.drives.health import DriveReport
from exporter.drives.smart_report import parse_report
from exporter.programs.children import SystemChildren
from exporter.runtime.clock import SystemClock
from exporter.smart.polling import poll_timing
from exporter.smart.polling.poll_document import PollDocument
from exporter.smart.polling.poll_scheduler import PollScheduler, PollSettings
from exporter.smart.polling.poll_timing import Target
from exporter.smart.smartctl import Address
from rigs.devices import drive_shim
from rigs.smartctl_versions import emulated
from rigs.smartctl_versions.scenes import Scene, scenes

#: The path of the simulated drive: a number that exists on no machine.
PATH = "/dev/sdzzz1657"
_LIMIT_SECONDS = 30.0

#: What older versions do not print of a drive, as docs/smart.md says, keyed by the start of the
#: drive's name. All other values must be equal.
NOT_PRINTED = {
    "SATA": {"power_mode"},
    "SAS, pending defects": {"interface_errors", "link_bytes_per_second", "power_on_seconds"}
    | {"exit_status", "self_test", "messages"},
}


class Seen(NamedTuple):
    """The result of one poll. keys: the keys at the top of the report."""

    status: int | None
    result: str
    message: str
    keys: frozenset[str]
    drive: DriveReport


def main() -> int:
    """Prints a table. Returns 2 without a program.

    Returns 0 if all versions yield the same values, apart from `NOT_PRINTED`, and 1 if not.
    """
    parser = argparse.ArgumentParser(prog="make smartctl-versions")
    parser.add_argument("directory", type=Path, help="with VERSION/smartctl for each version")
    parser.add_argument(
        "drives",
        nargs="?",
        choices=("simulated", "emulated"),
        default="simulated",
        help="emulated: those of `make lab`",
    )
    options = parser.parse_args()
    directory = options.directory
    programs = {path.parent.name: path for path in sorted(directory.glob("*/smartctl"))}
    if not programs:
        print(f"no VERSION/smartctl in {directory}", file=sys.stderr)
        return 2
    if options.drives == "emulated":
        return emulated_drives(programs)
    are_equal = True
    print("| drive | version | result | exit status | only in the last version | values |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as place:
        library = drive_shim.build(Path(place))
        for scene in scenes():
            seen = {version: run(library, program, scene) for version, program in programs.items()}
            last = list(seen.values())[-1]
            for version, found in seen.items():
                lacks = ", ".join(f"`{key}`" for key in sorted(last.keys - found.keys))
                different = dict(differences(last, found))
                known = (
                    names for start, names in NOT_PRINTED.items() if scene.name.startswith(start)
                )
                are_equal &= different.keys() <= set().union(*known)
                values = ", ".join(f"{name}: {text}" for name, text in different.items()) or "equal"
                row = (scene.name, version, found.result, found.status, lacks, values)
                print(f"| {' | '.join(map(str, row))} |", flush=True)
    return 0 if are_equal else 1


def emulated_drives(programs: Mapping[str, Path]) -> int:
    """Prints a line per version, and each difference from the last one. Returns 0 without any."""
    found = emulated.checks(programs)
    last = list(found.values())[-1]
    are_equal = True
    for version, checked in found.items():
        different = list(emulated.differences(last, checked))
        print("\n  ".join((f"{version}: {len(checked)} drives", *(different or ["all equal"]))))
        are_equal &= not different
    return 0 if are_equal else 1


def run(library: Path, program: Path, scene: Scene) -> Seen:
    """Polls the simulated drive once, with all logs, as the agent does."""
    path = PATH if scene.answers else f"{PATH}0"
    address = Address(path.replace("sdzzz", "nvme") if scene.type == "nvme" else path, scene.type)
    wrapper = drive_shim.smartctl_under(
        library, scene.answers, address.path if scene.answers else PATH, str(program.absolute())
    )
    document = polled(wrapper, address)
    keys = frozenset(document.report.keys())
    report = parse_report(document.report)
    return Seen(document.exit_status, document.result, document.message, keys, report)


def polled(program: Path, address: Address) -> PollDocument:
    """Returns the document of a daily poll, which is the first one here."""
    poll_timing._FIRST_DAILY_SECONDS = 0.0
    clock = SystemClock()
    scheduler = PollScheduler(SystemChildren(clock), clock, str(program), PollSettings())
    try:
        target = Target(address, "", 60.0, _LIMIT_SECONDS, spins=False)
        scheduler.set_targets((target,))
        until = clock.monotonic() + 2 * _LIMIT_SECONDS
        while clock.monotonic() < until:
            for document in scheduler.step(1.0):
                return document
        raise TimeoutError(f"{program}: no poll ended")
    finally:
        scheduler.close()


def differences(one: Seen, other: Seen) -> Iterator[tuple[str, str]]:
    """Yields the values that two versions report differently: name, and both values as text."""
    if one.result != other.result:
        yield "result", f"{one.result} -> {other.result} ({other.message})"
    if one.drive.faults != other.drive.faults:
        yield "faults", f"{one.drive.faults} -> {other.drive.faults}"
    for first, second in (
        (one.drive.identity, other.drive.identity),
        (one.drive.health, other.drive.health),
    ):
        for field in fields(first):
            before, after = getattr(first, field.name), getattr(second, field.name)
            if before != after:
                yield field.name, re.sub(r"\s+", " ", f"{before!r} -> {after!r}")[:150]


if __name__ == "__main__":
    sys.exit(main())
