"""``ssd-exporter probe [PROFILE]``: what the daemon does now and then, once and now."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from exporter.background.probe_filling import writes_whole
from exporter.background.probe_load import Watch
from exporter.background.probe_run import Ended
from exporter.commands import measured_file, probe_report, run_facts
from exporter.commands.measuring import (
    JUDGED_BAD,
    MEASURED,
    NOT_MEASURED,
    Edges,
    Measurement,
    Options,
    measuring,
)
from exporter.config import Settings
from exporter.errors import CommandError, ConfigError
from exporter.report import delivery
from exporter.report.content import Report
from exporter.tools import fio_settings
from exporter.tools.fio_profiles import PROFILES, Profile
from exporter.tools.fio_settings import ProfileSettings

#: What fio takes to begin, and the file to be looked at.
_MORE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a person asked for. profile: its name; None for those that the daemon runs."""

    options: Options = field(default_factory=Options)
    profile: str | None = None
    as_json: bool = False
    html: Path | None = None


def run(settings: Settings, wanted: Wanted, edges: Edges, out: TextIO) -> int:
    """Probe and report; the exit status is 1 where the drive is slower than what is kept.

    Raises:
        ConfigError: there is no such profile, or it must not run.
        SourceError: nothing was measured.
    """
    delivery.check(wanted.html)
    profiles = chosen(wanted.profile, settings)
    with measuring(settings, wanted.options, profiles, edges) as measurement:
        report, problem = _measured(measurement, profiles, settings)
    delivery.deliver(report, out, as_json=wanted.as_json, html=wanted.html)
    if problem:
        return NOT_MEASURED
    return JUDGED_BAD if report.is_good is False else MEASURED


def chosen(name: str | None, settings: Settings) -> tuple[Profile, ...]:
    """The profile of that name, else those that are scheduled.

    Raises:
        ConfigError: it is none, or has a command of its own.
    """
    known = {**PROFILES, **settings.probe.profile}
    listed = ", ".join(sorted(known.keys() - {"slc"}))
    if name == "slc":
        raise ConfigError("slc has a command of its own", "see ssd-exporter slc --help")
    if name is not None and name not in known:
        raise ConfigError(
            f"{name!r} is no profile", f"there are {listed}; a directory is given with --directory"
        )
    names = [each for each in settings.probe.profiles if each != "slc"] if name is None else [name]
    if not names:
        raise ConfigError("no profile is scheduled", f"name one of {listed}")
    return tuple(
        fio_settings.profile(each, settings.probe.profile.get(each, ProfileSettings()))
        for each in names
    )


def _measured(
    measurement: Measurement, profiles: Sequence[Profile], settings: Settings
) -> tuple[Report, str]:
    """The report, and why it is not of the whole."""
    begun = measurement.clock.monotonic()
    runnable = measurement.with_engine(profiles)
    ended = _run(measurement, runnable)
    problem = measurement.problem(ended)
    if ended.run is None or not any(job.ops for job in ended.run.jobs):
        raise CommandError(f"nothing was measured: {problem or 'fio says nothing'}")
    kept = measurement.directory.results.profiles
    found = [
        probe_report.outcome(each, ended, runnable, kept[each.name].steady) for each in runnable
    ]
    under = run_facts.below(measurement, settings)
    engines = ", ".join(sorted({each.engine.value for each in runnable}))
    report = probe_report.report(
        found,
        measurement.place.device,
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


def _run(measurement: Measurement, profiles: Sequence[Profile]) -> Ended:
    directory = measurement.directory
    size = max(each.size_bytes for each in profiles)
    filled = max((each.size_bytes for each in profiles if not writes_whole(each)), default=0)
    filling = measured_file.missing_bytes(directory.path, directory.file, filled)
    written = filling + sum(each.written_bytes_at_most for each in profiles)
    measurement.admit(profiles[0], written, max(filling, size - filled))
    seconds = sum(map(_expected_seconds, profiles)) + _MORE_SECONDS
    measurement.consent(written, seconds, always=False)
    if filled:
        measurement.prepared(directory.file, filled, fill=True, keep=True)
    file = measurement.prepared(directory.file, size, fill=False, keep=True)
    words = f"{', '.join(each.name for each in profiles)} on {measurement.place.device}"
    begun = measurement.clock.monotonic()

    def go_on(_watch: Watch) -> bool:
        measurement.show(words, min((measurement.clock.monotonic() - begun) / seconds, 1.0))
        return True

    return measurement.run(profiles, file, go_on)


def _expected_seconds(profile: Profile) -> float:
    """By its rate cap, else its ceiling."""
    if profile.rate_iops and profile.number_ios:
        return min(profile.number_ios / profile.rate_iops, profile.runtime_seconds)
    return profile.runtime_seconds
