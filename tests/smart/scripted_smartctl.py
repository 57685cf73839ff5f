"""A simulated smartctl on a fake clock. A test sets its output for each drive."""

import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from exporter.programs.child import End, Finished
from exporter.smart.smartctl import Address
from tests.drives import reports
from tests.drives.reports import Report

#: A call that outlasts its time.
HANGS = Finished(None, End.TIMED_OUT, -9, message="it took too long and was ended")
STUCK = Finished(None, End.STUCK, seconds=35.0, message="it cannot be ended")
MISSING = Finished(None, End.NOT_STARTED, message="smartctl: no such program")

Row = tuple[str, ...]


def printed(report: Report | Mapping[str, Any], seconds: float = 0.25) -> Finished:
    """A call that ends by itself and prints this."""
    status = report.get("smartctl", {}).get("exit_status", 0)
    return Finished(None, End.EXITED, status, json.dumps(report).encode(), seconds=seconds)


def rows(*found: Row) -> Finished:
    """A scan that finds these: path, type, protocol and why it could not be opened."""
    names = ("name", "type", "protocol", "open_error")
    devices = [dict(zip(names, row, strict=False)) for row in found]
    return printed({"smartctl": {"exit_status": 0}, "devices": devices}, 0.5)


def asleep(mode: str = "STANDBY") -> Finished:
    """Output for a disk in standby with `-n standby,3`: without its identity."""
    said = reports.smartctl(f"Device is in {mode} mode, exit(3)", status=3, severity="information")
    return printed(said | reports.device("sat", "ATA"))


def silent(message: str = "Smartctl open device: /dev/sdx failed: No such device") -> Finished:
    return printed(reports.smartctl(message, status=2))


def ata(serial: str, **keys: Any) -> Report:
    """A SATA SSD; drives of different serial numbers have different WWNs."""
    return {**reports.ata(), "serial_number": serial, "wwn": wwn(serial), **keys}


def nvme(serial: str, **keys: Any) -> Report:
    found = {**reports.nvme(), "serial_number": serial, **keys}
    return reports.without(found, "nvme_namespaces")


def wwn(serial: str) -> dict[str, int]:
    return {"naa": 5, "oui": 0x00A1B2, "id": int.from_bytes(serial.encode()[-4:], "big")}


class Smartctl:
    """What smartctl does with each drive, and what it was called for.

    `scan` is how a look for drives ends, `listing` how one that opens none does where that is
    another way, `drives` how a call ends for each path and type.
    """

    def __init__(self, *found: Row) -> None:
        self.scan = rows(*found)
        self.listing: Finished | None = None
        self.drives: dict[Address, Finished] = {}
        self.calls: list[tuple[str, ...]] = []

    def says(self, path: str, kind: str, answer: Report | Finished) -> None:
        given = answer if isinstance(answer, Finished) else printed(answer)
        self.drives[Address(path, kind)] = given

    def __call__(self, key: Hashable, argv: Sequence[str], limit: float) -> Finished:
        self.calls.append(tuple(argv))
        finished = (self.listing if key == "listing" else None) or self.scan
        if isinstance(key, Address):
            finished = self.drives.get(key, silent())
        lasts = finished.seconds or (limit if finished.end is End.TIMED_OUT else 0.0)
        return replace(finished, key=key, seconds=lasts)

    def asked(self, path: str) -> list[tuple[str, ...]]:
        """The calls for a path."""
        return [argv for argv in self.calls if argv[-1] == path]
