"""fio(1): how it is called, and what it says of itself. What its report means is `fio_report`.

Works with 3.16 to 3.41. Facts about its options are those of fio's HOWTO, or measured with 3.33.

fio as a process: one at a time, which is ended when it must be and dies when we do.

fio whose sequential jobs have a part of the file each, as they would have a file each.

On one and the same part, the second job reads what the first has just brought into the drive's own
cache.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from exporter.clock import Clock
from exporter.errors import CommandError, ConfigError
from exporter.probe import fio_report
from exporter.probe.profiles import Profile, Rw, Sync
from exporter.programs import command
from exporter.programs.child import Finished
from exporter.programs.children import SystemChildren
from exporter.programs.command import Runner
from exporter.threads import NICE

OLDEST = (3, 16)

#: In per cent; their keys in the report are texts as "99.900000".
PERCENTILES = (50.0, 95.0, 99.0, 99.9)

_NUMBERS = re.compile(r"(\d{1,6})\.(\d{1,6})", re.ASCII)
_ENGINE = re.compile(r"^[ \t]+([a-z][a-z0-9_-]*)[ \t]*$", re.ASCII | re.MULTILINE)

#: For all jobs. What matters: threads, for a forked job lives on and writes when its parent is
#: killed; no file is ever created, for a job that finds none or a short one lays it out first;
#: other data on each write, for drives compress; the cheap clock, for calibrating the CPU's own
#: takes longer than the run; and the database goes first where the CPU is short.
_COMMON = (
    "--thread=1",
    "--allow_file_create=0",
    "--fallocate=none",
    "--overwrite=1",
    "--randrepeat=0",
    "--norandommap=1",
    "--refill_buffers=1",
    "--clocksource=clock_gettime",
    "--disable_slat=1",
    "--disk_util=0",
    "--group_reporting=1",
    f"--nice={NICE}",
    f"--percentile_list={':'.join(f'{each:g}' for each in PERCENTILES)}",
)


def arguments(program: str, profiles: Sequence[Profile], file: Path) -> list[str]:
    """One call of fio that runs the profiles one after the other on `file`.

    The file must be there and at least as large as every profile says: fio deletes one that is
    shorter before it refuses to create it again.

    Raises:
        ConfigError: a path that fio would take for another.
    """
    argv = [program, "--output-format=json+", "--eta=never"]
    if not any(profile.writes for profile in profiles):
        argv.append("--readonly")
    argv += ["--name=global", f"--filename={_name(file)}", *_COMMON]
    for index, profile in enumerate(profiles):
        argv += _job(profile, is_first=index == 0)
    return argv


def engines_arguments(program: str) -> list[str]:
    return [program, "--enghelp"]


def parse_engines(text: str) -> frozenset[str]:
    """The engines that ``fio --enghelp`` lists, one an indented line."""
    return frozenset(_ENGINE.findall(text))


def parse_version(text: str) -> tuple[int, int] | None:
    """The two numbers out of "fio-3.33", "fio-3.36-12-gabcd" or "3.33"; None where there are none.

    Compare with `OLDEST`.
    """
    found = _NUMBERS.match(command.parse_version(text) or text)
    return None if found is None else (int(found[1]), int(found[2]))


def _job(profile: Profile, *, is_first: bool) -> list[str]:
    job = [
        f"--name={profile.name}",
        # Each starts when the one before has ended, and is a group of its own in the report.
        *(() if is_first else ("--stonewall=1", "--new_group=1")),
        f"--rw={profile.rw.value}",
        *(("--rwmixread=75",) if profile.rw is Rw.RANDRW else ()),
        f"--bs={profile.block_bytes}",
        f"--size={profile.size_bytes}",
        f"--ioengine={profile.engine.value}",
        f"--iodepth={profile.depth}",
        f"--numjobs={profile.jobs}",
        f"--direct={int(profile.direct)}",
        # A ceiling. Not time_based: with that, io_size=2M wrote 36 MB.
        f"--runtime={max(1, round(profile.runtime_seconds))}",
    ]
    if profile.number_ios is not None:
        job.append(f"--number_ios={profile.number_ios}")
    if profile.rate_iops is not None:
        job.append(f"--rate_iops={profile.rate_iops}")
    if profile.sync is not Sync.NONE:
        job.append(f"--{profile.sync.value}=1")
    return job


def _name(file: Path) -> str:
    """A path as fio's filename option takes it, where colons part several."""
    text = str(file)
    if not file.is_absolute() or "\\" in text or not text.isprintable():
        raise ConfigError(
            f"fio cannot be told of the file {text}",
            "name a directory by its whole path, without backslashes and control characters",
        )
    return text.replace(":", "\\:")


#: setpriv(1) of util-linux, since 2.33: fio gets the signal when the thread that started it ends,
#: which kill -9 of this process does too.
_DIES_WITH_US = ("setpriv", "--pdeathsig", "KILL")

_ASK_SECONDS = 10.0
#: What is installed seldom changes.
_KNOWN_SECONDS = 3600.0
_KEY = "fio"


class Fio(Protocol):
    """Runs fio, one at a time, from one thread that lasts as long as the runs."""

    def engines(self) -> frozenset[str] | None:
        """The engines of the fio that is there; None where there is none that can be used."""

    def start(self, profiles: Sequence[Profile], file: Path, limit_seconds: float) -> int | None:
        """Start a run; its process, None where it could not be started, which `wait` tells too."""

    def wait(self, seconds: float) -> Finished | None:
        """How it ended, as soon as it has; None where it runs on after so many seconds."""

    def end(self) -> None:
        """End it: SIGTERM, SIGKILL two seconds later, and given up where that does not help."""

    @property
    def is_stuck(self) -> bool:
        """One that was given up is still there."""

    @property
    def problem(self) -> str:
        """Why there are no engines, for people."""

    def close(self) -> None:
        """End what runs, within a bounded time."""


class SystemFio:
    """The fio of this machine."""

    def __init__(
        self, program: str, runner: Runner, clock: Clock, children: SystemChildren | None = None
    ) -> None:
        self._program = program
        self._runner = runner
        self._clock = clock
        most = fio_report.LARGEST_BYTES
        self._children = children or SystemChildren(clock, max_output_bytes=most)
        self._engines: frozenset[str] | None = None
        self._asked_at = float("-inf")
        self._prefix: tuple[str, ...] | None = None
        self._problem = ""

    def engines(self) -> frozenset[str] | None:
        now = self._clock.monotonic()
        if self._engines is None or now - self._asked_at >= _KNOWN_SECONDS:
            self._engines = self._ask_engines()
            self._asked_at = now
        return self._engines

    def start(self, profiles: Sequence[Profile], file: Path, limit_seconds: float) -> int | None:
        argv = [*self._dying_with_us(), *arguments(self._program, profiles, file)]
        self._children.start(_KEY, argv, limit_seconds)
        return self._children.pid(_KEY)

    def wait(self, seconds: float) -> Finished | None:
        return next(iter(self._children.wait(seconds)), None)

    def end(self) -> None:
        self._children.end(_KEY)

    @property
    def is_stuck(self) -> bool:
        if self._children.stuck():
            # Collects one that has gone meanwhile.
            self._children.wait(0.0)
        return bool(self._children.stuck())

    @property
    def problem(self) -> str:
        return self._problem

    def close(self) -> None:
        self._children.close()

    def _ask_engines(self) -> frozenset[str] | None:
        try:
            said = self._runner.run([self._program, "--version"], _ASK_SECONDS)
            its = parse_version(said)
            if its is None or its < OLDEST:
                oldest = ".".join(map(str, OLDEST))
                self._problem = f"{self._program} is {said.strip()[:40]!r}, older than {oldest}"
                return None
            listed = self._runner.run(engines_arguments(self._program), _ASK_SECONDS)
        except CommandError as e:
            self._problem = f"{e}; install fio, or set path.fio"
            return None
        self._problem = ""
        return parse_engines(listed)

    def _dying_with_us(self) -> tuple[str, ...]:
        if self._prefix is None:
            try:
                self._runner.run([*_DIES_WITH_US, "true"], _ASK_SECONDS)
                self._prefix = _DIES_WITH_US
            except CommandError:
                # Before util-linux 2.33: a run of ten seconds may outlive us by as much.
                self._prefix = ()
        return self._prefix


#: Under which `SystemFio` runs its one program.


class RegionFio(SystemFio):
    """For runs of one profile that caps its operations."""

    def start(self, profiles: Sequence[Profile], file: Path, limit_seconds: float) -> int | None:
        (profile,) = profiles
        argv = [*arguments(self._program, profiles, file), *region_arguments(profile)]
        self._children.start(_KEY, [*self._dying_with_us(), *argv], limit_seconds)
        return self._children.pid(_KEY)


def region_arguments(profile: Profile) -> list[str]:
    """What follows the arguments of a job, and overrules its size."""
    if profile.jobs == 1 or profile.rw not in (Rw.READ, Rw.WRITE) or profile.number_ios is None:
        return []
    part = profile.number_ios * profile.block_bytes
    return [f"--size={part}", f"--offset_increment={part}"]
