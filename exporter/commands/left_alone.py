"""The drives that a command beside the daemon must not ask, for the daemon may be asking them."""

from collections.abc import Sequence
from dataclasses import replace

from exporter import polling_plan
from exporter.background import addressing
from exporter.background.discovery import Override
from exporter.background.drive_labels import labels
from exporter.background.polling import PollingPlan
from exporter.config import Settings
from exporter.drives.watched import WatchedDrive
from exporter.linux import rootfs
from exporter.linux.nodes import Nodes
from exporter.tools.smartctl import Address, may_be_killed


def plan(settings: Settings) -> tuple[PollingPlan, tuple[Address, ...]]:
    """The daemon's plan without the drives that two must not ask at once, and these."""
    whole = polling_plan.of(settings)
    root, kept = settings.path.rootfs, []
    left: list[Address] = []
    for path, kind in whole.drives:
        if may_be_killed(kind):
            kept.append((path, kind))
        else:
            left += addressing.expanded(rootfs.resolve(root, path), kind)
    for name, override in whole.overrides.items():
        if override.type and not may_be_killed(override.type):
            path = f"/dev/{name.removeprefix('/dev/').partition(' ')[0]}"
            left.append(Address(path, override.type))
    # Nor by another type: a question through the bridge meets the other's in the middle.
    off = {address.path: Override(off=True) for address in left}
    overrides = {**whole.overrides, **off}
    rest = replace(whole, drives=tuple(kept), overrides=overrides)
    return rest, tuple(dict.fromkeys(left))


def shown(left: Sequence[Address], known: Nodes) -> list[WatchedDrive]:
    """The same drives for people."""
    why = "asked by the daemon only: two that ask through such a bridge at once may do harm"
    return [
        WatchedDrive(label, "", str(address), was_asked=False, message=why)
        for address, label in labels(left, known).items()
    ]
