"""Yields the samples of scheduled fio probes."""

from collections.abc import Iterator

from exporter.families import probe_families as metrics
from exporter.families import smart_families
from exporter.families.desc import Sample
from exporter.probe.fio_report import Op, OpResult
from exporter.probe.probe_monitor import ProbeMonitor
from exporter.probe.results import DirectoryResults, ProfileResults
from exporter.probe.steady_state import SteadyPhase, SteadyState


def samples(probe: ProbeMonitor) -> Iterator[Sample]:
    """Yields the results of all directories, and the number of fio processes that hang."""
    yield smart_families.COMMAND_STUCK(probe.probe.stuck, "fio")
    devices: set[str] = set()
    for directory in probe.directories:
        with directory.lock:
            device = directory.results.device
            # If two directories are on one drive, the second is not probed and has no results.
            if device not in devices:
                is_running = probe.windows.is_running(device)
                yield from directory_samples(directory.results, is_running=is_running)
            devices.add(device)


def directory_samples(directory: DirectoryResults, *, is_running: bool) -> Iterator[Sample]:
    """Yields the results of the probes in one directory; nothing while its device is unknown.

    is_running: True while a probe runs on the device.
    """
    device = directory.device
    if not device:
        return
    yield metrics.RUNNING(int(is_running), device)
    yield metrics.WRITTEN(directory.written_bytes, device)
    for desc, limits in ((metrics.BUDGET, directory.limits), (metrics.BUDGET_LEFT, directory.left)):
        if limits is not None:
            yield desc(limits.day_bytes, device, "day")
            yield desc(limits.life_bytes, device, "life")
    for name, profile in directory.profiles.items():
        yield from _profile(profile, device, name)
        if profile.last_run_profile is not None:
            yield _info(profile, directory, name)


def _profile(profile: ProfileResults, device: str, name: str) -> Iterator[Sample]:
    for result, count in profile.runs.items():
        yield metrics.RUNS(count, device, name, result.value)
    for reason, count in profile.skipped.items():
        yield metrics.SKIPPED(count, device, name, reason.value)
    for desc, value in (
        (metrics.LAST_RUN, profile.last_run_at),
        (metrics.LAST_SUCCESS, profile.last_success_at),
        (metrics.DURATION, profile.seconds),
        (metrics.HOST_SHARE, profile.host_share_ratio),
    ):
        if value is not None:
            yield desc(value, device, name)
    for op, latency in profile.latency.items():
        yield metrics.LATENCY(latency.buckets(), device, name, op.value)
    for op, last in profile.last_operations.items():
        yield from _last(last, op, device, name, is_capped=profile.profile.is_rate_capped)
    if profile.steady_state is not None:
        yield from _steady(profile.steady_state, device, name)


def _last(last: OpResult, op: Op, device: str, name: str, *, is_capped: bool) -> Iterator[Sample]:
    for stat, value in (
        ("mean", last.mean_seconds),
        ("p50", last.p50_seconds),
        ("p99", last.p99_seconds),
        ("p999", last.p999_seconds),
        ("max", last.max_seconds),
    ):
        if value is not None:
            yield metrics.LAST_LATENCY(value, device, name, op.value, stat)
    if not is_capped:
        if last.iops is not None:
            yield metrics.IOPS(last.iops, device, name, op.value)
        if last.bytes_per_second is not None:
            yield metrics.THROUGHPUT(last.bytes_per_second, device, name, op.value)


def _steady(steady: SteadyState, device: str, name: str) -> Iterator[Sample]:
    yield metrics.STEADY_INFO(1, device, name, steady.phase.value)
    if steady.phase is not SteadyPhase.TOO_FEW:
        yield metrics.STEADY(int(steady.phase is SteadyPhase.STEADY), device, name)
    if steady.window is not None:
        yield metrics.STEADY_RANGE(steady.window.range_ratio, device, name)
        yield metrics.STEADY_SLOPE(steady.window.slope_ratio, device, name)
    if steady.deviation is not None:
        yield metrics.DEVIATION(steady.deviation.ratio, device, name)


def _info(profile: ProfileResults, directory: DirectoryResults, name: str) -> Sample:
    ran = profile.last_run_profile or profile.profile
    return metrics.INFO(
        1,
        directory.device,
        name,
        profile.engine,
        ran.rw.value,
        str(ran.block_bytes),
        str(ran.depth),
        str(ran.jobs),
        str(int(ran.direct)),
        ran.sync.value,
        str(ran.size_bytes),
        profile.fio_version,
        directory.fstype,
        directory.mountpoint,
    )
