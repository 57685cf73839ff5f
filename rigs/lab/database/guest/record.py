"""Records once per half second what the kernel counts for services, and what the page shows.

Arguments: the output file, "major:minor" of the device, and the services. A line is a JSON record
{"at", "bytes": {service: [read, written]}, "page"}. Python's standard library only.
"""

import json
import sys
import time
import urllib.request
from pathlib import Path

_PAGE = "http://127.0.0.1:10177/"
_SECONDS = 0.5


def read_and_written(service: str, device: str) -> list[int]:
    """Returns the bytes of io.stat; zeros before the first request."""
    path = Path("/sys/fs/cgroup/system.slice", service, "io.stat")
    for line in path.read_text().splitlines():
        number, *pairs = line.split()
        if number == device:
            values = dict(pair.split("=") for pair in pairs)
            return [int(values["rbytes"]), int(values["wbytes"])]
    return [0, 0]


def main() -> None:
    output, device, *services = sys.argv[1:]
    with open(output, "w", buffering=1) as file:
        while True:
            counted = {service: read_and_written(service, device) for service in services}
            record = {"at": time.time(), "bytes": counted}
            with urllib.request.urlopen(_PAGE, timeout=30) as answer:
                record["page"] = answer.read().decode()
            file.write(json.dumps(record) + "\n")
            time.sleep(_SECONDS)


if __name__ == "__main__":
    main()
