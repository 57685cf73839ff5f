"""The daemon's log reports what happens to drives."""

import shutil
from pathlib import Path

from tests.duration import wait_until
from tests.end_to_end.daemon import Daemon
from tests.end_to_end.host import Host


def test_a_drive_that_disappears_and_returns_is_logged(tmp_path: Path) -> None:
    host = Host(tmp_path / "host")
    for number, name in enumerate(("vda", "vdb")):
        host.disk(name, number)
    host.diskstats(["vda", "vdb"])
    config = "[survey]\ninterval_seconds = 5\n[collector]\nsmart = false\n"
    link, aside = tmp_path / "host/sys/block/vdb", tmp_path / "aside"
    with Daemon(tmp_path, *host.flags, config=config) as daemon:
        # The survey, not only the sampler, knows vdb.
        wait_until(lambda: any(daemon.page().find("ssd_device_info", device="vdb")))
        shutil.move(link, aside)
        wait_until(lambda: "drive vdb (" in daemon.log, "a line about vdb")
        (line,) = (line for line in daemon.log.splitlines() if "drive vdb (" in line)
        assert "level=warning" in line
        assert "has disappeared" in line
        shutil.move(aside, link)
        wait_until(lambda: "has returned" in daemon.log, "a line about its return")
