#!/usr/bin/python3 -IS
"""Whether what runs in this container is well: the image's HEALTHCHECK. Says why where it is not.

`ssd-exporter-health` asks the exporter, `ssd-exporter-health HOST:PORT` one that listens elsewhere,
`ssd-exporter-health agent [FILE]` looks when the agent has last written. Exit status 1: it is not
well.
"""

import http.client
import os
import sys
import time

#: The exporter's, within the container.
_ADDRESS = "127.0.0.1:10177"

#: What the agent writes every 15 seconds.
_ROLL = "/run/ssd-smart-agent/agent.json"
_LATE_SECONDS = 60.0

_PATIENCE_SECONDS = 4.0


def main(arguments: list[str]) -> int:
    """0 where it is well, else 1."""
    if arguments[:1] == ["agent"]:
        problem = _agent([*arguments[1:], _ROLL][0])
    else:
        problem = _exporter([*arguments, _ADDRESS][0])
    if problem:
        sys.stderr.write(f"{problem}\n")
    return 1 if problem else 0


def _agent(roll: str) -> str:
    try:
        late = time.time() - os.stat(roll).st_mtime
    except OSError as e:
        return f"{roll}: {e.strerror}; does the agent run, and may it write there?"
    return f"{roll} is {late:.0f} seconds old; the agent hangs" if late > _LATE_SECONDS else ""


def _exporter(address: str) -> str:
    try:
        status, text = _answer(http.client.HTTPConnection(address, timeout=_PATIENCE_SECONDS))
    # A port with TLS hangs up, or answers in TLS.
    except (http.client.HTTPException, ConnectionResetError):
        status, text = _encrypted(address)
    except (OSError, ValueError) as e:
        return f"{address}: {e}"
    # Behind a password it is at least there to ask for one.
    return "" if status in (200, 401) else f"{address}: {status} {text}"


def _encrypted(address: str) -> tuple[int, str]:
    import ssl  # noqa: PLC0415  a third of what this takes, and most have no use for it

    # It is this container that is asked, under a name that no certificate has.
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        return _answer(
            http.client.HTTPSConnection(address, timeout=_PATIENCE_SECONDS, context=context)
        )
    except (OSError, http.client.HTTPException) as e:
        return 0, str(e)


def _answer(connection: http.client.HTTPConnection) -> tuple[int, str]:
    try:
        connection.request("GET", "/-/healthy")
        response = connection.getresponse()
        return response.status, response.read(1000).decode("utf-8", "replace").strip()
    finally:
        connection.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
