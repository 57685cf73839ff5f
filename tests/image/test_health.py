"""container/health.py, the HEALTHCHECK of the image, with the real server."""

import os
import re
import socket
import subprocess
import sys
import time
from http import HTTPStatus
from pathlib import Path

from exporter.web.http_message import Response, plain_response
from tests.duration import PATIENCE_SECONDS
from tests.end_to_end.programs import need
from tests.image.files import CONTAINER
from tests.processes import run_program
from tests.web.http_client import serving


def command(*arguments: str) -> list[str]:
    """The program with a timeout for a busy machine: the tests' own process has the server."""
    text = (CONTAINER / "health.py").read_text()
    patient = re.sub(
        r"^_TIMEOUT_SECONDS = .*",
        f"_TIMEOUT_SECONDS = {PATIENCE_SECONDS}",
        text,
        flags=re.MULTILINE,
    )
    assert patient != text
    return [sys.executable, "-IS", "-c", patient, *arguments]


def ask(*arguments: str) -> tuple[int, str]:
    """Exit status and output."""
    done = run_program(command(*arguments))
    assert "Traceback" not in done.stderr
    return done.returncode, done.stderr.strip()


def well() -> Response:
    return plain_response(HTTPStatus.OK, "Healthy.")


def ill() -> Response:
    return plain_response(HTTPStatus.SERVICE_UNAVAILABLE, "Unhealthy: no sample for 12 seconds.")


def test_a_healthy_exporter() -> None:
    with serving(fast={"/-/healthy": well}) as server:
        host, port = server.addresses[0][:2]
        assert (0, "") == ask(f"{host}:{port}")


def test_an_unhealthy_exporter_reports_the_reason() -> None:
    with serving(fast={"/-/healthy": ill}) as server:
        host, port = server.addresses[0][:2]
        status, said = ask(f"{host}:{port}")
    assert 1 == status
    assert f"{host}:{port}: 503 Unhealthy: no sample for 12 seconds." == said


def test_behind_tls_and_a_password(tmp_path: Path, hashed_password: str) -> None:
    """The certificate has another name, which is not verified."""
    need("openssl")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-nodes", "-days", "2", "-subj", "/CN=db1.example.net",
         "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-keyout", key, "-out", certificate],
        check=True,
        capture_output=True,
    )  # fmt: skip
    web = tmp_path / "web.yml"
    web.write_text(
        f"tls_server_config: {{cert_file: {certificate}, key_file: {key}}}\n"
        f"basic_auth_users: {{prometheus: {hashed_password}}}\n"
    )
    with serving(web_config=web, fast={"/-/healthy": well}) as server:
        host, port = server.addresses[0][:2]
        assert (0, "") == ask(f"{host}:{port}")


def test_unused_and_invalid_addresses() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{held.getsockname()[1]}"
        status, said = ask(address)
    assert 1 == status
    assert f"{address}: [Errno 111] Connection refused" == said
    for address in ("", "127.0.0.1:", "127.0.0.1:http", "127.0.0.1:99999", "no such host:1"):
        assert 1 == ask(address)[0], address


def test_a_server_that_does_not_speak_http() -> None:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        one.listen()
        one.settimeout(PATIENCE_SECONDS)
        address = f"127.0.0.1:{one.getsockname()[1]}"
        asked = subprocess.Popen(
            command(address),
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2):
            link, _ = one.accept()
            link.recv(1000)
            link.sendall(b"\x15\x03\x03\x00\x02\x02\x32")
            link.close()
        _, said = asked.communicate(timeout=PATIENCE_SECONDS)
    assert 1 == asked.returncode
    assert said.startswith(f"{address}: 0 ")
    assert "Traceback" not in said


def test_the_agent_is_healthy_while_it_writes_heartbeats(tmp_path: Path) -> None:
    roll = tmp_path / "agent.json"
    status, said = ask("agent", str(roll))
    assert 1 == status
    assert said.startswith(f"{roll}: No such file or directory")
    roll.touch()
    assert (0, "") == ask("agent", str(roll))
    os.utime(roll, (time.time() - 90,) * 2)
    status, said = ask("agent", str(roll))
    assert 1 == status
    assert re.fullmatch(rf"{re.escape(str(roll))} is \d+ seconds old; the agent hangs", said)
