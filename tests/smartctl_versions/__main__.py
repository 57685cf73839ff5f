"""Prints what each version of smartctl reports: python -m tests.smartctl_versions DIRECTORY.

The directory contains one program per version: DIRECTORY/7.3/smartctl, for example. Debian has
packages of some versions; the others are built from the release tags of smartmontools.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, NamedTuple

from exporter.drives.health import DriveReport
from exporter.drives.smart_report import parse_report
from exporter.programs.child import End, Finished
from exporter.smart.poll_document import poll_result
from exporter.smart.smartctl import Address, Logs, arguments
from tests.rig import nvme_shim
from tests.rig.nvme_shim import Health

#: The path of the simulated drive: a number that exists on no machine.
PATH = "/dev/nvme1657"
CAPACITY = 1_920_383_410_176

GOOD = Health(
    critical_warning=0,
    temperature=37,
    available_spare=83,
    available_spare_threshold=11,
    percentage_used=29,
    data_units_read=1_000_003,
    data_units_written=2_000_005,
    host_reads=3_000_007,
    host_writes=4_000_009,
    controller_busy_minutes=5_011,
    power_cycles=613,
    power_on_hours=7_017,
    unsafe_shutdowns=819,
    media_errors=0,
    error_log_entries=23,
    warning_minutes=127,
    critical_minutes=31,
    sensors=(41, 43),
)

SCENES: Mapping[str, Health] = {
    "healthy": GOOD,
    "130 % used": replace(GOOD, percentage_used=130),
    "worn out (04h)": replace(GOOD, critical_warning=4, percentage_used=100),
    "persistent memory (20h)": replace(GOOD, critical_warning=0x20),
    "reserved bit (40h)": replace(GOOD, critical_warning=0x40),
    "counter of 2^40": replace(GOOD, host_reads=1 << 40),
    "no temperature": replace(GOOD, temperature=-273, sensors=()),
}


class Seen(NamedTuple):
    """The result of one run. keys: the keys at the top of the JSON."""

    status: int | None
    result: str
    message: str
    keys: frozenset[str]
    drive: DriveReport


def main() -> int:
    """Prints a table. Returns 0 if all versions yield the same values, 1 if not, 2 without any."""
    parser = argparse.ArgumentParser(prog="make smartctl-versions")
    parser.add_argument("directory", type=Path, help="with VERSION/smartctl for each version")
    directory = parser.parse_args().directory
    programs = {path.parent.name: path for path in sorted(directory.glob("*/smartctl"))}
    if not programs:
        print(f"no VERSION/smartctl in {directory}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as place:
        library = nvme_shim.build(Path(place))
        seen = {
            (scene, version): run(library, program, health)
            for scene, health in SCENES.items()
            for version, program in programs.items()
        }
        errors = {version: missing(program) for version, program in programs.items()}
    print("| scene | version | exit status | keys that the first version lacks | values |")
    print("|---|---|---|---|---|")
    are_equal = True
    for scene in SCENES:
        first = seen[scene, next(iter(programs))]
        for version in programs:
            found = seen[scene, version]
            new = ", ".join(f"`{key}`" for key in sorted(found.keys - first.keys))
            different = ", ".join(differences(first, found)) or "equal"
            are_equal &= different == "equal"
            print(f"| {scene} | {version} | {found.status} | {new} | {different} |")
    for version, error in errors.items():
        print(f"| no such device | {version} | {error} | | |")
    return 0 if are_equal else 1


def run(library: Path, program: Path, health: Health) -> Seen:
    """Polls the simulated drive once, as the poller does."""
    answers = library.parent / "answers"
    answers.mkdir(exist_ok=True)
    for name, answer in {
        "identify-1": nvme_shim.controller("SHIM EXAMPLE 1920", "SHIM00SERIAL01", "SH1", CAPACITY),
        "identify-0": nvme_shim.namespace(CAPACITY, 4096, 0x00A1B2_0C0D0E0F10),
        "log-1": bytes(4 * 64),
        "log-2": health.encoded(),
    }.items():
        (answers / name).write_bytes(answer)
    wrapper = nvme_shim.smartctl_under(library, answers, PATH, str(program.absolute()))
    result, message, report = poll_result(polled(wrapper, Address(PATH, "nvme")))
    status: Any = report.get("smartctl", {})
    keys = frozenset(report.keys())
    code = status.get("exit_status") if isinstance(status, dict) else None
    return Seen(code, result.value, message, keys, parse_report(report))


def missing(program: Path) -> str:
    """Returns the exit status and the result of a poll of a device that does not exist."""
    finished = polled(program, Address("/dev/sdzzz", "sat"))
    result, message, _ = poll_result(finished)
    return f"{finished.status}: {result.value}: {message}"


def polled(program: Path, address: Address) -> Finished:
    argv = arguments(str(program), address, Logs.DAILY)
    done = subprocess.run(argv, capture_output=True, timeout=30, check=False)
    return Finished(address, End.EXITED, done.returncode, done.stdout, done.stderr)


def differences(one: Seen, other: Seen) -> Iterator[str]:
    """Yields the names of the values that two versions report differently."""
    if (one.result, one.drive.faults) != (other.result, other.drive.faults):
        yield f"result {other.result}, faults {other.drive.faults}"
    for first, second in (
        (one.drive.identity, other.drive.identity),
        (one.drive.health, other.drive.health),
    ):
        for field in fields(first):
            before, after = getattr(first, field.name), getattr(second, field.name)
            if before != after:
                yield re.sub(r"\s+", " ", f"{field.name}: {before!r} -> {after!r}")[:120]


if __name__ == "__main__":
    sys.exit(main())
