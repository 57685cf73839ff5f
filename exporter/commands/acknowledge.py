"""``ssd-exporter probe --acknowledge``: probes may run again after the host rebooted during one."""

from pathlib import Path
from typing import TextIO

from exporter.clock import Clock
from exporter.errors import ConfigError
from exporter.probe.budget import ProbeBudget
from exporter.probe.host_lock import HostLock


def run(state: Path, lock_directory: Path, clock: Clock, boot_id: str, out: TextIO) -> int:
    """Take the note away that keeps probes off; a daemon that runs sees it before its next probe.

    state: the daemon's state directory. lock_directory: where the host's probe lock lies.

    Raises:
        ConfigError: the note cannot be read or written.
    """
    lock = HostLock((lock_directory, state))
    budget = ProbeBudget(state, clock, boot_id)
    try:
        if lock.acquire():
            # A daemon that has not started since the reboot has not noted it yet.
            budget.recover()
        run_before = budget.unacknowledged
        was = budget.acknowledge()
    except OSError as e:
        raise ConfigError(
            f"{budget.path} cannot be written: {e.strerror or e}", "run this as root or the daemon"
        ) from e
    finally:
        lock.release()
    if not was:
        out.write("nothing to acknowledge: no reboot during a probe is noted\n")
    elif run_before is None:
        out.write("acknowledged: probes run again\n")
    else:
        out.write(
            f"acknowledged: the {run_before.profile} probe of {run_before.drive} during which the"
            " host rebooted; probes run again\n"
        )
    return 0
