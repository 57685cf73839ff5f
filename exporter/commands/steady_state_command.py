"""``ssd-exporter steady-state [PROFILE]``: repeats a profile until the drive is in steady state.

A profile contains the parameters of a run of fio. Each run is a round. In steady state the results
of the last rounds are nearly equal; a rule of SNIA defines the limits. A series is the list of all
rounds of one profile on one drive. With ``--kept`` the command does not run fio. It analyses the
rounds that the daemon has saved.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TextIO

from exporter.commands import steady_state_report
from exporter.commands.common import (
    add_measurement_arguments,
    measurement_options,
    required_state_directory,
    system_tools,
)
from exporter.commands.registry import Command
from exporter.commands.steady_state_report import CompletedRound, Series, SteadyStateResult
from exporter.config.profiles import Profile, Rw, Sync
from exporter.config.settings import Settings
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
from exporter.probe import results
from exporter.probe.filling import bytes_to_fill
from exporter.probe.fio_run import HostShareRules, RunOutcome, host_share_of_run, is_host_limited
from exporter.probe.results import RoundHistory
from exporter.probe.steady_state import SteadyPhase, SteadyState, SteadyStateRules, steady_state
from exporter.report.content import Report
from exporter.runtime.errors import CommandError, ConfigError, SourceError
from exporter.runtime.state import StateFile

#: Number of fields that follow the drive in a key of `results.series_key`. A key is split from the
#: right, because the drive is the first field and its name may contain the separator.
_KEY_FIELDS = 11

#: The profile that runs if the user names none: random writes of the size of InnoDB's pages. SNIA's
#: test also uses writes.
DEFAULT_PROFILE = "page_write"

#: Maximum number of rounds until steady state, from SNIA's Solid State Storage Performance Test
#: Specification.
MAX_ROUNDS = 25

_RULES = SteadyStateRules()
_SHARE = HostShareRules()


@dataclass(frozen=True, slots=True)
class SteadyStateRequest:
    """The arguments of the command.

    options: the arguments that all measuring commands share.
    profile: the name of the profile. None means `DEFAULT_PROFILE`, or with --kept all profiles that
        the daemon has saved.
    max_rounds: the maximum number of rounds.
    """

    options: MeasurementOptions
    profile: str | None = None
    max_rounds: int = MAX_ROUNDS


def run(
    settings: Settings, request: SteadyStateRequest, tools: MeasurementTools, out: TextIO
) -> int:
    """Runs the profile in rounds, and prints the report. Returns the exit status.

    The status is:

    - 0: the drive is in steady state: its results no longer change from round to round.
    - 1: the drive is not in steady state.
    - 3: a problem ended the rounds early, or there are too few usable rounds.

    Raises:
        ConfigError: the profile or the maximum number of rounds is invalid, the directory is
            unsuitable, the measurement may not start now (for example because of load), or the user
            did not agree to it.
        SourceError: nothing was measured.
    """
    request.options.check_report()
    if not _RULES.rounds <= request.max_rounds <= 1000:
        raise ConfigError(
            f"--rounds is {request.max_rounds}", f"it must be {_RULES.rounds} to 1000"
        )
    (profile,) = target.select_profiles(request.profile or DEFAULT_PROFILE, settings)
    with measuring(settings, request.options, [profile], tools) as measurement:
        result = _RoundRunner(measurement, settings, request.max_rounds).run(profile)
    status = _deliver(steady_state_report.report(result, _RULES), request, out)
    return NOT_MEASURED if result.problem else status


def run_kept(state: Path, request: SteadyStateRequest, out: TextIO) -> int:
    """Prints the report of the rounds that the daemon has saved. Returns the exit status.

    A series contains the rounds of one profile on one drive. The status is 1 if a series is not
    steady. Otherwise it is 3 if a series has too few rounds, and 0 if all series are steady.

    state: the daemon's state directory.

    Raises:
        ConfigError: the state file cannot be read, or it has no rounds of the profile.
    """
    request.options.check_report()
    file = StateFile(state)
    if problem := file.problem():
        raise ConfigError(problem, "run this command as root or as the daemon's user")
    kept: Any = file.load_read_only().get("probe")
    rounds = kept.get("rounds") if isinstance(kept, dict) else None
    saved = list(saved_series(rounds, request.profile))
    if not saved:
        which = f" of {request.profile}" if request.profile else ""
        raise ConfigError(
            f"the daemon has saved no rounds{which} in {state}",
            "set probe.directory so that the daemon runs probes, or omit --kept to run rounds now",
        )
    drives = dict.fromkeys(f"{drive}, firmware {fw or 'unknown'}" for drive, fw, _ in saved)
    report = steady_state_report.report(
        SteadyStateResult(
            "Steady state of the daemon's probes",
            [s for _, _, s in saved],
            (("Drives", "; ".join(drives)), ("Saved in", str(state))),
            data={"drives": [drive for drive, _, _ in saved]},
        ),
        _RULES,
    )
    return _deliver(report, request, out)


def _deliver(report: Report, request: SteadyStateRequest, out: TextIO) -> int:
    request.options.deliver(report, out)
    if report.is_good is None:
        return NOT_MEASURED
    return MEASURED if report.is_good else JUDGED_BAD


def saved_series(kept: Any, profile: str | None) -> Iterator[tuple[str, str, Series]]:
    """Yields the drive, the firmware and the rounds of each saved series.

    kept: the value of "rounds" in the probe section of the daemon's state file.
    profile: the name of the profile to return; None means all profiles.
    """
    rounds = RoundHistory(kept)
    for key, entry in rounds.to_state().items():
        parsed = _parse_key(key)
        if parsed is None or not isinstance(entry, dict):
            continue
        drive, firmware, run_profile, engine = parsed
        judgement = rounds.known(key, lower_is_better=results.is_latency_judged(run_profile))
        if judgement is None or profile not in (None, run_profile.name):
            continue
        done = [
            CompletedRound(value, is_host_limited=is_host_limited, when=_when(at))
            for at, value, is_host_limited in entry["rounds"]
        ]
        yield drive, firmware, Series(run_profile, engine, done, judgement)


def _parse_key(key: str) -> tuple[str, str, Profile, str] | None:
    """Returns the drive, firmware, profile and engine of a series; None if the key is invalid.

    key: the key of the series in the state file, as `results.series_key` builds it.
    """
    parts = key.rsplit("|", _KEY_FIELDS)
    if len(parts) != _KEY_FIELDS + 1:
        return None
    drive, firmware, name, engine, rw, block, depth, jobs, direct, sync, size, rate = parts
    try:
        profile = Profile(
            name,
            Rw(rw),
            int(block),
            int(size),
            depth=int(depth),
            jobs=int(jobs),
            direct=direct == "1",
            sync=Sync(sync),
        )
        if rate != "None":
            profile = replace(profile, rate_iops=int(rate))
    except ValueError:
        return None
    return drive, firmware, profile, engine


def _when(at: float) -> str:
    try:
        return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(at))
    except (OverflowError, ValueError, OSError):
        return ""


@dataclass(slots=True)
class _RoundRunner:
    """Runs the rounds of one profile in one directory; call `run` once."""

    measurement: Measurement
    settings: Settings
    max_rounds: int
    _done: list[CompletedRound] = field(default_factory=list)

    def run(self, profile: Profile) -> SteadyStateResult:
        """Runs rounds until the drive is steady or the maximum number of rounds is reached.

        Returns the content of the report. If a problem ends the rounds early, the report contains
        the rounds before the problem.

        Raises:
            ConfigError: the gate refuses the measurement, or the user did not agree to it.
            SourceError: no round was measured.
        """
        measurement = self.measurement
        (profile,) = measurement.with_engine([profile])
        file = self._prepare(profile)
        known = measurement.directory.results.profiles[profile.name].steady_state
        judgement = SteadyState(SteadyPhase.TOO_FEW, None, known.baseline if known else None, None)
        started_at, problem, version = measurement.clock.monotonic(), "", ""
        while len(self._done) < self.max_rounds and judgement.phase is not SteadyPhase.STEADY:
            try:
                ended = measurement.run([profile], file, self._progress_display(profile, judgement))
            except (ConfigError, SourceError) as e:
                problem = str(e)
                break
            version = ended.run.fio_version if ended.run else version
            problem = measurement.problem(ended) or self._record_round(profile, ended)
            if problem:
                break
            judgement = steady_state(
                [done.value for done in self._done if not done.is_host_limited],
                lower_is_better=results.is_latency_judged(profile),
                rules=_RULES,
                baseline=judgement.baseline,
            )
        if not self._done:
            raise CommandError(f"no round was measured: {problem}")
        under = run_facts.measured_drives(measurement, self.settings)
        fio = f"{version}, {profile.engine.value}"
        return SteadyStateResult(
            f"Steady state of {profile.name} on {measurement.location.device}",
            [Series(profile, profile.engine.value, self._done, judgement)],
            tuple(run_facts.facts(measurement, under, started_at=started_at, fio=fio)),
            problem=problem,
            data=run_facts.data(measurement),
        )

    def _prepare(self, profile: Profile) -> Path:
        measurement, directory = self.measurement, self.measurement.directory
        fill_bytes = 0
        if not profile.writes_whole_file:
            size = profile.size_bytes
            fill_bytes = bytes_to_fill(directory.path, directory.file, size)
        written = fill_bytes + self.max_rounds * profile.written_bytes_at_most
        measurement.admit(profile, written, fill_bytes or profile.size_bytes)
        measurement.consent(written, self.max_rounds * _round_seconds(profile))
        return measurement.prepare_file(
            directory.file,
            profile.size_bytes,
            fill=not profile.writes_whole_file,
            # The daemon uses its probe file again, so a file in its directory is kept.
            keep=directory.path in self.settings.probe.directory,
            retained_bytes=target.retained_bytes([profile], self.settings),
        )

    def _record_round(self, profile: Profile, ended: RunOutcome) -> str:
        """Adds the result of a round to the list. Returns why it has no result; empty if it has."""
        job = ended.job(profile.name)
        value = None if job is None else results.round_value(profile, job)
        if value is None:
            return "fio reported no result for the measured operation"
        share = host_share_of_run(ended, [profile], profile.name, _SHARE)
        self._done.append(CompletedRound(value, is_host_limited(share, _SHARE)))
        return ""

    def _progress_display(
        self, profile: Profile, judgement: SteadyState
    ) -> Callable[[float], None]:
        measurement, number = self.measurement, len(self._done) + 1
        words = f"round {number} of at most {self.max_rounds}"
        if self._done:
            last = steady_state_report.shown(profile, self._done[-1].value)
            words += f"; last round: {last}, {judgement.phase.value.replace('_', ' ')}"

        def show(elapsed: float) -> None:
            of_round = min(elapsed / _round_seconds(profile), 1.0)
            measurement.show(words, (number - 1 + of_round) / self.max_rounds)

        return show


def _round_seconds(profile: Profile) -> float:
    """Returns the expected duration of a round in seconds, including the start of fio."""
    return profile.expected_seconds + 0.5


def _add_arguments(p: argparse.ArgumentParser) -> None:
    p.add_argument(
        "profile",
        nargs="?",
        metavar="PROFILE",
        help="page_write (default), fsync, page_read, burst, or a profile of the configuration",
    )
    p.add_argument(
        "--directory",
        type=Path,
        metavar="DIR",
        help="directory on the file system to measure; default: probe.directory of the"
        " configuration",
    )
    p.add_argument(
        "--rounds",
        type=int,
        default=MAX_ROUNDS,
        metavar="N",
        help="maximum number of rounds; default: %(default)s",
    )
    p.add_argument(
        "--kept",
        action="store_true",
        help="run nothing, and analyse the rounds that the daemon has saved",
    )
    add_measurement_arguments(p)


def _run_command(settings: Settings, arguments: argparse.Namespace) -> int:
    request = SteadyStateRequest(
        measurement_options(arguments),
        arguments.profile,
        arguments.rounds,
    )
    if arguments.kept:
        return run_kept(required_state_directory(settings), request, sys.stdout)
    tools = system_tools(settings)
    return session.status(lambda: run(settings, request, tools, sys.stdout), sys.stderr)


COMMAND = Command(
    "Run a profile in rounds until the drive is in steady state by SNIA's rule: over the last five"
    " rounds, the range is at most 20 % of the mean, and the linear fit changes by at most 10 %."
    " --kept analyses the daemon's saved rounds. Exit status 0: steady, 1: not steady, 2: a wrong"
    " argument, or refused, 3: not measured, or too few rounds.",
    _add_arguments,
    _run_command,
)
