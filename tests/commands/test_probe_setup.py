"""`enable-probes` and `disable-probes`: directory, setting, drop-in, restart and first probe."""

import io
import os
import stat
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import SupportsIndex

import pytest

from exporter.cli import command_parser
from exporter.cli import settings as settings_of
from exporter.commands.common import system_tools
from exporter.commands.probe_setup import disable_probes, enable_probes, mysql_places, settings_text
from exporter.commands.probe_setup.enable_probes import SetupRequest, yearly_bytes
from exporter.commands.probe_setup.settings_text import with_directories, without_directories
from exporter.commands.probe_setup.system_files import (
    SetupFiles,
    create_directory,
    remove_directory,
)
from exporter.config.profiles import ON_BY_DEFAULT, PROFILES
from exporter.linux.topology import StorageRole
from exporter.runtime.clock import SystemClock
from exporter.runtime.errors import CommandError, ConfigError
from tests.commands.measured import Place
from tests.linux import trees
from tests.required import lacking

PACKAGED = (Path(__file__).parents[2] / "systemd" / "config.toml").read_text()
DIRECTORIES = (Path("/var/lib/mysql-probe"), Path("/srv/redo-probe"))
NOBODY = 65_534


class Systemctl:
    """Records the commands; optionally fails."""

    def __init__(self, problem: str = "") -> None:
        self.calls: list[Sequence[str]] = []
        self._problem = problem

    def run(self, argv: Sequence[str], timeout: float) -> str:
        del timeout
        if self._problem:
            raise CommandError(self._problem)
        self.calls.append(argv)
        return ""


def drop_in(place: Place) -> Path:
    return place.path / "root/etc/systemd/system/ssd-exporter.service.d/probe.conf"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.mark.real
def test_probes_are_enabled_and_disabled_with_one_command_each(place: Place) -> None:
    before = place.config.read_text()
    directory = place.path / "new-probe"
    ended = place.run("enable-probes", str(directory))
    assert 0 == ended.status, ended.said
    assert 0o700 == stat.S_IMODE(directory.stat().st_mode)
    assert f'directory = ["{directory}"]  {settings_text.MARK}' in place.config.read_text()
    assert f"ReadWritePaths=-{directory}\n" in drop_in(place).read_text()
    assert "write at most" in ended.out
    assert "a year to" in ended.out
    assert "systemd is not running here" in ended.out
    assert "fsync" in ended.out, "the report of the first probe"
    assert [name for name in os.listdir(directory) if name.startswith("ssd-exporter-probe-")]

    again = place.run("enable-probes", str(directory))
    assert (0, True) == (again.status, "probes are enabled already" in again.out)

    ended = place.run("disable-probes")
    assert 0 == ended.status, ended.said
    assert before == place.config.read_text()
    assert not drop_in(place).exists()
    assert not directory.exists()
    assert "probes are not enabled" in place.run("disable-probes").out


@pytest.mark.real
def test_a_dry_run_shows_the_changes_and_makes_none(place: Place) -> None:
    before = place.config.read_text()
    directory = place.path / "new-probe"
    ended = place.run("enable-probes", "--dry-run", str(directory))
    assert 0 == ended.status
    assert f"would create {directory}" in ended.out
    assert "write at most" in ended.out
    assert (before, False) == (place.config.read_text(), directory.exists())
    assert not drop_in(place).exists()


@pytest.mark.real
def test_without_mysql_and_without_a_directory_the_message_says_what_to_do(place: Place) -> None:
    complaint = place.complaint("enable-probes", f"--path.procfs={place.path / 'root'}")
    assert "no running MySQL server was found" in complaint
    assert "enable-probes /srv/data/ssd-probe" in complaint


@pytest.mark.real
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("link/probe", "use the path that it points to"),
        ("missing/probe", "create it"),
        ("with space", "use an absolute path of letters"),
        ("occupied", "is not a directory of user"),
    ],
)
def test_an_unusable_directory_is_refused_before_anything_changes(
    place: Place, name: str, expected: str
) -> None:
    before = place.config.read_text()
    (place.path / "real").mkdir()
    (place.path / "link").symlink_to("real")
    (place.path / "occupied").write_text("a file")
    assert expected in place.complaint("enable-probes", str(place.path / name))
    assert before == place.config.read_text()
    assert not drop_in(place).exists()


@pytest.mark.real
def test_what_somebody_set_by_hand_stays(place: Place) -> None:
    place.config.write_text('[probe]\ndirectory = "/srv/mine"\n')
    before = place.config.read_text()
    other = str(place.path / "probe")
    assert "already set to /srv/mine" in place.run("enable-probes", other).complaint
    assert "was not set by enable-probes" in place.run("disable-probes").complaint
    place.config.write_text("")
    drop_in(place).parent.mkdir(parents=True)
    drop_in(place).write_text("[Service]\nNice=5\n")
    assert "was not written by enable-probes" in place.run("enable-probes", other).complaint
    assert "was not written by enable-probes" in place.run("disable-probes").complaint
    assert "[Service]\nNice=5\n" == drop_in(place).read_text()
    assert before


@pytest.mark.real
def test_the_unit_is_restarted_where_systemd_runs(place: Place) -> None:
    (place.path / "root/run/systemd/system").mkdir(parents=True)
    argv = place.argv("enable-probes", str(place.directory))[4:]
    settings = settings_of(command_parser("enable-probes").parse_args(argv))
    files = SetupFiles(place.path / "root", place.config)
    request = SetupRequest((place.directory,))
    out, systemctl = io.StringIO(), Systemctl()
    tools = system_tools(settings)
    assert 0 == enable_probes.run(settings, request, files, tools, runner=systemctl, out=out)
    restart = ["systemctl", "try-restart", "ssd-exporter.service"]
    assert [["systemctl", "daemon-reload"], restart] == systemctl.calls
    assert "restarted ssd-exporter" in out.getvalue()

    out, failing = io.StringIO(), Systemctl("systemctl: not found")
    assert 0 == disable_probes.run(files, failing, out, dry_run=False)
    assert "run: systemctl daemon-reload && systemctl restart ssd-exporter" in out.getvalue()
    assert not place.directory.exists()


class InterruptedClock(SystemClock):
    """The user presses Ctrl-C while the load is measured."""

    @staticmethod
    def sleep(seconds: float | SupportsIndex) -> None:
        raise KeyboardInterrupt(seconds)


@pytest.mark.real
def test_after_ctrl_c_in_the_first_probe_the_unit_is_restarted(place: Place) -> None:
    (place.path / "root/run/systemd/system").mkdir(parents=True)
    argv = place.argv("enable-probes", str(place.directory))[4:]
    settings = settings_of(command_parser("enable-probes").parse_args(argv))
    files, out, systemctl = (
        SetupFiles(place.path / "root", place.config),
        io.StringIO(),
        Systemctl(),
    )
    tools = replace(system_tools(settings), clock=InterruptedClock())
    request = SetupRequest((place.directory,))
    with pytest.raises(KeyboardInterrupt):
        enable_probes.run(settings, request, files, tools, runner=systemctl, out=out)
    assert 2 == len(systemctl.calls)


@pytest.fixture
def public() -> Iterator[Path]:
    """A directory that other users can enter. pytest closes the parent of `tmp_path` to them."""
    if os.geteuid() != 0:
        lacking("only root becomes another user")
    with tempfile.TemporaryDirectory() as name:
        path = Path(name)
        path.chmod(0o755)
        yield path


@pytest.mark.real
def test_a_user_without_permission_is_refused_before_anything_is_created(public: Path) -> None:
    place = Place(public)
    place.config.chmod(0o644)
    etc = place.path / "root/etc"
    etc.mkdir(mode=0o755)
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    argv = [*user, *place.argv("enable-probes", str(place.directory))]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert 2 == done.returncode
    assert "run this as root" in done.stderr
    assert not place.directory.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a directory away")
def test_root_creates_the_directory_for_the_owner_of_the_state(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir()
    os.chown(state, NOBODY, NOBODY)
    directory = tmp_path / "probe"
    assert create_directory(directory, state)
    assert (NOBODY, 0o40700) == (directory.stat().st_uid, directory.stat().st_mode)
    assert not create_directory(directory, state), "it is repeatable"


def test_a_file_of_another_program_in_the_probe_directory_stays(public: Path) -> None:
    state, directory = public / "state", public / "probe"
    state.mkdir()
    os.chown(state, NOBODY, NOBODY)
    create_directory(directory, state)
    victim = public / "victim"
    victim.write_text("of root")
    for name in ("ssd-exporter-probe-link", "else"):
        (directory / name).symlink_to(victim)
    assert f"{directory} stays: " in remove_directory(directory)
    assert "of root" == victim.read_text()


def test_the_packaged_settings_change_in_one_line_and_back() -> None:
    after = with_directories(PACKAGED, DIRECTORIES)
    added = set(after.splitlines()) - set(PACKAGED.splitlines())
    line = f'directory = ["/var/lib/mysql-probe", "/srv/redo-probe"]  {settings_text.MARK}'
    assert {line} == added
    assert after == with_directories(after, DIRECTORIES)
    assert PACKAGED == without_directories(after)
    assert DIRECTORIES == settings_text.managed_directories(after)
    one = with_directories(after, DIRECTORIES[:1])
    assert DIRECTORIES[:1] == settings_text.configured_directories(one)


@pytest.mark.parametrize(
    "text", ["", '[log]\nlevel = "debug"\n', "[probe.gate]\nguard_queue = 9\n"]
)
def test_a_file_without_the_section_gets_it_and_loses_it(text: str) -> None:
    after = with_directories(text, DIRECTORIES)
    assert DIRECTORIES == settings_text.configured_directories(after)
    assert text == without_directories(after)


def test_a_section_in_which_somebody_added_settings_stays() -> None:
    after = with_directories("", DIRECTORIES) + "first_delay_seconds = 5\n"
    assert "first_delay_seconds = 5" in without_directories(after)
    assert "[probe]" in without_directories(after)


@pytest.mark.parametrize("text", ["probe = {first_delay_seconds = 5}\n", "[probe\n"])
def test_an_unusual_file_is_not_changed(text: str) -> None:
    with pytest.raises(ConfigError, match=r"add this line|not valid TOML"):
        with_directories(text, DIRECTORIES)


def role(directory: str, mountpoint: str | None, name: str = "mysql-data") -> StorageRole:
    return StorageRole(name, 1, directory, mountpoint, ("sda",))


@pytest.mark.parametrize(
    ("roles", "expected"),
    [
        ([role("/var/lib/mysql", "/")], ["/var/lib/mysql-probe"]),
        ([role("/srv/db/data", "/srv/db")], ["/srv/db/data-probe"]),
        ([role("/in/a/container", "/srv/volumes")], ["/srv/volumes/ssd-exporter-probe"]),
        ([role("/in/a/container", "/")], ["/var/lib/ssd-exporter-probe"]),
        (
            [role("/redo/log", "/redo", "mysql-redo"), role("/var/lib/mysql", "/")],
            ["/var/lib/mysql-probe", "/redo/log-probe"],
        ),
        (
            [role("/var/lib/mysql", "/"), role("/var/lib/mysql/#innodb_redo", "/", "mysql-redo")],
            ["/var/lib/mysql-probe"],
        ),
        ([role("/tmp", "/", "mysql-tmp"), role("/x", None)], []),
    ],
)
def test_directories_are_beside_those_of_mysql(
    roles: list[StorageRole], expected: list[str]
) -> None:
    found = mysql_places.mysql_places(roles, lambda path: str(path) != "/in/a")
    assert expected == list(map(str, found.directories))
    assert () == found.problems


def test_a_filesystem_that_is_a_data_directory_is_a_problem() -> None:
    found = mysql_places.mysql_places([role("/var/lib/mysql", "/var/lib/mysql")], os.path.isdir)
    assert () == found.directories
    assert "would look like a database" in found.problems[0]


def test_a_refused_place_is_replaced_by_another_one_on_the_filesystem() -> None:
    roles = [role("/srv/db/my data", "/srv/db")]
    found = mysql_places.mysql_places(
        roles, lambda _: True, lambda _, place: "a blank" if " " in str(place) else ""
    )
    assert (Path("/srv/db/ssd-exporter-probe"),) == found.directories
    found = mysql_places.mysql_places(roles, lambda _: True, lambda *_: "no")
    assert (
        "/srv/db/my data-probe is not used: no",
        "/srv/db/ssd-exporter-probe is not used: no",
    ) == found.problems


def server(
    place: Place, pid: int, datadir: Path, *, uid: int = 0, cgroup: str = "system.slice/a.service"
) -> str:
    """Starts a server on the filesystem of this test. Returns the option for its /proc."""
    proc = place.path / "proc"
    mounts = Path("/proc/self/mountinfo").read_text()
    if not proc.exists():
        (proc / "self").mkdir(parents=True)
        (proc / "self/mountinfo").write_text(mounts)
        trees.process(proc, 1, ["init"], mounts)
    datadir.mkdir(parents=True, exist_ok=True)
    argv = ["mysqld", "--no-defaults", f"--datadir={datadir}"]
    trees.process(proc, pid, argv, mounts, cgroup=f"0::/{cgroup}", uid=uid)
    return f"--path.procfs={proc}"


@pytest.mark.real
def test_the_server_of_a_unit_is_used_and_that_of_a_users_session_is_not(place: Place) -> None:
    session = "user.slice/user-1000.slice/session-3.scope"
    server(place, 10, place.path / "bob/data", uid=os.getuid(), cgroup=session)
    ended = place.run(
        "enable-probes", "--dry-run", server(place, 11, place.path / "db/data", uid=os.getuid())
    )
    assert 0 == ended.status, ended.said
    assert "process 10 is not used: a user started this server" in ended.out
    assert f"would create {place.path}/db/data-probe" in ended.out
    assert "/bob/" not in ended.out


@pytest.mark.real
def test_a_users_server_alone_enables_no_probes(place: Place) -> None:
    cgroup = "user.slice/user-1000.slice/session-3.scope"
    procfs = server(place, 10, place.path / "bob/data", uid=os.getuid(), cgroup=cgroup)
    ended = place.run("enable-probes", procfs)
    assert 2 == ended.status
    assert "process 10 is not used: a user started this server" in ended.out
    assert "enable-probes /srv/data/ssd-probe" in ended.complaint
    assert not drop_in(place).exists()


@pytest.mark.real
def test_a_place_with_a_blank_is_skipped(place: Place) -> None:
    ended = place.run(
        "enable-probes", "--dry-run", server(place, 10, place.path / "my data/x", uid=os.getuid())
    )
    assert f"{place.path}/my data/x-probe is not used: the directory" in ended.out
    assert "use an absolute path of letters" in ended.out


@pytest.mark.real
def test_a_place_below_a_directory_of_another_user_is_skipped(place: Place) -> None:
    if os.geteuid() != 0:
        lacking("only root gives a directory to another user")
    procfs = server(place, 10, place.path / "bob/data", uid=110)
    os.chown(place.path / "bob", NOBODY, NOBODY)
    ended = place.run("enable-probes", "--dry-run", procfs)
    assert f"{place.path}/bob/data-probe is not used: {place.path}/bob belongs to user" in ended.out
    os.chown(place.path / "bob", 110, 110)
    assert (
        f"would create {place.path}/bob/data-probe"
        in place.run("enable-probes", "--dry-run", procfs).out
    )


def test_the_default_profiles_write_at_most_0_3_tb_a_year_and_no_more_than_the_budget() -> None:
    profiles = [PROFILES[name] for name in ON_BY_DEFAULT]
    assert 0.25e12 < yearly_bytes(profiles, 10**12) < 0.3e12
    assert 365 * 10**6 == yearly_bytes(profiles, 10**6)
    assert 0 == yearly_bytes([replace(PROFILES["fsync"], interval_seconds=None)], 10**12)
