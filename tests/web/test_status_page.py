"""The table of the status page."""

from pathlib import Path

from exporter.drives.health import DriveHealth, Endurance, EnduranceSource
from exporter.drives.watched_drive import WatchedDrive
from exporter.web import status_page
from tests.io.machine import ALL_IDLE, Machine
from tests.io.records import NEW


def table(machine: Machine, *drives: WatchedDrive) -> list[tuple[str, ...]]:
    return status_page.device_rows(machine.sampler, None, drives, machine.clock.monotonic())[1:]


def watched(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path)
    machine.disks(NEW)
    machine.cpus(ALL_IDLE)
    machine.waiting(0.0)
    machine.tick()
    return machine


def drive(label: str = "sdx", **known: object) -> WatchedDrive:
    return WatchedDrive(label=label, serial="S1", address=f"/dev/{label} -d sat", **known)  # type: ignore[arg-type]


def test_a_device_without_smart_has_only_its_activity(tmp_path: Path) -> None:
    machine = watched(tmp_path)
    assert [("sdx", "", "ssd", "", "", "0", "0%", "none")] == table(machine)


def test_health_and_wear_are_shown(tmp_path: Path) -> None:
    worn = Endurance(0.31, EnduranceSource.ATA_DEVSTAT)
    fine = drive(up=True, health=DriveHealth(healthy=True, endurance=worn))
    assert [("passed", "31%")] == [row[3:5] for row in table(watched(tmp_path), fine)]


def test_each_problem_has_one_word(tmp_path: Path) -> None:
    machine = watched(tmp_path)
    for its, said in (
        (drive(up=True, health=DriveHealth(healthy=False)), "FAILING"),
        (drive(up=False), "no answer"),
        (drive(up=True, health=DriveHealth(unreadable="a virtual disk")), "no SMART"),
        (drive(up=True, health=DriveHealth(power_mode="standby")), "standby"),
    ):
        assert [said] == [row[3] for row in table(machine, its)]


def test_drives_without_a_block_device_and_missing_drives_come_last(tmp_path: Path) -> None:
    behind = drive("bus/0:megaraid,3", up=True, health=DriveHealth(healthy=True), blocks=("sdx",))
    gone = drive("sdb", is_missing=True)
    rows = table(watched(tmp_path), behind, gone)
    assert [("sdx", ""), ("bus/0:megaraid,3 (sdx)", "passed"), ("sdb", "missing")] == [
        (row[0], row[3]) for row in rows
    ]


def test_a_model_name_can_neither_add_elements_nor_control_a_terminal() -> None:
    page = status_page.render_page("ok\x9b", [("Model",), ("<b>\x1b[31m\u202e\u2028",)])
    assert r"<td>&lt;b&gt;\x1b[31m\u202e\u2028</td>" in page
    assert r"ok\x9b" in page
    assert all(line.isprintable() for line in page.split("\n"))
