"""Detection of missing capabilities for drives behind a MegaRAID controller."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.commands import megaraid_rights
from exporter.drives.watched_drive import WatchedDrive

#: The bits of linux/capability.h.
ADMIN, MKNOD = 1 << 21, 1 << 27


@pytest.mark.parametrize(
    ("held", "has_node", "expected"),
    [
        (0, False, ("CAP_SYS_ADMIN", "CAP_MKNOD")),
        (0, True, ("CAP_SYS_ADMIN",)),
        (ADMIN, False, ("CAP_MKNOD",)),
        (ADMIN, True, ()),
        (MKNOD, False, ("CAP_SYS_ADMIN",)),
        (ADMIN | MKNOD, False, ()),
    ],
)
def test_the_missing_capabilities_depend_on_the_node(
    held: int, has_node: bool, expected: tuple[str, ...]
) -> None:
    status = f"Name:\tpython\nCapPrm:\t{2**41 - 1:016x}\nCapEff:\t{held:016x}\nCapBnd:\t0\n"
    assert expected == megaraid_rights.parse_missing(status, has_node=has_node)


@pytest.mark.parametrize("text", ["", "CapEff:", "CapEff:\tz\n", "CapEff\t0\n", "CapPrm:\t0\n"])
def test_unknown_capabilities_are_not_missing(text: str) -> None:
    assert () == megaraid_rights.parse_missing(text, has_node=False)


@given(st.text(), st.booleans())
def test_any_text_gives_capabilities_or_none(text: str, has_node: bool) -> None:
    missing = megaraid_rights.parse_missing(text, has_node=has_node)
    assert {"CAP_SYS_ADMIN", "CAP_MKNOD"} >= {*missing}


def test_without_the_status_file_no_capability_is_missing(tmp_path: Path) -> None:
    assert () == megaraid_rights.missing_capabilities(tmp_path, tmp_path)


def test_a_drive_with_another_reason_keeps_it() -> None:
    """Only a drive that did not answer at all may want the rights: one that hangs was reached."""
    drives = [
        WatchedDrive("bus/0:megaraid,1", "", "/dev/bus/0 -d megaraid,1", polls={"timed_out": 1}),
        WatchedDrive("sg0:cciss,1", "", "/dev/sg0 -d cciss,1", polls={"no_answer": 1}),
        WatchedDrive("sda", "", "/dev/sda -d sat", is_missing=True),
    ]
    assert drives == megaraid_rights.with_missing_rights(drives, ("CAP_SYS_ADMIN",))
