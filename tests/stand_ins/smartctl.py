"""A program that replaces smartctl. A test sets its behaviour for each drive.

It is a shell script, because a shell starts in 1 ms and Python in 20 ms. Its last argument names
the drive. It then executes the script of this drive, which is another file.
"""

import json
import os
import shlex
from pathlib import Path

GOOD = '{"smartctl":{"version":[7,3],"exit_status":0},"device":{"protocol":"NVMe"}}'


class StandIn:
    """The program in a directory; `program` is its path.

    The methods that set the behaviour of a drive return the path of its device node.
    """

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
        """Sets the shell script of the drive."""
        # A new file, because a shell may be reading the old one.
        new = self._drives / f".{drive}.new"
        new.write_text(script)
        os.replace(new, self._drives / drive)
        return f"/dev/{drive}"

    def says(self, drive: str, output: str = GOOD, status: int = 0) -> str:
        """The program prints this text and ends with an exit status."""
        return self.does(drive, f"printf '%s\\n' {shlex.quote(output)}\nexit {status}\n")

    def hangs(self, drive: str) -> str:
        """The program hangs and ignores SIGTERM."""
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
        """Returns the arguments of each call so far."""
        return self._log.read_text().splitlines() if self._log.exists() else []
