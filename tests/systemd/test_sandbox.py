"""Permissions of exporter and agent in their systemd sandboxes."""

import pytest

from tests.systemd.machine import Machine
from tests.systemd.units import AGENT, BOTH, EXPORTER

#: CAP_SYS_RAWIO, CAP_SYS_ADMIN and CAP_MKNOD: linux/capability.h.
CAPABILITIES = 1 << 17 | 1 << 21 | 1 << 27


def status(machine: Machine, unit: str) -> dict[str, str]:
    """/proc/<pid>/status of the main process of a unit."""
    pid = machine.show(unit, "MainPID")
    lines = machine.run("cat", f"/proc/{pid}/status").stdout.splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def test_the_exporter_has_no_capabilities_and_no_devices(machine: Machine) -> None:
    fields = status(machine, EXPORTER)
    assert "0" not in fields["Uid"].split()
    assert 0 == int(fields["CapBnd"], 16) == int(fields["CapPrm"], 16)
    assert "1" == fields["NoNewPrivs"]
    pid = machine.show(EXPORTER, "MainPID")
    devices = machine.run("find", f"/proc/{pid}/root/dev/", "-type", "b").stdout
    assert "" == devices


def test_the_agent_has_only_the_capabilities_of_smartctl_and_no_network(machine: Machine) -> None:
    fields = status(machine, AGENT)
    assert ["0"] * 4 == fields["Uid"].split()
    assert CAPABILITIES == int(fields["CapBnd"], 16) == int(fields["CapEff"], 16)
    pid = machine.show(AGENT, "MainPID")
    network = machine.run("readlink", f"/proc/{pid}/ns/net").stdout
    assert machine.run("readlink", "/proc/1/ns/net").stdout != network


def test_documents_are_readable_for_agent_and_exporter_only(machine: Machine) -> None:
    listed = machine.run("sh", "-c", "cd /run/ssd-smart-agent && stat -c '%A %U %G' . *").stdout
    directory, *files = listed.splitlines()
    assert "drwxr-x--- root ssd-exporter" == directory
    assert {"-rw-r----- root ssd-exporter"} == set(files)
    as_nobody = ["setpriv", "--reuid=nobody", "--clear-groups", "--regid=nogroup"]
    assert machine.run(*as_nobody, "ls", "/run/ssd-smart-agent").returncode != 0


#: Writable directories of each unit. /dev is restricted to listed nodes; /proc/sys is read-only.
_KERNEL = {"/dev/shm", "/dev/pts", "/dev/mqueue", "/dev/hugepages", "/proc"}
WRITABLE = {
    EXPORTER: {"/var/lib/ssd-exporter", "/tmp", "/var/tmp", *_KERNEL},
    AGENT: {"/run/ssd-smart-agent", "/tmp", "/var/tmp", "/dev", *_KERNEL},
}


@pytest.mark.parametrize("unit", BOTH)
def test_each_unit_can_write_to_its_own_directory_only(machine: Machine, unit: str) -> None:
    """systemd leaves /run writable with ProtectSystem=strict and other options of the unit."""
    pid = machine.show(unit, "MainPID")
    lines = machine.run("cat", f"/proc/{pid}/mountinfo").stdout.splitlines()
    mounts = [line.split(" ") for line in lines]
    writable = {fields[4] for fields in mounts if "rw" in fields[5].split(",")}
    # Two paths that exist in containers only.
    assert WRITABLE[unit] == {path for path in writable if not path.startswith("/run/host/")}


def test_the_agent_has_no_access_to_sockets_of_systemd(machine: Machine) -> None:
    pid = machine.show(AGENT, "MainPID")
    found = machine.run("find", f"/proc/{pid}/root/run/", "-exec", "stat", "-c", "%F:%n", "{}", "+")
    sockets = [line for line in found.stdout.splitlines() if line.startswith("socket:")]
    assert [f"socket:/proc/{pid}/root/run/systemd/notify"] == sockets


def test_the_probe_lock_is_available_to_the_exporters_only(machine: Machine) -> None:
    """/run/lock is read-only for the unit, so the file must exist since boot.

    Every user who may read the file can hold the lock.
    """
    pid = machine.show(EXPORTER, "MainPID")
    lock = f"/proc/{pid}/root/run/lock/ssd-exporter-probe.lock"
    assert "root ssd-exporter 640" == machine.run("stat", "-c", "%U %G %a", lock).stdout.strip()
