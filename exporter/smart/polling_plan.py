"""Builds the polling plan, which contains the settings of the poller, from the configuration."""

from dataclasses import replace

from exporter.config.settings import DeviceSettings, Settings
from exporter.linux import files
from exporter.smart import addressing
from exporter.smart.discovery import Override
from exporter.smart.polling.poller import PollingPlan
from exporter.smart.smartctl import Address, may_be_killed

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
        log_interval_seconds=smart.nvme_log_interval_seconds if smart.nvme_logs else 0.0,
        include=smart.include,
        exclude=smart.exclude,
        drives=tuple((drive.path, drive.type) for drive in smart.drive),
        overrides={name: _override(device) for name, device in settings.device.items()},
    )


def shared(settings: Settings) -> tuple[PollingPlan, tuple[Address, ...]]:
    """Returns a polling plan for a process other than the daemon, and the addresses it leaves out.

    Both processes may poll at the same time. The plan is that of the daemon, without the drives
    behind bridges on which smartctl must not be killed. On such a bridge, two smartctl processes
    may disturb each other's commands. Log pages are not read, because only the daemon or the agent
    knows which of them the drives have refused.
    """
    daemon_plan = of(settings)
    root, kept = settings.path.rootfs, []
    excluded: list[Address] = []
    for path, kind in daemon_plan.drives:
        if may_be_killed(kind):
            kept.append((path, kind))
        else:
            excluded += addressing.expanded(files.resolve_symlinks(root, path), kind)
    for name, override in daemon_plan.overrides.items():
        if override.type and not may_be_killed(override.type):
            path = f"/dev/{name.removeprefix('/dev/').partition(' ')[0]}"
            excluded.append(Address(path, override.type))
    # `off` excludes the path for all device types: another type would use the same bridge.
    off = {address.path: Override(off=True) for address in excluded}
    overrides = {**daemon_plan.overrides, **off}
    plan = replace(daemon_plan, drives=tuple(kept), overrides=overrides, log_interval_seconds=0.0)
    return plan, tuple(dict.fromkeys(excluded))


def _override(device: DeviceSettings) -> Override:
    return Override(
        type="" if device.smart_type == OFF else device.smart_type,
        interval_seconds=device.smart_interval_seconds,
        timeout_seconds=device.smart_timeout_seconds,
        off=device.smart_type == OFF,
    )
