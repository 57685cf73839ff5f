"""The daemon as a process: notifications, signals, exit status and error messages."""

import ctypes
import functools
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from tests.duration import PATIENCE_SECONDS, at_most, wait_until
from tests.end_to_end.daemon import Daemon, command, run
from tests.end_to_end.programs import need
from tests.end_to_end.service_manager import ServiceManager


@contextmanager
def managed(
    tmp_path: Path, config: str = "", **more: str
) -> Iterator[tuple[Daemon, ServiceManager]]:
    with (
        closing(ServiceManager(tmp_path / "notify")) as manager,
        Daemon(tmp_path, config=config, more=manager.environment | more) as daemon,
    ):
        yield daemon, manager


def refused(argv: list[str], more: dict[str, str] | None = None) -> str:
    """Returns the one line that it prints before it exits with status 2."""
    status, said, complaint = run(argv, more)
    assert (2, "") == (status, said), complaint
    assert complaint.startswith("ssd-exporter: ")
    assert complaint.endswith("\n")
    (line,) = complaint.splitlines()
    return line


def test_it_notifies_ready_and_stopping(tmp_path: Path) -> None:
    with managed(tmp_path) as (daemon, manager):
        assert "READY=1" in manager.heard()
        assert 200 == daemon.get("/-/ready").status
        daemon.signal(signal.SIGTERM)
        assert ["STOPPING=1"] == manager.heard_besides_watchdog()
        assert 0 == daemon.process.wait(PATIENCE_SECONDS)


def test_it_notifies_the_watchdog_at_least_twice_per_timeout(tmp_path: Path) -> None:
    with managed(tmp_path, WATCHDOG_USEC="1200000") as (_, manager):
        assert "READY=1" in manager.heard()
        # If the machine stalls after this moment, notifications are kept, but the time counts.
        begin = time.monotonic()
        with suppress(TimeoutError):
            while True:  # those that a busy machine has kept
                manager.heard(0.01)
        for _ in range(6):
            with at_most(0.6, "the next notification"):
                assert ["WATCHDOG=1"] == manager.heard()
        assert time.monotonic() - begin > 0.6  # but not more often


def test_the_watchdog_of_another_process_is_not_notified(tmp_path: Path) -> None:
    with managed(tmp_path, WATCHDOG_USEC="300000", WATCHDOG_PID="1") as (_, manager):
        assert "READY=1" in manager.heard()
        with pytest.raises(TimeoutError):
            manager.heard(1)


def test_a_reload_applies_new_settings_and_notifies_the_manager(tmp_path: Path) -> None:
    with managed(tmp_path) as (daemon, manager):
        assert "READY=1" in manager.heard()
        samples = daemon.page().value("ssd_sampler_samples_total")
        daemon.config.write_text("sampler.interval_seconds = 0.25\n")
        before = time.monotonic_ns() // 1000
        daemon.signal(signal.SIGHUP)
        reloading, stamp = manager.heard_besides_watchdog()
        assert "RELOADING=1" == reloading
        # It distinguishes this reload from an earlier one (systemd's Type=notify-reload).
        name, _, microseconds = stamp.partition("=")
        assert "MONOTONIC_USEC" == name
        assert before <= int(microseconds) <= time.monotonic_ns() // 1000
        assert ["READY=1"] == manager.heard_besides_watchdog()
        page = daemon.next_page(2)

    assert 0.25 == page.value("ssd_sampler_interval_seconds")
    assert page.value("ssd_sampler_samples_total") > samples
    assert "settings reloaded" in daemon.log


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ("sampler.interval_second = 2", "did you mean interval_seconds?"),
        ("[sampler", "is not valid TOML"),
        ("sampler.interval_seconds = 1e9", "between 0.1 and 10"),
    ],
)
def test_a_reload_of_invalid_settings_keeps_the_old_ones_and_logs_an_error(
    tmp_path: Path, config: str, expected: str
) -> None:
    with managed(tmp_path, "sampler.interval_seconds = 0.5") as (daemon, manager):
        assert "READY=1" in manager.heard()
        daemon.config.write_text(config)
        daemon.signal(signal.SIGHUP)
        assert "RELOADING=1" in manager.heard_besides_watchdog()
        assert ["READY=1"] == manager.heard_besides_watchdog()
        page = daemon.next_page(2)

    assert 0.5 == page.value("ssd_sampler_interval_seconds")
    (complaint,) = daemon.complaints
    assert expected in complaint
    assert "previous settings remain active" in complaint


def test_a_reload_of_a_file_that_hangs_keeps_the_old_settings_and_logs_an_error(
    tmp_path: Path,
) -> None:
    """Nothing writes to the pipe."""
    with managed(tmp_path) as (daemon, manager):
        assert "READY=1" in manager.heard()
        daemon.config.unlink()
        os.mkfifo(daemon.config)
        daemon.signal(signal.SIGHUP)
        assert "RELOADING=1" in manager.heard_besides_watchdog()
        assert ["READY=1"] == manager.heard_besides_watchdog()
        assert 200 == daemon.get("/metrics").status
        (complaint,) = daemon.complaints
    assert "the previous settings remain active" in complaint
    assert f"{daemon.config} was not read within 5 s" in complaint


@pytest.mark.slow
def test_reloads_do_not_make_the_daemon_larger(tmp_path: Path) -> None:
    """Before, each one added 0.75 KiB to its memory, and 4 KiB with 24 drives."""

    def reload(first: int, last: int) -> int:
        """Returns the resident memory afterwards in KiB."""
        for number in range(first, last + 1):
            daemon.signal(signal.SIGHUP)
            wait_until(functools.partial(is_reloaded, number))
        return daemon.resident_kilobytes()

    def is_reloaded(times: int) -> bool:
        # On a busy machine, the file may not be read in time. This is a reload, too.
        log = daemon.log
        return log.count("settings reloaded") + log.count("was not read within") == times

    # Little else happens: few samples, and no drives.
    config = "sampler.interval_seconds = 10\ndisk.device_include = '^none$'\n"
    with Daemon(tmp_path, "--no-collector.smart", config=config) as daemon:
        warm = reload(1, 50)
        # The samples that are taken meanwhile may add a page or two.
        assert reload(51, 550) <= warm + 192


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_within_a_second_although_clients_hold_connections(
    tmp_path: Path, number: signal.Signals
) -> None:
    with Daemon(tmp_path) as daemon:
        idle = [socket.create_connection(("127.0.0.1", daemon.port)) for _ in range(20)]
        for link in idle[:10]:
            link.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n")  # without the end of the request
        daemon.page()
        with at_most(1, "the end"):
            daemon.signal(number)
            status = daemon.process.wait(PATIENCE_SECONDS)
        for link in idle:
            link.close()

    assert 0 == status
    assert [] == daemon.complaints


def test_sigterm_ends_the_daemon_at_whichever_thread_it_arrives(tmp_path: Path) -> None:
    # Like a signal that arrives just before the main thread starts to wait, and does not wake it.
    with Daemon(tmp_path) as daemon:
        process = daemon.process.pid
        # The thread of the first survey, which ends with it, may be among them until then.
        surveyed = "ssd_survey_last_success_timestamp_seconds"
        wait_until(lambda: list(daemon.page().find(surveyed)), "the first survey")
        threads = {int(task.name) for task in Path("/proc", str(process), "task").iterdir()}
        thread = max(threads - {process})
        assert 0 == ctypes.CDLL(None, use_errno=True).tgkill(process, thread, signal.SIGTERM)
        assert 0 == daemon.process.wait(PATIENCE_SECONDS)


def test_a_port_in_use_is_reported_with_a_remedy(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        line = refused(command(tmp_path, port=port))

    assert f"cannot listen on 127.0.0.1:{port}: Address already in use" in line
    assert "choose another port" in line


def test_a_configured_state_directory_that_is_not_writable_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file where the directory should be")
    line = refused(command(tmp_path))

    assert f"the state directory {tmp_path / 'state'} cannot be written: " in line
    assert "; make it writable for this user" in line
    assert "--state.directory" in line


def test_an_unwritable_default_state_directory_is_only_logged(tmp_path: Path) -> None:
    """The warning names the consequence, and the exporter continues."""
    nowhere = tmp_path / "file"
    nowhere.write_text("")
    told = {"STATE_DIRECTORY": str(nowhere / "state")}
    flags = ["--config.check"]
    argv = [word for word in command(tmp_path) if not word.startswith("--state.directory")]
    status, said, complaint = run([*argv, *flags], told)

    assert (0, "the configuration is valid\n") == (status, said)
    (line,) = complaint.splitlines()
    assert "no state directory is writable" in line
    assert "lost at the next restart; set --state.directory" in line
    assert "level=warning" in line


def test_an_invalid_certificate_is_reported_with_its_file_and_a_remedy(tmp_path: Path) -> None:
    need("openssl")
    key, certificate, web = tmp_path / "web.key", tmp_path / "web.pem", tmp_path / "web.yml"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-subj", "/CN=x", "-keyout", key, "-out", certificate],
        check=True,
        capture_output=True,
    )  # fmt: skip
    web.write_text("tls_server_config: {cert_file: web.pem, key_file: web.key}\n")
    argv = command(tmp_path, f"--web.config.file={web}")
    good = run([*argv, "--config.check"])
    assert (0, "the configuration is valid\n", "") == good

    certificate.write_text("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
    line = refused(argv)
    assert str(certificate) in line
    assert "; " in line


def test_an_address_of_another_host_is_reported_with_a_remedy(tmp_path: Path) -> None:
    line = refused([*command(tmp_path), "--web.listen-address=192.0.2.1:0"])
    assert "192.0.2.1" in line
    assert "address of this host" in line
