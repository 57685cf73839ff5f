"""Emulated NVMe and SATA drives: in /sys and /dev of a simulated host, and behind a fake smartctl.

Unlike those of `made_up`, the kernel knows these drives: their names and serial numbers are in
/sys, and they can be pulled and replaced.
"""

import json
import os
from pathlib import Path
from typing import Any

from rigs.devices import smart_reports
from tests.end_to_end.host import Host
from tests.end_to_end.made_up import VERSION
from tests.linux import node_trees, trees
from tests.stand_ins.smartctl import StandIn


class EmulatedDrives:
    """The drives sda, nvme0, sdb, nvme1, ...: every second one is NVMe, the others are SATA.

    serials: the serial number of each drive that is plugged in, by the name of its node.
    """

    def __init__(self, root: Path, count: int) -> None:
        self._root = root
        root.mkdir()
        self.host = Host(root)
        self.smartctl = StandIn(root / "smartctl.d")
        self.smartctl.says("--version", VERSION)
        #: Both users append to it.
        log = root / "smartctl.d" / "log"
        log.touch()
        log.chmod(0o666)
        self.serials: dict[str, str] = {}
        self._numbers: dict[str, int] = {}
        self._pulled: dict[str, dict[Path, str]] = {}
        for number in range(count):
            self._add(number)

    @property
    def flags(self) -> tuple[str, ...]:
        """Returns the flags of a daemon or an agent for this host."""
        program = f"--smartctl.path={self.smartctl.program}"
        return (*self.host.flags, f"--path.rootfs={self._root}", program)

    @property
    def nodes(self) -> list[str]:
        return list(self.serials)

    def answers(self, node: str) -> None:
        """Makes a drive answer with its report."""
        report = _report(self._numbers[node], self.serials[node])
        self.smartctl.says(node, json.dumps(report, separators=(",", ":")))

    def pull(self, node: str) -> None:
        """Removes a drive, as the kernel does when it is unplugged."""
        sys, name = self.host.sys.root, _block(node)
        links = [sys / "block" / name, sys / "class/block" / name]
        if node.startswith("nvme"):
            links.append(sys / "class/nvme" / node)
        self._pulled[node] = {link: os.readlink(link) for link in links}
        for link in links:
            link.unlink()
        for file in {node, name}:
            (self._root / "dev" / file).unlink()
        del self.serials[node]
        self._scan_finds()
        said = {"string": f"Smartctl open device: /dev/{node} failed: No such device"}
        run = {"version": [7, 3], "messages": [said | {"severity": "error"}], "exit_status": 2}
        self.smartctl.says(node, json.dumps({"smartctl": run}), 2)

    def plug(self, node: str, serial: str) -> None:
        """Puts an NVMe drive with this serial number into the slot of one that was pulled."""
        for link, target in self._pulled.pop(node).items():
            link.symlink_to(target)
        self.host.sys.write(f"class/nvme/{node}", {"serial": f"{serial:20}"})
        node_trees.dev(self.host.sys, node, _block(node))
        self.serials[node] = serial
        # Another number is another WWN; an odd one is NVMe.
        self._numbers[node] += 100
        self.answers(node)
        self._scan_finds()

    def _add(self, number: int) -> None:
        sys, index = self.host.sys, number // 2
        if number % 2:
            node, serial = f"nvme{index}", f"FW{index:06}"
            trees.nvme(sys, index)
        else:
            node, serial = f"sd{chr(ord('a') + index)}", f"S{index + 1:05}"
            place = Path(trees.sata(sys, node, index + 1))
            # The builder gives all drives the same WWN.
            wwn = 0x500A1B2300000000 + number
            page = trees.identify("Flashworks S500 480GB", serial, "SVT07B6Q", wwn=wwn)
            sys.write(str(place.parents[1]), {"wwid": f"naa.{wwn:x}", "vpd_pg89": page})
        node_trees.dev(sys, *{node, _block(node)})
        self.serials[node], self._numbers[node] = serial, number
        self.answers(node)
        self._scan_finds()
        self.host.diskstats(map(_block, self.serials))

    def _scan_finds(self) -> None:
        kinds = {
            f"/dev/{node}": "nvme" if node.startswith("nvme") else "sat" for node in self.serials
        }
        self.smartctl.says("--scan-open", json.dumps(smart_reports.scan(kinds)))


def _block(node: str) -> str:
    """Returns the name of the block device."""
    return f"{node}n1" if node.startswith("nvme") else node


def _report(number: int, serial: str) -> dict[str, Any]:
    """Returns the report of a healthy drive."""
    if number % 2:
        report = smart_reports.nvme(number, serial=serial)
        report["nvme_smart_health_information_log"]["media_errors"] = 0
        return report
    # The error counts of the first drive are 0, except for the pending sectors.
    own = {name: smart_reports.ata(number)[name] for name in ("device", "wwn")}
    report = smart_reports.ata(0, serial=serial) | own
    for row in report["ata_smart_attributes"]["table"]:
        if row["name"] == "Current_Pending_Sector":
            row["raw"] = {"value": 0, "string": "0"}
    return report
