"""The guest with MariaDB on a throttled NVMe drive."""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from rigs.lab.database import image
from rigs.lab.vm import cache
from rigs.lab.vm.drives import Drive
from rigs.lab.vm.host import Host
from rigs.lab.vm.machine import Hardware, Machine

DRIVE = "LABDATA"
DEVICE = "nvme0n1"
SERVER, LOAD, BACKUP = "mariadb.service", "sysbench.service", "backup.service"

#: Where the images of the drives are. A disk that other programs use would disturb a measurement.
_MEMORY = Path("/dev/shm")

_SOCKET = Path("/run/mysqld/mysqld.sock")

#: Copies every file of the database, past the page cache, again and again.
_BACKUP = (
    "while :; do find /data/mysql -type f -size +100k"
    " -exec dd if={} of=/dev/null bs=128k iflag=direct status=none ';'; done"
)

#: Timeout of a command in the guest, whose CPU is emulated, in seconds.
_SECONDS = 300.0


class Database:
    """The server and its load. `host` is the guest with the package."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.host = Host(machine)

    def start(self) -> None:
        """Mounts the drive and starts the server."""
        self.machine.output("mount", "-o", "noatime", f"/dev/{DEVICE}", "/data")
        self.machine.output("systemctl", "start", SERVER, seconds=_SECONDS)

    def limit(self, *, iops: int = 0, bytes_per_second: int = 0) -> None:
        """Limits the drive; 0 is no limit."""
        self.machine.limit(DRIVE, iops=iops, bytes_per_second=bytes_per_second)

    def start_load(self, seconds: int = 600) -> None:
        """Starts sysbench as a unit, which ends after this time."""
        command = [*image.TABLES.command(_SOCKET), f"--time={seconds}", "run"]
        self._start_unit(LOAD, *command)

    def start_backup(self) -> None:
        """Starts a unit that makes one backup after the other."""
        self._start_unit(BACKUP, "/bin/sh", "-c", _BACKUP)

    def _start_unit(self, unit: str, *argv: str) -> None:
        self.machine.output("systemd-run", f"--unit={unit}", "--collect", *argv)


@contextmanager
def running(share: Path, parameters: str = "psi=1") -> Iterator[Database]:
    """A guest with the server; the drive is not limited yet.

    share: visible as /mnt/host in the guest. parameters: further kernel parameters.
    """
    with ExitStack() as stack:
        made = stack.enter_context(tempfile.TemporaryDirectory(prefix="lab-", dir=_MEMORY))
        directory = Path(made)
        drive = Drive(DRIVE, "nvme", throttled=True, megabytes=image.DATA_MEGABYTES)
        copy = directory / f"{DRIVE}.raw"
        cache.run("cp", "--sparse=always", image.data(), copy)
        hardware = Hardware(parameters, image.image)
        database = Database(stack.enter_context(Machine(directory, share, hardware, (drive,))))
        database.start()
        yield database
