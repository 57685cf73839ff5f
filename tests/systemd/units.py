"""The names of the two units, and what several tests wait for."""

from tests.systemd.machine import Machine

EXPORTER, AGENT = "ssd-exporter", "ssd-smart-agent"
BOTH = (EXPORTER, AGENT)


def await_drive(machine: Machine) -> None:
    """Until the page has what the agent has heard from its drive."""
    machine.await_("the drive is on the page", lambda: "ssd_device_up{" in machine.page())
