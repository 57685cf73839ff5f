"""Exporters on simulated hosts, Debian's Prometheus and Alertmanager, and a webhook receiver.

Rules and routes are those of alerts/, with their times divided by `FACTOR`. `perform` plays the
scenes.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import yaml

from tests.alerts.rules import ALERTS, RULE_FILES
from tests.duration import ahead_of_other_work
from tests.end_to_end import alerting_shortened as shortened
from tests.end_to_end import daemon as process
from tests.end_to_end.alerting_counters import running
from tests.end_to_end.alerting_host import CONFIG, Host, Kind
from tests.end_to_end.alerting_manager import Alertmanager, Held
from tests.end_to_end.alerting_shortened import FACTOR
from tests.end_to_end.daemon import Daemon
from tests.end_to_end.prometheus import Prometheus
from tests.end_to_end.webhook import Notice, Receiver, receiving
from tests.ports import free_ports

#: Four intervals fit into the shortest range of the rules, which is two minutes before shortening.
SCRAPE_SECONDS = 0.5

#: The maximum age of a value that Prometheus uses: the default of five minutes divided by `FACTOR`.
_LOOKBACK = "--query.lookback-delta=5s"

_LOOK_SECONDS = 0.25

#: A filesystem in memory.
_MEMORY = "/dev/shm"

#: Number of exporters that start at the same time, because the machine may have only two cores.
_AT_A_TIME = 3


class Until(NamedTuple):
    """A condition that a scene waits for, and its description."""

    what: str
    is_so: Callable[[], bool]


@dataclass(frozen=True, slots=True)
class Event:
    """One alert in one notification: its receiver and its device."""

    receiver: str
    alert: str
    device: str
    status: str


@dataclass(frozen=True, slots=True)
class Scene:
    """A fault on a separate host.

    play: breaks and repairs the host, and yields the conditions that it waits for.
    events: all events that the receiver gets from the host.
    is_ordered: False if its alerts depend on different groups of rules. Then only the order of the
        events of each alert is compared.
    says: the text of the first alert, besides its drive.
    prepared: changes the host before its exporter starts; more of the exporter's settings.
    """

    name: str
    kind: Kind
    play: "Callable[[Act], Iterator[Until]]"
    events: tuple[Event, ...]
    says: str = ""
    prepared: Callable[[Host], str] = lambda _: ""
    flags: Callable[[Host], tuple[str, ...]] = lambda _: ()
    is_ordered: bool = True


@dataclass(slots=True)
class Act:
    """A running scene.

    waits_for: the current condition; empty at the end. again: restarts the exporter on its port.
    drive: model and serial number of the drive that breaks, before its replacement.
    inhibited: the inhibited alerts, and the alerts that inhibited them, when the play checked.
    """

    scene: Scene
    host: Host
    daemon: Daemon
    receiver: Receiver
    manager: Alertmanager
    again: Callable[[], Daemon]
    drive: tuple[str, str]
    waits_for: str = "its turn"
    seconds: float = 0.0
    inhibited: dict[str, frozenset[str]] = field(default_factory=dict)

    @property
    def notices(self) -> list[Notice]:
        return self.receiver.notices(self.host.name)

    @property
    def events(self) -> list[Event]:
        return [Event(*notice.event) for notice in self.notices]

    def fires(self, alert: str) -> Until:
        return self._heard(alert, "firing")

    def is_resolved(self, alert: str) -> Until:
        return self._heard(alert, "resolved")

    def holds_back(self, by: str, *alerts: str) -> Until:
        """All of these alerts fire and are inhibited by another one."""

        def is_so() -> bool:
            held = [each for each in self._held() if by in each.by]
            self.inhibited |= {each.alert: each.by for each in held}
            return set(alerts) <= {each.alert for each in held}

        return Until(f"{by} holds back {', '.join(alerts)}", is_so)

    def is_over(self, *alerts: str) -> Until:
        """None of these alerts fires any longer, inhibited or not."""

        def is_so() -> bool:
            return not {each.alert for each in self._held()} & set(alerts)

        return Until(f"{', '.join(alerts)} to end", is_so)

    def after(self, seconds: float) -> Until:
        end = time.monotonic() + seconds
        return Until(f"{seconds} s to pass", lambda: time.monotonic() >= end)

    def replaces(self, device: str, drive: str) -> Iterator[Until]:
        """Replaces a drive as in alerts/runbooks/replacing-a-drive.md: remove, forget, insert."""
        serial = self.host.drives.identity(drive)[1]
        self.host.unmounts(device)
        self.host.drives.pull(device, drive)
        yield Until(f"{serial} to be forgotten", lambda: self._forgets(serial))
        self.host.drives.plug(device, drive, f"NEW{serial[3:]}")
        self.host.mounts_again()

    def _heard(self, alert: str, status: str) -> Until:
        def is_so() -> bool:
            return any((alert, status) == (each.alert, each.status) for each in self.events)

        return Until(f"{alert}, {status}", is_so)

    def _held(self) -> list[Held]:
        return self.manager.holds(self.host.name)

    def _forgets(self, serial: str) -> bool:
        ours = [each for each in self.host.flags if not each.startswith("--smartctl")]
        directory = self.daemon.state
        argv = process.command(directory.parent, f"--state.directory={directory}", *ours)
        argv = [each for each in argv if not each.startswith("--web.")]
        argv[3:3] = ["forget", serial]
        return process.run(argv)[0] == 0


@dataclass(frozen=True, slots=True)
class Stage:
    """All processes of the test."""

    acts: tuple[Act, ...]
    receiver: Receiver
    prometheus: Prometheus
    manager: Alertmanager


@contextmanager
def stage(directory: Path, scenes: Sequence[Scene]) -> Iterator[Stage]:
    """Starts all processes and waits until every host is scraped and every rule is evaluated.

    A minute of the rules is a second of the test, so a process that waits a second for a CPU or a
    disk would change the result. Therefore the processes run ahead of other work, and what they
    write several times a second is in memory. All together need a fifth of two cores.
    """
    with ExitStack() as stack:
        stack.enter_context(ahead_of_other_work())
        memory = Path(stack.enter_context(TemporaryDirectory(prefix="ssd-alerting-", dir=_MEMORY)))
        receiver = stack.enter_context(receiving())
        # Before the counters advance: reading YAML takes a second, in which they would not advance.
        _write_rules(directory / "rules")
        manager = Alertmanager(memory / "alertmanager", _routes(receiver.address))
        stack.enter_context(manager)
        hosts = [
            Host(each.name, each.kind, directory / each.name, memory / each.name) for each in scenes
        ]
        stack.enter_context(running(each.counters for each in hosts))

        def act(scene: Scene, host: Host) -> Act:
            config = CONFIG + scene.prepared(host)
            flags = (*host.flags, *scene.flags(host))
            place = host.place / "daemon"
            # Not a port of the kernel's choice, which another process may get before the restart.
            (port,) = free_ports(1)
            daemon = stack.enter_context(Daemon(place, *flags, config=config, port=port))

            def again() -> Daemon:
                return stack.enter_context(Daemon(place, *flags, config=config, port=daemon.port))

            drive = host.drives.identity(scene.kind.breaks)
            return Act(scene, host, daemon, receiver, manager, again, drive)

        with ThreadPoolExecutor(_AT_A_TIME) as pool:
            acts = list(pool.map(act, scenes, hosts))
        config = _prometheus(directory / "rules", manager.address, acts)
        prometheus = Prometheus(memory / "prometheus", "", _LOOKBACK, config=config)
        stack.enter_context(prometheus)
        prometheus.wait_for(f"sum(up) == {len(acts)}")
        yield Stage(tuple(acts), receiver, prometheus, manager)


def perform(acts: Sequence[Act], seconds: float) -> None:
    """Plays all scenes concurrently, each to its end or until the timeout in seconds."""
    begun = time.monotonic()
    plays = [(act, act.scene.play(act)) for act in acts]
    waiting = {act.scene.name: next(play, None) for act, play in plays}
    while any(waiting.values()) and time.monotonic() - begun < seconds:
        for act, play in plays:
            until = waiting[act.scene.name]
            while until is not None and until.is_so():
                until = waiting[act.scene.name] = next(play, None)
                act.seconds = time.monotonic() - begun
            act.waits_for = "" if until is None else until.what
        time.sleep(_LOOK_SECONDS)


def _routes(receiver: str) -> str:
    document = yaml.safe_load((ALERTS / "examples" / "alertmanager.yml").read_text())
    text = yaml.safe_dump(shortened.routes(document, FACTOR), sort_keys=False)
    return text.replace("http://127.0.0.1:9095/", f"http://{receiver}/")


def _write_rules(place: Path) -> None:
    place.mkdir()
    for path in RULE_FILES:
        document = yaml.safe_load(path.read_text())
        text = yaml.safe_dump(shortened.rules(document, FACTOR, SCRAPE_SECONDS), sort_keys=False)
        (place / path.name).write_text(text)


def _prometheus(rules: Path, manager: str, acts: Sequence[Act]) -> str:
    """Returns the example's configuration with the rules, Alertmanager and targets of the test."""
    targets = [
        {"targets": [f"127.0.0.1:{act.daemon.port}"], "labels": {"instance": act.host.name}}
        for act in acts
    ]
    found: dict[str, Any] = yaml.safe_load((ALERTS / "examples" / "prometheus.yml").read_text())
    every = f"{SCRAPE_SECONDS * 1000:.0f}ms"
    found["global"] = {
        "scrape_interval": every,
        "scrape_timeout": every,
        "evaluation_interval": shortened.duration(found["global"]["evaluation_interval"], FACTOR),
    }
    found["rule_files"] = [str(rules / "*.yml")]
    found["alerting"]["alertmanagers"] = [{"static_configs": [{"targets": [manager]}]}]
    found["scrape_configs"] = [
        {"job_name": each["job_name"], "static_configs": targets}
        for each in found["scrape_configs"]
    ]
    return yaml.safe_dump(found, sort_keys=False)
