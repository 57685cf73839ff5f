"""Firmware with known defects: drives with a defective release are detected, fixed ones are not."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.drives.firmware import FIRMWARE_RULES, FirmwareIssue, firmware_issues
from exporter.drives.health import DriveHealth, DriveIdentity

HOUR = 3600.0

#: A drive for each rule: name, model, a defective release, and releases without the defect.
AFFECTED = (
    ("hpe-sas-32768-hours", "HP VO0480JFDGT", "HPD6", ("HPD8", "HPD9", "HPDA")),
    ("hpe-sas-32768-hours", "VO015300JWSSV", "HPD1", ("HPD8",)),
    ("hpe-sas-40000-hours", "HPE MO1600JVYPR", "HPD6", ("HPD7", "HPD8")),
    ("sandisk-sas-40000-hours", "SanDisk LT0400MO", "D413", ("D417", "D418", "D420")),
    ("crucial-m4-5184-hours", "M4-CT256M4SSD2", "0009", ("0309", "000F", "040H", "070H")),
    ("samsung-980-pro-read-only", "Samsung SSD 980 PRO 2TB", "3B2QGXA7", ("5B2QGXA7", "4B2QGXA7")),
    ("samsung-990-pro-health", "Samsung SSD 990 PRO 1TB", "0B2QJXD7", ("1B2QJXD7", "4B2QJXD7")),
)


def found(
    model: str | None, firmware: str | None, health: DriveHealth | None = None
) -> tuple[FirmwareIssue, ...]:
    return firmware_issues(DriveIdentity(model=model, firmware=firmware), health or DriveHealth())


@pytest.mark.parametrize(("name", "model", "firmware", "fixed"), AFFECTED)
def test_only_defective_releases_have_an_issue(
    name: str, model: str, firmware: str, fixed: tuple[str, ...]
) -> None:
    assert [name] == [issue.name for issue in found(model, firmware)]
    for release in fixed:
        assert () == found(model, release)


def test_every_rule_of_the_table_is_exercised_above() -> None:
    assert {rule.name for rule in FIRMWARE_RULES} == {name for name, *_ in AFFECTED}


def test_the_table_is_consistent() -> None:
    for rule in FIRMWARE_RULES:
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule.name)
        assert rule.source
        assert "install" in rule.advice


@pytest.mark.parametrize(
    ("model", "firmware"),
    [
        ("HPE VO000960RWUFB", "HPD4"),  # another HPE model
        ("EK0800JVYPN", "HPD7"),
        ("VO0480JFDGTX", "HPD4"),
        ("Samsung SSD 980 1TB", "3B2QGXA7"),
        ("Samsung SSD 990 EVO 2TB", "0B2QJXD7"),
        ("CT256M550SSD1", "0009"),
        ("MTFDDAK128MAM-1J1", "0809"),
        ("Samsung SSD 980 PRO 2TB", None),
        (None, "3B2QGXA7"),
        ("", ""),
    ],
)
def test_other_drives_have_no_issue(model: str | None, firmware: str | None) -> None:
    assert () == found(model, firmware)


@pytest.mark.parametrize(
    ("age_hours", "hours_left"), [(32_000.0, 768.0), (32_768.0, 0.0), (50_000.0, 0.0)]
)
def test_hours_left_until_a_defect_with_an_age(age_hours: float, hours_left: float) -> None:
    (issue,) = found("VO1920JFDGV", "HPD2", DriveHealth(power_on_seconds=age_hours * HOUR))
    assert hours_left == issue.hours_left


def test_hours_left_are_none_without_an_age() -> None:
    (ageless,) = found("VO1920JFDGV", "HPD2")
    assert ageless.hours_left is None
    (timeless,) = found("Samsung SSD 990 PRO 2TB", "0B2QJXD7", DriveHealth(power_on_seconds=HOUR))
    assert timeless.hours_left is None


@given(st.none() | st.text(max_size=40), st.none() | st.text(max_size=16))
def test_any_model_and_release_yield_known_issues(model: str | None, firmware: str | None) -> None:
    for issue in found(model, firmware):
        assert issue.name in {rule.name for rule in FIRMWARE_RULES}
