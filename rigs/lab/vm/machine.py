"""Starts, controls and stops a virtual machine; its disks persist between boots."""

import contextlib
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from rigs.lab.vm import cache, drives, initrd, kernel, root
from rigs.lab.vm.drives import Drive
from rigs.lab.vm.kernel import Kernel
from rigs.lab.vm.wires import Done, Guest, Monitor, await_socket

#: Timeouts: the CPU is emulated, and the runner has other load.
_BOOT_SECONDS = 300.0
_COMMAND_SECONDS = 180.0
_START_SECONDS = 20.0
_STOP_SECONDS = 60.0

_APPEND = (
    "console=ttyS0 panic=-1 quiet mitigations=off nokaslr audit=0"
    " systemd.show_status=0 rd.udev.log_level=3"
    # Longer than the slowest drive of the lab; by default the kernel resets it after a minute.
    " nvme_core.admin_timeout=120"
)


@dataclass(frozen=True, slots=True)
class Hardware:
    """The emulated machine.

    parameters: further kernel parameters. image: returns the root file system for a kernel.
    """

    parameters: str = ""
    image: Callable[[Kernel], Path] = root.root


class Machine:
    """Context manager with a running guest; `directory` holds its disks and console log.

    share: directory visible as /mnt/host in the guest. fleet: attached drives; all kinds without
    it.
    """

    guest: Guest
    monitor: Monitor
    fleet: tuple[Drive, ...]
    _process: subprocess.Popen[bytes]

    def __init__(
        self,
        directory: Path,
        share: Path,
        hardware: Hardware | None = None,
        fleet: Sequence[Drive] | None = None,
    ) -> None:
        self.directory = directory
        self.fleet = drives.fleet() if fleet is None else tuple(fleet)
        self._hardware = hardware or Hardware()
        self._share = share
        self._kernel = kernel.kernel()
        self._root = directory / "root.ext4"
        directory.mkdir(parents=True, exist_ok=True)
        # A sparse copy, so that changes of the guest persist for its next boot.
        source = self._hardware.image(self._kernel)
        cache.run("cp", "--sparse=always", source, self._root)

    def __enter__(self) -> "Machine":  # noqa: PYI034 - Self came with Python 3.11
        self.start(self.fleet)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._hang_up()
        self._process.kill()
        self._process.wait(_STOP_SECONDS)

    @property
    def console(self) -> str:
        """Console output."""
        return (self.directory / "console.log").read_text(errors="replace")

    def start(self, fleet: tuple[Drive, ...]) -> None:
        """Boots with these drives.

        Raises:
            RuntimeError: QEMU exits; the message contains its output.
            TimeoutError: the guest does not respond in time.
        """
        self.fleet = fleet
        for name in ("agent.sock", "qmp.sock"):
            (self.directory / name).unlink(missing_ok=True)
        with (self.directory / "qemu.log").open("wb") as log:
            self._process = subprocess.Popen(
                self._arguments(fleet), stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        try:
            await_socket(self.directory / "agent.sock", _START_SECONDS)
            self.monitor = Monitor(self.directory / "qmp.sock")
            self.guest = Guest(self.directory / "agent.sock", _BOOT_SECONDS)
        except BaseException as e:
            self._process.kill()
            self._process.wait(_STOP_SECONDS)
            said = (self.directory / "qemu.log").read_text(errors="replace")
            raise RuntimeError(f"no guest: {e}: {said[-2000:]}{self.console[-2000:]}") from e

    def shut_down(self) -> None:
        """Shuts down regularly: services stop, disks are flushed."""
        # The guest agent may stop early.
        with contextlib.suppress(ConnectionError):
            self.guest.run("systemctl", "poweroff", "--no-block")
        self._process.wait(_STOP_SECONDS)
        self._hang_up()

    def run(self, *argv: str, seconds: float = _COMMAND_SECONDS) -> Done:
        return self.guest.run(*argv, seconds=seconds)

    def output(self, *argv: str, seconds: float = _COMMAND_SECONDS) -> str:
        """Output of a program in the guest; it must succeed."""
        done = self.run(*argv, seconds=seconds)
        assert 0 == done.status, (argv, done)
        return done.output

    def write(self, path: str, text: str) -> None:
        """Replaces a file of the guest."""
        staged = self._share / "staged"
        staged.write_text(text)
        self.output("install", "-D", "-m", "0644", "/mnt/host/staged", f"{path}.new")
        self.output("mv", f"{path}.new", path)

    def plug(self, drive: Drive) -> None:
        """Hot-plugs a drive."""
        for node in drive.storage(self.directory):
            self.monitor.execute("blockdev-add", **node)
        self.monitor.execute("device_add", **drive.device())
        self.fleet = (*self.fleet, drive)

    def pull(self, serial: str) -> None:
        self.monitor.execute("device_del", id=serial)
        self.fleet = tuple(each for each in self.fleet if each.serial != serial)

    def limit(self, serial: str, *, iops: int = 0, bytes_per_second: int = 0) -> None:
        """Limits a throttled drive (`Drive.throttled`); 0 is no limit."""
        limits = {"iops-total": iops, "bps-total": bytes_per_second}
        path = f"/objects/{drives.throttle_group(serial)}"
        self.monitor.execute("qom-set", path=path, property="limits", value=limits)

    def _hang_up(self) -> None:
        self.guest.close()
        self.monitor.close()

    def _arguments(self, fleet: Sequence[Drive]) -> list[str]:
        directory = self.directory
        return [
            # It stops with the tests, also if they are killed.
            *("setpriv", "--pdeathsig", "KILL"),
            *("qemu-system-x86_64", "-M", "q35", "-accel", "tcg,thread=multi"),
            # Without AVX and five levels of page tables, which QEMU emulates slowly: the boot takes
            # 29 to 34 s instead of 37 to 40 s (QEMU 7.2).
            *("-cpu", "qemu64"),
            *("-smp", "2", "-m", "1024", "-nodefaults", "-no-user-config", "-no-reboot"),
            *("-display", "none", "-kernel", str(self._kernel.vmlinux)),
            *("-initrd", str(initrd.initrd(self._kernel))),
            *("-append", f"{_APPEND} {self._hardware.parameters}"),
            *("-serial", f"file:{directory / 'console.log'}"),
            *("-qmp", f"unix:{directory / 'qmp.sock'},server=on,wait=off"),
            *("-device", "virtio-serial-pci", "-device", "virtio-rng-pci"),
            *("-chardev", f"socket,id=agent,path={directory / 'agent.sock'},server=on,wait=off"),
            *("-device", "virtserialport,chardev=agent,name=lab"),
            *("-fsdev", f"local,id=host,path={self._share},security_model=none"),
            *("-device", "virtio-9p-pci,fsdev=host,mount_tag=host"),
            *("-drive", f"file={self._root},format=raw,if=none,id=root"),
            *("-device", "virtio-blk-pci,drive=root,serial=LABROOT"),
            *drives.arguments(fleet, directory),
        ]
