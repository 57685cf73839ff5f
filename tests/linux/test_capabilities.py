"""Whether this process may send commands to drives."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.linux import capabilities

#: The bits of linux/capability.h.
RAWIO, ADMIN = 1 << 17, 1 << 21


def status(held: int) -> str:
    return f"Name:\tpython\nCapPrm:\t{2**41 - 1:016x}\nCapEff:\t{held:016x}\nCapBnd:\t0\n"


@pytest.mark.parametrize(
    ("held", "may"),
    [
        (0, False),
        (RAWIO, True),
        (ADMIN, True),
        (2**41 - 1, True),
        ((2**41 - 1) & ~(RAWIO | ADMIN), False),
    ],
)
def test_either_effective_capability_is_sufficient(held: int, may: bool) -> None:
    assert may == capabilities.grants_drive_commands(status(held))


@pytest.mark.parametrize("text", ["", "CapEff:", "CapEff:\tz\n", "CapEff\t3f\n", "CapPrm:\t3f\n"])
def test_unknown_capabilities_grant_nothing(text: str) -> None:
    assert not capabilities.grants_drive_commands(text)


@given(st.text())
def test_any_text_is_true_or_false(text: str) -> None:
    assert capabilities.grants_drive_commands(text) in (True, False)


def test_own_status_file_is_read() -> None:
    with open("/proc/self/status", encoding="utf-8") as file:
        expected = capabilities.grants_drive_commands(file.read())
    assert expected == capabilities.may_send_drive_commands(Path("/proc"))
    with open("/proc/self/status", encoding="utf-8") as file:
        effective = next(int(line.split()[1], 16) for line in file if line.startswith("CapEff:"))
    # CAP_SYS_RAWIO and CAP_SYS_ADMIN: linux/capability.h.
    assert expected == bool(effective & (1 << 17 | 1 << 21))


def test_missing_file_grants_nothing(tmp_path: Path) -> None:
    assert not capabilities.may_send_drive_commands(tmp_path)
    (tmp_path / "self").mkdir()
    (tmp_path / "self/status").mkdir()
    assert not capabilities.may_send_drive_commands(tmp_path)
