"""The rounds that the daemon has kept of its own runs, and its judgement on them.

``ssd-exporter steady-state [PROFILE]``: rounds of a profile until the drive is steady.

With ``--kept`` those that the daemon has kept of its own runs, and nothing is run.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TextIO

from exporter.commands import steady_state_report
from exporter.commands.steady_state_report import CompletedRound, JudgedSeries, Series
from exporter.config import Settings
from exporter.errors import CommandError, ConfigError, SourceError
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
from exporter.probe import results
from exporter.probe.filling import bytes_to_fill
from exporter.probe.fio_run import HostShareRules, RunOutcome, host_share_of_run, is_host_limited
from exporter.probe.production_load import GuardSampler
from exporter.probe.profiles import Profile, Rw, Sync
from exporter.probe.results import RoundHistory
from exporter.probe.steady_state import SteadyPhase, SteadyState, SteadyStateRules, steady_state
from exporter.report.content import Report
from exporter.state import StateFile

#: The parts of `probe_rounds.key` after the drive, whose name may hold what parts them.
_PARTS = 11


def series(kept: Any, profile: str | None) -> Iterator[tuple[str, str, Series]]:
    """Drive, firmware and rounds of each profile; of the one of that name, where one is given.

    kept: "rounds" of what the daemon keeps of its probes.
    """
    rounds = RoundHistory(kept)
    for key, found in rounds.to_state().items():
        read = _read(key)
        if read is None or not isinstance(found, dict):
            continue
        drive, firmware, its, engine = read
        judgement = rounds.known(key, lower_is_better=results.is_latency_judged(its))
        if judgement is None or profile not in (None, its.name):
            continue
        done = [
            CompletedRound(value, is_host_limited=is_host_limited, when=_when(at))
            for at, value, is_host_limited in found["rounds"]
        ]
        yield drive, firmware, Series(its, engine, done, judgement)


def _read(key: str) -> tuple[str, str, Profile, str] | None:
    """What `probe_rounds.key` was made of; None for what is none."""
    parts = key.rsplit("|", _PARTS)
    if len(parts) != _PARTS + 1:
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


#: Each of MySQL's pages; SNIA follows writes too.
DEFAULT = "page_write"

#: As many as SNIA allows until a drive is steady.
MOST_ROUNDS = 25

_RULES = SteadyStateRules()
_SHARE = HostShareRules()


@dataclass(frozen=True, slots=True)
class SteadyStateRequest(CommandContext):
    """What a person asked for. profile: its name; None is the usual one, or all that are kept."""

    profile: str | None = None
    most_rounds: int = MOST_ROUNDS


def run(
    settings: Settings, wanted: SteadyStateRequest, edges: MeasurementTools, out: TextIO
) -> int:
    """Run rounds and report; the exit status is 1 where the last of them are not steady.

    Raises:
        ConfigError: there is no such profile, or it must not run.
        SourceError: nothing was measured.
    """
    wanted.check()
    if not _RULES.rounds <= wanted.most_rounds <= 1000:
        raise ConfigError(
            f"--rounds is {wanted.most_rounds}", f"it must be {_RULES.rounds} to 1000"
        )
    (profile,) = target.select_profiles(wanted.profile or DEFAULT, settings)
    with measuring(settings, wanted.options, [profile], edges) as measurement:
        found = _Rounds(measurement, settings, wanted.most_rounds).judged(profile)
    status = _deliver(steady_state_report.report(found, _RULES), wanted, out)
    return NOT_MEASURED if found.problem else status


def run_kept(state: Path, wanted: SteadyStateRequest, out: TextIO) -> int:
    """Report what the daemon with that state directory has kept.

    Raises:
        ConfigError: what it has kept cannot be read, or holds no such rounds.
    """
    wanted.check()
    file = StateFile(state)
    if problem := file.problem():
        raise ConfigError(problem, "run this as root or as the daemon")
    kept: Any = file.load_read_only().get("probe")
    rounds = kept.get("rounds") if isinstance(kept, dict) else None
    found = list(series(rounds, wanted.profile))
    if not found:
        which = f" of {wanted.profile}" if wanted.profile else ""
        raise ConfigError(
            f"the daemon has kept no rounds{which} in {state}",
            "it runs probes where probe.directory is set; without --kept they are run now",
        )
    drives = dict.fromkeys(f"{drive}, firmware {fw or 'unknown'}" for drive, fw, _ in found)
    report = steady_state_report.report(
        JudgedSeries(
            "Steady state by the daemon's own runs",
            [each for _, _, each in found],
            (("Drives", "; ".join(drives)), ("Kept in", str(state))),
            data={"drives": [drive for drive, _, _ in found]},
        ),
        _RULES,
    )
    return _deliver(report, wanted, out)


def _deliver(report: Report, wanted: SteadyStateRequest, out: TextIO) -> int:
    wanted.deliver(report, out)
    if report.is_good is None:
        return NOT_MEASURED
    return MEASURED if report.is_good else JUDGED_BAD


class _Rounds:
    """Rounds of one profile in one directory."""

    def __init__(self, measurement: Measurement, settings: Settings, most_rounds: int) -> None:
        self._measurement = measurement
        self._settings = settings
        self._most = most_rounds
        self._done: list[CompletedRound] = []

    def judged(self, profile: Profile) -> JudgedSeries:
        """Round after round until they are steady, or there have been enough."""
        its = self._measurement
        (profile,) = its.with_engine([profile])
        file = self._prepared(profile)
        known = its.directory.results.profiles[profile.name].steady
        judgement = SteadyState(SteadyPhase.TOO_FEW, None, known.baseline if known else None, None)
        begun, problem, version = its.clock.monotonic(), "", ""
        while len(self._done) < self._most and judgement.phase is not SteadyPhase.STEADY:
            try:
                ended = its.run([profile], file, self._shows(profile, judgement))
            except (ConfigError, SourceError) as e:
                problem = str(e)
                break
            version = ended.run.fio_version if ended.run else version
            problem = its.problem(ended) or self._take(profile, ended)
            if problem:
                break
            judgement = steady_state(
                [each.value for each in self._done if not each.is_host_limited],
                lower_is_better=results.is_latency_judged(profile),
                rules=_RULES,
                baseline=judgement.baseline,
            )
        if not self._done:
            raise CommandError(f"no round was measured: {problem}")
        under = run_facts.measured_drives(its, self._settings)
        seconds = its.clock.monotonic() - begun
        fio = f"{version}, {profile.engine.value}"
        return JudgedSeries(
            f"Steady state of {profile.name} on {its.location.device}",
            [Series(profile, profile.engine.value, self._done, judgement)],
            tuple(run_facts.facts(its, under, seconds=seconds, fio=fio)),
            problem=problem,
            data=run_facts.data(its),
        )

    def _prepared(self, profile: Profile) -> Path:
        its, directory = self._measurement, self._measurement.directory
        fill_bytes = 0
        if not profile.writes_whole_file:
            size = profile.size_bytes
            fill_bytes = bytes_to_fill(directory.path, directory.file, size)
        written = fill_bytes + self._most * profile.written_bytes_at_most
        its.admit(profile, written, fill_bytes or profile.size_bytes)
        its.consent(written, self._most * _round_seconds(profile))
        return its.prepare_file(
            directory.file,
            profile.size_bytes,
            fill=not profile.writes_whole_file,
            # The daemon's own is its file for the next time.
            keep=directory.path in self._settings.probe.directory,
            retained_bytes=target.retained_bytes([profile], self._settings),
        )

    def _take(self, profile: Profile, ended: RunOutcome) -> str:
        """Note a round; why there is none, where it says nothing."""
        job = ended.job(profile.name)
        value = None if job is None else results.round_value(profile, job)
        if value is None:
            return "fio says nothing of the operation that counts"
        share = host_share_of_run(ended, [profile], profile.name, _SHARE)
        self._done.append(CompletedRound(value, is_host_limited(share, _SHARE)))
        return ""

    def _shows(self, profile: Profile, judgement: SteadyState) -> Callable[[GuardSampler], bool]:
        its, number = self._measurement, len(self._done) + 1
        words = f"round {number} of at most {self._most}"
        if self._done:
            last = steady_state_report.shown(profile, self._done[-1].value)
            words += f"; the last: {last}, {judgement.phase.value.replace('_', ' ')}"
        begun, seconds = its.clock.monotonic(), _round_seconds(profile)

        def show(_watch: GuardSampler) -> bool:
            of_round = min((its.clock.monotonic() - begun) / seconds, 1.0)
            its.show(words, (number - 1 + of_round) / self._most)
            return True

        return show


def _round_seconds(profile: Profile) -> float:
    """What a round takes, and fio to begin."""
    return profile.expected_seconds + 0.5
