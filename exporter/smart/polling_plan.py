"""Builds the polling plan, which contains the settings of the poller, from the configuration."""

from exporter.config import DeviceSettings, Settings
from exporter.smart.discovery import Override
from exporter.smart.poller import PollingPlan

#: The `smart_type` of a device that must not be polled.
OFF = "off"


def of(settings: Settings) -> PollingPlan:
    """Returns the polling plan for these settings."""
    smart = settings.smart
    return PollingPlan(
        program=settings.path.smartctl,
        nvme_interval_seconds=smart.nvme_interval_seconds,
        interval_seconds=smart.interval_seconds,
        timeout_seconds=smart.timeout_seconds,
        processes=smart.processes,
        processes_per_adapter=smart.processes_per_adapter,
        rescan_seconds=smart.rescan_seconds,
        include=smart.include,
        exclude=smart.exclude,
        drives=tuple((drive.path, drive.type) for drive in smart.drive),
        overrides={name: _override(device) for name, device in settings.device.items()},
    )


def rated_bytes(settings: Settings) -> dict[str, int]:
    """Returns the configured rated endurance of drives in bytes, keyed by label."""
    return {
        name: int(device.rated_bytes_written)
        for name, device in settings.device.items()
        if device.rated_bytes_written is not None
    }


def _override(device: DeviceSettings) -> Override:
    return Override(
        type="" if device.smart_type == OFF else device.smart_type,
        interval_seconds=device.smart_interval_seconds,
        timeout_seconds=device.smart_timeout_seconds,
        off=device.smart_type == OFF,
    )
