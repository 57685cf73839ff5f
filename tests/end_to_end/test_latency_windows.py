"""The agent with the collector of single requests, on a host whose kernel cannot measure them."""

import json
from pathlib import Path

from exporter.tails.latency_document import LATENCY_FILE
from tests.end_to_end.agent import Agent
from tests.end_to_end.daemon import Daemon
from tests.end_to_end.made_up import MadeUpDrives
from tests.end_to_end.waiting import await_page, up

#: The shortest ones that the settings accept.
_LATENCY = "\n[latency]\nenabled = true\nwindow_seconds = 1\nperiod_seconds = 10\n"


def test_a_host_that_cannot_measure_requests_has_a_reason_and_everything_else(
    tmp_path: Path,
) -> None:
    drives = MadeUpDrives(tmp_path / "drives", 2)
    agent = Agent(
        tmp_path / "agent", drives.directory, *drives.flags, config=drives.config(more=_LATENCY)
    )
    with agent:
        agent.settled(2)
        document = drives.directory / LATENCY_FILE
        agent.wait_until(document.exists, "a window")
        assert "no tracefs" in json.loads(document.read_text())["problem"]
        config = drives.config("directory", more=_LATENCY)
        with Daemon(tmp_path / "daemon", *drives.flags, config=config) as daemon:
            page = await_page(
                daemon,
                lambda page: (
                    list(page.find("ssd_collector_errors_total", collector="latency")) != []
                    and 2 == sum(up(page).values())
                ),
            )
            assert {"reason": "command", "collector": "latency"} in [
                labels for labels, _ in page.find("ssd_collector_errors_total")
            ]
            assert 0 == page.value("ssd_collector_success", collector="latency")
            assert 1 == page.value("ssd_collector_success", collector="smart")
            # Nothing was observed, which differs from no slow request.
            assert 0 == page.value("ssd_disk_request_observed_seconds_total")
            assert [] == list(page.find("ssd_disk_request_seconds_count"))
        (complaint,) = daemon.complaints
        assert "requests are not measured: the kernel" in complaint
    assert [] == agent.complaints
    assert not list(drives.directory.glob(".*"))
