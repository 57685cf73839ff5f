"""Page and `check` for each kind of healthy drive."""

from pathlib import Path

import pytest

from rigs.lab.vm import drives
from rigs.lab.vm.host import Checked, Host, up
from tests.alerts.page_story import Story

_WITH_SMART = {drives.NVME, *drives.SATA, *drives.SOFT}
_WITHOUT_SMART = {drives.SAS, drives.MEGARAID}


def test_the_package_starts_both_units_and_exports_every_drive_once(
    host: Host, tmp_path: Path
) -> None:
    expected = dict.fromkeys(_WITH_SMART | _WITHOUT_SMART, 1.0)
    page = host.await_page(lambda page: up(page) == expected)
    assert {"ssd-exporter.service": "active", "ssd-smart-agent.service": "active"} == host.units()
    available = {labels["serial"]: v for labels, v in page.find("ssd_smart_available")}
    assert {**dict.fromkeys(_WITH_SMART, 1.0), **dict.fromkeys(_WITHOUT_SMART, 0.0)} == available
    assert [] == [
        line
        for line in host.journal().splitlines()
        if "level=" in line and "level=info" not in line
    ]
    # The SAS disk of QEMU has no SMART; everything else is healthy.
    Story((page, 90)).fires("SSDSmartUnavailable").check(tmp_path)


@pytest.fixture(scope="module")
def checked(host: Host) -> Checked:
    return host.check()


def test_check_succeeds_and_explains_missing_smart(checked: Checked) -> None:
    assert 0 == checked.status, checked
    assert "SSD OK - 14 drives, 5 without SMART" == checked.summary
    for serial in _WITH_SMART:
        assert [] == checked.texts(serial)
    for serial in _WITHOUT_SMART:
        (text,) = checked.texts(serial)
        assert text.startswith("unknown: the drive reports that it does not support SMART")
    (text,) = checked.texts(drives.VIRTIO)
    assert (
        "unknown: it is a virtual disk and has no SMART data; check SMART on the hypervisor" == text
    )


def test_check_reports_an_unknown_usb_bridge(checked: Checked) -> None:
    rows = [row for row in checked.drives.values() if row["serial"] in (None, drives.USB)]
    (problem,) = (problem for row in rows for problem in row["problems"])
    assert problem["text"].startswith("smartctl does not recognize its USB bridge")
