"""A container booted by systemd, with the root of this host and the installed package.

No file of this host changes: a temporary layer over its root receives all writes.
"""

import os
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.duration import PATIENCE_SECONDS
from tests.end_to_end.page import Page
from tests.processes import run_program
from tests.systemd import package
from tests.systemd.control_group import Unavailable, own_group

__all__ = ["Machine", "Unavailable", "booted", "booted_from"]

_PROGRAMS = ("systemd-nspawn", "nsenter", "unshare", "setpriv", "curl")
_BOOT_SECONDS = PATIENCE_SECONDS
_COMMAND_SECONDS = PATIENCE_SECONDS

#: Exit statuses of curl if the exporter does not respond: the connection is refused (7), nothing
#: arrives in time (28), it closes the connection without (52) or within (18, 56) a response.
_NO_RESPONSE = (7, 18, 28, 52, 56)

#: Separate namespaces, so that killing the first process removes all processes and mounts.
_BOOT = """
set -e
echo $$ > {group}/cgroup.procs
mount -t overlay overlay -o {layers} {root}
exec systemd-nspawn --quiet --register=no --keep-unit --directory={root} --machine={name} \
  --capability=all --notify-ready=yes --console=pipe {options} --boot
"""


@dataclass(frozen=True, slots=True)
class Machine:
    """A booted machine. `leader` is the PID of its first process on this host."""

    leader: int

    def run(
        self, *argv: str, timeout: float = _COMMAND_SECONDS
    ) -> "subprocess.CompletedProcess[str]":
        """Run a command in the machine as root.

        Raises:
            subprocess.TimeoutExpired: the command takes longer than the timeout.
        """
        inside = [
            "nsenter",
            f"--target={self.leader}",
            *["-m", "-u", "-i", "-n", "-p", "-C"],
            "--",
            *argv,
        ]
        return run_program(inside, timeout=timeout, cwd="/")

    def systemctl(self, *arguments: str) -> str:
        """The output of systemctl. Fails the test if systemctl fails."""
        done = self.run("systemctl", *arguments)
        assert done.returncode == 0, (arguments, done.stderr, self.journal())
        return done.stdout.strip()

    def show(self, unit: str, what: str) -> str:
        """A property of a unit."""
        return self.systemctl("show", "--value", f"--property={what}", unit)

    def journal(self, *units: str, layout: str = "short-monotonic") -> str:
        """The journal of these units, or of all units."""
        chosen = [f"--unit={unit}" for unit in units]
        return self.run("journalctl", "--no-pager", f"--output={layout}", *chosen).stdout

    def said(self, unit: str) -> list[str]:
        """Journal lines of the unit's processes, without those of systemd."""
        # journald may not have read all output yet, even after the process has exited.
        self.run("journalctl", "--sync")
        asked = ["--no-pager", "--output=cat", f"--identifier={unit}"]
        return self.run("journalctl", *asked).stdout.splitlines()

    def write(self, path: str, text: str, mode: int = 0o644) -> None:
        """Write a file in the machine."""
        # Written from inside, so that symbolic links resolve within its root.
        where = Path(f"/proc/{self.leader}/root{path}")
        where.parent.mkdir(parents=True, exist_ok=True)
        where.write_text(text)
        where.chmod(mode)

    def page(self, *curl: str, path: str = "/metrics") -> str:
        """The response body of the exporter. Empty if it does not respond.

        Fails the test if curl fails for another reason, such as an option that it does not know.
        """
        address = f"http://127.0.0.1:10177{path}"
        # curl accepts the value of an option only as a separate argument.
        argv = ["curl", "--silent", "--show-error", "--max-time", str(PATIENCE_SECONDS), *curl]
        done = self.run(*argv, address, timeout=PATIENCE_SECONDS + _COMMAND_SECONDS)
        assert done.returncode in (0, *_NO_RESPONSE), (argv, done.returncode, done.stderr)
        return done.stdout

    def metrics(self) -> Page:
        return Page.parse(self.page())

    def await_(self, what: str, is_so: Callable[[], Any]) -> None:
        """Wait for a condition. Fails the test after the timeout."""
        until = time.monotonic() + PATIENCE_SECONDS
        while not is_so():
            assert time.monotonic() < until, f"{what}\n{self.journal()}"
            time.sleep(0.05)


@contextmanager
def booted(*, is_readonly: bool = False, disk: Path | None = None) -> Iterator[Machine]:
    """Boot a machine with the installed package. The boot starts both units.

    is_readonly: mount the root of the machine read-only.
    disk: a writable directory of this host that is mounted as /var/lib/mysql-probe.

    Raises:
        Unavailable: this host cannot boot a machine.
    """

    def install(layer: Path, work: Path) -> None:
        package.install(layer, users=_with_users(layer, work))

    options = f"--private-network {_binds(disk)}"
    with booted_from(Path("/"), install, options, is_readonly=is_readonly) as machine:
        yield machine


@contextmanager
def booted_from(
    lower: Path, prepare: Callable[[Path, Path], None], options: str, *, is_readonly: bool = False
) -> Iterator[Machine]:
    """Boot a machine with the root `lower`, which is not modified.

    prepare: writes files into the overlay before the boot. Its arguments are the directory of
        the overlay and a directory for temporary files.
    options: options of systemd-nspawn, quoted for a shell.

    Raises:
        Unavailable: this host cannot boot a machine.
    """
    _check()
    with ExitStack() as cleanup:
        # The random part is in the middle, because a machine name must not end with a hyphen.
        work = Path(tempfile.mkdtemp(prefix="ssd-", suffix="-machine", dir=_tmpfs()))
        cleanup.callback(shutil.rmtree, work, ignore_errors=True)
        layer, root = work / "layer", work / "root"
        for directory in (layer, root, work / "work"):
            directory.mkdir()
            directory.chmod(0o755)
        prepare(layer, work)
        group = cleanup.enter_context(own_group(work.name))
        layers = (
            f"lowerdir={layer}:{lower}"
            if is_readonly
            else f"lowerdir={lower},upperdir={layer},workdir={work / 'work'}"
        )
        script = _BOOT.format(
            group=group,
            layers=layers,
            root=root,
            name=work.name.replace("_", "-"),
            options=options,
        )
        yield cleanup.enter_context(_running(script, work, group))


def _binds(disk: Path | None) -> str:
    binds = [f"--bind-ro={path}:{inside}" for path, inside in package.BINDS.items()]
    binds += [f"--bind={disk}:/var/lib/mysql-probe"] if disk else []
    return shlex.join(binds)


@contextmanager
def _running(script: str, work: Path, group: Path) -> Iterator[Machine]:
    notify_socket = work / "notify"
    with (
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager,
        (work / "log").open("w+") as log,
    ):
        manager.bind(str(notify_socket))
        # It stops if the tests are killed.
        argv = ["setpriv", "--pdeathsig=KILL", "unshare", "--mount", "--propagation=private"]
        argv += ["--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", script]
        environment = {
            "PATH": os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin",
            "NOTIFY_SOCKET": str(notify_socket),
            "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1",
        }
        process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment
        )
        try:
            _await_boot(manager, process, log)
            # systemd also reports slow jobs. A full queue would block nspawn, and then systemd.
            manager.close()
            yield Machine(_leader(group))
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()


def _await_boot(manager: socket.socket, process: "subprocess.Popen[bytes]", log: Any) -> None:
    until = time.monotonic() + _BOOT_SECONDS
    manager.settimeout(0.2)
    while time.monotonic() < until and process.poll() is None:
        try:
            if b"READY=1" in manager.recv(4096).splitlines():
                return
        except TimeoutError:
            continue
    log.seek(0)
    raise Unavailable(f"systemd-nspawn does not boot: {log.read()[-2000:]}")


def _leader(group: Path) -> int:
    """PID of the first process of the innermost namespace in the group."""
    until = time.monotonic() + _BOOT_SECONDS
    while time.monotonic() < until:
        # Other processes and groups of the container may end at any moment.
        with suppress(OSError):
            for listed in group.rglob("cgroup.procs"):
                for pid in map(int, listed.read_text().split()):
                    # PIDs in the namespaces of the host, of nspawn and of the container.
                    numbers = _namespace_pids(pid)
                    if len(numbers) >= 3 and numbers[-1] == "1":
                        return pid
        time.sleep(0.02)
    raise Unavailable("the first process of the container was not found")


def _namespace_pids(pid: int) -> list[str]:
    """The PIDs of a process in all namespaces; none if it has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return []
    return next(line.split()[1:] for line in status.splitlines() if "NSpid:" in line)


def _with_users(layer: Path, work: Path) -> Callable[[], None]:
    """Returns a function that creates the users of the package, with systemd-sysusers."""

    def make() -> None:
        root = work / "root"
        layers = f"lowerdir=/,upperdir={layer},workdir={work / 'work'}"
        script = (
            f"mount -t overlay overlay -o {layers} {root} && "
            f"systemd-sysusers --root={root} {root}/usr/lib/sysusers.d/ssd-exporter.conf && "
            f"systemd-tmpfiles --create --root={root} --prefix=/var/lib"
            f" {root}/usr/lib/tmpfiles.d/ssd-exporter.conf && "
            f"systemctl --quiet --root={root} enable ssd-exporter ssd-smart-agent"
        )
        done = run_program(["unshare", "--mount", "--propagation=private", "sh", "-c", script])
        if done.returncode:
            raise Unavailable(f"no overlay on this host's root: {done.stderr}")

    return make


def _check() -> None:
    if os.geteuid() != 0:
        raise Unavailable("only root can boot a container")
    missing = [program for program in _PROGRAMS if shutil.which(program) is None]
    if missing:
        raise Unavailable(f"not installed: {', '.join(missing)}")


def _tmpfs() -> str:
    # The upper layer must not be on an overlay, such as the root of a container.
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else tempfile.gettempdir()
