"""Yields the samples of smartctl_exporter's metric families, for dashboards made for it."""

import re
from collections.abc import Iterable, Iterator

from exporter.drives.health import AtaAttribute, DriveHealth, Protocol
from exporter.drives.watched_drive import WatchedDrive
from exporter.families import smartctl_families as metrics
from exporter.families.desc import MetricDesc, Sample

#: The spelling of smartctl, and the device type that smartctl uses for drives of the protocol.
_PROTOCOLS = {
    Protocol.NVME: ("NVMe", "nvme"),
    Protocol.ATA: ("ATA", "sat"),
    Protocol.SCSI: ("SCSI", "scsi"),
}

#: The part of a device path that smartctl_exporter removes for the label `device`.
_DIRECTORIES = re.compile(r"^/dev/(disk/by-id/|disk/by-path/)?")

#: The name of each flag of an attribute, and its letter in smartctl's output.
_FLAGS = {
    "prefailure": "P",
    "updated_online": "O",
    "performance": "S",
    "error_rate": "R",
    "event_count": "C",
    "auto_keep": "K",
}

#: The bits of the NVMe critical warning, from bit 0.
_WARNING_BITS = (
    *("spare", "temperature", "reliability", "read_only"),
    *("volatile_backup", "persistent_memory", "reserved_6", "reserved_7"),
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
            yield from _attribute(device_name(drive), attribute)


def device_name(drive: WatchedDrive) -> str:
    """Returns the value that smartctl_exporter uses for the label `device`.

    It is smartctl's device path without /dev/, and the type if the path has several drives: nvme0,
    sda, bus_0_megaraid_3.
    """
    path, _, kind = drive.address.partition(" -d ")
    name = _DIRECTORIES.sub("", path).replace("/", "_") or drive.label
    return f"{name}_{kind.replace(',', '_')}" if "," in kind else name


def _identity(drive: WatchedDrive) -> Iterator[Sample]:
    identity = drive.identity
    protocol, kind = _PROTOCOLS[identity.protocol] if identity.protocol else ("", "")
    interface = drive.address.partition(" -d ")[2] or kind
    device = device_name(drive)
    yield metrics.DEVICE(
        1,
        device,
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
        yield metrics.CAPACITY_BYTES(identity.capacity_bytes, device)
    if identity.physical_block_bytes:
        yield metrics.BLOCK_SIZE(identity.physical_block_bytes, device, "physical")
    if identity.logical_block_bytes:
        yield metrics.BLOCK_SIZE(identity.logical_block_bytes, device, "logical")
        if identity.capacity_bytes is not None:
            blocks = identity.capacity_bytes // identity.logical_block_bytes
            yield metrics.CAPACITY_BLOCKS(blocks, device)


def _health(drive: WatchedDrive, health: DriveHealth) -> Iterator[Sample]:
    device, identity = device_name(drive), drive.identity
    yield metrics.EXIT_STATUS(health.exit_status, device)
    for desc, number in _numbers(drive, health):
        if number is not None:
            yield desc(number, device)
    if (celsius := health.temperatures.get("drive")) is not None:
        yield metrics.TEMPERATURE(celsius, device, "current")
    if identity.protocol is Protocol.ATA and health.error_log_entries is not None:
        yield metrics.ERROR_LOG_COUNT(health.error_log_entries, device, "summary")
    if identity.protocol is not Protocol.SCSI:
        return
    if health.temperature_warning_celsius is not None:
        yield metrics.TEMPERATURE(health.temperature_warning_celsius, device, "drive_trip")
    if health.reallocated_sectors is not None:
        whose = device, identity.family or "", identity.model or "", drive.serial
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
    flags = ",".join(name for name in _FLAGS if _FLAGS[name] in row.flags)
    for kind, number in (
        ("raw", row.raw),
        ("value", row.value),
        ("worst", row.worst),
        ("thresh", row.threshold),
    ):
        if number is not None:
            labels = device, row.name, row.flags, flags, kind, str(row.id)
            yield metrics.ATTRIBUTE(number, *labels)
