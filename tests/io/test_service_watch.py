"""Reading the services of a host again and again, from files, and what is said without them."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from exporter.config.settings import CgroupSettings, Paths, Settings
from exporter.io.service_watch import REFRESH_SECONDS, ServiceWatch
from exporter.io.services import OTHER
from exporter.runtime.errors import NotAvailable
from tests.fakes import FakeClock
from tests.linux.test_cgroup_services import enable, service


class Host:
    """A host with the drive sda, whose services are read every ten seconds."""

    def __init__(self, sys: Path) -> None:
        self.root = sys / "fs/cgroup"
        self.clock = FakeClock()
        self.settings = Settings(path=Paths(sysfs=sys))
        devices = {"sda": SimpleNamespace(block=SimpleNamespace(number="8:0"))}
        topology = SimpleNamespace(devices=devices, servers=())
        self.watch = ServiceWatch(
            self.clock,
            lambda: self.settings,
            lambda: topology,  # type: ignore[arg-type,return-value]
            lambda _: True,
        )

    def enable(self) -> "Host":
        enable(self.root)
        (self.root / "cgroup.controllers").write_text("io memory\n")
        service(enable(self.root / "system.slice"), "")
        return self

    def read(self, **megabytes: int) -> dict[str, float]:
        """Returns the MB/s of each service after an interval in which they read this much."""
        for name, amount in megabytes.items():
            group = self.root / "system.slice" / f"{name}.service"
            before = int((group / "io.stat").read_text().split()[1][7:]) if group.exists() else 0
            text = f"8:0 rbytes={before + amount * 1_000_000} wbytes=0 rios=0 wios=0\n"
            service(group, text)
        self.clock.advance(10)
        self.watch.refresh()
        return {rate.service: rate.bytes / 1e6 for rate in self.watch.rates.get("sda", ())}


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def test_rates_of_the_last_interval(host: Host) -> None:
    host.enable()
    assert {} == host.read(mysql=500, backup=100)
    assert {"mysql.service": 141, "backup.service": 90} == host.read(mysql=1410, backup=900)
    assert {"backup.service": 9} == host.read(backup=90)
    assert {} == host.read()
    assert ("", REFRESH_SECONDS) == (host.watch.problem, host.watch.refresh_seconds)


def test_a_service_that_is_restarted_does_not_count_twice(host: Host) -> None:
    host.enable().read(mysql=500)
    (host.root / "system.slice/mysql.service/io.stat").unlink()
    (host.root / "system.slice/mysql.service").rmdir()
    host.read()
    assert {"mysql.service": 1} == host.read(mysql=10)
    assert {"mysql.service": 2} == host.read(mysql=20)


def test_a_configured_group_is_always_named(host: Host) -> None:
    host.enable()
    host.settings = replace(
        host.settings,
        cgroup=CgroupSettings(groups=("system.slice/small.service",), services=1),
    )
    for _ in range(3):
        host.read(a=900, b=800, small=3)
    assert ["a.service", "small.service", OTHER] == [n for n, _ in host.watch.totals["sda"]]


def test_a_host_without_cgroup_v2_has_a_problem_that_says_so(host: Host) -> None:
    host.root.mkdir(parents=True)
    with pytest.raises(NotAvailable):
        host.read()
    assert "no cgroup v2 with the io controller" in host.watch.problem
    assert 120 == host.watch.refresh_seconds


def test_services_without_accounting_are_counted_together(host: Host) -> None:
    host.enable()
    enable(host.root / "system.slice", "memory")
    service(host.root / "system.slice", "8:0 rbytes=0 wbytes=0 rios=0 wios=0\n")
    host.read()
    service(host.root / "system.slice", "8:0 rbytes=50000000 wbytes=0 rios=0 wios=0\n")
    assert {"system.slice": 5} == host.read()
    assert "DefaultIOAccounting=yes" in host.watch.problem


def test_the_ranking_can_be_disabled(host: Host) -> None:
    host.enable()
    host.settings = replace(host.settings, cgroup=CgroupSettings(services=0))
    host.read(a=100)
    assert ({}, {}) == (host.read(a=100), host.watch.totals)
