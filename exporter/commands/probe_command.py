"""``ssd-exporter probe [PROFILE]``: runs the daemon's probes once, and compares the results.

A probe is a short run of fio. A profile contains the parameters of a probe. If the host reboots
during a probe, further probes are disabled until a user runs ``ssd-exporter probe --acknowledge``.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from exporter.commands import probe_report
from exporter.commands.common import (
    add_measurement_arguments,
    measurement_options,
    required_state_directory,
    system_tools,
)
from exporter.commands.registry import Command
from exporter.config.profiles import Profile
from exporter.config.settings import Settings
from exporter.linux import files
from exporter.measurement import run_facts, session, target
from exporter.measurement.session import (
    JUDGED_BAD,
    MEASURED,
    NOT_MEASURED,
    Measurement,
    MeasurementOptions,
    MeasurementTools,
    measuring,
)
from exporter.probe.budget import ProbeBudget
from exporter.probe.filling import bytes_to_fill, filled_bytes
from exporter.probe.fio_run import RunOutcome
from exporter.probe.host_lock import HostLock
from exporter.report.content import Report
from exporter.runtime.clock import Clock, SystemClock
from exporter.runtime.errors import CommandError, ConfigError
from exporter.runtime.printable import printable
from exporter.runtime.privileges import as_owner

#: The time to start fio and to check the probe file, in seconds. It is added to the runtime of the
#: profiles.
_START_SECONDS = 1.0


def run(
    settings: Settings,
    options: MeasurementOptions,
    profile: str | None,
    tools: MeasurementTools,
    out: TextIO,
) -> int:
    """Runs the probes and prints the report. Returns the exit status.

    profile: the name of the profile to run; None means the profiles that the daemon runs.

    The status is 3 if a probe did not finish, 1 if a result is worse than the daemon's saved runs,
    and otherwise 0.

    Raises:
        ConfigError: the profile is unknown, the directory is unsuitable, or the probe may not start
            now (for example because of load).
        SourceError: nothing was measured.
    """
    options.check_report()
    chosen = target.select_profiles(profile, settings)
    with measuring(settings, options, chosen, tools) as measurement:
        report, problem = _measure(measurement, chosen, settings)
    options.deliver(report, out)
    if problem:
        return NOT_MEASURED
    return JUDGED_BAD if report.is_good is False else MEASURED


def acknowledge_reboot(
    state: Path, lock_directory: Path, clock: Clock, boot_id: str, out: TextIO
) -> int:
    """Enables probes again after a reboot during a probe. Returns the exit status 0.

    While the state directory contains a record of such a reboot, probes are disabled. This function
    removes the record and prints the result. The daemon reads the record before each probe.

    state: the daemon's state directory, which contains the record.
    lock_directory: the directory of the lock file that only one probe of the host holds at a time.
    boot_id: the kernel's identifier of this boot.

    Raises:
        ConfigError: the record cannot be read or written.
    """
    lock = HostLock((lock_directory, state))
    budget = ProbeBudget(state, clock, boot_id)
    try:
        if lock.acquire():
            # The daemon records the reboot when it starts. If it has not started since the reboot,
            # this call records it.
            budget.recover()
        interrupted = budget.unacknowledged
        was_pending = budget.acknowledge()
    except OSError as e:
        raise ConfigError(
            f"{budget.path} is not writable: {e.strerror or e}",
            "run this command as root or as the daemon's user",
        ) from e
    finally:
        lock.release()
    if not was_pending:
        out.write("nothing to acknowledge: no reboot during a probe is recorded\n")
    elif interrupted is None:
        out.write("acknowledged: probes are enabled again\n")
    else:
        words = (
            f"acknowledged: the host rebooted during the {interrupted.profile} probe of"
            f" {interrupted.drive}; probes are enabled again"
        )
        out.write(f"{printable(words)}\n")
    return 0


def _measure(
    measurement: Measurement, chosen: Sequence[Profile], settings: Settings
) -> tuple[Report, str]:
    """Runs the profiles. Returns the report, and why the run did not finish (empty if it did)."""
    started_at = measurement.clock.monotonic()
    runnable = measurement.with_engine(chosen)
    ended = _run(measurement, runnable, target.retained_bytes(runnable, settings))
    problem = measurement.problem(ended)
    if ended.run is None or not any(job.ops for job in ended.run.jobs):
        raise CommandError(f"nothing was measured: {problem or 'fio reported no result'}")
    kept = measurement.directory.results.profiles
    comparisons = [
        probe_report.compare_profile(profile, ended, runnable, kept[profile.name].steady_state)
        for profile in runnable
    ]
    under = run_facts.measured_drives(measurement, settings)
    engines = ", ".join(sorted({profile.engine.value for profile in runnable}))
    report = probe_report.report(
        comparisons,
        measurement.location.device,
        tuple(
            run_facts.facts(
                measurement,
                under,
                started_at=started_at,
                fio=f"{ended.run.fio_version}, {engines}",
            )
        ),
        run_facts.data(measurement),
        problem,
    )
    return report, problem


def _run(
    measurement: Measurement, runnable: Sequence[Profile], retained_bytes: int | None
) -> RunOutcome:
    directory = measurement.directory
    size = max(profile.size_bytes for profile in runnable)
    filled = filled_bytes(runnable)
    fill_bytes = bytes_to_fill(directory.path, directory.file, filled)
    written = fill_bytes + sum(profile.written_bytes_at_most for profile in runnable)
    measurement.admit(runnable[0], written, max(fill_bytes, size - filled))
    seconds = sum(profile.expected_seconds for profile in runnable) + _START_SECONDS
    measurement.consent(written, seconds, always=False)
    if filled:
        measurement.prepare_file(directory.file, filled, fill=True, keep=True)
    file = measurement.prepare_file(
        directory.file, size, fill=False, keep=True, retained_bytes=retained_bytes
    )
    words = f"{', '.join(profile.name for profile in runnable)} on {measurement.location.device}"
    return measurement.run(
        runnable, file, lambda elapsed: measurement.show(words, elapsed / seconds)
    )


def _add_arguments(p: argparse.ArgumentParser) -> None:
    p.add_argument(
        "profile",
        nargs="?",
        metavar="PROFILE",
        help="fsync, page_read, page_write, burst, or a profile of the configuration; default: the"
        " daemon's profiles (the first three, unless configured otherwise)",
    )
    p.add_argument(
        "--directory",
        type=Path,
        metavar="DIR",
        help="directory on the file system to measure; it is created if it does not exist, and kept"
        " with its probe file; default: probe.directory of the configuration",
    )
    p.add_argument(
        "--acknowledge",
        action="store_true",
        help="enable probes again after the host rebooted during a probe; runs no probe",
    )
    add_measurement_arguments(p)


def _run_command(settings: Settings, arguments: argparse.Namespace) -> int:
    if arguments.acknowledge:
        if arguments.profile is not None:
            raise ConfigError("--acknowledge takes no profile", "omit PROFILE")
        return _acknowledge(settings)
    options, profile = measurement_options(arguments), arguments.profile
    tools = system_tools(settings)
    return session.status(lambda: run(settings, options, profile, tools, sys.stdout), sys.stderr)


def _acknowledge(settings: Settings) -> int:
    state, path = required_state_directory(settings), settings.path
    boot_id = files.read_attribute(path.procfs / "sys" / "kernel" / "random" / "boot_id") or ""
    lock_directory = path.rootfs / "run" / "lock"
    with as_owner(state):
        return acknowledge_reboot(state, lock_directory, SystemClock(), boot_id, sys.stdout)


COMMAND = Command(
    "Run the daemon's probes once, or one profile, and compare the results with the daemon's saved"
    " runs. The probes write a few MB. The first run also writes the probe file of 64 MiB. If the"
    " host rebooted during a probe, no probe runs until --acknowledge. Exit status 0: measured,"
    " 1: slower than before, 2: a wrong argument, or refused, 3: not measured.",
    _add_arguments,
    _run_command,
)
