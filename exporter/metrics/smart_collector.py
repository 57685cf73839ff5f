"""What drives say of their health, and how the asking went, to samples."""

from collections.abc import Collection, Container, Iterator, Mapping
from typing import TYPE_CHECKING

from exporter.drives.health import AtaAttribute, DriveHealth
from exporter.drives.watched_drive import WatchedDrive
from exporter.metrics import device_families
from exporter.metrics import smart_families as metrics
from exporter.metrics.desc import MetricDesc, Sample
from exporter.smart.poll_document import EXIT_BITS

if TYPE_CHECKING:
    from exporter.smart.health_monitor import HealthMonitor

#: Families of one number, which is known or not.
_NUMBERS: tuple[tuple[MetricDesc, str], ...] = (
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
_FLAGS = ((metrics.HEALTHY, "healthy"), (metrics.PLP_HEALTHY, "plp_healthy"))
_BYTES = (
    (metrics.HOST_READ, "host_read"),
    (metrics.HOST_WRITTEN, "host_written"),
    (metrics.NAND_WRITTEN, "nand_written"),
)
_BOUNDS = ("low", "mid", "high")

_SECONDS_PER_HOUR = 3600

#: Error log entries, self-test errors: only who reads these logs can tell.
_BITS_OF_LOGS = (6, 7)


class SmartCollector:
    """Returns the SMART samples of all drives, and caches those of drives that did not change.

    Drives are polled every minute or every quarter of an hour; scrapes are more frequent.
    """

    def __init__(self, health: "HealthMonitor") -> None:
        self._health = health
        self._cache: dict[tuple[str, str], tuple[tuple[object, ...], list[Sample]]] = {}

    def samples(self, described: Collection[str]) -> list[Sample]:
        """Returns the samples of every drive, and those about the agent and smartctl.

        described: block devices whose identity the collector `device` exports.
        """
        settings, old_cache = self._health.settings.smart, self._cache
        result: list[Sample] = []
        self._cache = {}
        for drive in self._health.drives.watched():
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
                cached = inputs, [*identity_samples(drive, described), *drive_part]
            self._cache[key] = cached
            result += cached[1]
        heartbeat = self._health.drives.roll
        stuck = {"smartctl": len(heartbeat.stuck)} if heartbeat else {}
        by_agent = heartbeat is not None and not self._health.source.asks_itself
        result += samples(stuck, heartbeat.at if heartbeat and by_agent else None)
        return result


def drive_samples(
    drive: WatchedDrive, *, raw_attributes: bool, attribute_values: bool
) -> list[Sample]:
    """One drive: how the asking went, and, where it answered of late, how it fares."""
    who = drive.label, drive.serial
    found = list(_asking(drive, who))
    if drive.health is not None:
        found += _health(drive.health, who, has_log_data=drive.has_log_data)
        found += _outlook(drive, who)
        rows = _by_name(drive.health)
        if raw_attributes:
            found += _raw(rows, who)
        if attribute_values:
            found += _normalised(rows, who)
    return found


def identity_samples(drive: WatchedDrive, shown: Container[str]) -> Iterator[Sample]:
    """Who a drive is that has no block device of its own, and those that it stands under.

    `shown` are the block devices of which `collectors.device` tells. A drive that has vanished is
    described no more.
    """
    if drive.is_missing:
        return
    for block in drive.blocks:
        yield metrics.BLOCK_INFO(1, drive.label, block)
    if drive.label in shown:
        return
    its = drive.identity
    yield device_families.DEVICE_INFO(
        1,
        drive.label,
        "",
        its.model or "",
        its.family or "",
        drive.serial,
        its.firmware or "",
        its.wwn or "",
        "",  # how it hangs on its controller, the controller alone knows
        its.protocol.value if its.protocol else "",
        "" if its.rotational is None else str(int(its.rotational)),
    )
    if its.capacity_bytes is not None:
        yield device_families.DEVICE_CAPACITY(its.capacity_bytes, drive.label)
    if drive.health is not None:
        for desc, speed in (
            (device_families.LINK_SPEED, drive.health.link_bytes_per_second),
            (device_families.LINK_SPEED_MAX, drive.health.link_max_bytes_per_second),
        ):
            if speed is not None:
                yield desc(speed, drive.label)


def samples(stuck: Mapping[str, int], heartbeat_unix_time: float | None) -> Iterator[Sample]:
    """What is about no single drive.

    stuck: how many processes of a program cannot be ended, by program.
    heartbeat_unix_time: the agent's last; None where there is no agent.
    """
    for command, count in stuck.items():
        yield metrics.COMMAND_STUCK(count, command)
    if heartbeat_unix_time is not None:
        yield metrics.AGENT_HEARTBEAT(heartbeat_unix_time)


def _asking(drive: WatchedDrive, who: tuple[str, str]) -> Iterator[Sample]:
    # Before the first poll has ended, nobody knows whether the drive answers; nor where smartctl
    # is missing, or has not the rights: that is no drive's failure.
    told = drive.up or drive.polls or drive.message or drive.is_stuck
    if drive.is_missing or (told and drive.was_reached):
        yield metrics.UP(int(drive.up and not drive.is_missing), *who)
    if drive.last_success_unix_time is not None:
        yield metrics.LAST_SUCCESS(drive.last_success_unix_time, *who)
    if drive.poll_seconds is not None:
        yield metrics.POLL_DURATION(drive.poll_seconds, *who)
    for result, count in drive.polls.items():
        yield metrics.POLLS(count, *who, result)


def _health(health: DriveHealth, who: tuple[str, str], *, has_log_data: bool) -> Iterator[Sample]:
    if health.power_mode is not None:
        yield metrics.POWER_MODE(1, *who, health.power_mode)
    if health == DriveHealth(power_mode=health.power_mode):
        # It sleeps, and was not asked for more; or what it answered says nothing at all.
        if health.power_mode is None:
            yield metrics.AVAILABLE(0, *who)
        return
    yield metrics.AVAILABLE(int(not health.unreadable), *who)
    for bit, name in enumerate(EXIT_BITS):
        if bit in _BITS_OF_LOGS and not has_log_data:
            # Nobody has looked yet: 0 would say that there are no entries.
            continue
        yield metrics.EXIT_BIT(health.exit_status >> bit & 1, *who, name)
    for desc, number in _plain(health):
        if number is not None:
            yield desc(number, *who)
    if health.endurance is not None:
        yield metrics.ENDURANCE_SOURCE(1, *who, health.endurance.source.value)
    yield from _by_part(health, who)


def _plain(health: DriveHealth) -> Iterator[tuple[MetricDesc, float | None]]:
    """The families with one series a drive."""
    for desc, field in _FLAGS:
        flag = getattr(health, field)
        yield desc, None if flag is None else int(flag)
    worn = health.endurance
    yield metrics.ENDURANCE_USED, None if worn is None else worn.used_ratio
    for desc, field in _NUMBERS:
        yield desc, getattr(health, field)
    for desc, field in _BYTES:
        counted = getattr(health, field)
        yield desc, None if counted is None else counted.bytes
    if (test := health.self_test) is not None:
        yield metrics.SELF_TEST_PASSED, int(test.passed)
        yield metrics.SELF_TEST_COMPLETED, test.completed_power_on_seconds


def _by_part(health: DriveHealth, who: tuple[str, str]) -> Iterator[Sample]:
    """The families with several series a drive."""
    for sensor, celsius in health.temperatures.items():
        yield metrics.TEMPERATURE(celsius, *who, sensor)
    for level, seconds in (
        ("warning", health.over_temperature_warning_seconds),
        ("critical", health.over_temperature_critical_seconds),
    ):
        if seconds is not None:
            yield metrics.OVER_TEMPERATURE(seconds, *who, level)
    for warning, is_set in health.critical_warnings.items():
        yield metrics.CRITICAL_WARNING(int(is_set), *who, warning)


def _outlook(drive: WatchedDrive, who: tuple[str, str]) -> Iterator[Sample]:
    if drive.wearout_seconds is not None:
        for bound, seconds in zip(_BOUNDS, drive.wearout_seconds, strict=True):
            yield metrics.WEAROUT_ETA(seconds, *who, bound)
        yield metrics.WEAROUT_METHOD(1, *who, drive.wearout_method)
    for issue in drive.firmware_issues:
        yield metrics.FIRMWARE_ISSUE(1, *who, issue.name)
        if issue.hours_left is not None:
            left = issue.hours_left * _SECONDS_PER_HOUR
            yield metrics.FIRMWARE_ISSUE_LEFT(left, *who, issue.name)


def _by_name(health: DriveHealth) -> dict[tuple[str, str], AtaAttribute]:
    """The table's rows by id and name: a damaged table may hold one twice."""
    return {(str(row.id), row.name): row for row in health.attributes}


def _raw(rows: Mapping[tuple[str, str], AtaAttribute], who: tuple[str, str]) -> Iterator[Sample]:
    for name, row in rows.items():
        yield metrics.ATTRIBUTE_RAW(row.raw, *who, *name)


def _normalised(
    rows: Mapping[tuple[str, str], AtaAttribute], who: tuple[str, str]
) -> Iterator[Sample]:
    for name, row in rows.items():
        for desc, value in (
            (metrics.ATTRIBUTE_VALUE, row.value),
            (metrics.ATTRIBUTE_WORST, row.worst),
            (metrics.ATTRIBUTE_THRESHOLD, row.threshold),
        ):
            if value is not None:
                yield desc(value, *who, *name)
