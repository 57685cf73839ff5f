#!/usr/bin/python3 -IS
"""HEALTHCHECK of the container image.

`ssd-exporter-health [HOST:PORT]` requests /-/healthy from the exporter. `ssd-exporter-health agent
[FILE]` checks the age of the heartbeat file of the agent. If the program is not healthy, the exit
status is 1 and the reason is written to stderr.
"""

import http.client
import os
import sys
import time

#: Address of the exporter in the container.
_ADDRESS = "127.0.0.1:10177"

#: Heartbeat file of the agent.
_HEARTBEAT = "/run/ssd-smart-agent/agent.json"
#: Age from which the agent counts as hanging. It writes the heartbeat every 15 seconds.
_MAX_AGE_SECONDS = 60.0

#: Timeout of a request. Two requests fit into the health check's timeout of 10 seconds.
_TIMEOUT_SECONDS = 4.0


def main(arguments: list[str]) -> int:
    """Returns 0 if the program is healthy, else 1."""
    if arguments[:1] == ["agent"]:
        problem = _agent([*arguments[1:], _HEARTBEAT][0])
    else:
        problem = _exporter([*arguments, _ADDRESS][0])
    if problem:
        sys.stderr.write(f"{problem}\n")
    return 1 if problem else 0


def _agent(heartbeat: str) -> str:
    try:
        age = time.time() - os.stat(heartbeat).st_mtime
    except OSError as e:
        return (
            f"{heartbeat}: {e.strerror}; is the agent running, and can it write to this directory?"
        )
    return (
        f"{heartbeat} is {age:.0f} seconds old; the agent hangs" if age > _MAX_AGE_SECONDS else ""
    )


def _exporter(address: str) -> str:
    try:
        status, text = _answer(http.client.HTTPConnection(address, timeout=_TIMEOUT_SECONDS))
    # A TLS port closes the connection or answers with a TLS message.
    except (http.client.HTTPException, ConnectionResetError):
        status, text = _encrypted(address)
    except (OSError, ValueError) as e:
        return f"{address}: {e}"
    # 401: the server answers but requires a password.
    return "" if status in (200, 401) else f"{address}: {status} {text}"


def _encrypted(address: str) -> tuple[int, str]:
    import ssl  # noqa: PLC0415  importing it takes a third of the run time and is rarely needed

    # The certificate is not verified: the request stays in this container and uses an address that
    # no certificate contains.
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        return _answer(
            http.client.HTTPSConnection(address, timeout=_TIMEOUT_SECONDS, context=context)
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
