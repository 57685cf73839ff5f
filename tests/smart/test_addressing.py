"""Tests of parsing drive addresses, and of detecting two addresses of one drive."""

import random
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.drives.drive_identity import usable_wwn
from exporter.drives.health import DriveIdentity, Protocol
from exporter.linux.device_nodes import DeviceNodes
from exporter.runtime.errors import ConfigError
from exporter.smart import addressing
from exporter.smart.addressing import (
    Answer,
    AttachmentPoint,
    deduplicated,
    is_same_drive,
)
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
def test_the_slot_distinguishes_drives_of_one_path(kind: str, slot: str) -> None:
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
def test_a_range_expands_to_several_drives(kind: str, kinds: list[str]) -> None:
    expected = [Address("/dev/sg2", each) for each in kinds]
    assert expected == list(addressing.expanded("/dev/sg2", kind))


@pytest.mark.parametrize("kind", ["cciss,3-0", "cciss,0-256", "areca,1-99/1-99", "cciss,0-9999"])
def test_an_invalid_range_is_a_configuration_error(kind: str) -> None:
    with pytest.raises(ConfigError, match=f"{kind}.* of /dev/sg2 .*write a range upwards"):
        list(addressing.expanded("/dev/sg2", kind))


@given(st.text(alphabet="cis,/+-0123456789", max_size=20))
def test_any_type_gives_drives_or_a_configuration_error(kind: str) -> None:
    try:
        found = list(addressing.expanded("/dev/sg2", kind))
    except ConfigError:
        return
    assert 1 <= len(found) <= 256
    assert len(found) == len(set(found))


def test_a_path_that_is_not_in_sys_is_its_own_attachment_point() -> None:
    assert AttachmentPoint("/dev/twa0", "3ware,1") == addressing.attachment_point(
        Address("/dev/twa0", "3ware,1"), DeviceNodes()
    )
    assert not addressing.is_direct(Address("/dev/twa0", "3ware,1"), DeviceNodes())


WWN_1, WWN_2 = "naa.5002538f00000001", "naa.5002538f00000002"


def disk(name: str, weight: int = 0, **identity: Any) -> Answer:
    """A drive that the kernel knows."""
    who = DriveIdentity(**identity)
    return Answer(
        Address(f"/dev/{name}", "sat"),
        who,
        AttachmentPoint(name, ""),
        is_direct=True,
        weight=weight,
    )


def slot(number: int, weight: int = 0, **identity: Any) -> Answer:
    """A drive behind a controller."""
    who, kind = DriveIdentity(**identity), f"megaraid,{number}"
    return Answer(
        Address("/dev/bus/6", kind),
        who,
        AttachmentPoint("host6", kind),
        is_direct=False,
        weight=weight,
    )


def groups(*answers: Answer) -> list[list[str]]:
    return [[" ".join(each.address) for each in group] for group in deduplicated(answers)]


def test_one_wwn_is_one_drive() -> None:
    """Two paths of a SAS drive; a controller may cut the serial number short."""
    assert is_same_drive(disk("sda", wwn=WWN_1, serial="S1"), disk("sdb", wwn=WWN_1, serial="S1"))
    assert is_same_drive(disk("sda", wwn=WWN_1, serial="S1234"), slot(1, wwn=WWN_1, serial="S12"))
    assert is_same_drive(disk("sda", wwn=WWN_1), disk("sdb", wwn=WWN_1.upper()))


def test_a_wwn_shared_by_a_batch_hides_no_drive_of_another_serial_number() -> None:
    ata: dict[str, Any] = {"wwn": WWN_1, "protocol": Protocol.ATA}
    assert not is_same_drive(disk("sda", serial="S1", **ata), slot(1, serial="S2", **ata))
    assert is_same_drive(disk("sda", serial="S1234", **ata), slot(1, serial="S12", **ata))


def test_two_wwns_are_two_drives_whatever_their_serial_numbers() -> None:
    assert not is_same_drive(disk("sda", wwn=WWN_1, serial="S1"), slot(1, wwn=WWN_2, serial="S1"))


def test_a_wwn_shared_by_all_drives_of_a_maker_is_ignored() -> None:
    assert not is_same_drive(
        disk("sda", wwn=WWN_1, serial="S1"), disk("sdb", wwn=WWN_1, serial="S2")
    )


def test_without_wwns_the_serial_number_identifies_drives_behind_a_controller() -> None:
    """QEMU's disk behind megasas is in the scan twice."""
    who: dict[str, Any] = {"serial": "S1", "model": "X700", "capacity_bytes": 1 << 40}
    assert is_same_drive(disk("sdb", **who), slot(0, **who))
    assert is_same_drive(disk("sdb", wwn=WWN_1, **who), slot(0, **who))
    assert not is_same_drive(disk("sdb", **who), slot(0, **who | {"model": "X800"}))
    assert not is_same_drive(disk("sdb", **who), slot(0, **who | {"capacity_bytes": 1 << 41}))


def test_disks_with_equal_serial_numbers_are_two_drives() -> None:
    assert not is_same_drive(disk("sda", serial="0123"), disk("sdb", serial="0123"))
    assert not is_same_drive(disk("sda", serial="0123", wwn=WWN_1), disk("sdb", serial="0123"))


def test_without_wwn_and_serial_number_no_two_drives_are_the_same() -> None:
    assert not is_same_drive(disk("sda", model="X"), slot(0, model="X"))


def test_two_slots_of_one_controller_are_two_drives() -> None:
    assert not is_same_drive(slot(0, serial="0123"), slot(1, serial="0123"))
    assert not is_same_drive(slot(0, wwn=WWN_1), slot(1, wwn=WWN_1))


def test_the_address_with_the_most_data_is_used() -> None:
    sda, other = disk("sda", 10, wwn=WWN_1), slot(0, 10, wwn=WWN_1)
    more = slot(0, 12, wwn=WWN_1)
    assert [["/dev/sda sat", "/dev/bus/6 megaraid,0"]] == groups(other, sda)
    assert [["/dev/bus/6 megaraid,0", "/dev/sda sat"]] == groups(sda, more)
    first, second = disk("sdb", wwn=WWN_2), disk("sdc", wwn=WWN_2)
    assert [["/dev/sdb sat", "/dev/sdc sat"]] == groups(first, second)


def test_drives_come_in_the_order_of_their_first_address() -> None:
    answers = [disk("sda"), disk("sdb", wwn=WWN_1), disk("sdc"), slot(0, 5, wwn=WWN_1)]
    expected = [["/dev/sda sat"], ["/dev/bus/6 megaraid,0", "/dev/sdb sat"], ["/dev/sdc sat"]]
    assert expected == groups(*answers)


def test_a_drive_that_matches_two_others_stays_separate() -> None:
    answers = [
        disk("sda", wwn=WWN_1, serial="0123"),
        disk("sdb", wwn=WWN_2, serial="0123"),
        slot(0, serial="0123"),
    ]
    assert [["/dev/sda sat"], ["/dev/sdb sat"], ["/dev/bus/6 megaraid,0"]] == groups(*answers)


_WHO = st.builds(
    DriveIdentity,
    serial=st.sampled_from([None, "S1", "S2"]),
    wwn=st.sampled_from([None, WWN_1, WWN_2, "naa.5000000000000000"]),
    model=st.sampled_from([None, "X"]),
)
_WEIGHTS = st.integers(0, 2)
_ANY = st.tuples(_WHO, _WEIGHTS, st.booleans())


def _answers(drawn: list[tuple[DriveIdentity, int, bool]]) -> list[Answer]:
    return [
        Answer(
            Address("/dev/sd" if direct else "/dev/bus/0", str(number)),
            who,
            AttachmentPoint(f"place{number}", "")
            if direct
            else AttachmentPoint("host0", f"megaraid,{number % 3}"),
            is_direct=direct,
            weight=weight,
        )
        for number, (who, weight, direct) in enumerate(drawn)
    ]


@given(st.lists(_ANY, max_size=9))
def test_every_answer_is_in_one_group_and_all_of_a_group_are_the_same(
    drawn: list[tuple[DriveIdentity, int, bool]],
) -> None:
    answers = _answers(drawn)
    found = deduplicated(answers)
    assert sorted(answers, key=str) == sorted((a for group in found for a in group), key=str)
    for group in found:
        assert all(is_same_drive(one, other) for one, other in combinations(group, 2))
        assert 1 >= len({wwn for each in group if (wwn := usable_wwn(each.identity.wwn))})


@given(st.lists(_ANY, max_size=9), st.randoms())
def test_groups_do_not_depend_on_the_order(
    drawn: list[tuple[DriveIdentity, int, bool]], order: random.Random
) -> None:
    answers = _answers(drawn)
    shuffled = list(answers)
    order.shuffle(shuffled)
    expected = {frozenset(group) for group in deduplicated(answers)}
    assert expected == {frozenset(group) for group in deduplicated(shuffled)}


@given(_ANY, _ANY)
def test_being_the_same_is_mutual(
    one: tuple[DriveIdentity, int, bool], other: tuple[DriveIdentity, int, bool]
) -> None:
    a, b = _answers([one, other])
    assert is_same_drive(a, b) == is_same_drive(b, a)


def test_a_thousand_drives_behind_two_paths_each() -> None:
    answers = [
        disk(f"sd{n}", wwn=f"naa.5002538f{n // 2:08x}", serial=f"{n // 2}") for n in range(2000)
    ]
    assert 1000 == len(deduplicated(answers))
