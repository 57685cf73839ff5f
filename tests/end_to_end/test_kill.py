"""kill -9 of the daemon and the agent at random moments.

The environment variable SSD_ROUNDS sets the number of rounds; the default is 20.
"""

import json
import os
import random
import signal
import sqlite3
import time
from pathlib import Path

from rigs.devices import smart_reports
from tests.duration import PATIENCE_SECONDS
from tests.end_to_end.agent import Agent
from tests.end_to_end.daemon import Daemon
from tests.end_to_end.made_up import MadeUpDrives
from tests.end_to_end.page import Page
from tests.end_to_end.waiting import await_page, up

ROUNDS = int(os.environ.get("SSD_ROUNDS", "20"))
DRIVES = 6

#: Maximum time between two kills, in seconds. The start of the daemon is shorter.
LATEST_SECONDS = 1.5

#: The ages of the drive in its two reports, which differ in every tested value.
AGES = (0, 5000)

#: The smallest number of values that a page shows of a drive.
FEWEST_VALUES = 5

#: Serial number of a drive that is removed before the first kill.
GONE = "RIGN000099"


def values(page: Page, device: str) -> dict[str, float]:
    """Returns the SMART values of a drive on a page."""
    names = (
        *("ssd_smart_temperature_celsius", "ssd_smart_power_on_seconds_total"),
        *("ssd_smart_media_errors_total", "ssd_smart_host_written_bytes_total"),
        *("ssd_smart_host_read_bytes_total", "ssd_smart_power_cycles_total"),
        *("ssd_ata_attribute_raw",),
    )
    return {
        f"{name}{sorted(labels.items())}": value
        for name in names
        for labels, value in page.find(name, device=device)
    }


def check_kept(state: Path, known: set[str]) -> None:
    """Asserts that the state is complete and lost no known drive; updates `known`."""
    history = state / "history.sqlite"
    if history.exists() and history.stat().st_size:
        connection = sqlite3.connect(history)
        try:
            assert [("ok",)] == connection.execute("PRAGMA integrity_check").fetchall()
        finally:
            connection.close()
    if (state / "state.json").exists():
        kept = json.loads((state / "state.json").read_text())
        serials = {drive["serial"] for drive in kept.get("inventory") or []}
        assert known <= serials
        known |= serials
    assert [] == list(state.glob("*.kept-*")), "a file was set aside as damaged"


class Scene:
    """The agent, the daemon that reads its documents, and drives with two reports each.

    whole: the values of each drive on an undisturbed page, once per report.
    """

    def __init__(self, root: Path) -> None:
        self.drives = MadeUpDrives(root / "drives", DRIVES)
        self.gone = self.drives.plug(99, smart_reports.of(99))
        flags = self.drives.flags
        self.agent = Agent(
            root / "agent", self.drives.directory, *flags, config=self.drives.config()
        )
        self.daemon = Daemon(root / "daemon", *flags, config=self.drives.config("directory"))
        self.whole: dict[str, list[dict[str, float]]] = {name: [] for name in self.drives.names}
        self.pages = self.shown = 0

    def learn(self) -> None:
        """Fills `whole` with the values of both reports. Between them, a drive is removed."""
        for age in AGES:
            for number in range(DRIVES):
                self.drives.says(f"rig{number}", smart_reports.of(number, age))
            with self.agent, self.daemon:
                there = len(self.drives.names)
                self.agent.settled(there)
                # The documents of the first report are still there at the second start.
                page = await_page(
                    self.daemon,
                    lambda page: there == sum(up(page).values()) and self._is_new(page),  # noqa: B023
                )
                for name in self.drives.names:
                    self.whole[name].append(values(page, name))
            if age == AGES[0]:
                self.drives.pull(self.gone)
        for number in range(DRIVES):
            self.drives.says(f"rig{number}", *(smart_reports.of(number, age) for age in AGES))

    def _is_new(self, page: Page) -> bool:
        """True if the page has values of all drives, and none of the report before.

        A drive can be up before its values are shown.
        """
        shown = {name: values(page, name) for name in self.drives.names}
        return all(
            len(found) >= FEWEST_VALUES and found not in self.whole[name]
            for name, found in shown.items()
        )

    def watch(self, seconds: float) -> None:
        """Asserts that each page shows all values of one report of a drive, or none."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if not self.daemon.is_ready():
                time.sleep(0.01)
                continue
            page = self.daemon.page()
            self.pages += 1
            for name in self.drives.names:
                shown = values(page, name)
                assert not shown or shown in self.whole[name], (name, shown)
                self.shown += bool(shown)

    def watch_until_shown(self) -> None:
        """Watches until a further page shows values of all drives, on a machine of any speed."""
        until, wanted = time.monotonic() + PATIENCE_SECONDS, self.shown + DRIVES
        while self.shown < wanted:
            assert time.monotonic() < until, self.daemon.log
            self.watch(0.1)

    def kill(self, *victims: Agent | Daemon) -> None:
        """Sends SIGKILL to all victims at once, and asserts that all documents are valid JSON."""
        for victim in victims:
            assert victim.process.poll() is None, victim.log
            victim.process.send_signal(signal.SIGKILL)
        for victim in victims:
            victim.process.wait()
        for file in self.drives.directory.glob("*.json"):
            json.loads(file.read_text())

    def close(self) -> None:
        for each in (self.agent, self.daemon):
            each.kill()


def test_kill_9_at_any_moment_leaves_complete_documents_and_state(
    tmp_path: Path,
) -> None:
    """Each drive has two sets of values; a page shows one complete set or none."""
    chance = random.Random(seed := random.randrange(1 << 32))
    print(f"seed {seed}")
    scene, known = Scene(tmp_path), set[str]()
    scene.learn()
    assert all(
        min(len(one), len(other)) >= FEWEST_VALUES and one != other
        for name in scene.drives.names
        for one, other in [scene.whole[name]]
    )
    check_kept(scene.daemon.state, known)
    assert DRIVES + 1 == len(known)
    assert GONE in known

    both: tuple[Agent | Daemon, ...] = scene.agent, scene.daemon
    for each in both:
        each.launch()
    try:
        for number in range(ROUNDS):
            scene.watch(chance.uniform(0, LATEST_SECONDS))
            if number % 2:
                scene.watch_until_shown()
            victims = [each for each in both if chance.random() < 0.6] or [scene.daemon]
            scene.kill(*victims)
            if scene.daemon in victims:
                check_kept(scene.daemon.state, known)
            for victim in victims:
                victim.launch()
    finally:
        scene.close()
    assert scene.shown >= DRIVES * (ROUNDS // 2)

    with scene.agent, scene.daemon:
        scene.agent.settled(DRIVES)
        all_up = {**dict.fromkeys(scene.drives.names, 1.0), scene.gone: 0.0}
        page = await_page(scene.daemon, lambda page: all_up == up(page))
        assert 0 == page.value("ssd_device_up", device=scene.gone, serial=GONE)
        assert 0 == scene.daemon.stop()
    check_kept(scene.daemon.state, known)
    assert [] == [line for line in scene.agent.complaints if "level=error" in line]
