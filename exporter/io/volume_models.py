"""Recognises volumes of cloud providers, hypervisors, RAID controllers and SANs.

This module uses no files, no clock and no logs.
"""

from exporter.config.drive_class import VolumeType
from exporter.linux.device_identity import DeviceIdentity

#: The transports of volumes. "scsi" means that the bus is unknown: the device is a volume of a RAID
#: controller. Over a network, an array or a software target serves the volume.
_TRANSPORTS = {
    "scsi": VolumeType.ARRAY,
    "fc": VolumeType.ARRAY,
    "iscsi": VolumeType.ARRAY,
    "nvme-tcp": VolumeType.ARRAY,
    "nvme-rdma": VolumeType.ARRAY,
    "nvme-fc": VolumeType.ARRAY,
    "virtio": VolumeType.HYPERVISOR,
}

#: The start of the model, or of vendor and model, in lower case. The providers document these names
#: for their udev rules: EBS of AWS, Persistent Disk and Hyperdisk of Google, remote disks of Azure,
#: Block Storage of Alibaba and Oracle. Not listed are their local drives, such as "Amazon EC2 NVMe
#: Instance Storage", "nvme_card" and "Microsoft NVMe Direct Disk".
_CLOUD = (
    "amazon elastic block store",
    "nvme_card-pd",
    "google persistentdisk",
    "msft nvme accelerator",
    "alibaba cloud elastic block storage",
    "oracle blockvolume",
)

#: The same for disks that a hypervisor emulates. Hyper-V and Azure use the same name for their SCSI
#: disks.
_HYPERVISORS = ("qemu", "vmware", "vbox", "orcl-vbox", "msft virtual disk", "xen", "nutanix")

#: The start of the names of network block devices and of images of Ceph. They have no transport.
#: Another host serves them, and its drives or the network may be the limit.
_NETWORK_DEVICES = ("nbd", "rbd")


def volume_type(name: str, identity: DeviceIdentity) -> VolumeType:
    """Returns what a block device is, from its model and its transport.

    name: the name of the device. Xen's disks have no model.
    """
    model = (identity.model or "").lower()
    vendor = (identity.vendor or "").lower()
    names = (model, f"{vendor} {model}".strip())
    if any(each.startswith(_CLOUD) for each in names):
        return VolumeType.CLOUD
    if name.startswith("xvd") or any(each.startswith(_HYPERVISORS) for each in names):
        return VolumeType.HYPERVISOR
    if name.startswith(_NETWORK_DEVICES):
        return VolumeType.HYPERVISOR
    return _TRANSPORTS.get(identity.transport or "", VolumeType.DRIVE)
