"""``ssd-exporter probe --acknowledge``: probes may run again after the host rebooted during one.

``ssd-exporter probe [PROFILE]``: what the daemon does now and then, once and now.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from exporter.clock import Clock
from exporter.commands import probe_report
from exporter.config import Settings
from exporter.errors import CommandError, ConfigError
from exporter.measurement import run_facts, target
from exporter.measurement.session import (
    JUDGED_BAD,
    MEASURED,
    NOT_MEASURED,
    CommandContext,
    Measurement,
    MeasurementTools,
    measuring,
)
from exporter.probe.budget import ProbeBudget
from exporter.probe.filling import bytes_to_fill, filled_bytes
from exporter.probe.fio_run import RunOutcome
from exporter.probe.host_lock import HostLock
from exporter.probe.production_load import GuardSampler
from exporter.probe.profiles import Profile
from exporter.report.content import Report


def acknowledge_reboot(
    state: Path, lock_directory: Path, clock: Clock, boot_id: str, out: TextIO
) -> int:
    """Take the note away that keeps probes off; a daemon that runs sees it before its next probe.

    state: the daemon's state directory. lock_directory: where the host's probe lock lies.

    Raises:
        ConfigError: the note cannot be read or written.
    """
    lock = HostLock((lock_directory, state))
    budget = ProbeBudget(state, clock, boot_id)
    try:
        if lock.acquire():
            # A daemon that has not started since the reboot has not noted it yet.
            budget.recover()
        run_before = budget.unacknowledged
        was = budget.acknowledge()
    except OSError as e:
        raise ConfigError(
            f"{budget.path} cannot be written: {e.strerror or e}", "run this as root or the daemon"
        ) from e
    finally:
        lock.release()
    if not was:
        out.write("nothing to acknowledge: no reboot during a probe is noted\n")
    elif run_before is None:
        out.write("acknowledged: probes run again\n")
    else:
        out.write(
            f"acknowledged: the {run_before.profile} probe of {run_before.drive} during which the"
            " host rebooted; probes run again\n"
        )
    return 0


#: What fio takes to begin, and the file to be looked at.
_MORE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class ProbeRequest(CommandContext):
    """What a person asked for. profile: its name; None for those that the daemon runs."""

    profile: str | None = None


def run(settings: Settings, wanted: ProbeRequest, edges: MeasurementTools, out: TextIO) -> int:
    """Probe and report; the exit status is 1 where the drive is slower than what is kept.

    Raises:
        ConfigError: there is no such profile, or it must not run.
        SourceError: nothing was measured.
    """
    wanted.check()
    chosen = target.select_profiles(wanted.profile, settings)
    with measuring(settings, wanted.options, chosen, edges) as measurement:
        report, problem = _measured(measurement, chosen, settings)
    wanted.deliver(report, out)
    if problem:
        return NOT_MEASURED
    return JUDGED_BAD if report.is_good is False else MEASURED


def _measured(
    measurement: Measurement, chosen: Sequence[Profile], settings: Settings
) -> tuple[Report, str]:
    """The report, and why it is not of the whole."""
    begun = measurement.clock.monotonic()
    runnable = measurement.with_engine(chosen)
    ended = _run(measurement, runnable, target.retained_bytes(runnable, settings))
    problem = measurement.problem(ended)
    if ended.run is None or not any(job.ops for job in ended.run.jobs):
        raise CommandError(f"nothing was measured: {problem or 'fio says nothing'}")
    kept = measurement.directory.results.profiles
    found = [
        probe_report.compare_profile(each, ended, runnable, kept[each.name].steady)
        for each in runnable
    ]
    under = run_facts.measured_drives(measurement, settings)
    engines = ", ".join(sorted({each.engine.value for each in runnable}))
    report = probe_report.report(
        found,
        measurement.location.device,
        tuple(
            run_facts.facts(
                measurement,
                under,
                seconds=measurement.clock.monotonic() - begun,
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
    size = max(each.size_bytes for each in runnable)
    filled = filled_bytes(runnable)
    fill_bytes = bytes_to_fill(directory.path, directory.file, filled)
    written = fill_bytes + sum(each.written_bytes_at_most for each in runnable)
    measurement.admit(runnable[0], written, max(fill_bytes, size - filled))
    seconds = sum(each.expected_seconds for each in runnable) + _MORE_SECONDS
    measurement.consent(written, seconds, always=False)
    if filled:
        measurement.prepare_file(directory.file, filled, fill=True, keep=True)
    file = measurement.prepare_file(
        directory.file, size, fill=False, keep=True, retained_bytes=retained_bytes
    )
    words = f"{', '.join(each.name for each in runnable)} on {measurement.location.device}"
    begun = measurement.clock.monotonic()

    def go_on(_watch: GuardSampler) -> bool:
        measurement.show(words, min((measurement.clock.monotonic() - begun) / seconds, 1.0))
        return True

    return measurement.run(runnable, file, go_on)
