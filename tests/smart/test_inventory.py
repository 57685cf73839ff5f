"""Tests of the inventory of all drives that were ever present."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.drives.health import DriveIdentity
from exporter.smart.inventory import Inventory, KnownDrive, Sighting
from exporter.smart.smartctl import Address

WWN_1, WWN_2 = "naa.5002538f00000001", "naa.5002538f00000002"

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def seen(name: str, **identity: str) -> Sighting:
    who = {"model": "X700", **identity}
    return Sighting(Address(f"/dev/{name}", "sat"), name, DriveIdentity(**who))  # type: ignore[arg-type]


def silent(name: str) -> Sighting:
    return Sighting(Address(f"/dev/{name}", "sat"), name)


def shown(inventory: Inventory) -> set[tuple[str, str | None, bool]]:
    return {(drive.label, drive.serial, drive.missing) for drive in inventory.drives}


def rebooted(inventory: Inventory) -> Inventory:
    return Inventory(json.loads(json.dumps(inventory.to_state(), allow_nan=False)))


def with_two() -> Inventory:
    inventory = Inventory()
    drives = [seen("sda", wwn=WWN_1, serial="S1"), seen("sdb", wwn=WWN_2, serial="S2")]
    inventory.update(drives, 1000.0, complete=True)
    return inventory


def test_a_known_drive_has_the_values_of_the_last_update() -> None:
    inventory = Inventory()
    inventory.update([seen("sda", wwn=WWN_1, serial="S1", firmware="A1")], 1000.0, complete=True)
    inventory.update([seen("sdb", wwn=WWN_1, serial="S1", firmware="A2")], 2000.0, complete=True)
    expected = KnownDrive(
        label="sdb",
        path="/dev/sdb",
        type="sat",
        first_seen_unix_time=1000.0,
        last_seen_unix_time=2000.0,
        model="X700",
        serial="S1",
        firmware="A2",
        wwn=WWN_1,
    )
    assert (expected,) == inventory.drives


def test_a_drive_that_vanished_is_missing_until_it_is_back() -> None:
    inventory = with_two()
    inventory.update([seen("sda", wwn=WWN_1, serial="S1")], 2000.0, complete=True)
    assert {("sda", "S1", False), ("sdb", "S2", True)} == shown(inventory)
    (missing,) = inventory.missing
    assert ("S2", 1000.0) == (missing.serial, missing.last_seen_unix_time)
    inventory.update([seen("sdc", wwn=WWN_2, serial="S2")], 3000.0, complete=False)
    assert {("sda", "S1", False), ("sdc", "S2", False)} == shown(inventory)


def test_it_is_missing_over_a_reboot_too() -> None:
    inventory = with_two()
    inventory.update([seen("sda", wwn=WWN_1, serial="S1")], 2000.0, complete=True)
    again = rebooted(inventory)
    assert inventory.drives == again.drives
    again.update([silent("sda")], 3000.0, complete=False)
    assert {("sda", "S1", False), ("sdb", "S2", True)} == shown(again)


def test_before_a_complete_scan_nothing_is_missing() -> None:
    """After a start the drives answer one by one."""
    again = rebooted(with_two())
    again.update([silent("sda")], 2000.0, complete=False)
    assert () == again.missing


def test_a_drive_that_vanished_while_the_host_was_off() -> None:
    """Device names move up: drives are identified by serial number, not by name."""
    again = rebooted(with_two())
    again.update([silent("sda")], 2000.0, complete=False)
    again.update([seen("sda", wwn=WWN_2, serial="S2")], 2010.0, complete=True)
    assert {"sda": "S2"} == {d.label: d.serial for d in again.drives if not d.missing}
    assert ["S1"] == [drive.serial for drive in again.missing]


def test_a_drive_that_does_not_answer_is_the_one_last_seen_there() -> None:
    again = rebooted(with_two())
    again.update([seen("sda", wwn=WWN_1, serial="S1"), silent("sdb")], 2000.0, complete=True)
    assert {("sda", "S1", False), ("sdb", "S2", False)} == shown(again)
    assert {"S1": 2000.0, "S2": 1000.0} == {d.serial: d.last_seen_unix_time for d in again.drives}


def test_the_drive_at_an_address_is_known_before_it_answers() -> None:
    again = rebooted(with_two())
    again.update([silent("sdb")], 2000.0, complete=True)
    assert [None, "S2", None] == [
        drive and drive.serial
        for name in "abc"
        for drive in [again.at(silent(f"sd{name}").address)]
    ]


def test_only_a_complete_scan_determines_missing_drives() -> None:
    again = rebooted(with_two())
    again.update([], 2000.0, complete=False)
    assert not again.is_complete
    again.update([], 2000.0, complete=True)
    again.update([], 2000.0, complete=False)
    assert again.is_complete


def test_a_drive_that_never_answered_is_not_missing() -> None:
    """A volume, or a bridge that smartctl does not know."""
    inventory = Inventory()
    inventory.update([silent("sdd")], 1000.0, complete=True)
    assert () == inventory.drives


def test_a_drive_swapped_under_its_name_is_another() -> None:
    inventory = with_two()
    inventory.update(
        [seen("sda", wwn=WWN_1, serial="S1"), seen("sdb", wwn="naa.5002538f00000003", serial="S3")],
        2000.0,
        complete=True,
    )
    assert {("sda", "S1", False), ("sdb", "S3", False), ("sdb", "S2", True)} == shown(inventory)


def test_a_drive_without_wwn_is_known_by_serial_number_and_model() -> None:
    inventory = Inventory()
    inventory.update([seen("sda", serial="S1")], 1000.0, complete=True)
    inventory.update([seen("sdb", serial="S1")], 2000.0, complete=True)
    assert {("sdb", "S1", False)} == shown(inventory)
    other = seen("sdb", serial="S1", model="X800")
    inventory.update([other], 3000.0, complete=True)
    assert [("X800", False)] == [(d.model, d.missing) for d in inventory.drives]


def test_a_wwn_that_is_read_later_does_not_create_a_second_drive() -> None:
    inventory = Inventory()
    inventory.update([seen("sda", serial="S1")], 1000.0, complete=True)
    inventory.update([seen("sda", serial="S1", wwn=WWN_1)], 2000.0, complete=True)
    inventory.update([seen("sda", wwn=WWN_1)], 3000.0, complete=True)
    assert [("S1", WWN_1, 1000.0)] == [
        (d.serial, d.wwn, d.first_seen_unix_time) for d in inventory.drives
    ]


def test_drives_with_equal_identity_are_counted_separately() -> None:
    """Cheap drives with the same serial number: a removed one is detected, even if names change."""
    inventory = Inventory()
    twins = [seen("sda", serial="0123"), seen("sdb", serial="0123")]
    inventory.update(twins, 1000.0, complete=True)
    assert {("sda", "0123", False), ("sdb", "0123", False)} == shown(inventory)
    again = rebooted(inventory)
    again.update([seen("sda", serial="0123")], 2000.0, complete=True)
    assert {("sda", "0123", False), ("sdb", "0123", True)} == shown(again)
    again.update(twins, 3000.0, complete=True)
    assert {("sda", "0123", False), ("sdb", "0123", False)} == shown(again)


def test_a_missing_drive_is_labelled_by_its_wwn_if_another_took_its_label() -> None:
    inventory = Inventory()
    one, other = seen("sda", serial="0123", wwn=WWN_1), seen("sdb", serial="0123", wwn=WWN_2)
    inventory.update([one, other], 1000.0, complete=True)
    inventory.update([seen("sda", serial="0123", wwn=WWN_2)], 2000.0, complete=True)
    expected = {("sda", "0123", False), (f"sda {WWN_1}", "0123", True)}
    assert expected == shown(inventory)
    again = rebooted(inventory)
    again.update([seen("sda", serial="0123", wwn=WWN_2)], 3000.0, complete=True)
    assert expected == shown(again)


def test_a_drive_without_any_identity_is_identified_by_its_address() -> None:
    inventory = Inventory()
    inventory.update([seen("sda"), seen("sdb")], 1000.0, complete=True)
    inventory.update([seen("sda")], 2000.0, complete=True)
    assert {("sda", None, False), ("sdb", None, True)} == shown(inventory)
    # Nobody could tell the new one's zero from the old one's.
    inventory.update([seen("sda"), seen("sdb", model="X800")], 3000.0, complete=True)
    assert {("sda", None, False), ("sdb", None, False)} == shown(inventory)


def test_only_missing_drives_are_forgotten() -> None:
    inventory = with_two()
    inventory.update([seen("sda", wwn=WWN_1, serial="S1")], 2000.0, complete=True)
    assert 1 == inventory.forget(lambda _: True)
    assert {("sda", "S1", False)} == shown(inventory)


def test_a_drive_goes_by_serial_number_or_wwn_or_else_by_label() -> None:
    inventory = with_two()
    inventory.update([seen("sdc")], 2000.0, complete=False)
    assert ["sda"] == [drive.label for drive in inventory.named("S1")]
    assert ["sdb"] == [drive.label for drive in inventory.named(WWN_2)]
    assert ["sdc"] == [drive.label for drive in inventory.named("sdc")]
    assert () == inventory.named("sda")


def test_the_drives_missing_for_longest_are_dropped_first() -> None:
    inventory = Inventory()
    for second in range(3):
        drives = [seen(f"sd{n}", serial=f"{second}-{n}") for n in range(4000)]
        inventory.update(drives, 1000.0 + second, complete=True)
    assert 8192 == len(inventory.drives)
    times = [drive.last_seen_unix_time for drive in inventory.drives]
    assert (4000, 4000, 192) == tuple(times.count(1000.0 + n) for n in (2, 1, 0))


_ROW = {"label": "sda", "path": "/dev/sda", "type": "sat", "missing": True} | dict.fromkeys(
    ("first_seen_unix_time", "last_seen_unix_time"), 1000.0
)


@given(
    _JSON
    | st.lists(_JSON)
    | st.lists(st.dictionaries(st.sampled_from([*_ROW, "serial", "wwn"]), _JSON).map(_ROW.__or__))
)
def test_any_saved_value_is_parsed_as_an_inventory(kept: Any) -> None:
    """Whatever JSON can hold, also 1e999."""
    inventory = Inventory(kept)
    inventory.update([silent("sda"), seen("sdb", serial="S1")], 2000.0, complete=True)
    assert inventory.drives == rebooted(inventory).drives
    assert len(shown(inventory)) == len({(d.label, d.serial) for d in inventory.drives})


@pytest.mark.parametrize(
    "damage",
    [
        *({"label": ""}, {"label": 7}, {"path": None}, {"type": "x" * 257}, {"serial": ""}),
        *({"last_seen_unix_time": 1e999}, {"first_seen_unix_time": -1}, {"missing": "yes"}),
        {"last_seen_unix_time": True},
    ],
    ids=str,
)
def test_a_damaged_row_costs_its_own_drive(
    damage: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    inventory = Inventory([_ROW, _ROW | {"label": "sdb"} | damage, 7])
    assert ["sda"] == [drive.label for drive in inventory.drives]
    assert "2 of 3 drives of the kept inventory cannot be used" in caplog.text


@pytest.mark.parametrize("kept", [{}, "x", 7])
def test_an_invalid_inventory_is_logged(kept: Any, caplog: pytest.LogCaptureFixture) -> None:
    assert () == Inventory(kept).drives
    assert "all of the kept inventory cannot be used" in caplog.text


def test_a_missing_inventory_is_not_an_error(caplog: pytest.LogCaptureFixture) -> None:
    Inventory()
    assert "" == caplog.text


_SIGHTINGS = st.lists(
    st.tuples(
        st.sampled_from(["sda", "sdb", "sdc"]),
        st.none()
        | st.builds(
            DriveIdentity,
            serial=st.sampled_from([None, "S1", "S2"]),
            wwn=st.sampled_from([None, WWN_1, WWN_2]),
        ),
    ),
    unique_by=lambda each: each[0],
)


@given(st.lists(st.tuples(_SIGHTINGS, st.booleans()), max_size=6))
def test_label_and_serial_number_are_one_drive_and_what_answers_is_there(
    looks: list[tuple[list[tuple[str, DriveIdentity | None]], bool]],
) -> None:
    inventory = Inventory()
    for number, (found, complete) in enumerate(looks):
        sightings = [Sighting(Address(f"/dev/{n}", "sat"), n, who) for n, who in found]
        inventory.update(sightings, 1000.0 + number, complete=complete)
        drives = inventory.drives
        assert len(drives) == len({(drive.label, drive.serial) for drive in drives})
        answering = {name for name, who in found if who is not None}
        assert answering <= {drive.label for drive in drives if not drive.missing}
        if complete:
            assert {name for name, _ in found} >= {d.label for d in drives if not d.missing}
        inventory = rebooted(inventory)
        assert drives == inventory.drives


def keyed(inventory: Inventory) -> dict[str, tuple[str | None, str]]:
    inventory.assign_keys()
    return {drive.label: (drive.key, drive.former_key) for drive in inventory.drives}


def test_a_drive_with_a_wwn_of_its_own_has_it_as_key() -> None:
    assert {"sda": (WWN_1, ""), "sdb": (WWN_2, "")} == keyed(with_two())


def shared(*sightings: Sighting) -> Inventory:
    inventory = Inventory()
    inventory.update(sightings, 1000.0, complete=True)
    return inventory


def test_two_drives_with_one_wwn_have_two_keys() -> None:
    inventory = shared(seen("sda", wwn=WWN_1, serial="S1"), seen("sdb", wwn=WWN_1, serial="S2"))
    assert {"sda": (f"{WWN_1} S1", ""), "sdb": (f"{WWN_1} S2", "")} == keyed(inventory)


def test_two_drives_with_one_model_and_serial_number_have_two_keys() -> None:
    inventory = shared(seen("sda", serial="S1"), seen("sdb", serial="S1"))
    assert {"sda": ("X700 S1", ""), "sdb": ("X700 S1 @/dev/sdb sat", "")} == keyed(inventory)
    again = rebooted(inventory)
    again.update([seen("sdb", serial="S1"), seen("sda", serial="S1")], 2000.0, complete=True)
    assert keyed(inventory) == keyed(again)


def test_a_drive_without_names_has_no_key() -> None:
    assert {"sda": (None, "")} == keyed(shared(seen("sda")))


def test_a_drive_keeps_its_key_if_a_later_drive_has_its_wwn() -> None:
    inventory = shared(seen("sda", wwn=WWN_1, serial="S1"))
    assert {"sda": (WWN_1, "")} == keyed(inventory)
    later = [seen("sdc", wwn=WWN_1, serial="S1"), seen("sda", wwn=WWN_1, serial="S2")]
    inventory.update(later, 2000.0, complete=True)
    assert {"sdc": (WWN_1, ""), "sda": (f"{WWN_1} S2", "")} == keyed(rebooted(inventory))


def of_earlier_version(inventory: Inventory) -> Inventory:
    """The inventory that a version without keys has stored."""
    rows = inventory.to_state()
    for row in rows:
        del row["key"], row["former_key"]
    return Inventory(json.loads(json.dumps(rows)))


def test_drives_of_an_earlier_version_have_the_key_of_their_history_if_it_is_their_own() -> None:
    assert {"sda": (WWN_1, ""), "sdb": (WWN_2, "")} == keyed(of_earlier_version(with_two()))


def test_drives_of_an_earlier_version_that_shared_a_history_know_its_key() -> None:
    before = shared(seen("sda", wwn=WWN_1, serial="S1"), seen("sdb", wwn=WWN_1, serial="S2"))
    after = rebooted(of_earlier_version(before))
    assert {"sda": (f"{WWN_1} S1", WWN_1), "sdb": (f"{WWN_1} S2", WWN_1)} == keyed(after)
    assert keyed(after) == keyed(rebooted(after))


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["sda", "sdb", "sdc"]),
            st.none() | st.sampled_from([WWN_1, WWN_2]),
            st.none() | st.sampled_from(["S1", "S2", "s" * 256]),
        ),
        unique_by=lambda row: row[0],
    )
)
def test_no_two_drives_have_one_key(rows: list[tuple[str, str | None, str | None]]) -> None:
    inventory = Inventory()
    names = [{"wwn": wwn or "", "serial": serial or ""} for _, wwn, serial in rows]
    sightings = [seen(row[0], **who) for row, who in zip(rows, names, strict=True)]
    inventory.update(sightings, 1000.0, complete=True)
    inventory.assign_keys()
    keys = [drive.key for drive in inventory.drives if drive.key is not None]
    assert len(keys) == len(set(keys))
    assert inventory.drives == rebooted(inventory).drives
