"""Names of the units, and a wait condition."""

from tests.systemd.machine import Machine

EXPORTER, AGENT = "ssd-exporter", "ssd-smart-agent"
BOTH = (EXPORTER, AGENT)


def await_drive(machine: Machine) -> None:
    """Waits until the page contains the SMART data of the drive."""
    machine.await_("the drive is on the page", lambda: "ssd_device_up{" in machine.page())
