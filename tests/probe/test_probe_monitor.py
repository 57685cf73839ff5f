"""What the page says of probes as a whole."""

from pathlib import Path

from exporter.config.gate_rules import GateRules
from exporter.config.settings import Paths, ProbeSettings, Settings
from exporter.families.desc import Sample
from exporter.io.probe_windows import ProbeWindows
from exporter.metrics.probe_samples import samples
from exporter.probe.probe_monitor import ProbeMonitor
from exporter.runtime.collector_status import CollectorStatus
from tests.fakes import FakeRunner
from tests.probe.probing import FakeFio, Rig


def monitor(rig: Rig, fio: FakeFio, saved: object = None) -> ProbeMonitor:
    settings = Settings(
        path=Paths(procfs=rig.host.proc, sysfs=rig.host.sys.root, rootfs=rig.state),
        probe=ProbeSettings(
            directory=(rig.path,), gate=GateRules(free_bytes=0, free_ratio=0), first_delay_seconds=0
        ),
    )
    seen = rig.topology()
    return ProbeMonitor(
        settings,
        rig.clock,
        CollectorStatus(rig.clock),
        runner=FakeRunner(),
        boot_id="boot",
        state_directory=rig.state,
        saved=saved,
        windows=ProbeWindows(),
        topology=lambda: seen,
        busy_seconds=lambda _device: 0.0,
        identity=lambda device: device,
        health=lambda _device: None,
        fio=lambda: fio,
    )


def stuck(found: ProbeMonitor) -> list[Sample]:
    return [each for each in samples(found) if each.desc.name == "ssd_command_stuck"]


def test_a_fio_that_cannot_be_ended_is_on_the_page_as_long_as_it_is_there(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    fio = FakeFio(rig.clock)
    found = monitor(rig, fio)
    (before,) = stuck(found)
    assert (0, ("fio",)) == (before.value, before.labels), "a rule finds it before the first run"
    found.probe.run_due()
    fio.is_stuck = True
    rig.clock.advance(300.0)
    found.probe.run_due()
    assert [1] == [each.value for each in stuck(found)]
    fio.is_stuck = False
    rig.clock.advance(300.0)
    found.probe.run_due()
    assert [0] == [each.value for each in stuck(found)]


def test_the_times_of_the_last_runs_survive_restarts_without_a_run(tmp_path: Path) -> None:
    """Otherwise a weekly profile would run at every second restart."""
    rig = Rig(tmp_path)
    times = {"burst": rig.clock.wall() - 3600.0, "other": 1.0, "fsync": "x"}
    saved = {"ran_at": {str(rig.path): times, "/elsewhere": times}}
    for _ in range(3):
        saved = monitor(rig, FakeFio(rig.clock), saved).to_state()  # type: ignore[assignment]
    assert {str(rig.path): {"burst": times["burst"]}} == saved["ran_at"]
