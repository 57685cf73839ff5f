"""A program that replaces smartctl. A test sets its behaviour for each drive.

A shell script, for it starts in 1 ms where Python takes 20. The last argument names the drive;
what it does then is a shell script of its own beside it.
"""

import json
import os
import shlex
from pathlib import Path

GOOD = '{"smartctl":{"version":[7,3],"exit_status":0},"device":{"protocol":"NVMe"}}'


class StandIn:
    """Put into a directory; `program` is what to run."""

    def __init__(self, directory: Path) -> None:
        self._drives = directory / "drives"
        self._drives.mkdir(parents=True)
        self._log = directory / "log"
        self.program = str(directory / "smartctl")
        script = (
            "#!/bin/sh\n"
            f'printf "%s\\n" "$*" >> {shlex.quote(str(self._log))}\n'
            "for last; do :; done\n"
            f". {shlex.quote(str(self._drives))}/${{last##*/}}\n"
        )
        Path(self.program).write_text(script)
        Path(self.program).chmod(0o755)

    def does(self, drive: str, script: str) -> str:
        """Let the drive do this; its path."""
        # Replaced whole, for it may be running.
        new = self._drives / f".{drive}.new"
        new.write_text(script)
        os.replace(new, self._drives / drive)
        return f"/dev/{drive}"

    def says(self, drive: str, output: str = GOOD, status: int = 0) -> str:
        """Let the drive print this and end with an exit status."""
        return self.does(drive, f"printf '%s\\n' {shlex.quote(output)}\nexit {status}\n")

    def hangs(self, drive: str) -> str:
        """It takes no notice of SIGTERM."""
        return self.does(drive, "trap '' TERM\nexec sleep 1000\n")

    def prints_forever(self, drive: str) -> str:
        return self.does(drive, "exec yes\n")

    def dies(self, drive: str, signal: str = "KILL") -> str:
        return self.does(drive, f"kill -{signal} $$\n")

    def is_in_standby(self, drive: str, mode: str = "STANDBY") -> str:
        message = {"string": f"Device is in {mode} mode, exit(3)", "severity": "information"}
        run = {"version": [7, 3], "messages": [message], "exit_status": 3}
        return self.says(drive, json.dumps({"smartctl": run, "device": {"protocol": "ATA"}}), 3)

    def calls(self) -> list[str]:
        """The arguments of each call so far."""
        return self._log.read_text().splitlines() if self._log.exists() else []
