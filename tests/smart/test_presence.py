"""Whether a drive is certainly present at an address where none answers."""

import pytest

from exporter.linux.device_identity import DeviceIdentity
from exporter.linux.device_nodes import DeviceNodes
from exporter.smart.presence import HostContext, is_certain
from exporter.smart.smartctl import Address

NODES = DeviceNodes(
    blocks=frozenset({"sda", "sdb", "sdc", "sdd"}), controllers=("nvme0",), present=frozenset()
)
DISKS = {
    "sda": DeviceIdentity(transport="sata"),
    "sdb": DeviceIdentity(transport="scsi"),
    "sdc": DeviceIdentity(transport="usb"),
    "sdd": DeviceIdentity(transport="scsi", serial="S1"),
}


@pytest.mark.parametrize(
    ("path", "kind", "label", "only_configured", "expected"),
    [
        ("/dev/sda", "sat", "sda", True, True),
        ("/dev/sda", "cciss,3", "sda:cciss,3", True, False),
        ("/dev/sda", "areca,12/2", "sda:areca,12/2", True, False),
        ("/dev/twa0", "3ware,7", "twa0:3ware,7", True, False),
        ("/dev/bus/0", "megaraid,3", "bus/0:megaraid,3", False, True),
        ("/dev/sg3", "", "sg3", False, True),
        ("/dev/sdz", "sat", "sdz", True, False),
        ("/dev/nvme0", "nvme", "nvme0", False, True),
        ("/dev/sdb", "", "sdb", False, False),
        ("/dev/sdc", "usbjmicron,1", "sdc:usbjmicron,1", True, False),
        ("/dev/sdc", "usbjmicron,p,0", "sdc", False, False),
        ("/dev/sdc", "sat", "sdc", False, False),
        ("/dev/sdd", "", "sdd", False, True),
    ],
    ids=[
        *("disk of the kernel", "slot", "slot of an enclosure", "slot without a block device"),
        *("slot in a scan", "hidden disk", "path that does not exist", "NVMe without namespace"),
        *("volume", "second port of a dock", "first port of a dock", "empty card reader"),
        "disk with a serial number",
    ],
)
def test_a_drive_is_certain_if_the_kernel_or_a_scan_lists_it(
    path: str, kind: str, label: str, only_configured: bool, expected: bool
) -> None:
    context = HostContext(lambda: DISKS, lambda _: None, empty=lambda: frozenset({"sdc"}))
    address = Address(path, kind)
    assert expected == is_certain(address, label, NODES, context, only_configured=only_configured)
