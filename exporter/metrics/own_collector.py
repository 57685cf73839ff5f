"""The samples that describe the exporter itself. They cannot be disabled."""

from collections.abc import Iterator

from exporter.families import own_families as metrics
from exporter.families.desc import Sample, SampleBlock
from exporter.io.sampler import Sampler
from exporter.metrics.collectors import Collect, Sources
from exporter.runtime.collector_status import CollectorStatus
from exporter.runtime.errors import BugError, Parsed, ParseError, ReadError

#: The reasons for failed readings. Each one has a sample with the value 0 before its first failure.
#: Without that sample, PromQL's increase() would omit the first failure. Other reasons, such as a
#: reached limit, have a sample from their first failure on.
_REASONS = (BugError.reason, ParseError.reason, ReadError.reason)


def new(sources: Sources) -> Collect:
    """Returns the function that returns the samples; see `collectors`."""

    def collect() -> Parsed[list[Sample | SampleBlock]]:
        times = sources.started_at_unix_time, sources.survey.refreshed_at_unix_time
        found = samples(sources.collector_status, sources.sampler, times, sources.versions)
        copies = sources.kept_copies.counts
        kept = metrics.SET_ASIDE.block([(name,) for name in copies], list(copies.values()))
        return Parsed([*found, *([kept] if copies else ())])

    return collect


def samples(
    collector_status: CollectorStatus,
    sampler: Sampler,
    survey_unix_times: tuple[float, float | None],
    versions: tuple[str, ...],
) -> Iterator[Sample | SampleBlock]:
    """Yields the samples about the collectors, the per-second sampler and the exporter's versions.

    survey_unix_times: the time of the start, and the time of the last successful refresh of the
        topology; None means that there was none yet.
    versions: the label values of ssd_exporter_build_info, in the order of its labels.
    """
    outcomes = dict(collector_status.results())
    series = [(name,) for name in outcomes]
    yield metrics.COLLECTOR_SUCCESS.block(series, [int(each.success) for each in outcomes.values()])
    yield metrics.COLLECTOR_DURATION.block(series, [each.seconds for each in outcomes.values()])
    counts = {
        (name, reason): outcome.errors.get(reason, 0)
        for name, outcome in outcomes.items()
        for reason in dict.fromkeys((*_REASONS, *sorted(outcome.errors)))
    }
    yield metrics.COLLECTOR_ERRORS.block(list(counts), list(counts.values()))
    yield metrics.SAMPLER_SAMPLES(sampler.samples)
    yield metrics.SAMPLER_GAPS(sampler.gaps)
    if sampler.sampled_at_unix_time is not None:
        yield metrics.SAMPLER_TIMESTAMP(sampler.sampled_at_unix_time)
    started_at, refreshed_at = survey_unix_times
    yield metrics.SURVEY_START(started_at)
    if refreshed_at is not None:
        yield metrics.SURVEY_TIMESTAMP(refreshed_at)
    yield metrics.SAMPLER_INTERVAL(sampler.interval)
    yield metrics.BUILD_INFO(1, *versions)
