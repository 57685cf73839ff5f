"""fio(1): how it is called, and what it says of itself. What its report means is `fio_report`.

Works with 3.16 to 3.41. Facts about its options are those of fio's HOWTO, or measured with 3.33.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from exporter.errors import ConfigError
from exporter.tools import versions
from exporter.tools.fio_profiles import Profile, Rw, Sync
from exporter.tools.niceness import NICE

OLDEST = (3, 16)

#: In per cent; their keys in the report are texts as "99.900000".
PERCENTILES = (50.0, 95.0, 99.0, 99.9)

#: Of a row of the bandwidth log.
_LOG_MILLISECONDS = 100

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


def arguments(
    program: str, profiles: Sequence[Profile], file: Path, logs: Path | None = None
) -> list[str]:
    """One call of fio that runs the profiles one after the other on `file`.

    The file must be there and at least as large as every profile says: fio deletes one that is
    shorter before it refuses to make it anew. In the directory `logs` it leaves `<name>_bw.log`
    for each profile of one job without a rate cap; see `fio_log`.

    Raises:
        ConfigError: a path that fio would take for another.
    """
    argv = [program, "--output-format=json+", "--eta=never"]
    if not any(profile.writes for profile in profiles):
        argv.append("--readonly")
    argv += ["--name=global", f"--filename={_name(file)}", *_COMMON]
    for index, profile in enumerate(profiles):
        argv += _job(profile, is_first=index == 0)
        if logs is not None and profile.jobs == 1 and not profile.is_rate_capped:
            argv += [
                f"--write_bw_log={logs / profile.name}",
                f"--log_avg_msec={_LOG_MILLISECONDS}",
                "--per_job_logs=0",
            ]
    return argv


def engines_arguments(program: str) -> list[str]:
    return [program, "--enghelp"]


def engines(text: str) -> frozenset[str]:
    """The engines that ``fio --enghelp`` lists, one an indented line."""
    return frozenset(_ENGINE.findall(text))


def version(text: str) -> tuple[int, int] | None:
    """The two numbers out of "fio-3.33", "fio-3.36-12-gabcd" or "3.33"; None where there are none.

    Compare with `OLDEST`.
    """
    found = _NUMBERS.match(versions.parse(text) or text)
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
