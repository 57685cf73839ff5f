"""Builds fio's command line, queries its version and engines, and runs it as a process.

Works with fio 3.16 to 3.41. Facts about its options are from fio's HOWTO
(https://fio.readthedocs.io) or measured with 3.33. `fio_report` parses the output.
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

#: The oldest supported version of fio.
OLDEST = (3, 16)

#: Requested percentiles, in percent. Their keys in the report are strings such as "99.900000".
PERCENTILES = (50.0, 95.0, 99.0, 99.9)

_NUMBERS = re.compile(r"(\d{1,6})\.(\d{1,6})", re.ASCII)
_ENGINE = re.compile(r"^[ \t]+([a-z][a-z0-9_-]*)[ \t]*$", re.ASCII | re.MULTILINE)

#: setpriv(1) of util-linux 2.33 or later. The kernel sends fio SIGKILL when the thread that started
#: it ends, also after kill -9 of this process.
_DIES_WITH_PARENT = ("setpriv", "--pdeathsig", "KILL")

#: The timeout of `fio --version`, `fio --enghelp` and the test of setpriv.
_QUERY_TIMEOUT_SECONDS = 10.0
#: How long the engines are cached. An installed fio seldom changes.
_CACHE_SECONDS = 3600.0

#: The key of fio's process in `SystemChildren`; `SystemFio` runs one process at a time.
_KEY = "fio"

#: Options of all jobs.
#: thread: a forked job survives a kill of its parent and keeps writing.
#: allow_file_create=0: a job would write a missing or short file in full before it starts.
#: refill_buffers: drives compress repeated data.
#: clocksource: calibrating the CPU's clock takes longer than a run.
#: nice: the database has priority if the CPU is busy.
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
    f"--percentile_list={':'.join(f'{percent:g}' for percent in PERCENTILES)}",
)


def arguments(program: str, profiles: Sequence[Profile], file: Path) -> list[str]:
    """Returns the command that runs the profiles one after the other on `file`.

    The file must exist and be as long as the longest profile requires. fio deletes a shorter file
    and then refuses to create one.

    Raises:
        ConfigError: fio would open another path.
    """
    argv = [program, "--output-format=json+", "--eta=never"]
    if not any(profile.writes for profile in profiles):
        argv.append("--readonly")
    argv += ["--name=global", f"--filename={_name(file)}", *_COMMON]
    for index, profile in enumerate(profiles):
        argv += _job(profile, is_first=index == 0)
    return argv


def engines_arguments(program: str) -> list[str]:
    """Returns the command that lists fio's engines."""
    return [program, "--enghelp"]


def parse_engines(text: str) -> frozenset[str]:
    """Returns the engines that ``fio --enghelp`` lists, one per indented line."""
    return frozenset(_ENGINE.findall(text))


def parse_version(text: str) -> tuple[int, int] | None:
    """Returns major and minor version of "fio-3.33", "fio-3.36-12-gabcd" or "3.33"; else None."""
    match = _NUMBERS.match(command.parse_version(text) or text)
    return None if match is None else (int(match[1]), int(match[2]))


def _job(profile: Profile, *, is_first: bool) -> list[str]:
    job = [
        f"--name={profile.name}",
        # Each job starts after the previous one has ended, and has its own group in the report.
        *(() if is_first else ("--stonewall=1", "--new_group=1")),
        f"--rw={profile.rw.value}",
        *(("--rwmixread=75",) if profile.rw is Rw.RANDRW else ()),
        f"--bs={profile.block_bytes}",
        f"--size={profile.size_bytes}",
        f"--ioengine={profile.engine.value}",
        f"--iodepth={profile.depth}",
        f"--numjobs={profile.jobs}",
        f"--direct={int(profile.direct)}",
        # A ceiling. Without time_based: with it, io_size=2M wrote 36 MB.
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
    """Returns a path for fio's filename option, in which colons separate several files."""
    text = str(file)
    if not file.is_absolute() or "\\" in text or not text.isprintable():
        raise ConfigError(
            f"fio cannot open the file {text}",
            "name a directory by its absolute path, without backslashes and control characters",
        )
    return text.replace(":", "\\:")


class Fio(Protocol):
    """Runs one fio process at a time. One thread makes all calls and must outlive the runs."""

    def engines(self) -> frozenset[str] | None:
        """Returns the engines of the installed fio; None if it is missing or too old."""

    def start(self, profiles: Sequence[Profile], file: Path, limit_seconds: float) -> int | None:
        """Start a run of the profiles on the file; returns its pid.

        None if it could not be started; `wait` returns the reason. limit_seconds: the timeout.
        """

    def wait(self, seconds: float) -> Finished | None:
        """Wait for the end of the run; returns None if it is still running after `seconds`."""

    def end(self) -> None:
        """End the run with SIGTERM, and with SIGKILL after two seconds; abandon it if both fail."""

    @property
    def is_stuck(self) -> bool:
        """True while an abandoned fio still exists."""

    @property
    def problem(self) -> str:
        """The reason why `engines` returned None, as a message."""

    def close(self) -> None:
        """End the run within a bounded time."""


class SystemFio:
    """The installed fio."""

    def __init__(
        self, program: str, runner: Runner, clock: Clock, children: SystemChildren | None = None
    ) -> None:
        self._program = program
        self._runner = runner
        self._clock = clock
        self._children = children or SystemChildren(
            clock, max_output_bytes=fio_report.MAX_REPORT_BYTES
        )
        self._engines: frozenset[str] | None = None
        self._queried_at = float("-inf")
        self._prefix: tuple[str, ...] | None = None
        self._problem = ""

    def engines(self) -> frozenset[str] | None:
        now = self._clock.monotonic()
        if self._engines is None or now - self._queried_at >= _CACHE_SECONDS:
            self._engines = self._query_engines()
            self._queried_at = now
        return self._engines

    def start(self, profiles: Sequence[Profile], file: Path, limit_seconds: float) -> int | None:
        argv = [*self._parent_death_prefix(), *arguments(self._program, profiles, file)]
        self._children.start(_KEY, argv, limit_seconds)
        return self._children.pid(_KEY)

    def wait(self, seconds: float) -> Finished | None:
        return next(iter(self._children.wait(seconds)), None)

    def end(self) -> None:
        self._children.end(_KEY)

    @property
    def is_stuck(self) -> bool:
        if self._children.stuck():
            # Detects that the abandoned process has ended since.
            self._children.wait(0.0)
        return bool(self._children.stuck())

    @property
    def problem(self) -> str:
        return self._problem

    def close(self) -> None:
        self._children.close()

    def _query_engines(self) -> frozenset[str] | None:
        try:
            output = self._runner.run([self._program, "--version"], _QUERY_TIMEOUT_SECONDS)
            version = parse_version(output)
            if version is None or version < OLDEST:
                oldest = ".".join(map(str, OLDEST))
                problem = f"{self._program} is {output.strip()[:40]!r}, older than {oldest}"
                self._problem = f"{problem}; install fio {oldest} or later"
                return None
            listed = self._runner.run(engines_arguments(self._program), _QUERY_TIMEOUT_SECONDS)
        except CommandError as e:
            self._problem = f"{e}; install fio, or set path.fio"
            return None
        self._problem = ""
        return parse_engines(listed)

    def _parent_death_prefix(self) -> tuple[str, ...]:
        if self._prefix is None:
            try:
                self._runner.run([*_DIES_WITH_PARENT, "true"], _QUERY_TIMEOUT_SECONDS)
                self._prefix = _DIES_WITH_PARENT
            except CommandError:
                # util-linux before 2.33: if this process is killed, fio runs on until its own end.
                self._prefix = ()
        return self._prefix


class RegionFio(SystemFio):
    """Gives each sequential job its own region of the file. Each run has one profile.

    On a shared region the second job would read data that is in the drive's cache because of the
    first.
    """

    def start(self, profiles: Sequence[Profile], file: Path, limit_seconds: float) -> int | None:
        (profile,) = profiles
        argv = [*arguments(self._program, profiles, file), *region_arguments(profile)]
        self._children.start(_KEY, [*self._parent_death_prefix(), *argv], limit_seconds)
        return self._children.pid(_KEY)


def region_arguments(profile: Profile) -> list[str]:
    """Returns options that follow a job's arguments and override its size; empty if not needed."""
    if profile.jobs == 1 or profile.rw not in (Rw.READ, Rw.WRITE) or profile.number_ios is None:
        return []
    part = profile.number_ios * profile.block_bytes
    return [f"--size={part}", f"--offset_increment={part}"]
