"""A RAID10 of eight drives is overloaded, hangs, and loses a member: one page per host and cause.

promtool evaluates the rules. What fires is sent to a real Alertmanager with the example
configuration, whose notifications a receiver counts.
"""

import datetime as dt
import json
import re
import urllib.request
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from rigs.engines import unit_tests
from tests.alerts import rules
from tests.alerts.page_story import evaluation_order
from tests.duration import PATIENCE_SECONDS, wait_until
from tests.end_to_end.alerting_manager import Alertmanager
from tests.end_to_end.programs import need
from tests.end_to_end.webhook import Receiver, receiving
from tests.processes import run_program

CONFIG = rules.EXAMPLES / "alertmanager.yml"
MEMBERS = tuple(f"sd{letter}" for letter in "abcdefgh")

#: The phases of the story, and the minutes at which they end.
CALM, OVERLOADED, HANGING, DEGRADED = 30, 60, 70, 100

Labels = Mapping[str, str]


def _series(name: str, values: str, **labels: str) -> dict[str, str]:
    labels = {"instance": "raid10", "job": "ssd", **labels}
    shown = ",".join(f"{key}={json.dumps(text)}" for key, text in labels.items())
    return {"series": f"{name}{{{shown}}}", "values": values}


def _counter(calm: float, overloaded: float, hanging: float = 0.0) -> str:
    """A counter with these increments per minute."""
    first, second = calm * CALM, calm * CALM + overloaded * (OVERLOADED - CALM)
    third = second + hanging * (HANGING - OVERLOADED)
    return (
        f"0+{calm}x{CALM - 1} {first}+{overloaded}x{OVERLOADED - CALM - 1} "
        f"{second}+{hanging}x{HANGING - OVERLOADED - 1} {third}+{calm}x{DEGRADED - HANGING}"
    )


def _member(device: str) -> Iterator[dict[str, str]]:
    serial = f"S{device[-1].upper()}"
    is_lost = device == "sdc"
    identity = {
        "device": device,
        "controller": "",
        "model": "Flashworks S500",
        "family": "",
        "serial": serial,
        "firmware": "1",
        "wwn": "",
        "transport": "sata",
        "protocol": "ata",
        "rotational": "0",
    }
    present = f"1x{HANGING}" if is_lost else f"1x{DEGRADED}"
    yield _series("ssd_device_info", present, **identity)
    answers = f"1x{HANGING} 0x{DEGRADED - HANGING}" if is_lost else present
    yield _series("ssd_device_up", answers, device=device, serial=serial)
    yield _series("ssd_device_role_info", present, device=device, role="mysql-data")
    yield _series("ssd_disk_saturated_seconds_total", _counter(0, 54), device=device)
    yield _series("ssd_disk_stalled_seconds_total", _counter(0, 0, 60), device=device)
    yield _series("ssd_disk_reads_completed_total", _counter(600, 60_000), device=device)
    yield _series("ssd_disk_read_time_seconds_total", _counter(0.18, 9_000), device=device)
    yield _series("ssd_disk_await_baseline_seconds", f"0.0003x{DEGRADED}", device=device, op="read")


def _host() -> Iterator[dict[str, str]]:
    for device in MEMBERS:
        yield from _member(device)
    yield _series("ssd_pressure_io_stalled_seconds_total", _counter(0, 20, 50))
    yield _series("ssd_pressure_io_waiting_seconds_total", _counter(1, 40, 60))
    degraded = f"0x{HANGING} 1x{DEGRADED - HANGING}"
    yield _series("ssd_md_degraded_disks", degraded, device="md0")
    yield _series("up", f"1x{DEGRADED}")


@pytest.fixture(scope="module")
def firing(tmp_path_factory: pytest.TempPathFactory) -> dict[int, list[Labels]]:
    """The labels of the firing alerts at the end of each phase, keyed by minute."""
    need("promtool")
    firing = 'ALERTS{alertstate="firing",instance="raid10"}'
    ends = (CALM, OVERLOADED - 1, HANGING - 1, DEGRADED)
    document = {
        "rule_files": [str(path) for path in rules.RULE_FILES],
        "evaluation_interval": "1m",
        "group_eval_order": list(evaluation_order()),
        "tests": [
            {
                "interval": "1m",
                "input_series": list(_host()),
                # No alert is expected, so that promtool prints those that fire.
                "promql_expr_test": [
                    {"expr": f"{firing} * {end}", "eval_time": f"{end}m", "exp_samples": []}
                    for end in ends
                ],
            }
        ],
    }
    file = tmp_path_factory.mktemp("raid") / "story.yml"
    file.write_text(json.dumps(document))
    printed = run_program(["promtool", "test", "rules", str(file)]).stderr
    assert ", err: " not in printed, printed
    found: dict[int, list[Labels]] = {end: [] for end in ends}
    for labels, value in unit_tests.printed_alerts(printed):
        found[int(value)].append(
            {name: text for name, text in labels.items() if name not in ("__name__", "alertstate")}
        )
    return found


def _pages(alerts: list[Labels]) -> Counter[str]:
    return Counter(each["alertname"] for each in alerts if each["severity"] == "critical")


@pytest.mark.real
def test_a_calm_array_has_no_alert(firing: dict[int, list[Labels]]) -> None:
    assert [] == firing[CALM]


@pytest.mark.real
def test_every_member_raises_the_alert_of_the_cause(firing: dict[int, list[Labels]]) -> None:
    assert {"SSDDiskSaturatedSevere": 8} == _pages(firing[OVERLOADED - 1])
    assert 8 == _pages(firing[HANGING - 1])["SSDDiskStalled"]
    assert {"SSDDriveLost": 1, "SSDRaidDegraded": 1} == _pages(firing[DEGRADED])


@dataclass(frozen=True, slots=True)
class Page:
    """One notification of the pager: the name of its alerts, and their devices."""

    alert: str
    devices: frozenset[str]


def _post(manager: Alertmanager, alerts: list[Labels], *, are_over: bool) -> None:
    now = dt.datetime.now(dt.timezone.utc)
    end = {"endsAt": now.isoformat()} if are_over else {}
    request = urllib.request.Request(
        f"http://{manager.address}/api/v2/alerts",
        json.dumps([{"labels": labels, **end} for labels in alerts]).encode(),
        {"Content-Type": "application/json"},
    )
    urllib.request.urlopen(request, timeout=PATIENCE_SECONDS).close()


def _notifications(receiver: Receiver, name: str) -> list[Page]:
    """The notifications of firing alerts to a receiver. All alerts of one have the same time."""
    groups: dict[float, list[tuple[str, str]]] = {}
    for notice in receiver.notices("raid10"):
        if notice.receiver == name and notice.status == "firing":
            pair = notice.alert, notice.labels.get("device", "")
            groups.setdefault(notice.seconds, []).append(pair)
    return [
        Page(alerts[0][0], frozenset(device for _, device in alerts)) for alerts in groups.values()
    ]


def _has(receiver: Receiver, alert: str) -> bool:
    return any(page.alert == alert for page in _notifications(receiver, "pager"))


@pytest.mark.real
def test_each_cause_is_one_page_for_the_host(
    firing: dict[int, list[Labels]], tmp_path: Path
) -> None:
    need("prometheus-alertmanager")
    text = re.sub(r"group_(wait|interval): \w+", r"group_\1: 2s", CONFIG.read_text())
    with (
        receiving() as receiver,
        Alertmanager(tmp_path / "m", text.replace("127.0.0.1:9095", receiver.address)) as manager,
    ):
        before: list[Labels] = []
        for end, last in (
            (OVERLOADED - 1, "SSDDiskSaturatedSevere"),
            (HANGING - 1, "SSDDiskStalled"),
            (DEGRADED, "SSDRaidDegraded"),
        ):
            over = [labels for labels in before if labels not in firing[end]]
            if over:
                _post(manager, over, are_over=True)
            _post(manager, firing[end], are_over=False)
            wait_until(partial(_has, receiver, last))
            before = firing[end]
        wait_until(partial(_has, receiver, "SSDDriveLost"))
        pages = _notifications(receiver, "pager")
        tickets = _notifications(receiver, "ticket")
    all_members = frozenset(MEMBERS)
    assert sorted(
        [
            ("SSDDiskSaturatedSevere", all_members),
            ("SSDDiskStalled", all_members),
            # Two causes: the first is silenced once a drive is ordered, the second must stay.
            ("SSDDriveLost", frozenset({"sdc"})),
            ("SSDRaidDegraded", frozenset({"md0"})),
        ],
        key=str,
    ) == sorted(((page.alert, page.devices) for page in pages), key=str)
    assert [] == [ticket for ticket in tickets if ticket.devices & all_members]
