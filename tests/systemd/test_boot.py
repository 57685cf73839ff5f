"""Both units, started by a real systemd."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import pytest

from tests.end_to_end.page import Page
from tests.required import lacking
from tests.systemd import package
from tests.systemd.machine import Machine, Unavailable, booted
from tests.systemd.units import AGENT, BOTH, EXPORTER, await_drive
from tests.unit_file import SYSTEMD

CONFIG = "/etc/ssd-exporter/config.toml"

#: A short probe without gate conditions, because tests keep this host busy.
PROBES = """
[probe]
directory = "/var/lib/mysql-probe"
profiles = ["page_read", "fsync"]
first_delay_seconds = 3

[probe.gate]
host_uptime_seconds = 0
busy_ratio = 1
pressure_ratio = 1
cgroup_pressure_ratio = 1
free_bytes = 0
free_ratio = 0
free_inodes = 0
guard_samples = 1000

[probe.profile.page_read]
size_bytes = 1_048_576
number_ios = 16

[probe.profile.fsync]
size_bytes = 1_048_576
number_ios = 16
"""


@contextmanager
def changed(machine: Machine, path: str, text: str, mode: int = 0o644) -> Iterator[None]:
    before = machine.run("cat", path)
    machine.write(path, text, mode)
    try:
        yield
    finally:
        if before.returncode == 0:
            machine.write(path, before.stdout)
        else:
            machine.run("rm", "-f", path)


@contextmanager
def with_drop_in(machine: Machine, text: str, *units: str) -> Iterator[None]:
    """Adds a drop-in to units."""
    paths = [f"/run/systemd/system/{unit}.service.d/test.conf" for unit in units]
    for path in paths:
        machine.write(path, text)
    machine.systemctl("daemon-reload")
    machine.systemctl("restart", *units)
    try:
        yield
    finally:
        machine.run("rm", *paths)
        machine.systemctl("daemon-reload")
        machine.systemctl("restart", *units)


class JournalReader:
    """Journal lines of units since its creation."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._skipped_lines = {unit: len(machine.said(unit)) for unit in BOTH}

    def lines(self, unit: str) -> list[str]:
        return self._machine.said(unit)[self._skipped_lines[unit] :]

    def await_line(self, unit: str, text: str) -> None:
        """Waits until one of the lines contains the text. Other lines may follow it at once."""
        what = f"a line of {unit} with {text!r}"
        self._machine.await_(what, lambda: any(text in line for line in self.lines(unit)))

    def warnings(self, unit: str) -> list[str]:
        return warnings(self.lines(unit))


def warnings(lines: list[str]) -> list[str]:
    return [line for line in lines if "level=info" not in line]


def test_the_boot_starts_both_units_without_errors(machine: Machine) -> None:
    assert "active\nactive" == machine.systemctl("is-active", *BOTH)
    for unit in BOTH:
        assert [] == warnings(machine.said(unit))
        assert "0" == machine.show(unit, "NRestarts")
        assert machine.said(unit)


def test_files_of_root_in_the_state_directory_belong_to_the_exporter(machine: Machine) -> None:
    owners = machine.run("stat", "--format=%U", f"/{package.STATE}/of-root.json").stdout
    assert "ssd-exporter\n" == owners


def test_the_page_contains_host_and_smart_metrics(machine: Machine) -> None:
    page = machine.metrics()
    assert 1 == page.value("ssd_device_up", device="rig1", serial="RIGN000001")
    assert {"1"} == {str(int(value)) for _, value in page.find("ssd_collector_success")}
    assert page.value("ssd_smart_agent_heartbeat_timestamp_seconds") > 0
    assert list(page.find("ssd_disk_read_bytes_total"))


def test_a_reload_applies_new_settings_and_keeps_the_processes(machine: Machine) -> None:
    before = [machine.show(unit, "MainPID") for unit in BOTH]
    reader = JournalReader(machine)
    with changed(machine, CONFIG, '[log]\nlevel = "debug"\n'):
        machine.systemctl("reload", *BOTH)
        for unit in BOTH:
            reader.await_line(unit, "settings reloaded")
    assert before == [machine.show(unit, "MainPID") for unit in BOTH]
    await_running(machine)
    reader = JournalReader(machine)
    machine.systemctl("reload", *BOTH)
    for unit in BOTH:
        reader.await_line(unit, "settings reloaded")
    await_running(machine)


def await_running(machine: Machine) -> None:
    """Waits until both units have finished a reload."""
    for unit in BOTH:
        machine.await_(f"{unit} runs", partial(is_running, machine, unit))


def is_running(machine: Machine, unit: str) -> bool:
    return "running" == machine.show(unit, "SubState")


def test_a_reload_with_invalid_settings_fails_and_keeps_the_process(machine: Machine) -> None:
    before = [machine.show(unit, "MainPID") for unit in BOTH]
    reader = JournalReader(machine)
    with changed(machine, CONFIG, "[web]\nlisten = 1\n"):
        for unit in BOTH:
            assert machine.run("systemctl", "reload", unit).returncode == 1
            assert "active" == machine.show(unit, "ActiveState")
            [line] = reader.warnings(unit)
            assert line.startswith(f"ssd-exporter: {CONFIG}: unknown key web.listen; did you mean")
    assert before == [machine.show(unit, "MainPID") for unit in BOTH]
    assert machine.page()


def test_invalid_settings_at_start_fail_the_unit_with_one_line(machine: Machine) -> None:
    """systemd does not retry; after the configuration is fixed, a manual start succeeds."""
    reader = JournalReader(machine)
    with changed(machine, CONFIG, "[web]\nlisten = 1\n"):
        for unit in BOTH:
            assert machine.run("systemctl", "restart", unit).returncode != 0
            assert "failed" == machine.show(unit, "ActiveState")
            assert "2" == machine.show(unit, "ExecMainStatus")
            assert "0" == machine.show(unit, "NRestarts")
            lines = reader.warnings(unit)
            assert 1 == len(lines), lines
            assert lines[0].startswith(f"ssd-exporter: {CONFIG}: unknown key web.listen")
    machine.systemctl("start", *BOTH)
    assert machine.page()


def test_a_mistake_in_a_request_of_a_test_is_not_an_empty_page(machine: Machine) -> None:
    """Otherwise the test would wait for a page that never comes."""
    with pytest.raises(AssertionError, match="option --max-time=9: is unknown"):
        machine.page("--max-time=9")


def test_a_stopped_exporter_has_an_empty_page(machine: Machine) -> None:
    machine.systemctl("stop", EXPORTER)
    assert "" == machine.page()


def test_units_restart_after_sigkill(machine: Machine) -> None:
    # The agent may have started just now: it writes its documents after its first poll.
    await_drive(machine)
    before = [machine.show(unit, "MainPID") for unit in BOTH]
    documents = machine.run("ls", "/run/ssd-smart-agent").stdout
    assert "drive-" in documents
    machine.run("kill", "-KILL", *before)
    machine.await_("both units restart", lambda: restarted(machine, before))
    assert documents == machine.run("ls", "/run/ssd-smart-agent").stdout
    await_drive(machine)


def restarted(machine: Machine, before: list[str]) -> bool:
    now = [machine.show(unit, "MainPID") for unit in BOTH]
    states = {machine.show(unit, "ActiveState") for unit in BOTH}
    return not {"0", *before} & {*now} and {"active"} == states


def notified_after(machine: Machine, unit: str) -> bool:
    """Waits for a short time. Returns True if the process notified the watchdog in it."""
    before = machine.show(unit, "WatchdogTimestampMonotonic")
    time.sleep(0.2)
    return before != machine.show(unit, "WatchdogTimestampMonotonic")


def reported_timeout(machine: Machine, unit: str) -> bool:
    return "Watchdog timeout" in machine.journal(unit)


def test_the_watchdog_restarts_a_frozen_process(machine: Machine) -> None:
    """A running process notifies the watchdog in time even with a short interval.

    The interval is longer than the stalls of a busy machine.
    """
    with with_drop_in(machine, "[Service]\nWatchdogSec=20s\n", *BOTH):
        reader = JournalReader(machine)
        before = [machine.show(unit, "MainPID") for unit in BOTH]
        for unit in BOTH:
            for _ in range(2):
                machine.await_("a notification", partial(notified_after, machine, unit))
        assert before == [machine.show(unit, "MainPID") for unit in BOTH]
        machine.run("kill", "-STOP", *before)
        machine.await_("both units restart", lambda: restarted(machine, before))
        for unit in BOTH:
            # systemd writes the message, and journald may read it later.
            machine.await_("the message", partial(reported_timeout, machine, unit))
        # Stack traces of all threads.
        assert any("Fatal Python error: Aborted" in line for line in reader.lines(EXPORTER))


def test_a_probe_runs_in_the_sandbox_with_the_drop_in_of_the_example(machine: Machine) -> None:
    """Real fio with threads, shared memory and nice(2)."""
    place = "/var/lib/mysql-probe"
    owned = f"chown ssd-exporter: {place} && chmod 0700 {place}"
    assert 0 == machine.run("sh", "-c", owned).returncode
    text = (SYSTEMD / "probe.conf").read_text()
    with changed(machine, CONFIG, PROBES), with_drop_in(machine, text, EXPORTER):
        machine.await_("two probes", lambda: 2 == len(probed(machine)))
        assert {"psync"} == machine.metrics().labels("ssd_probe_info", "engine")


def test_one_command_enables_probes_and_one_disables_them(machine: Machine) -> None:
    """The exporter's user, its sandbox, and a real first probe."""
    directory = "/var/lib/mysql-probe/new"
    open_to_all = machine.run("chmod", "0755", "/var/lib/mysql-probe")
    assert 0 == open_to_all.returncode
    drop_in = "/etc/systemd/system/ssd-exporter.service.d/probe.conf"
    quick = PROBES.replace('directory = "/var/lib/mysql-probe"\n', "")
    with changed(machine, CONFIG, quick):
        enabled = machine.run("ssd-exporter", "enable-probes", directory, timeout=120)
        assert 0 == enabled.returncode, enabled.stdout + enabled.stderr
        assert "restarted ssd-exporter" in enabled.stdout
        assert "ssd-exporter 700\n" == machine.run("stat", "--format=%U %a", directory).stdout
        machine.await_("two scheduled probes", lambda: 2 == len(probed(machine)))
        assert "active" == machine.systemctl("is-active", EXPORTER)

        disabled = machine.run("ssd-exporter", "disable-probes", timeout=120)
        assert 0 == disabled.returncode, disabled.stdout + disabled.stderr
        assert quick == machine.run("cat", CONFIG).stdout
        for path in (directory, drop_in):
            assert 0 != machine.run("test", "-e", path).returncode
        assert "active" == machine.systemctl("is-active", EXPORTER)
    machine.systemctl("restart", EXPORTER)


def probed(machine: Machine) -> set[str]:
    """Profiles with a successful run."""
    runs = Page.parse(machine.page()).find("ssd_probe_runs_total", result="success")
    return {labels["profile"] for labels, count in runs if count}


def test_units_report_missing_smartmontools_and_keep_running(machine: Machine) -> None:
    reader = JournalReader(machine)
    machine.run("rm", "/usr/sbin/smartctl")
    try:
        machine.systemctl("restart", AGENT)
        for unit in BOTH:
            reader.await_line(unit, "install smartmontools")
        assert "active\nactive" == machine.systemctl("is-active", *BOTH)
        assert 0 == machine.metrics().value("ssd_collector_success", collector="smart")
        assert list(machine.metrics().find("ssd_disk_read_bytes_total"))
    finally:
        machine.write("/usr/sbin/smartctl", package.smartctl(), 0o755)
        machine.systemctl("restart", AGENT)


def test_an_unreadable_certificate_fails_the_unit_with_one_line(machine: Machine) -> None:
    web = "/etc/ssd-exporter/web.yml"
    key = "/etc/ssd-exporter/key.pem"
    text = f"tls_server_config:\n  cert_file: {key}\n  key_file: {key}\n"
    setting = f'[web]\nconfig_file = "{web}"\n'
    reader = JournalReader(machine)
    with (
        changed(machine, web, text),
        changed(machine, key, "secret", 0o600),
        changed(machine, CONFIG, setting),
    ):
        assert machine.run("systemctl", "restart", EXPORTER).returncode != 0
        lines = reader.warnings(EXPORTER)
        assert 1 == len(lines)
        assert key in lines[0]
        assert "Permission denied" in lines[0]
    machine.systemctl("start", EXPORTER)


def test_the_exporter_runs_with_a_full_var_and_reports_the_loss(machine: Machine) -> None:
    machine.systemctl("stop", EXPORTER)
    script = (
        "mount -t tmpfs -o size=64k,nr_inodes=64 tmpfs /var &&"
        " mkdir -p /var/lib/ssd-exporter /var/tmp &&"
        " chown ssd-exporter: /var/lib/ssd-exporter && ! cat /dev/zero > /var/full 2> /dev/null"
    )
    assert 0 == machine.run("sh", "-c", script).returncode
    reader = JournalReader(machine)
    try:
        machine.systemctl("start", EXPORTER)
        await_drive(machine)
        reader.await_line(EXPORTER, "No space left on device")
        assert "active" == machine.show(EXPORTER, "ActiveState")
    finally:
        machine.systemctl("stop", EXPORTER)
        machine.run("umount", "/var")


def test_an_uninterruptible_command_survives_the_agent(machine: Machine) -> None:
    """KillMode=process: an interrupted command would leave its sector on the disk."""
    settings = '[[smart.drive]]\npath = "/dev/sdx"\ntype = "jmb39x,0"\n'
    with changed(machine, CONFIG, settings):
        machine.systemctl("restart", AGENT)
        machine.await_("the slow command runs", lambda: machine.run("pgrep", "-x", "sleep").stdout)
        pids = machine.run("pgrep", "-x", "sleep").stdout
        machine.systemctl("stop", AGENT)
        assert pids == machine.run("pgrep", "-x", "sleep").stdout
        assert "inactive" == machine.show(AGENT, "ActiveState")
    machine.systemctl("start", AGENT)
    machine.run("kill", *pids.split())
    machine.await_("the command ends", lambda: not machine.run("pgrep", "-x", "sleep").stdout)


def test_a_stop_is_clean_and_removes_the_documents(machine: Machine) -> None:
    for unit in BOTH:
        machine.systemctl("stop", unit)
        assert "success" == machine.show(unit, "Result")
    assert machine.run("ls", "/run/ssd-smart-agent").returncode != 0


@pytest.mark.slow
def test_systemd_responds_during_slow_jobs(machine: Machine) -> None:
    """It reports a job of more than 5 s three times a second, and the test reads no reports."""
    unit = "/run/systemd/system/slow-job.service"
    text = "[Service]\nType=oneshot\nTimeoutStartSec=infinity\nExecStart=sleep 20\n"
    with changed(machine, unit, text):
        machine.systemctl("daemon-reload")
        machine.systemctl("start", "slow-job")
        assert "inactive" == machine.show("slow-job", "ActiveState")
    machine.systemctl("daemon-reload")


def test_units_run_on_a_read_only_root() -> None:
    try:
        with booted(is_readonly=True) as machine:
            assert machine.run("touch", "/var/lib/x").returncode != 0
            await_drive(machine)
            assert "active\nactive" == machine.systemctl("is-active", *BOTH)
            [line] = warnings(machine.said(EXPORTER))
            assert "baselines and counters are lost at the next restart" in line
    except Unavailable as e:
        lacking(str(e))
