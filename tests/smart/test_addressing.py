"""What an address says by itself."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.errors import ConfigError
from exporter.linux.device_nodes import DeviceNodes
from exporter.smart import addressing
from exporter.smart.addressing import AttachmentPoint
from exporter.smart.smartctl import Address


@pytest.mark.parametrize(
    ("kind", "slot"),
    [
        ("", ""),
        ("sat", ""),
        ("sat,12", ""),
        ("nvme", ""),
        ("sntjmicron,0x1", ""),
        ("usbjmicron,1", ""),
        ("megaraid,0", "megaraid,0"),
        ("sat+megaraid,14", "megaraid,14"),
        ("sat,auto+aacraid,0,0,2", "aacraid,0,0,2"),
        ("scsi+cciss,1", "cciss,1"),
        ("areca,3/2", "areca,3/2"),
        ("jmb39x-q,0,s33,force+sat", "jmb39x-q,0,s33,force"),
    ],
)
def test_the_slot_is_what_tells_drives_of_one_path_apart(kind: str, slot: str) -> None:
    assert slot == addressing.slot(Address("/dev/sda", kind))


@pytest.mark.parametrize(
    ("kind", "kinds"),
    [
        ("megaraid,3", ["megaraid,3"]),
        ("cciss,0-3", ["cciss,0", "cciss,1", "cciss,2", "cciss,3"]),
        ("sat+megaraid,9-10", ["sat+megaraid,9", "sat+megaraid,10"]),
        ("areca,1-2/1-2", ["areca,1/1", "areca,1/2", "areca,2/1", "areca,2/2"]),
        ("aacraid,0,0,5-6", ["aacraid,0,0,5", "aacraid,0,0,6"]),
        ("jmb39x-q,0-1", ["jmb39x-q,0", "jmb39x-q,1"]),
        ("sat,12", ["sat,12"]),
        ("", [""]),
        ("cciss,7-7", ["cciss,7"]),
    ],
)
def test_a_range_stands_for_several_drives(kind: str, kinds: list[str]) -> None:
    expected = [Address("/dev/sg2", each) for each in kinds]
    assert expected == list(addressing.expanded("/dev/sg2", kind))


@pytest.mark.parametrize("kind", ["cciss,3-0", "cciss,0-256", "areca,1-99/1-99", "cciss,0-9999"])
def test_a_range_that_is_none_is_a_mistake(kind: str) -> None:
    with pytest.raises(ConfigError, match=f"{kind}.* of /dev/sg2 .*write a range upwards"):
        list(addressing.expanded("/dev/sg2", kind))


@given(st.text(alphabet="cis,/+-0123456789", max_size=20))
def test_any_type_is_some_drives_or_a_mistake(kind: str) -> None:
    try:
        found = list(addressing.expanded("/dev/sg2", kind))
    except ConfigError:
        return
    assert 1 <= len(found) <= 256
    assert len(found) == len(set(found))


def test_a_path_that_sys_does_not_know_is_its_own_place() -> None:
    assert AttachmentPoint("/dev/twa0", "3ware,1") == addressing.attachment_point(
        Address("/dev/twa0", "3ware,1"), DeviceNodes()
    )
    assert not addressing.is_direct(Address("/dev/twa0", "3ware,1"), DeviceNodes())
