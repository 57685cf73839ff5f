"""The largest memory of the real daemon and the real agent with hostile inputs (VmHWM).

docs/limits.md states the two ceilings. `MemoryMax=` of the units is above them.
"""

import http
import os
import re
import string
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from exporter.smart.document_directory import HEARTBEAT_FILE
from exporter.smart.polling.poll_document import Heartbeat, PollDocument, encoded, file_name
from tests.duration import wait_until
from tests.end_to_end.agent import Agent
from tests.end_to_end.daemon import Daemon
from tests.end_to_end.host import Host
from tests.end_to_end.page import Page
from tests.linux import trees

DAEMON_KILOBYTES = 128 << 10
AGENT_KILOBYTES = 64 << 10

#: The size of hostile files, in bytes. It exceeds every limit.
_HUGE = 40 << 20
_HWM = re.compile(r"^VmHWM:\s+(\d+) kB$", re.MULTILINE)


def peak_kilobytes(pid: int) -> int:
    """Returns the largest resident memory that the process has had."""
    found = _HWM.search(Path(f"/proc/{pid}/status").read_text())
    assert found is not None, "the process has ended"
    return int(found[1])


def repeated(text: str, size: int = _HUGE) -> str:
    return text * (size // len(text) + 1)


def numbered(line: str, size: int) -> str:
    """Returns lines up to this size; `line` contains the place of a number."""
    return "".join(line.format(n) for n in range(size // len(line.format(100_000)) + 1))


def huge_kernel_files(host: Host, text: str) -> None:
    """Every file below /proc that the daemon reads has the same hostile content."""
    for name in ("diskstats", "stat", "softirqs", "net/softnet_stat", "1/mountinfo", "1/cgroup"):
        host.write(name, text)
    for resource in ("io", "cpu", "memory", "irq"):
        host.write(f"pressure/{resource}", text)


def many_servers(host: Host, root: Path) -> None:
    """100 processes called mysqld: each has own mounts, and option files with broken lines."""
    broken = root / "broken.cnf"
    broken.write_text("!\n" * 500_000)
    (root / "main.cnf").write_text(
        f"!include {broken}\n" * 64 + "[mysqld]\ntmpdir=" + "/t:" * 70_000
    )
    host.mounts(trees.mount_line("8:1", "/"))
    # These mounts are within the limit of one namespace.
    more = "".join(trees.mount_line("8:1", f"/m/{n}") for n in range(12_000))
    for pid in range(100, 200):
        mounts = trees.mount_line("8:1", "/", options=f"rw,ns={pid}") + more
        argv = ["mysqld", f"--defaults-file={root / 'main.cnf'}", f"--tmpdir={'/t:' * 30_000}"]
        trees.process(host.proc, pid, argv, mounts, cgroup=f"0::/a.slice/{pid}.service")


HOSTILE_FILES: dict[str, str] = {
    "line breaks": "\n",
    "one line": "x",
    "numbers": "1 ",
    "lists": "[],",
}


@pytest.mark.parametrize("kind", HOSTILE_FILES)
@pytest.mark.parametrize("size", [_HUGE, (2 << 20) - 100, (6 << 20) - 100], ids=lambda n: f"{n}")
def test_kernel_files(tmp_path: Path, kind: str, size: int) -> None:
    """Files beyond each limit, and files that are just within a limit."""
    host = Host(tmp_path)
    huge_kernel_files(host, repeated(HOSTILE_FILES[kind], size - len(HOSTILE_FILES[kind])))
    check_daemon(tmp_path, host)


def test_well_formed_kernel_files_at_their_limits(tmp_path: Path) -> None:
    """Valid lines take more memory than broken ones. The devices are not exported."""
    host = Host(tmp_path)
    host.write("diskstats", numbered("7 {0} loop{0} 1 0 8 1 1 0 8 1 0 1 1\n", 2 << 20)[: 2 << 20])
    host.write("stat", numbered("cpu{0} 1 2 3 4 5 6 7 8 0 0\n", 2 << 20)[: 2 << 20])
    mounts = numbered("36 35 8:{0} / /m/{0} rw,n={0} - ext4 /d rw,s={0}\n", 6 << 20)
    host.write("1/mountinfo", mounts[: 6 << 20])
    names = " ".join(f"CPU{n}" for n in range(8192))
    host.write("softirqs", f"{names}\n" + f"NET_RX: {' '.join(['1'] * 8192)}\n" * 30)
    check_daemon(tmp_path, host)


def test_mysql_servers(tmp_path: Path) -> None:
    host = Host(tmp_path)
    many_servers(host, tmp_path)
    check_daemon(tmp_path, host)


def test_a_thousand_disks(tmp_path: Path) -> None:
    host = Host(tmp_path)
    names = [f"sd{n}q" for n in range(1000)]
    for number, name in enumerate(names):
        host.disk(name, number)
    host.diskstats(names)
    many_servers(host, tmp_path)
    with Daemon(tmp_path / "daemon", *host.flags) as daemon:
        host.diskstats(names, operations=50)
        await_page(daemon)
        wait_until(
            lambda: 1000 == len(await_page(daemon).labels("ssd_device_info", "device")), "a survey"
        )
        await_samples(daemon)
        assert peak_kilobytes(daemon.process.pid) < DAEMON_KILOBYTES


def service_groups(host: Host, devices: int, *, generation: int) -> None:
    """4,000 services of a user, with counters of all devices that increase with each generation."""
    root = host.sys.root / "fs/cgroup"
    user = root / "user.slice/user-1000.slice/user@1000.service"
    user.mkdir(parents=True, exist_ok=True)
    (root / "cgroup.controllers").write_text("io memory\n")
    for directory in (root, *list(user.parents)[1::-1], user):
        (directory / "cgroup.subtree_control").write_text("io memory\n")
    amount = generation * 10**15
    text = "".join(
        f"259:{n} rbytes={amount} wbytes={amount} rios={amount} wios={amount} dbytes=0 dios=0\n"
        for n in range(devices)
    )
    (root / "new").write_text(text)
    for number in range(4000):
        group = user / f"{number}.service"
        if not group.exists():
            group.mkdir()
        (group / "io.stat").unlink(missing_ok=True)
        os.link(root / "new", group / "io.stat")
        if number % 2:
            group.rename(user / f"{number}-{generation}.service")


@pytest.mark.parametrize("devices", [24, 1000])
def test_services(tmp_path: Path, devices: int) -> None:
    """Half of the groups get another name before each of three readings."""
    host = Host(tmp_path)
    names = [f"sd{n}q" for n in range(devices)]
    for number, name in enumerate(names):
        host.disk(name, number)
    host.diskstats(names)
    service_groups(host, devices, generation=1)
    with Daemon(tmp_path / "daemon", *host.flags) as daemon:

        def reached() -> float:
            labels = {"collector": "cgroup", "reason": "limit"}
            return sum(
                v for _, v in await_page(daemon).find("ssd_collector_errors_total", **labels)
            )

        for generation in (2, 3, 4):
            before = reached()
            wait_until(lambda: reached() > before, "a reading")  # noqa: B023 - called at once
            service_groups(host, devices, generation=generation)
        assert peak_kilobytes(daemon.process.pid) < DAEMON_KILOBYTES, daemon.log[-2000:]


@pytest.mark.parametrize(
    "text",
    [
        '{"version":1,"inventory":[' + "[]," * 5_000_000 + "[]]}",
        '{"version":1,"baselines":{"a":"' + "x" * (15 << 20) + '"}}',
        '{"version":1,"inventory":[' + "[]," * 340_000 + "[]]}",
        '{"version":1,"baselines":{' + ",".join(f'"{n:x}":{{}}' for n in range(230_000)) + "}}",
        "[" * 10_000_000,
    ],
    ids=["values", "text", "values within the limit", "drives", "depth"],
)
def test_state_files(tmp_path: Path, text: str) -> None:
    host = Host(tmp_path)
    state = tmp_path / "daemon/state"
    state.mkdir(parents=True)
    (state / "state.json").write_text(text)
    check_daemon(tmp_path, host)


def report_of(kind: str) -> bytes:
    """Returns hostile output of smartctl."""
    inner = {
        "values": "[]," * 300_000 + "[]",
        "values within the limit": "[]," * 45_000 + "[]",
        "attributes": '{"id":1},' * 30_000 + "{}",
        "text": '"' + "x" * 900_000 + '"',
        "values of 4 MB": "[]," * 1_300_000 + "[]",
        "endless": "[]," * 5_000_000,
    }[kind]
    head = '{"device":{"name":"/dev/sda","type":"sat","protocol":"ATA"},"serial_number":"S",'
    return f'{head}"ata_smart_attributes":{{"table":[{inner}]}}}}'.encode()


#: The reports within the limits, and those beyond one.
ACCEPTED = ("values within the limit", "attributes", "text")
REPORTS = (*ACCEPTED, "values", "values of 4 MB", "endless")


@pytest.mark.parametrize("kind", REPORTS)
def test_documents_of_the_agent(tmp_path: Path, kind: str) -> None:
    """The daemon reads 20 documents with hostile reports, also larger than an agent writes them."""
    host = Host(tmp_path)
    place = tmp_path / "run"
    place.mkdir(mode=0o750)
    drives = tuple((f"/dev/sd{letter}", "sat") for letter in string.ascii_lowercase[:20])
    now = time.time()
    for path, type_ in drives:
        empty = PollDocument(path, type_, "success", now, 0.1, 900.0, 0, is_daily=True)
        report = report_of(kind).replace(b'"S"', f'"S{path}"'.encode())
        text = encoded(empty).removesuffix(b"{}}") + report + b"}"
        file = place / file_name(path, type_, is_daily=True)
        file.write_bytes(text)
        file.chmod(0o640)
    heartbeat = Heartbeat(now, 3600.0, now, drives, (), "")
    (place / HEARTBEAT_FILE).write_bytes(encoded(heartbeat))
    (place / HEARTBEAT_FILE).chmod(0o640)
    config = f'smart.source = "directory"\nsmart.directory = "{place}"\n'

    def are_read(page: Page) -> bool:
        if kind in ACCEPTED:
            return len(page.labels("ssd_device_up", "device")) == len(drives)
        return page.value("ssd_collector_success", collector="smart") == 0

    check_daemon(tmp_path, host, are_read, config=config)


@pytest.mark.parametrize("kind", REPORTS)
def test_output_of_smartctl(tmp_path: Path, kind: str) -> None:
    """The agent runs eight processes at the same time, and each prints a hostile report."""
    documents = tmp_path / "run"
    documents.mkdir(mode=0o750)
    output = tmp_path / "output"
    output.write_bytes(report_of(kind))
    program = tmp_path / "smartctl"
    answer = f'*--version*) echo "smartctl 7.4";; *) cat {output};;'
    program.write_text(f'#!/bin/sh\ncase "$*" in {answer} esac\n')
    program.chmod(0o755)
    drives = "".join(
        f'[[smart.drive]]\npath = "/dev/null"\ntype = "megaraid,{n}"\n' for n in range(24)
    )
    config = f'smart.directory = "{documents}"\n{drives}'
    flags = (f"--smartctl.path={program}", f"--path.sysfs={tmp_path}")
    with Agent(tmp_path / "agent", documents, *flags, config=config) as agent:
        agent.wait_until(
            lambda: len(list(documents.glob("drive-*.json"))) >= 20, "20 documents", seconds=120
        )
        assert peak_kilobytes(agent.process.pid) < AGENT_KILOBYTES


def is_surveyed(page: Page) -> bool:
    """The first survey, which also reads the servers, has reported that there is no disk."""
    return page.value("ssd_collector_success", collector="device") == 0


def check_daemon(
    tmp_path: Path,
    host: Host,
    is_read: Callable[[Page], bool] = is_surveyed,
    *,
    config: str = "",
) -> None:
    """Starts a daemon, waits until it has read its inputs, and compares its largest memory.

    host: a host without disks.
    is_read: returns whether a page shows that the hostile input was read.
    """
    with Daemon(tmp_path / "daemon", *host.flags, "--path.rootfs=/", config=config) as daemon:
        wait_until(lambda: is_read(await_page(daemon)), "a page with the hostile input")
        # The samples are counted even if the files cannot be used.
        await_samples(daemon)
        assert peak_kilobytes(daemon.process.pid) < DAEMON_KILOBYTES, daemon.log[-2000:]


def await_page(daemon: Daemon) -> Page:
    """Returns a complete page. On a busy machine, one may take too long (503)."""
    until = time.monotonic() + 300
    while (answer := daemon.get("/metrics")).status != http.HTTPStatus.OK:
        assert time.monotonic() < until, daemon.log[-2000:]
        time.sleep(0.1)
    return Page.parse(answer.body.decode())


def await_samples(daemon: Daemon) -> None:
    """Requests pages until three further samples were taken."""

    def samples() -> float:
        return await_page(daemon).value("ssd_sampler_samples_total")

    begun = samples()
    wait_until(lambda: samples() >= begun + 3, "three samples")
