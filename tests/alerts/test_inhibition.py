"""Which alert hides which: a table of pairs, with a real Alertmanager and a receiver.

A silenced alert still inhibits. So each pair is tested twice: the first alert fires, or it fires
and is silenced. What is notified of the second must be the same.
"""

import datetime as dt
import json
import re
import urllib.request
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.alerts import rules
from tests.duration import PATIENCE_SECONDS, wait_until
from tests.end_to_end.alerting_manager import Alertmanager
from tests.end_to_end.programs import need
from tests.end_to_end.webhook import Receiver, receiving

CONFIG = rules.ALERTS / "examples" / "alertmanager.yml"
SEVERITY = {alert.name: alert.severity for alert in rules.alerts()}

#: The first alert, the second one, and whether the second is notified.
PAIRS = (
    # A drive that must be replaced may get worse. "Ordered, silenced for two weeks" hides no page.
    ("SSDDriveFailing", "SSDDiskStalled", True),
    ("SSDDriveFailing", "SSDDiskSaturatedSevere", True),
    ("SSDDriveFailing", "SSDFilesystemReadonly", True),
    ("SSDDriveFailing", "SSDSpareExhausted", True),
    ("SSDDriveFailing", "SSDTemperatureCritical", True),
    ("SSDDriveFailing", "SSDDriveLost", True),
    ("SSDDriveFailing", "SSDLinkDegraded", True),
    ("SSDDriveFailing", "SSDMediaErrors", False),
    ("SSDDriveFailing", "SSDWearHigh", False),
    ("SSDDriveLost", "SSDRaidDegraded", True),
    ("SSDDriveLost", "SSDFilesystemReadonly", True),
    ("SSDDriveLost", "SSDWearHigh", False),
    # A state hides the milder state of the same fault, never the other way round.
    ("SSDDiskStalled", "SSDDiskSaturatedSevere", False),
    ("SSDDiskSaturatedSevere", "SSDDiskStalled", True),
    ("SSDFirmwareFailureNear", "SSDFirmwareTimeBomb", False),
    ("SSDFirmwareTimeBomb", "SSDFirmwareFailureNear", True),
    ("SSDDriveReplaced", "SSDDiskStalled", True),
    ("SSDVolumeDetached", "SSDFilesystemReadonly", True),
    ("SSDMediaErrorsRepeated", "SSDMediaErrors", False),
    ("SSDMediaErrors", "SSDMediaErrorsRepeated", True),
    ("SSDTemperatureCritical", "SSDTemperatureHigh", False),
    ("SSDTemperatureHigh", "SSDTemperatureCritical", True),
    ("SSDWearoutSoon", "SSDWearHigh", False),
    ("SSDWearHigh", "SSDWearoutSoon", True),
    ("SSDFilesystemReadonly", "SSDFilesystemErrors", False),
    ("SSDFilesystemErrors", "SSDFilesystemReadonly", True),
    ("SSDFilesystemErrors", "SSDDatabaseFilesystemErrors", True),
    # A host that is down hides tickets, and no page.
    ("SSDExporterDown", "SSDMediaErrors", False),
    ("SSDExporterDown", "SSDDiskStalled", True),
    ("SSDExporterDown", "SSDFailingHostSilent", True),
    ("SSDFailingHostSilent", "SSDExporterDown", False),
    ("SSDFailingHostSilent", "SSDDriveFailing", True),
)

#: The critical alerts that another alert may hide, because it is a worse state of the same fault.
HIDDEN_PAGES = {
    ("SSDDiskStalled", "SSDDiskSaturatedSevere"),
    ("SSDFilesystemReadonly", "SSDDatabaseFilesystemErrors"),
}

#: All alerts of the table concern the same drive and filesystem.
ONE = {"device": "nvme0n1", "serial": "FW1", "model": "F900", "mountpoint": "/var/lib/mysql"}


@cache
def _labels_in_stories() -> dict[str, dict[str, str]]:
    return {
        each.alert: each.alerts[0]["exp_labels"] or {}
        for each in rules.expectations()
        if each.alerts
    }


def _labels(alert: str) -> dict[str, str]:
    """The labels that the alert has in a story."""
    labels = _labels_in_stories()[alert]
    same = {name: value for name, value in ONE.items() if name in labels}
    return {**labels, **same, "alertname": alert, "severity": SEVERITY[alert]}


def _matches(matchers: list[str], labels: dict[str, str]) -> bool:
    for matcher in matchers:
        name, operator, value = re.fullmatch(r'(\w+)(=~|!~|!=|=)"(.*)"', matcher).groups()  # type: ignore[union-attr]
        actual = labels.get(name, "")
        is_equal = bool(re.fullmatch(value, actual)) if "~" in operator else value == actual
        if is_equal == operator.startswith("!"):
            return False
    return True


def test_no_page_is_hidden_except_by_a_worse_state_of_the_same_fault() -> None:
    inhibitions = yaml.safe_load(CONFIG.read_text())["inhibit_rules"]
    hidden = {
        (source, target)
        for source in SEVERITY
        for target in SEVERITY
        if source != target and SEVERITY[target] == "critical"
        for rule in inhibitions
        if _matches(rule["source_matchers"], _labels(source))
        and _matches(rule["target_matchers"], _labels(target))
    }
    assert HIDDEN_PAGES == hidden


def test_every_inhibition_honours_cluster_and_instance() -> None:
    for rule in yaml.safe_load(CONFIG.read_text())["inhibit_rules"]:
        assert ["cluster", "instance"] == rule["equal"][:2]


class Desk:
    """A running Alertmanager with the routes of alerts/, and its receivers."""

    def __init__(self, manager: Alertmanager, receiver: Receiver) -> None:
        self._manager = manager
        self.receiver = receiver

    def fires(self, *alerts: dict[str, str]) -> None:
        self._post("alerts", [{"labels": labels} for labels in alerts])

    def silences(self, labels: dict[str, str]) -> None:
        now = dt.datetime.now(dt.timezone.utc)
        self._post(
            "silences",
            {
                "matchers": [
                    {"name": name, "value": labels[name], "isRegex": False}
                    for name in ("alertname", "instance")
                ],
                "startsAt": now.isoformat(),
                "endsAt": (now + dt.timedelta(hours=1)).isoformat(),
                "createdBy": "dba",
                "comment": "drive ordered",
            },
        )

    def states(self, instance: str) -> dict[str, tuple[bool, bool]]:
        """Whether each alert of a host is inhibited, and whether it is silenced, by name."""
        url = f"http://{self._manager.address}/api/v2/alerts?filter=instance%3D%22{instance}%22"
        with urllib.request.urlopen(url, timeout=PATIENCE_SECONDS) as answer:
            found = json.load(answer)
        return {
            each["labels"]["alertname"]: (
                bool(each["status"]["inhibitedBy"]),
                bool(each["status"]["silencedBy"]),
            )
            for each in found
            if each["status"]["state"] != "unprocessed"
        }

    def knows(self, instance: str, alert: str) -> bool:
        return alert in self.states(instance)

    def has_state(self, instance: str, alert: str, state: tuple[bool, bool]) -> bool:
        return self.states(instance).get(alert) == state

    def has_notified(self, instance: str, alert: str) -> bool:
        return alert in self.notified(instance)

    def notified(self, instance: str) -> set[str]:
        return {notice.alert for notice in self.receiver.notices(instance)}

    def groups(self, instance: str) -> list[dict[str, str]]:
        return [notice.group for notice in self.receiver.notices(instance)]

    def _post(self, path: str, body: Any) -> None:
        request = urllib.request.Request(
            f"http://{self._manager.address}/api/v2/{path}",
            json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        urllib.request.urlopen(request, timeout=PATIENCE_SECONDS).close()


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    need("prometheus-alertmanager")
    with receiving() as receiver:
        text = CONFIG.read_text().replace("127.0.0.1:9095", receiver.address)
        text = re.sub(r"group_wait: \w+", "group_wait: 1s", text)
        text = re.sub(r"group_interval: \w+", "group_interval: 1s", text)
        with Alertmanager(tmp_path_factory.mktemp("inhibition") / "manager", text) as manager:
            yield Desk(manager, receiver)


def _rows() -> Iterator[tuple[str, str, bool, bool, str]]:
    for number, (first, second, is_notified) in enumerate(PAIRS):
        for is_silenced in (False, True):
            yield first, second, is_notified, is_silenced, f"db{number}{'s' * is_silenced}"


@pytest.mark.real
def test_the_table_of_pairs(desk: Desk) -> None:
    for first, _, _, is_silenced, host in _rows():
        labels = {**_labels(first), "instance": host}
        if is_silenced:
            desk.silences(labels)
        desk.fires(labels)
    for first, _, _, is_silenced, host in _rows():
        wait_until(partial(desk.has_state, host, first, (False, is_silenced)))
    for _, second, _, _, host in _rows():
        desk.fires({**_labels(second), "instance": host})
    wrong = []
    for first, second, is_notified, is_silenced, host in _rows():
        wait_until(partial(desk.knows, host, second))
        is_inhibited = desk.states(host)[second][0]
        if is_inhibited == is_notified:
            wrong.append((first, second, is_silenced))
        if is_notified and SEVERITY[second] != "info":
            wait_until(partial(desk.has_notified, host, second))
    assert [] == wrong
    for first, second, is_notified, is_silenced, host in _rows():
        allowed = {second} if is_notified else set()
        assert desk.notified(host) <= allowed | (set() if is_silenced else {first})


@pytest.mark.real
def test_eight_members_of_a_raid_share_one_page(desk: Desk) -> None:
    labels = {**_labels("SSDDiskSaturatedSevere"), "instance": "raid10"}
    desk.fires(*({**labels, "device": f"sd{n}", "serial": n.upper()} for n in "abcdefgh"))

    def devices() -> set[str]:
        return {notice.labels["device"] for notice in desk.receiver.notices("raid10")}

    wait_until(lambda: devices() == {f"sd{n}" for n in "abcdefgh"})
    assert {"pager"} == {notice.receiver for notice in desk.receiver.notices("raid10")}
    assert 1 == len({tuple(sorted(group.items())) for group in desk.groups("raid10")})


@pytest.mark.real
def test_worn_drives_of_a_model_share_one_ticket(desk: Desk) -> None:
    labels = _labels("SSDWearHigh")
    hosts = [f"worn{n}" for n in range(3)]
    desk.fires(*({**labels, "instance": host} for host in hosts))
    wait_until(lambda: all(desk.receiver.notices(host) for host in hosts))
    groups = [group for host in hosts for group in desk.groups(host)]
    assert 1 == len({tuple(sorted(group.items())) for group in groups})


@pytest.fixture
def in_backup(tmp_path: Path) -> Iterator[Desk]:
    """An Alertmanager for which it is always the time of the nightly backup."""
    need("prometheus-alertmanager")
    with receiving() as receiver:
        document = yaml.safe_load(CONFIG.read_text())
        document["time_intervals"][0]["time_intervals"] = [{"months": ["1:12"]}]
        text = yaml.safe_dump(document).replace("127.0.0.1:9095", receiver.address)
        text = re.sub(r"group_(wait|interval): \w+", r"group_\1: 1s", text)
        with Alertmanager(tmp_path / "manager", text) as manager:
            yield Desk(manager, receiver)


@pytest.mark.real
def test_a_backup_mutes_saturation_of_its_hosts_and_nothing_else(in_backup: Desk) -> None:
    for host, backup in (("dump", {"backup": "nightly"}), ("shop", {})):
        for alert in ("SSDDiskSaturatedSevere", "SSDDriveFailing"):
            in_backup.fires({**_labels(alert), "instance": host, **backup})
    wait_until(lambda: len(in_backup.notified("shop")) == 2)
    wait_until(lambda: in_backup.has_notified("dump", "SSDDriveFailing"))
    assert {"SSDDriveFailing"} == in_backup.notified("dump")


@pytest.mark.real
def test_an_ordered_part_silences_wear_and_no_page_of_a_drive_that_hangs(desk: Desk) -> None:
    wear = {**_labels("SSDWearCritical"), "instance": "ordered"}
    desk.silences(wear)
    desk.fires(wear)
    wait_until(partial(desk.has_state, "ordered", "SSDWearCritical", (False, True)))
    desk.fires({**_labels("SSDDiskStalled"), "instance": "ordered"})
    wait_until(partial(desk.has_notified, "ordered", "SSDDiskStalled"))
    assert {"SSDDiskStalled"} == desk.notified("ordered")


def test_the_labels_of_this_file_exist() -> None:
    assert {name for pair in PAIRS for name in pair[:2]} <= SEVERITY.keys()
    assert Path(CONFIG).exists()
