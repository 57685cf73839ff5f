"""The collector `smart`: drive health and SMART polls. A poll reads one drive with smartctl."""

from collections import Counter
from collections.abc import Collection, Container, Iterator, Mapping
from itertools import chain
from operator import is_
from typing import TYPE_CHECKING

from exporter.drives.assessment.failure_cause import failure_cause
from exporter.drives.health import AtaAttribute, DriveHealth
from exporter.drives.watched_drive import WatchedDrive
from exporter.families import device_families
from exporter.families import smart_families as metrics
from exporter.families.desc import MetricDesc, Sample, SampleBlock, blocks
from exporter.metrics.collectors import Collect, Sources
from exporter.runtime.errors import Parsed
from exporter.smart.polling.poll_result import EXIT_BITS

if TYPE_CHECKING:
    from exporter.smart.health_monitor import HealthMonitor

#: The families with one number per drive, and the field of `DriveHealth` that contains it.
NUMBERS: tuple[tuple[MetricDesc, str], ...] = (
    (metrics.SPARE, "spare_ratio"),
    (metrics.SPARE_THRESHOLD, "spare_threshold_ratio"),
    (metrics.TEMPERATURE_WARNING, "temperature_warning_celsius"),
    (metrics.TEMPERATURE_CRITICAL, "temperature_critical_celsius"),
    (metrics.MEDIA_ERRORS, "media_errors"),
    (metrics.REALLOCATED, "reallocated_sectors"),
    (metrics.PENDING, "pending_sectors"),
    (metrics.PROGRAM_FAILURES, "program_failures"),
    (metrics.ERASE_FAILURES, "erase_failures"),
    (metrics.INTERFACE_ERRORS, "interface_errors"),
    (metrics.ERROR_LOG_ENTRIES, "error_log_entries"),
    (metrics.POWER_ON, "power_on_seconds"),
    (metrics.POWER_CYCLES, "power_cycles"),
    (metrics.UNSAFE_SHUTDOWNS, "unsafe_shutdowns"),
    (metrics.CONTROLLER_BUSY, "controller_busy_seconds"),
)

#: The same for families whose value is 1 (true) or 0 (false).
FLAGS = ((metrics.HEALTHY, "healthy"), (metrics.PLP_HEALTHY, "plp_healthy"))

#: The same for numbers of bytes.
BYTES = (
    (metrics.HOST_READ, "host_read"),
    (metrics.HOST_WRITTEN, "host_written"),
    (metrics.NAND_WRITTEN, "nand_written"),
)
#: The value of the metric for each state of an attribute that failed.
_FAILED = {"now": 1, "past": 0}
_BOUNDS = ("low", "mid", "high")

_SECONDS_PER_HOUR = 3600

#: The numbers of the bits of smartctl's exit status for error log entries and self-test errors.
#: Their values are known only after a poll that read these logs.
_LOG_BITS = (6, 7)


def new(sources: Sources) -> Collect | None:
    """Returns the function that returns the samples; see `collectors`."""
    if sources.health is None:
        return None
    cache = SmartCollector(sources.health)

    def collect() -> Parsed[list[Sample | SampleBlock]]:
        topology = sources.survey.topology
        described = {
            name
            for name, device in ({} if topology is None else topology.devices).items()
            if device.block.is_leaf and sources.is_exported(name)
        }
        return Parsed(cache.samples(described))

    return collect


class SmartCollector:
    """Returns the SMART samples of all drives, and caches the samples of unchanged drives.

    By default NVMe drives are polled every minute and other drives every 15 minutes. Scrapes are
    more frequent, so most of them can use the cache.
    """

    def __init__(self, health: "HealthMonitor") -> None:
        self._health = health
        self._cache: dict[tuple[str, str], tuple[tuple[object, ...], list[Sample]]] = {}
        #: The samples of all drives as blocks, which are rendered in a third of the time, and the
        #: samples from which they were made.
        self._blocks: list[SampleBlock] = []
        self._parts: list[list[Sample]] = []

    def samples(self, described: Collection[str]) -> list[Sample | SampleBlock]:
        """Returns the samples of every drive, and of the agent and the smartctl processes.

        described: the names of the block devices whose identity `device_collector` exports. The
            identity of such a drive is not exported twice.
        """
        settings, old_cache = self._health.settings.smart, self._cache
        parts: list[list[Sample]] = []
        self._cache = {}
        for drive in self._health.watched():
            key = drive.label, drive.serial
            inputs = (
                *(drive, drive.label in described),
                *(settings.raw_attributes, settings.attribute_values),
            )
            cached = old_cache.get(key)
            if cached is None or cached[0] != inputs:
                drive_part = drive_samples(
                    drive,
                    raw_attributes=settings.raw_attributes,
                    attribute_values=settings.attribute_values,
                )
                # Most families have the same labels. The samples share them, to save memory.
                known: dict[tuple[str, ...], tuple[str, ...]] = {}
                shared = [
                    Sample(s.desc, known.setdefault(s.labels, s.labels), s.value)
                    for s in (*identity_samples(drive, described), *drive_part)
                ]
                cached = inputs, shared
            self._cache[key] = cached
            parts.append(cached[1])
        if len(parts) != len(self._parts) or not all(map(is_, parts, self._parts)):
            self._parts, self._blocks = parts, blocks(chain.from_iterable(parts))
        result: list[Sample | SampleBlock] = [*self._blocks]
        heartbeat = self._health.drives.heartbeat
        stuck = {"smartctl": len(heartbeat.stuck)} if heartbeat else {}
        by_agent = heartbeat is not None and not self._health.source.polls_itself
        result += agent_samples(stuck, heartbeat.at if heartbeat and by_agent else None)
        if self._health.settings.compat.smartctl_exporter:
            # Imported only if it is used, because the daemon's memory is limited.
            from exporter.metrics import smartctl_compat  # noqa: PLC0415

            result += smartctl_compat.samples(self._health.drives.watched())
        return result


def drive_samples(
    drive: WatchedDrive, *, raw_attributes: bool, attribute_values: bool
) -> list[Sample]:
    """Returns the poll status of one drive, and its health if a recent poll succeeded.

    raw_attributes: True adds the raw values of the ATA attributes.
    attribute_values: True adds the normalised values of the ATA attributes and their thresholds.
    """
    labels = drive.label, drive.serial
    result = list(_poll_status(drive, labels))
    if drive.health is not None:
        result += _health(drive, drive.health, labels)
        result += _predictions(drive, labels)
        rows = _by_name(drive.health)
        result += _failed(rows, labels)
        if raw_attributes:
            result += _raw(rows, labels)
        if attribute_values:
            result += _normalised(rows, labels)
    return result


def identity_samples(drive: WatchedDrive, described: Container[str]) -> Iterator[Sample]:
    """Yields the block devices on top of a drive, and the identity of the drive.

    A missing drive, and an address where no drive has ever answered, have no samples.

    described: the names of the block devices whose identity `device_collector` exports. The
        identity of such a drive is omitted here.
    """
    if drive.is_missing or not (drive.up or drive.is_known):
        return
    for block in drive.blocks:
        yield metrics.BLOCK_INFO(1, drive.label, block)
    if drive.label in described:
        return
    identity = drive.identity
    yield device_families.DEVICE_INFO(
        1,
        drive.label,
        "",
        identity.model or "",
        identity.family or "",
        drive.serial,
        identity.firmware or "",
        identity.wwn or "",
        "",  # transport: known only to the controller
        identity.protocol.value if identity.protocol else "",
        "" if identity.rotational is None else str(int(identity.rotational)),
    )
    if identity.capacity_bytes is not None:
        yield device_families.DEVICE_CAPACITY(identity.capacity_bytes, drive.label)
    if drive.health is not None:
        for desc, speed in (
            (device_families.LINK_SPEED, drive.health.link_bytes_per_second),
            (device_families.LINK_SPEED_MAX, drive.health.link_max_bytes_per_second),
        ):
            if speed is not None:
                yield desc(speed, drive.label)


def agent_samples(stuck: Mapping[str, int], heartbeat_unix_time: float | None) -> Iterator[Sample]:
    """Yields the samples about the agent and the smartctl processes of all drives.

    stuck: the number of processes that cannot be killed, keyed by program.
    heartbeat_unix_time: the time of the agent's last heartbeat; None without an agent.
    """
    for command, count in stuck.items():
        yield metrics.COMMAND_STUCK(count, command)
    if heartbeat_unix_time is not None:
        yield metrics.AGENT_HEARTBEAT(heartbeat_unix_time)


def _poll_status(drive: WatchedDrive, labels: tuple[str, str]) -> Iterator[Sample]:
    # Before the end of the first poll, it is unknown whether the drive answers. It is also unknown
    # if smartctl is missing or has no permission, because then the drive did not fail.
    if drive.up or drive.is_lost:
        yield metrics.UP(int(not drive.is_lost), *labels)
    if drive.last_success_unix_time is not None:
        yield metrics.LAST_SUCCESS(drive.last_success_unix_time, *labels)
    if drive.poll_seconds is not None:
        yield metrics.POLL_DURATION(drive.poll_seconds, *labels)
    for result, count in drive.polls.items():
        yield metrics.POLLS(count, *labels, result)


def _health(drive: WatchedDrive, health: DriveHealth, labels: tuple[str, str]) -> Iterator[Sample]:
    if health.power_mode is not None:
        yield metrics.POWER_MODE(1, *labels, health.power_mode)
    if health == DriveHealth(power_mode=health.power_mode):
        # Either the drive is in standby and only its power mode was read, or its answer was empty.
        if health.power_mode is None:
            yield metrics.AVAILABLE(0, *labels)
        return
    if drive.is_polled:
        yield from _answer(drive, health, labels)
    for desc, number in _single_series(health):
        if number is not None:
            yield desc(number, *labels)
    if health.endurance is not None:
        yield metrics.ENDURANCE_SOURCE(1, *labels, health.endurance.source.value)
    yield from _several_series(health, labels)


def _answer(drive: WatchedDrive, health: DriveHealth, labels: tuple[str, str]) -> Iterator[Sample]:
    """Yields what smartctl reports about its own work."""
    yield metrics.AVAILABLE(int(not health.unreadable), *labels)
    for bit, name in enumerate(EXIT_BITS):
        if bit in _LOG_BITS and not drive.has_log_data:
            # The logs have not been read yet. A value of 0 would mean that they have no entries.
            continue
        yield metrics.EXIT_BIT(health.exit_status >> bit & 1, *labels, name)


def _single_series(health: DriveHealth) -> Iterator[tuple[MetricDesc, float | None]]:
    """Yields each family with one series per drive, and its value; None means unknown."""
    for desc, field in FLAGS:
        flag = getattr(health, field)
        yield desc, None if flag is None else int(flag)
    endurance = health.endurance
    yield metrics.ENDURANCE_USED, None if endurance is None else endurance.used_ratio
    for desc, field in NUMBERS:
        yield desc, getattr(health, field)
    for desc, field in BYTES:
        counted = getattr(health, field)
        yield desc, None if counted is None else counted.bytes
    if (test := health.self_test) is not None:
        yield metrics.SELF_TEST_PASSED, int(test.passed)
        yield metrics.SELF_TEST_COMPLETED, test.completed_power_on_seconds


def _several_series(health: DriveHealth, labels: tuple[str, str]) -> Iterator[Sample]:
    """Yields the samples of the families with several series per drive."""
    for sensor, celsius in health.temperatures.items():
        yield metrics.TEMPERATURE(celsius, *labels, sensor)
    for level, seconds in (
        ("warning", health.over_temperature_warning_seconds),
        ("critical", health.over_temperature_critical_seconds),
    ):
        if seconds is not None:
            yield metrics.OVER_TEMPERATURE(seconds, *labels, level)
    for method, count in health.corrected_errors.items():
        yield metrics.CORRECTED_ERRORS(count, *labels, method)
    for warning, is_set in health.critical_warnings.items():
        yield metrics.CRITICAL_WARNING(int(is_set), *labels, warning)
    if (cause := failure_cause(health)) is not None:
        yield metrics.FAILURE_CAUSE(1, *labels, cause.value)
    for reason, count in Counter(each.kind.value for each in health.rejected).items():
        yield metrics.REJECTED(count, *labels, reason)
    if health.logs is not None:
        # Imported only if it is used, because the daemon's memory is limited.
        from exporter.metrics.nvme_log_samples import log_samples  # noqa: PLC0415

        yield from log_samples(health.logs, labels)


def _predictions(drive: WatchedDrive, labels: tuple[str, str]) -> Iterator[Sample]:
    if drive.wearout_seconds is not None:
        for bound, seconds in zip(_BOUNDS, drive.wearout_seconds, strict=True):
            yield metrics.WEAROUT_ETA(seconds, *labels, bound)
        yield metrics.WEAROUT_METHOD(1, *labels, drive.wearout_method)
    for issue in drive.firmware_issues:
        yield metrics.FIRMWARE_ISSUE(1, *labels, issue.name)
        if issue.hours_left is not None:
            left = issue.hours_left * _SECONDS_PER_HOUR
            yield metrics.FIRMWARE_ISSUE_LEFT(left, *labels, issue.name)


def _by_name(health: DriveHealth) -> dict[tuple[str, str], AtaAttribute]:
    """Returns the rows of the ATA attribute table, keyed by ID and name.

    If a damaged table contains a row twice, the last one is used.
    """
    return {(str(row.id), row.name): row for row in health.attributes}


def _failed(
    rows: Mapping[tuple[str, str], AtaAttribute], labels: tuple[str, str]
) -> Iterator[Sample]:
    for name, row in rows.items():
        if row.failed in _FAILED:
            prefailure = str(int(row.prefailure))
            yield metrics.ATTRIBUTE_FAILED(_FAILED[row.failed], *labels, *name, prefailure)


def _raw(rows: Mapping[tuple[str, str], AtaAttribute], labels: tuple[str, str]) -> Iterator[Sample]:
    for name, row in rows.items():
        yield metrics.ATTRIBUTE_RAW(row.raw, *labels, *name)


def _normalised(
    rows: Mapping[tuple[str, str], AtaAttribute], labels: tuple[str, str]
) -> Iterator[Sample]:
    for name, row in rows.items():
        for desc, value in (
            (metrics.ATTRIBUTE_VALUE, row.value),
            (metrics.ATTRIBUTE_WORST, row.worst),
            (metrics.ATTRIBUTE_THRESHOLD, row.threshold),
        ):
            if value is not None:
                yield desc(value, *labels, *name)
