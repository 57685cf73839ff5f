"""``ssd-exporter probe``: real fio on small files, and all errors."""

import fcntl
import json
import os
import pwd
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from exporter.config.profiles import PROFILES
from exporter.linux import topology
from exporter.probe import probe_file, results
from exporter.probe.results import Round, RoundHistory
from exporter.runtime.state import StateFile
from tests.commands.measured import GATE, SMALL, Place, end, pretending
from tests.duration import PATIENCE_SECONDS, at_most, wait_until
from tests.processes import run_program
from tests.required import lacking

pytestmark = pytest.mark.real

SLC = "[probe.profile.slc]\ninterval_seconds = 604800\n"

#: Who the daemon runs as, in tests of root.
DAEMON = pwd.getpwnam("nobody").pw_uid

SCHEDULED = {"fsync", "page_read", "page_write"}

#: Each takes between ten seconds and a minute.
SLOW = "".join(
    f"[probe.profile.{name}]\nrate_iops = 10\nruntime_seconds = 60\n" for name in sorted(SCHEDULED)
)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def where(place: Place) -> str:
    return f"--directory={place.directory}"


def spent(place: Place) -> dict[str, int]:
    """What is charged to the one drive."""
    kept = json.loads((place.state / "probe-budget.json").read_text())
    assert kept["reservation"] is None
    (found,) = kept["spent"].values()
    return dict(found)


def test_it_runs_the_profiles_of_the_daemon(place: Place) -> None:
    ended = place.run("probe", where(place), "--json")
    assert 0 == ended.status, ended.said
    data = json.loads(ended.out)["data"]
    assert set(data["profiles"]) == SCHEDULED
    assert 49 == data["profiles"]["fsync"]["ops"]["sync"]["operations"]
    assert 100 == data["profiles"]["page_read"]["ops"]["read"]["operations"]
    # The file, 50 writes of 4 KiB and 25 of 16 KiB, and at least as much for the filesystem.
    assert data["charged_bytes"] >= 2 * (8_388_608 + 50 * 4096 + 25 * 16_384)
    assert {"day_bytes": 0, "life_bytes": data["charged_bytes"]} == spent(place)
    assert "100 %" in ended.said
    assert [f"ssd-exporter-probe-{data['device']}"] == [f.name for f in place.directory.iterdir()]


def test_one_profile_is_reported_as_text_and_html(place: Place) -> None:
    page = place.path / "page.html"
    ended = place.run("probe", "page_read", where(place), f"--html={page}")
    assert 0 == ended.status, ended.said
    assert "random read of 16 KiB" in ended.out
    assert "page_write" not in ended.out
    assert page.read_text().startswith("<!DOCTYPE html>")


def test_a_burst_leaves_the_file_as_long_as_the_daemon_fills_it(place: Place) -> None:
    place.config.write_text(f"[probe.profile.burst]\nsize_bytes = 16777216\n{SMALL}{GATE}")
    assert 0 == place.run("probe", "page_read", where(place)).status
    (file,) = place.directory.iterdir()
    assert 8_388_608 == file.stat().st_size
    ended = place.run("probe", "burst", where(place), "--json")
    assert 0 == ended.status, ended.said
    operation = json.loads(ended.out)["data"]["profiles"]["burst"]["ops"]["write"]
    assert 16_777_216 == operation["bytes"]
    assert 8_388_608 == file.stat().st_size
    assert 0 == probe_file.missing_bytes(place.directory, file.name, 8_388_608)


def test_the_default_directory_is_that_of_the_configuration(place: Place) -> None:
    place.config.write_text(f'[probe]\ndirectory = "{place.directory}"\n{SMALL}{GATE}')
    ended = place.run("probe", "page_read", "--json")
    assert str(place.directory) == json.loads(ended.out)["data"]["directory"]


def test_slower_than_the_saved_runs_is_status_1(place: Place) -> None:
    """Here the daemon has kept five runs of a nanosecond each."""
    # A run of fsync is always compared: it uses no direct I/O, so the host cannot be the cause.
    first = place.run("probe", "fsync", where(place), "--json")
    assert 0 == first.status, first.said
    device = json.loads(first.out)["data"]["device"]
    (drive,) = json.loads((place.state / "probe-budget.json").read_text())["spent"]
    seen = topology.read(Path("/sys"), Path("/proc"), Path("/"), look_for_servers=False).value
    profile = replace(PROFILES["fsync"], size_bytes=8 << 20, number_ios=50)
    key = results.series_key(drive, seen.devices[device].identity.firmware or "", profile, "psync")
    rounds = RoundHistory()
    for at in range(5):
        rounds.add(key, Round(time.time() - 100 + at, 1e-9), lower_is_better=True)
    StateFile(place.state).save({"probe": {"rounds": rounds.to_state()}})
    ended = place.run("probe", "fsync", where(place))
    assert 1 == ended.status, ended.said
    assert "Slower than before: fsync +" in ended.out
    assert "Comparison with the daemon's saved runs" in ended.out


def test_an_unknown_profile_is_an_error_that_lists_the_known_ones(place: Place) -> None:
    complaint = place.complaint("probe", "page_raed", where(place))
    words = "there is no profile 'page_raed'; choose one of burst, fsync, page_read"
    assert words in complaint


def test_the_cache_s_cliff_has_a_command_of_its_own(place: Place) -> None:
    assert "run ssd-exporter slc" in place.complaint("probe", "slc", where(place))


@pytest.mark.parametrize(
    ("directories", "words"),
    [("", "no directory given"), ('"/a", "/b"', "name one of them")],
)
def test_without_one_directory_nothing_is_probed(
    place: Place, directories: str, words: str
) -> None:
    place.config.write_text(f"[probe]\ndirectory = [{directories}]\n{GATE}")
    assert words in place.complaint("probe")


def test_an_impossible_directory_is_an_error(place: Place) -> None:
    assert f"{place.path / 'none'} is not a directory" in place.complaint(
        "probe", f"--directory={place.path / 'none/probe'}"
    )


def test_only_the_cache_s_cliff_scheduled_is_nothing_to_run(place: Place) -> None:
    place.config.write_text(
        f'[probe]\nprofiles = ["slc"]\nbudget_bytes_per_day = {10**12}\n{SLC}{SMALL}{GATE}'
    )
    assert "no profile is scheduled; name one of " in place.complaint("probe", where(place))


def test_a_directory_without_permission_is_an_error(shared: Place) -> None:
    (shared.path / "closed").mkdir(0o700)
    directory = shared.path / "closed/x/y"
    argv = shared.argv("bench", str(directory), "--yes")
    ended = run_program(["setpriv", f"--reuid={DAEMON}", "--clear-groups", *argv])
    assert 2 == ended.returncode, ended.stderr
    assert "closed/x may not be entered; run this as root" in ended.stderr


def test_a_directory_in_memory_is_refused(place: Place) -> None:
    assert "is in memory and not on a drive" in place.complaint(
        "probe", "--directory=/dev/shm/ssd-exporter-test"
    )
    assert not Path("/dev/shm/ssd-exporter-test").exists()


def test_a_link_is_refused(place: Place) -> None:
    (place.path / "real").mkdir(0o700)
    place.directory.symlink_to(place.path / "real")
    assert f"{place.directory} is a link" in place.complaint("probe", where(place))
    assert [] == list((place.path / "real").iterdir())


def test_a_directory_open_to_others_is_refused(place: Place) -> None:
    place.directory.mkdir(0o755)
    assert "is open to other users" in place.complaint("probe", where(place))


def test_a_file_in_its_place_that_is_a_link_is_refused(place: Place) -> None:
    assert 0 == place.run("probe", "page_read", where(place)).status
    (file,) = place.directory.iterdir()
    victim = place.path / "victim"
    victim.write_text("valuable")
    file.unlink()
    file.symlink_to(victim)
    assert "is a link; probes follow no links" in place.complaint("probe", where(place))
    assert "valuable" == victim.read_text()


def test_missing_fio_is_reported_in_one_line(place: Place) -> None:
    assert "/nonexistent/fio: not found; install fio" in place.complaint(
        "probe", where(place), "--fio.path=/nonexistent/fio", status=3
    )
    assert not place.directory.exists()


def test_an_old_fio_is_an_error(place: Place) -> None:
    old = place.program("fio", "echo fio-2.1.3")
    assert "'fio-2.1.3', older than 3.16" in place.complaint(
        "probe", where(place), f"--fio.path={old}", status=3
    )


def test_a_killed_fio_is_reported(place: Place) -> None:
    killed = place.program("fio", pretending("kill -9 $$"))
    assert "nothing was measured: fio was killed by signal 9" in place.complaint(
        "probe", where(place), f"--fio.path={killed}", status=3
    )


def test_useless_output_of_fio_is_reported(place: Place) -> None:
    mute = place.program("fio", pretending("echo no report today; exit 1"))
    assert "no report today" in place.complaint(
        "probe", where(place), f"--fio.path={mute}", status=3
    )


def test_a_fio_that_hangs_is_ended(place: Place) -> None:
    place.config.write_text(SMALL.replace("runtime_seconds = 90", "runtime_seconds = 1") + GATE)
    hung = place.program("fio", pretending("trap '' TERM\nexec sleep 1000"))
    assert "it ran longer than 7 s" in place.complaint(
        "probe", "page_read", where(place), f"--fio.path={hung}", status=3
    )
    # What it may have written is counted in full: it did not live to say.
    assert spent(place)["life_bytes"] == 2 * 8_388_608


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_fio_and_settles_it(place: Place, number: signal.Signals) -> None:
    place.config.write_text(SLOW + GATE)
    child = place.begin("probe", where(place))
    place.await_fio()
    time.sleep(0.5)
    with at_most(5):
        ended = end(child, number)
    assert 3 == ended.status
    words = "Ctrl-C" if number is signal.SIGINT else number.name
    assert f"ended by {words}" in ended.out + ended.said
    assert "Traceback" not in ended.said
    assert [] == place.fios()
    assert spent(place)["life_bytes"] >= 2 * 8_388_608
    place.config.write_text(GATE)
    assert 0 == place.run("probe", "page_read", where(place)).status, "the next one runs"


def test_a_signal_during_the_filling_removes_the_file(place: Place) -> None:
    place.config.write_text("[probe.profile.page_read]\nsize_bytes = 1073741824\n" + GATE)
    child = place.begin("probe", "page_read", where(place), "--yes")
    wait_until(lambda: list(place.directory.glob("*")), "the filling")
    ended = end(child, signal.SIGTERM)
    assert 3 == ended.status
    assert "nothing was measured: ended by SIGTERM" in ended.complaint
    assert [] == list(place.directory.iterdir())


def test_exceeding_the_daily_budget_requires_consent(place: Place) -> None:
    place.config.write_text(f"[probe]\nbudget_bytes_per_day = 1048576\n{SMALL}{GATE}")
    complaint = place.complaint("probe", "page_read", where(place))
    assert "writes at most 16.8 MB" in complaint
    assert "give --yes to consent" in complaint
    assert not place.directory.exists()
    assert 0 == place.run("probe", "page_read", where(place), "--yes").status


def test_exceeding_the_lifetime_budget_is_always_refused(place: Place) -> None:
    place.config.write_text(f"[probe]\nbudget_bytes_per_day = 100\n{GATE}")
    assert "365 kB are left of the budget for the life" in place.complaint(
        "probe", "page_read", where(place), "--yes"
    )


def test_only_one_probe_runs_and_the_other_is_named(place: Place) -> None:
    """A minute's patience is not waited for here: the lock is let go meanwhile."""
    with (place.lock / "ssd-exporter-probe.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        child = place.begin("probe", "page_read", where(place))
        assert child.stderr is not None
        said = child.stderr.readline()
    assert "waiting for " in said
    assert "which is probing" in said
    child.communicate(timeout=3 * PATIENCE_SECONDS)
    assert 0 == child.returncode


def test_a_busy_host_is_measured_only_with_anyway(place: Place) -> None:
    place.config.write_text(SMALL + GATE.replace("\nbusy_ratio = 1\n", "\nbusy_ratio = 0\n"))
    load = place.path / "load"
    dd = f"dd if=/dev/zero of={load} bs=64k count=64 oflag=direct"
    writer = place.program("load.sh", f"while :; do {dd}; done")
    with subprocess.Popen(
        [str(writer)], stderr=subprocess.DEVNULL, start_new_session=True
    ) as child:
        try:
            ended = place.run("probe", "page_read", where(place))
            anyway = place.run("probe", "page_read", where(place), "--anyway")
        finally:
            os.killpg(child.pid, signal.SIGKILL)
    assert 2 == ended.status
    assert "busy in the last minute" in ended.complaint
    assert "or add --anyway" in ended.complaint
    assert 0 == anyway.status, anyway.said


def test_a_reboot_during_a_probe_disables_probes_until_acknowledged(place: Place) -> None:
    assert 0 == place.run("probe", "page_read", where(place)).status
    kept = json.loads((place.state / "probe-budget.json").read_text())
    kept["reservation"] = {
        "drive": "d",
        "profile": "fsync",
        "bytes": 1,
        "on_demand": False,
        "boot_id": "another",
        "at": 1.0,
    }
    (place.state / "probe-budget.json").write_text(json.dumps(kept))
    ended = place.run("probe", "page_read", where(place))
    assert 2 == ended.status
    assert "the host rebooted during a probe" in ended.said
    acknowledged = place.run("probe", "--acknowledge")
    assert 0 == acknowledged.status
    assert "the host rebooted during the fsync probe of d" in acknowledged.out
    assert 0 == place.run("probe", "page_read", where(place)).status


@pytest.fixture
def shared() -> Iterator[Place]:
    """A place that other users may enter, unlike pytest's own, with a state that is theirs."""
    if os.geteuid() != 0:
        lacking("it takes root to become another")
    with tempfile.TemporaryDirectory() as made:
        path = Path(made)
        path.chmod(0o755)
        place = Place(path)
        os.chown(place.state, DAEMON, -1)
        yield place


def owners(directory: Path) -> set[int]:
    return {each.stat().st_uid for each in directory.iterdir()}


def test_root_switches_to_the_daemon_s_user(shared: Place) -> None:
    """What root left in the state directory, the daemon could not read."""
    page = shared.path / "page.html"
    ended = shared.run("probe", "page_read", where(shared), f"--html={page}")
    assert 0 == ended.status, ended.said
    assert {DAEMON} == owners(shared.state)
    assert {DAEMON} == owners(shared.directory)
    assert DAEMON == shared.directory.stat().st_uid, "made in a directory of root's"
    assert 0 == page.stat().st_uid, "the page is for who asked for it"
    assert 0 == shared.run("probe", "--acknowledge").status
    assert {DAEMON} == owners(shared.state)


def test_a_created_directory_is_removed_after_a_refusal(shared: Place) -> None:
    shared.config.write_text(SMALL + GATE.replace("free_bytes = 0", f"free_bytes = {10**17}"))
    ended = shared.run("probe", "page_read", where(shared))
    assert 2 == ended.status
    assert re.search(r"[0-9.]+ .B are free; 100 PB are needed", ended.complaint)
    assert not shared.directory.exists()


def user_ids(pid: int) -> list[str]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(line.split()[1:] for line in lines if line.startswith("Uid:"))


def test_kill_9_leaves_no_fio(shared: Place) -> None:
    """Also for a user other than the one who ran the command."""
    slow = "[probe.profile.page_read]\nrate_iops = 10\nruntime_seconds = 60\n"
    shared.config.write_text(slow + GATE)
    child = shared.begin("probe", "page_read", where(shared))
    shared.await_fio()
    (fio,) = shared.fios()
    # setpriv changes the user, and then executes fio.
    wait_until(lambda: [str(DAEMON)] * 4 == user_ids(fio), "the change of the user")
    child.kill()
    child.communicate(timeout=3 * PATIENCE_SECONDS)
    wait_until(lambda: not shared.fios(), "the end of fio")
    kept = json.loads((shared.state / "probe-budget.json").read_text())
    assert kept["reservation"] is not None, "counted as spent"
    shared.config.write_text(GATE)
    assert 0 == shared.run("probe", "page_read", where(shared)).status, "the next one runs"


def test_a_state_directory_of_another_user_is_an_error(shared: Place) -> None:
    os.chown(shared.state, 0, -1)
    argv = ["setpriv", f"--reuid={DAEMON}", "--clear-groups", *shared.argv("probe", where(shared))]
    ended = run_program(argv)
    assert 2 == ended.returncode
    assert "run this as root or as the daemon's user" in ended.stderr
