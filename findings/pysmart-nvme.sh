#!/bin/sh
# What pySMART reads from the text that smartctl prints for an NVMe drive.
#
# Guess: the attributes are the numbers that smartctl prints.
#
# Seen with pySMART 1.4.3 on Python 3.11, and lines in the format of smartctl 7.3 and 7.4:
#   smartctl prints                                  pySMART has
#   "Warning  Comp. Temperature Time:    83"         warningTemperatureTime is None: it looks for one space
#   "Critical Comp. Temperature Time:    7"          criticalTemperatureTime is 7
#   an error log, 7.3                                its entries, but not those with "-" as location (PELoc)
#   an error log, 7.4, with the column "Message"     no entries, and no error
#   "Data Units Written: 117,066,194 [59.9 TB]"      bytesWritten is 59900000000000, from the rounded text;
#                                                    the counter of 512,000 bytes is 59937891328000
# So a drive that was too hot has no time above its limit, an error log is empty after an upgrade of
# smartctl, and the written bytes stand still and then jump by 0.1 TB.
#
# Installs pySMART from PyPI in a temporary folder. Requires python3 with venv. Exits with 1 if the
# behaviour has changed.
set -eu

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/venv"
"$place/venv/bin/pip" install --quiet --disable-pip-version-check pySMART==1.4.3

"$place/venv/bin/python" - <<'END'
import sys

from pySMART.interface.nvme import NvmeAttributes

HEALTH = """\
SMART/Health Information (NVMe Log 0x02)
Critical Warning:                   0x00
Temperature:                        46 Celsius
Data Units Written:                 117,066,194 [59.9 TB]
Warning  Comp. Temperature Time:    83
Critical Comp. Temperature Time:    7

"""
ERRORS_7_3 = """\
Error Information (NVMe Log 0x01, 16 of 64 entries)
Num   ErrCount  SQId   CmdId  Status  PELoc          LBA  NSID    VS
  0         12     0  0x0013  0x4004  0x028            0     1     -
  1         11     0  0x0012  0x4004      -            0     1     -

"""
ERRORS_7_4 = """\
Error Information (NVMe Log 0x01, 16 of 64 entries)
Num   ErrCount  SQId   CmdId  Status  PELoc          LBA  NSID    VS  Message
  0         12     0  0x0013  0x4004  0x028            0     1     -  Invalid Field in Command

"""


def read(text):
    return NvmeAttributes(iter(text.splitlines()))


health = read(HEALTH)
seen = {
    "warningTemperatureTime": (health.warningTemperatureTime, None),
    "criticalTemperatureTime": (health.criticalTemperatureTime, 7),
    "bytesWritten": (health.bytesWritten, 59_900_000_000_000),
    "dataUnitsWritten * 512,000": (health.dataUnitsWritten * 512_000, 59_937_891_328_000),
    "errors of smartctl 7.3, of 2": (len(read(ERRORS_7_3).errors), 1),
    "errors of smartctl 7.4, of 1": (len(read(ERRORS_7_4).errors), 0),
}
changed = [name for name, (value, expected) in seen.items() if value != expected]
for name, (value, expected) in seen.items():
    print(f"{name:30} {value}" + (f"  changed: expected {expected}" if name in changed else ""))
sys.exit(bool(changed))
END
