"""The agent without one of its capabilities."""

from collections.abc import Iterator

import pytest

from rigs.lab.vm import drives
from rigs.lab.vm.host import Host, up

_UNIT = "ssd-smart-agent.service"
_DROP_IN = f"/run/systemd/system/{_UNIT}.d/lab.conf"


@pytest.fixture
def without(request: pytest.FixtureRequest, host: Host) -> Iterator[str]:
    """Name of the missing capability."""
    name: str = request.param
    shown = host.machine.output(
        "systemctl", "show", "--value", "-p", "CapabilityBoundingSet", _UNIT
    )
    complete = set(up(host.page()))
    kept = " ".join(each for each in shown.split() if each != name)
    assert kept != shown.strip(), f"the unit has no {name}"
    host.machine.write(
        _DROP_IN, f"[Service]\nCapabilityBoundingSet=\nCapabilityBoundingSet={kept}\n"
    )
    _restart(host)
    yield name
    host.machine.output("rm", _DROP_IN)
    _restart(host)
    # Until each drive has answered once, the page has only those that have.
    host.await_page(lambda page: set(up(page)) >= complete and {1.0} == set(up(page).values()))


def _restart(host: Host) -> None:
    # smartctl must create the device node again, and the documents are outdated.
    host.restart_agent()


@pytest.mark.parametrize("without", ["cap_sys_rawio"], indirect=True)
def test_a_missing_capability_for_sata_is_not_reported_as_missing_smart(
    host: Host, without: str
) -> None:
    host.await_page(
        lambda page: (
            {0.0}
            == {
                v
                for labels, v in page.find("ssd_smart_available")
                if labels["serial"] in drives.SATA
            }
        )
    )
    checked = host.check()
    for serial in drives.SATA:
        (text,) = checked.texts(serial)
        assert without.upper() in text


@pytest.mark.parametrize("without", ["cap_sys_admin"], indirect=True)
def test_a_missing_capability_for_nvme_is_reported(host: Host, without: str) -> None:
    asked = {drives.NVME, drives.NVME_NEXT, *drives.SOFT}
    host.await_page(
        lambda page: any(
            labels["result"] == "refused" and value
            for labels, value in page.find("ssd_smart_polls_total", serial=drives.SOFT_WORN)
        )
    )
    checked = host.check()
    for serial in asked & checked.drives.keys():
        (text,) = checked.texts(serial)
        assert "Permission denied" in text
        assert without.upper() in text
    for serial in drives.SATA:
        assert [] == checked.texts(serial)
