"""Tests of finding the drives to poll."""

import pytest

from exporter.drives.health import Protocol
from exporter.runtime.errors import ConfigError
from exporter.smart import discovery
from exporter.smart.discovery import Candidate, Override, Selection
from exporter.smart.smartctl import Address, Scanned
from tests.linux import node_trees, trees
from tests.linux.trees import Sys


def row(path: str, kind: str, protocol: str, open_error: str = "") -> Scanned:
    return Scanned(Address(path, kind), protocol, open_error)


def look(sys: Sys, *rows: Scanned, **selection: object) -> tuple[Candidate, ...]:
    chosen = Selection(**selection)  # type: ignore[arg-type]
    return discovery.find_candidates(sys.root, sys.root.parent, rows, chosen)[0]


def addresses(sys: Sys, *rows: Scanned, **selection: object) -> list[tuple[str, str]]:
    return [(each.address.path, each.address.type) for each in look(sys, *rows, **selection)]


def perc(sys: Sys) -> list[Scanned]:
    """A host with two drives behind a RAID controller, their volume, and a SATA drive beside."""
    node_trees.raid_volumes(sys, "sda")
    trees.sata(sys, "sdb")
    return [
        row("/dev/sda", "scsi", "SCSI"),
        row("/dev/sdb", "sat", "ATA"),
        row("/dev/bus/6", "megaraid,8", "SCSI"),
        row("/dev/bus/6", "megaraid,9", "SCSI"),
    ]


def test_drives_of_the_scan_are_candidates(sys: Sys) -> None:
    trees.nvme(sys)
    expected = (
        Candidate(Address("/dev/sda", "scsi"), "0000:03:00.0", Protocol.SCSI, volume=True),
        Candidate(Address("/dev/sdb", "sat"), "0000:00:17.0", Protocol.ATA),
        Candidate(Address("/dev/bus/6", "megaraid,8"), "0000:03:00.0"),
        Candidate(Address("/dev/bus/6", "megaraid,9"), "0000:03:00.0"),
        Candidate(Address("/dev/nvme0", "nvme"), "0000:01:00.0", Protocol.NVME),
    )
    assert expected == look(sys, *perc(sys), row("/dev/nvme0", "nvme", "NVMe"))


def test_a_path_in_neither_scan_nor_sys_is_no_candidate(sys: Sys) -> None:
    assert () == look(sys)


def test_a_drive_that_is_not_in_sys_is_its_own_adapter(sys: Sys) -> None:
    (found,) = look(sys, row("/dev/sdx", "scsi", "SCSI"))
    assert "/dev/sdx" == found.adapter


def test_hidden_disks_are_polled_through_their_generic_nodes(sys: Sys) -> None:
    """Members of a volume behind mptsas. The volume itself may not answer."""
    node_trees.hidden_disks(sys, 2)
    expected = (
        Candidate(Address("/dev/sda", "scsi"), "0000:01:00.0", Protocol.SCSI, volume=True),
        Candidate(Address("/dev/sg1"), "0000:01:00.0", Protocol.ATA),
        Candidate(Address("/dev/sg2"), "0000:01:00.0", Protocol.ATA),
    )
    assert expected == look(sys, row("/dev/sda", "scsi", "SCSI"))


def test_a_hidden_sas_disk(sys: Sys) -> None:
    node_trees.hidden_disks(sys, 1, vendor="FLASHWKS")
    assert [Protocol.SCSI] == [each.protocol for each in look(sys)]


def test_a_drive_with_its_own_link_is_not_a_volume(sys: Sys) -> None:
    """Not even beside a hidden one, on the same adapter."""
    trees.sas(sys, "sdc", 9)
    adapter = "devices/pci0000:00/0000:00:03.0/0000:02:00.0/host9"
    hidden = f"{adapter}/target9:0:7/9:0:7:0"
    node_trees.generic(sys, "sg4", node_trees.scsi_device(sys, hidden, {}))
    found = look(sys, row("/dev/sdc", "scsi", "SCSI"))
    assert [("/dev/sdc", False), ("/dev/sg4", False)] == [
        (each.address.path, each.volume) for each in found
    ]


def test_a_device_that_smartctl_attributes_to_a_controller_is_a_volume(sys: Sys) -> None:
    problem = "DELL or MegaRaid controller, please try adding '-d megaraid,N'"
    (found,) = look(sys, row("/dev/sda", "scsi", "SCSI", problem))
    assert found.volume
    (found,) = look(sys, row("/dev/sda", "scsi", "SCSI", "Permission denied"))
    assert not found.volume


def test_nvme_controllers_beyond_the_scan_are_found(sys: Sys) -> None:
    """smartctl lists only /dev/nvme0 to /dev/nvme99. A controller without a node is skipped."""
    trees.nvme(sys, 99)
    trees.nvme(sys, 100)
    trees.nvme(sys, 101)
    node_trees.dev(sys, "nvme99", "nvme100")
    found = addresses(sys, row("/dev/nvme99", "nvme", "NVMe"))
    assert [("/dev/nvme99", "nvme"), ("/dev/nvme100", "nvme")] == found


def test_one_device_with_two_nodes_is_polled_once(sys: Sys) -> None:
    """The block device node is used, even if a later smartctl lists the generic node."""
    target = trees.sata(sys, "sda").removesuffix("/block/sda")
    node_trees.attach(sys, target)
    node_trees.generic(sys, "sg0", target)
    rows = [row("/dev/sg0", "sat", "ATA"), row("/dev/sda", "sat", "ATA")]
    assert [("/dev/sda", "sat")] == addresses(sys, *rows)


def test_one_slot_through_two_volumes_is_polled_once(sys: Sys) -> None:
    node_trees.raid_volumes(sys, "sda", "sdb")
    drives = (("/dev/sda", "megaraid,0-1"), ("/dev/sdb", "megaraid,0-1"))
    expected = [("/dev/sda", "megaraid,0"), ("/dev/sda", "megaraid,1")]
    assert expected == addresses(sys, drives=drives)
    # The bus that the scan names leads there as well; what is configured is what is asked.
    scanned = row("/dev/bus/6", "megaraid,1", "SCSI")
    assert expected == sorted(addresses(sys, scanned, drives=drives))


def test_configured_drives_are_polled_in_addition(sys: Sys) -> None:
    rows = perc(sys)
    found = look(sys, *rows, drives=(("/dev/sg7", "cciss,0-1"), ("/dev/twa0", "3ware,2")))
    expected = (
        Candidate(Address("/dev/sg7", "cciss,0"), "/dev/sg7", configured=True, found=False),
        Candidate(Address("/dev/sg7", "cciss,1"), "/dev/sg7", configured=True, found=False),
        Candidate(Address("/dev/twa0", "3ware,2"), "/dev/twa0", configured=True, found=False),
    )
    assert expected == found[len(rows) :]


def test_a_configured_type_wins_over_the_one_found(sys: Sys) -> None:
    trees.sata(sys, "sda")
    trees.nvme(sys)
    rows = [row("/dev/sda", "scsi", "SCSI"), row("/dev/nvme0", "nvme", "NVMe")]
    drives = (("/dev/sda", "sat"), ("/dev/nvme0n1", ""))
    expected = (
        Candidate(Address("/dev/sda", "sat"), "0000:00:17.0", Protocol.ATA, configured=True),
        Candidate(Address("/dev/nvme0n1", "nvme"), "0000:01:00.0", Protocol.NVME, configured=True),
    )
    assert expected == look(sys, *rows, drives=drives)


def test_two_types_at_one_path_are_two_drives_of_a_dock(sys: Sys) -> None:
    trees.usb(sys, "sdd")
    drives = (("/dev/sdd", "usbjmicron,0"), ("/dev/sdd", "usbjmicron,1"))
    assert list(drives) == addresses(sys, drives=(*drives, drives[1]))


def test_a_configured_name_is_followed_to_the_node(sys: Sys) -> None:
    """by-id names remain valid if device names change. A dangling link is kept unresolved."""
    trees.sata(sys, "sda")
    node_trees.dev(sys, "sda", "disk/by-id/x")
    by_id = sys.root.parent / "dev/disk/by-id"
    (by_id / "wwn-0x5002538f00000001").symlink_to("../../sda")
    drives = (
        ("/dev/disk/by-id/wwn-0x5002538f00000001", "sat"),
        ("/dev/disk/by-id/wwn-0x5002538f00000002", "sat"),
    )
    expected = [("/dev/sda", "sat"), ("/dev/disk/by-id/wwn-0x5002538f00000002", "sat")]
    assert expected == addresses(sys, drives=drives)


def test_an_invalid_range_is_a_configuration_error(sys: Sys) -> None:
    with pytest.raises(ConfigError):
        look(sys, drives=(("/dev/sg1", "cciss,4-0"),))


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        ({"include": "megaraid"}, ["/dev/bus/6 megaraid,8", "/dev/bus/6 megaraid,9"]),
        ({"include": "^/dev/sd[ab]$"}, ["/dev/sda scsi", "/dev/sdb sat"]),
        ({"exclude": "/dev/bus"}, ["/dev/sda scsi", "/dev/sdb sat"]),
        (
            {"exclude": "scsi$"},
            [*["/dev/sdb sat"], "/dev/bus/6 megaraid,8", "/dev/bus/6 megaraid,9"],
        ),
        ({"include": "sd", "exclude": "sda"}, ["/dev/sdb sat"]),
        (
            {"exclude": ""},
            ["/dev/sda scsi", "/dev/sdb sat", *(f"/dev/bus/6 megaraid,{n}" for n in (8, 9))],
        ),
    ],
)
def test_patterns_choose_among_those_found(
    sys: Sys, selection: dict[str, str], expected: list[str]
) -> None:
    found = addresses(sys, *perc(sys), **selection)
    assert expected == [" ".join(each) for each in found]


def test_patterns_leave_configured_drives_alone(sys: Sys) -> None:
    drives = (("/dev/sdb", "sat"),)
    assert [("/dev/sdb", "sat")] == addresses(sys, *perc(sys), exclude=".", drives=drives)


def test_types_that_write_to_the_device_must_be_configured(sys: Sys) -> None:
    rows = [row("/dev/sdb", "jmb39x,0", "ATA"), row("/dev/sdc", "sat+jms56x,1", "ATA")]
    assert [] == addresses(sys, *rows)
    drives = (("/dev/sdb", "jmb39x,0"),)
    assert [("/dev/sdb", "jmb39x,0")] == addresses(sys, *rows, drives=drives)


@pytest.mark.parametrize("name", ["nvme0n1", "/dev/nvme0", "/dev/nvme0 nvme"])
def test_a_drive_has_its_own_settings(sys: Sys, name: str) -> None:
    trees.nvme(sys)
    trees.sata(sys, "sda")
    rows = [row("/dev/nvme0", "nvme", "NVMe"), row("/dev/sda", "sat", "ATA")]
    override = Override(interval_seconds=300.0, timeout_seconds=90.0)
    one, other = look(sys, *rows, overrides={name: override})
    assert (300.0, 90.0) == (one.interval_seconds, one.timeout_seconds)
    assert (None, None) == (other.interval_seconds, other.timeout_seconds)
    assert [("/dev/sda", "sat")] == addresses(sys, *rows, overrides={name: Override(off=True)})


def test_one_slot_can_be_left_alone(sys: Sys) -> None:
    overrides = {"bus/6:megaraid,8": Override(off=True), "sda": Override(off=True)}
    expected = [("/dev/sdb", "sat"), ("/dev/bus/6", "megaraid,9")]
    assert expected == addresses(sys, *perc(sys), overrides=overrides)


def test_a_drive_in_an_enclosure_is_polled_if_its_type_is_configured(sys: Sys) -> None:
    """smartctl's scan leaves out USB bridges that it does not know."""
    trees.usb(sys, "sdd")
    overrides = {"sdd": Override(type="sntasmedia"), "sdz": Override(type="sat")}
    (found,) = look(sys, overrides=overrides)
    assert (Address("/dev/sdd", "sntasmedia"), Protocol.NVME) == (found.address, found.protocol)
    (found,) = look(sys, row("/dev/sdd", "sat", "ATA"), overrides=overrides)
    assert (Address("/dev/sdd", "sntasmedia"), Protocol.NVME) == (found.address, found.protocol)


def test_two_hundred_controllers_are_two_hundred_adapters(sys: Sys) -> None:
    for instance in range(200):
        trees.nvme(sys, instance)
    rows = [row(f"/dev/nvme{n}", "nvme", "NVMe") for n in range(200)]
    assert 200 == len({each.adapter for each in look(sys, *rows)})
