"""Builds fio's command line, queries fio's version and I/O engines, and runs fio as a process.

It works with fio 3.16 to 3.41. The facts about fio's options are from its HOWTO
(https://fio.readthedocs.io) or were measured with fio 3.33. `fio_report` parses fio's output.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from exporter.config.profiles import Profile, Rw, Sync
from exporter.probe import fio_report
from exporter.programs import command
from exporter.programs.child import Finished
from exporter.programs.children import SystemChildren
from exporter.programs.command import Runner
from exporter.runtime.clock import Clock
from exporter.runtime.errors import CommandError, ConfigError
from exporter.runtime.threads import NICE

#: The oldest supported version of fio.
OLDEST = (3, 16)

#: Requested percentiles, in percent. Their keys in the report are strings such as "99.900000".
PERCENTILES = (50.0, 95.0, 99.0, 99.9)

_NUMBERS = re.compile(r"(\d{1,6})\.(\d{1,6})", re.ASCII)
_ENGINE = re.compile(r"^[ \t]+([a-z][a-z0-9_-]*)[ \t]*$", re.ASCII | re.MULTILINE)

#: The start of a command line that runs a program through setpriv(1) of util-linux 2.33 or later.
#: The kernel then kills fio when the thread that started it ends, also after kill -9 of this
#: process.
_DIES_WITH_PARENT = ("setpriv", "--pdeathsig", "KILL")

#: The timeout in seconds of `fio --version`, of `fio --enghelp` and of the test of setpriv.
_QUERY_TIMEOUT_SECONDS = 10.0
#: How long the list of fio's engines is cached, in seconds. An installed fio seldom changes.
_CACHE_SECONDS = 3600.0

#: The key of fio's process in `SystemChildren`; `SystemFio` runs one process at a time.
_KEY = "fio"

#: Options of all jobs, with the reasons for some of them.
#: thread: jobs are threads, because a forked job survives a kill of its parent and keeps writing.
#: allow_file_create=0: otherwise a job writes a missing or short file in full before it starts.
#: refill_buffers: each write gets new data, because drives compress repeated data.
#: clocksource: the kernel's clock, because calibrating the CPU's clock takes longer than a run.
#: nice: low priority, so that the database runs first if the CPU is busy.
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
    """Returns the command line of a fio that runs the profiles one after the other on `file`.

    The file must exist and be as long as the longest profile requires, because fio deletes a
    shorter file and then refuses to create one.

    program: the name or path of fio.

    Raises:
        ConfigError: the path of the file is relative, or it contains a backslash or a character
            that is not printable; fio might open another file.
    """
    argv = [program, "--output-format=json+", "--eta=never"]
    if not any(profile.writes for profile in profiles):
        argv.append("--readonly")
    argv += ["--name=global", f"--filename={_name(file)}", *_COMMON]
    for index, profile in enumerate(profiles):
        argv += _job(profile, is_first=index == 0)
    return argv


def engines_arguments(program: str) -> list[str]:
    """Returns the command line that lists fio's I/O engines."""
    return [program, "--enghelp"]


def parse_engines(text: str) -> frozenset[str]:
    """Returns the names of the engines in the output of ``fio --enghelp``.

    Each engine is on a line of its own that begins with white space.
    """
    return frozenset(_ENGINE.findall(text))


def parse_version(text: str) -> tuple[int, int] | None:
    """Returns the major and minor version in a text such as "fio-3.33" or "fio-3.36-12-gabcd".

    Returns None if the text contains no version.
    """
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
        # The maximum duration. Without time_based, fio also stops after its operations; with
        # time_based and io_size=2M, it wrote 36 MB.
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
    """Returns the path as a value of fio's option filename, with colons escaped.

    An unescaped colon separates two files in that option.

    Raises:
        ConfigError: the path is relative, or contains a backslash or an unprintable character.
    """
    text = str(file)
    if not file.is_absolute() or "\\" in text or not text.isprintable():
        raise ConfigError(
            f"fio cannot open the file {text}",
            "name a directory by its absolute path, without backslashes and control characters",
        )
    return text.replace(":", "\\:")


class Fio(Protocol):
    """Runs one fio process at a time.

    Make all calls on the same thread. The thread must continue until the run has ended. Otherwise
    the kernel may kill fio.
    """

    def engines(self) -> frozenset[str] | None:
        """Returns the names of the installed fio's engines; None if fio is missing or too old."""

    def start(self, profiles: Sequence[Profile], file: Path, limit_seconds: float) -> int | None:
        """Starts a run of the profiles on the file. Returns fio's pid.

        Returns None if fio could not be started; then `wait` returns the reason.

        limit_seconds: the timeout of the run.
        """

    def wait(self, seconds: float) -> Finished | None:
        """Waits for the end of the run. Returns how it ended; None if it still runs."""

    def end(self) -> None:
        """Requests the end of the run, which `wait` then carries out.

        fio gets SIGTERM, and SIGKILL two seconds later. If it still does not end, it is abandoned:
        it continues to exist, but `wait` does not wait for it.
        """

    @property
    def is_stuck(self) -> bool:
        """True while a fio process exists that could not be ended and was abandoned."""

    @property
    def problem(self) -> str:
        """Why `engines` returned None, as text for people; else empty."""

    def close(self) -> None:
        """Ends the current run, if there is one. This takes a bounded time."""


class SystemFio:
    """Runs the installed fio.

    program: the name or path of fio.
    runner: runs the short commands that query fio.
    children: starts and ends the fio processes; None creates the default.
    """

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
            # This call notices if the abandoned process has ended in the meantime.
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
                # util-linux is older than 2.33: if this process is killed, fio continues until its
                # run is complete.
                self._prefix = ()
        return self._prefix


class RegionFio(SystemFio):
    """Runs fio so that each thread of a sequential profile uses its own region of the file.

    If several threads read the same region, the first thread fills the drive's cache for the other
    threads. Each run must have exactly one profile.
    """

    def start(self, profiles: Sequence[Profile], file: Path, limit_seconds: float) -> int | None:
        (profile,) = profiles
        argv = [*arguments(self._program, profiles, file), *region_arguments(profile)]
        self._children.start(_KEY, [*self._parent_death_prefix(), *argv], limit_seconds)
        return self._children.pid(_KEY)


def region_arguments(profile: Profile) -> list[str]:
    """Returns the options that give each thread of a profile its own region of the file.

    They must follow the job's other options, because they override its size. The list is empty if
    the profile has one thread, is not sequential, or has no number of operations.
    """
    if profile.jobs == 1 or profile.rw not in (Rw.READ, Rw.WRITE) or profile.number_ios is None:
        return []
    part = profile.number_ios * profile.block_bytes
    return [f"--size={part}", f"--offset_increment={part}"]
