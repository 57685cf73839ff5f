"""Yields the samples of smartctl_exporter's metric families, for dashboards made for it."""

from collections.abc import Iterable, Iterator

from exporter.drives.health import AtaAttribute, DriveHealth, Protocol
from exporter.drives.watched_drive import WatchedDrive
from exporter.metrics import smartctl_families as metrics
from exporter.metrics.desc import MetricDesc, Sample

#: The spelling of smartctl, and the device type that smartctl uses for drives of the protocol.
_PROTOCOLS = {
    Protocol.NVME: ("NVMe", "nvme"),
    Protocol.ATA: ("ATA", "sat"),
    Protocol.SCSI: ("SCSI", "scsi"),
}

#: The bits of the NVMe critical warning, from bit 0.
_WARNING_BITS = (
    *("spare", "temperature", "reliability", "read_only"),
    *("volatile_backup", "persistent_memory"),
)


def samples(drives: Iterable[WatchedDrive]) -> Iterator[Sample]:
    """Yields the samples of the drives that are present and whose health is known."""
    # ssd_exporter_build_info contains the version. Dashboards read only the label instance here.
    yield metrics.VERSION(1, "", "", "", "")
    for drive in drives:
        if drive.is_missing or drive.health is None:
            continue
        yield from _identity(drive)
        yield from _health(drive, drive.health)
        for attribute in {(row.id, row.name): row for row in drive.health.attributes}.values():
            yield from _attribute(drive.label, attribute)


def _identity(drive: WatchedDrive) -> Iterator[Sample]:
    identity = drive.identity
    protocol, kind = _PROTOCOLS[identity.protocol] if identity.protocol else ("", "")
    interface = drive.address.rpartition(" -d ")[2] if " -d " in drive.address else kind
    yield metrics.DEVICE(
        1,
        drive.label,
        interface,
        protocol,
        identity.family or "",
        identity.model or "",
        drive.serial,
        "unknown",
        identity.firmware or "",
        *("", "", ""),
    )
    if identity.capacity_bytes is not None:
        yield metrics.CAPACITY_BYTES(identity.capacity_bytes, drive.label)
    if identity.logical_block_bytes:
        yield metrics.BLOCK_SIZE(identity.logical_block_bytes, drive.label, "logical")
        if identity.capacity_bytes is not None:
            blocks = identity.capacity_bytes // identity.logical_block_bytes
            yield metrics.CAPACITY_BLOCKS(blocks, drive.label)


def _health(drive: WatchedDrive, health: DriveHealth) -> Iterator[Sample]:
    yield metrics.EXIT_STATUS(health.exit_status, drive.label)
    for desc, number in _numbers(drive, health):
        if number is not None:
            yield desc(number, drive.label)
    if (celsius := health.temperatures.get("drive")) is not None:
        yield metrics.TEMPERATURE(celsius, drive.label, "current")
    identity = drive.identity
    if identity.protocol is Protocol.SCSI and health.reallocated_sectors is not None:
        whose = drive.label, identity.family or "", identity.model or "", drive.serial
        yield metrics.GROWN_DEFECTS(health.reallocated_sectors, *whose)


def _numbers(drive: WatchedDrive, health: DriveHealth) -> Iterator[tuple[MetricDesc, float | None]]:
    """Yields families with one series per drive, and their values; None means unknown."""
    if health.healthy is not None:
        yield metrics.SMART_STATUS, int(health.healthy)
        yield metrics.STATUS, int(health.healthy)
    yield metrics.POWER_ON, health.power_on_seconds
    yield metrics.POWER_CYCLES, health.power_cycles
    yield metrics.BYTES_READ, health.host_read.bytes if health.host_read else None
    yield metrics.BYTES_WRITTEN, health.host_written.bytes if health.host_written else None
    if drive.identity.protocol is not Protocol.NVME:
        return
    used = health.endurance.used_ratio if health.endurance else None
    yield metrics.PERCENTAGE_USED, _percent(used)
    yield metrics.AVAILABLE_SPARE, _percent(health.spare_ratio)
    yield metrics.AVAILABLE_SPARE_THRESHOLD, _percent(health.spare_threshold_ratio)
    yield metrics.MEDIA_ERRORS, health.media_errors
    yield metrics.ERROR_LOG_ENTRIES, health.error_log_entries
    if health.critical_warnings:
        bits = (health.critical_warnings.get(name, False) for name in _WARNING_BITS)
        yield metrics.CRITICAL_WARNING, sum(is_set << bit for bit, is_set in enumerate(bits))


def _percent(ratio: float | None) -> float | None:
    return None if ratio is None else round(100 * ratio, 6)


def _attribute(device: str, row: AtaAttribute) -> Iterator[Sample]:
    for kind, number in (
        ("raw", row.raw),
        ("value", row.value),
        ("worst", row.worst),
        ("thresh", row.threshold),
    ):
        if number is not None:
            yield metrics.ATTRIBUTE(number, device, row.name, "", "", kind, str(row.id))
