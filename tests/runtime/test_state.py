"""The state file: loading, saving, and surviving kill -9 and damage."""

import json
import logging
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from exporter.runtime import state as state_module
from exporter.runtime.errors import ConfigError
from exporter.runtime.state import VERSION, StateFile, check_state_directory, open_state_file
from tests.injected_errors import ERRORS, Failing
from tests.processes import run_program
from tests.required import lacking

_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def path_ends_with(name: str) -> Callable[..., bool]:
    """True for calls whose path ends with this name."""
    return lambda path, *_, **__: os.fspath(path).endswith(name)


def saved_text(directory: Path, text: str) -> StateFile:
    (directory / "state.json").write_text(text)
    return StateFile(directory)


def test_a_missing_file_is_an_empty_state(tmp_path: Path) -> None:
    assert {} == StateFile(tmp_path).load()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.dictionaries(st.text().filter(lambda key: key != "version"), _JSON))
def test_a_saved_state_is_loaded(tmp_path: Path, state: dict[str, Any]) -> None:
    StateFile(tmp_path).save(state)
    assert {"version": VERSION, **state} == StateFile(tmp_path).load()
    assert ["state.json"] == os.listdir(tmp_path)


def test_nothing_is_saved_after_the_final_values(tmp_path: Path) -> None:
    """A save of another thread may wait for the disk while the process ends."""
    file = StateFile(tmp_path)
    file.save({"is": "final"}, final=True)
    file.save({"is": "older"})
    assert "final" == StateFile(tmp_path).load()["is"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "Expecting value"),
        ('{"version": 1, "baselines": {"a', "Unterminated string"),
        ("\0" * 4096, "Expecting value"),
        ("[]", "it is not a JSON object"),
        ("{}", "its version is None, not 1"),
        ('{"version": 2}', "its version is 2, not 1"),
        # The message of Python until 3.13, and since 3.14.
        ("[" * 100_000, "recursion|Stack overflow"),
    ],
    ids=["empty", "cut off", "zeros after a power cut", "list", "none", "future", "deep"],
)
def test_a_file_that_cannot_be_parsed_is_renamed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, text: str, why: str
) -> None:
    state = saved_text(tmp_path, text)
    assert {} == state.load()
    (aside,) = os.listdir(tmp_path)
    assert aside.startswith("state.json.kept-")
    assert text == (tmp_path / aside).read_text()
    assert re.search(why, caplog.text)
    assert aside in caplog.text
    state.save({"a": 1})
    assert {"version": 1, "a": 1} == state.load()


def test_values_with_unknown_keys_survive_a_downgrade(tmp_path: Path) -> None:
    """A later version wrote them. It reads them again after the next update."""
    later = {"inventory": [1], "of a later version": {"a": [1, 2.5, None]}, "also": "x"}
    StateFile(tmp_path).save(later)
    for number in range(3):
        older = StateFile(tmp_path)
        older.load()
        older.save({"inventory": [number + 1]})
        older.save({"inventory": [number + 1]}, final=True)
    assert {**later, "version": VERSION, "inventory": [3]} == StateFile(tmp_path).load()


def test_a_value_that_this_version_saves_replaces_the_loaded_one(tmp_path: Path) -> None:
    StateFile(tmp_path).save({"a": 1, "b": 2})
    state = StateFile(tmp_path)
    state.load()
    state.save({"a": None, "b": 3})
    assert {"version": VERSION, "a": None, "b": 3} == StateFile(tmp_path).load()


@pytest.mark.parametrize("name", ["ENOMEM", "EMFILE", "EINTR"])
def test_an_error_that_is_soon_over_costs_nothing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    name: str,
) -> None:
    monkeypatch.setattr(state_module, "_RETRY_SECONDS", 0.0)
    StateFile(tmp_path).save({"a": 1})
    is_meant = path_ends_with("state.json")
    with Failing(name, "open", times=3, is_meant=is_meant).installed(monkeypatch):
        assert {"version": VERSION, "a": 1} == StateFile(tmp_path).load()
    assert ([], ["state.json"]) == (caplog.messages, os.listdir(tmp_path))


@pytest.mark.parametrize("name", ["ENOMEM", "EMFILE", "EINTR"])
def test_a_start_is_not_refused_because_of_an_error_that_is_soon_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """systemd does not repeat a start that ends with status 2."""
    monkeypatch.setattr(state_module, "_RETRY_SECONDS", 0.0)
    with Failing(name, "open", times=3).installed(monkeypatch):
        assert open_state_file(tmp_path / "state", {}) is not None


@pytest.mark.parametrize("name", ERRORS)
def test_a_file_that_cannot_be_read_is_kept_and_the_exporter_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(state_module, "_RETRY_SECONDS", 0.0)
    StateFile(tmp_path).save({"a": 1})
    before = (tmp_path / "state.json").read_bytes()
    state = StateFile(tmp_path)
    is_meant = path_ends_with("state.json")
    with Failing(name, "open", times=99, is_meant=is_meant).installed(monkeypatch):
        assert {} == state.load()
    state.save({"a": 2})
    assert before == (tmp_path / "state.json.kept-1").read_bytes()
    assert {"version": VERSION, "a": 2} == StateFile(tmp_path).load()


@pytest.mark.parametrize("name", ERRORS)
def test_a_file_that_cannot_be_set_aside_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    state = saved_text(tmp_path, "damaged")
    with Failing(name, "link", times=2).installed(monkeypatch):
        assert {} == state.load()
        with pytest.raises(FileExistsError, match="the unusable state"):
            state.save({"a": 1})
    assert "damaged" == (tmp_path / "state.json").read_text()
    state.save({"a": 1})
    assert "damaged" == (tmp_path / "state.json.kept-1").read_text()
    assert {"version": VERSION, "a": 1} == StateFile(tmp_path).load()


def test_two_files_that_are_unusable_within_a_second_are_both_kept(tmp_path: Path) -> None:
    for text in ("first", "second"):
        assert {} == saved_text(tmp_path, text).load()
    assert ["first", "second"] == [
        (tmp_path / f"state.json.kept-{number}").read_text() for number in (1, 2)
    ]


@pytest.mark.parametrize("excess", [-1, 0, 1, 1000])
def test_a_state_that_could_not_be_read_again_is_not_written(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, excess: int
) -> None:
    """Without the limit at the writer, the next start would set the whole state aside."""
    monkeypatch.setattr(state_module, "_MAX_VALUES", 1000)
    # The text of the file, with a list of n numbers, counts as n + 7 values.
    large = [1] * (993 + excess)
    StateFile(tmp_path).save({"large": large, "small": 1})
    is_small = excess <= 0
    expected = {"version": VERSION, "small": 1} | ({"large": large} if is_small else {})
    assert expected == StateFile(tmp_path).load()
    assert is_small == ("large is too large to be read again and is not saved" not in caplog.text)


def test_load_read_only_logs_an_unreadable_file_and_leaves_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert ({}, "") == (StateFile(tmp_path).load_read_only(), StateFile(tmp_path).problem())
    assert [] == caplog.messages
    (tmp_path / "state.json").mkdir()
    state = StateFile(tmp_path)
    why = f"{tmp_path}/state.json cannot be read: it is a directory, not a regular file"
    assert ({}, why) == (state.load_read_only(), state.problem())
    assert [f"{why}; continuing without saved values"] == caplog.messages
    assert ["state.json"] == os.listdir(tmp_path)


def test_a_number_that_no_float_represents_is_loaded_as_none(tmp_path: Path) -> None:
    """Every reader of the state rejects None, and could fail at a comparison with such a number."""
    large = 400 * "0"
    numbers = f"[1{large}, -1{large}, 1{9000 * '0'}, NaN, Infinity, -Infinity, 1e999, 7, 7.5]"
    state = saved_text(tmp_path, f'{{"version": 1, "numbers": {numbers}}}')
    assert [None] * 7 + [7, 7.5] == state.load()["numbers"]
    assert [None] * 7 + [7, 7.5] == state.load_read_only()["numbers"]


def test_bytes_that_are_not_utf_8_are_renamed(tmp_path: Path) -> None:
    (tmp_path / "state.json").write_bytes(b"\xff\xfe{")
    assert {} == StateFile(tmp_path).load()
    assert not (tmp_path / "state.json").exists()


def test_a_file_above_the_limit_is_not_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with (tmp_path / "state.json").open("wb") as file:
        file.truncate(1 << 40)
    assert {} == StateFile(tmp_path).load()
    assert "larger than" in caplog.text


def test_a_directory_in_place_of_the_file_is_renamed(tmp_path: Path) -> None:
    (tmp_path / "state.json").mkdir()
    state = StateFile(tmp_path)
    assert {} == state.load()
    state.save({"a": 1})
    assert {"version": 1, "a": 1} == state.load()


def test_a_symbolic_link_in_place_of_the_file_is_replaced_and_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("another user's")
    directory = tmp_path / "state"
    directory.mkdir()
    (directory / "state.json").symlink_to(target)
    StateFile(directory).save({"a": 1})
    assert "another user's" == target.read_text()
    assert not (directory / "state.json").is_symlink()


def test_a_failed_save_leaves_the_old_file(tmp_path: Path) -> None:
    state = StateFile(tmp_path)
    state.save({"a": 1})
    with pytest.raises(TypeError):
        state.save({"a": object()})
    assert {"version": 1, "a": 1} == state.load()
    (tmp_path / "state.json").unlink()
    (tmp_path / "state.json").mkdir()
    with pytest.raises(OSError, match="directory"):
        state.save({"a": 2})
    # The disk may be full, so the temporary file is removed.
    assert ["state.json"] == os.listdir(tmp_path)


def test_a_save_to_a_missing_directory_raises_oserror(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        StateFile(tmp_path / "gone").save({})


def test_only_the_owner_can_open_the_file_and_the_lock_file(tmp_path: Path) -> None:
    """Everyone who can open the lock file can hold the lock, and so prevent a start."""
    state = StateFile(tmp_path)
    state.hold()
    state.save({})
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}
    assert {"state.json": 0o600, "daemon.lock": 0o600} == modes


_SAVER = """
import sys
from pathlib import Path
from exporter.runtime.state import StateFile

state, count = StateFile(Path(sys.argv[1])), 0
while True:
    count += 1
    state.save({"count": count, "ballast": "x" * 200_000})
    print(count, flush=True)
"""


def test_kill_9_during_a_save_leaves_a_complete_file(tmp_path: Path) -> None:
    """It contains the last completed save or the interrupted one."""
    for delay in (0.0, 0.003, 0.007, 0.011, 0.017):
        with subprocess.Popen(
            [sys.executable, "-c", _SAVER, str(tmp_path)], stdout=subprocess.PIPE, text=True
        ) as saver:
            assert saver.stdout is not None
            first = saver.stdout.readline()
            time.sleep(delay)
            saver.send_signal(signal.SIGKILL)
            lines = [first, *saver.stdout]
        counts = [int(line) for line in lines if line.endswith("\n")]
        state = StateFile(tmp_path).load()
        assert state["count"] in (counts[-1], counts[-1] + 1)
        assert 200_000 == len(state["ballast"])


def test_a_temporary_file_of_a_killed_save_is_ignored(tmp_path: Path) -> None:
    (tmp_path / ".state-abc").write_text("{")
    assert {} == StateFile(tmp_path).load()


def test_the_configured_directory_has_priority(tmp_path: Path) -> None:
    environment = {"STATE_DIRECTORY": str(tmp_path / "systemd"), "HOME": str(tmp_path)}
    state = open_state_file(tmp_path / "asked" / "for", environment)
    assert state is not None
    assert tmp_path / "asked" / "for" == state.directory
    assert not (tmp_path / "systemd").exists()
    assert 0o750 == state.directory.stat().st_mode & 0o777


@pytest.mark.parametrize("given", ["first", "first:second"])
def test_the_directory_of_systemd_is_used(tmp_path: Path, given: str) -> None:
    places = ":".join(str(tmp_path / name) for name in given.split(":"))
    state = open_state_file(None, {"STATE_DIRECTORY": places, "HOME": str(tmp_path)})
    assert state is not None
    assert tmp_path / "first" == state.directory


def test_a_lock_file_that_cannot_be_created_is_only_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    StateFile(tmp_path / "gone").hold()
    assert "daemon.lock cannot be locked: No such file or directory" in caplog.text
    os.mkfifo(tmp_path / "daemon.lock")
    StateFile(tmp_path).hold()
    assert "daemon.lock cannot be locked: it is a pipe, not a regular file" in caplog.text


@pytest.fixture
def foreign() -> Iterator[Path]:
    """A state directory that belongs to another user, while the test runs as root."""
    if os.geteuid() != 0:
        lacking("it takes root to give a directory away")
    # Not below tmp_path, which other users cannot enter.
    directory = Path(tempfile.mkdtemp())
    os.chown(directory, 65534, 65534)
    yield directory
    shutil.rmtree(directory)


def test_root_keeps_no_state_in_a_directory_of_another_user(foreign: Path) -> None:
    for configured, environment in ((foreign, {}), (None, {"STATE_DIRECTORY": str(foreign)})):
        with pytest.raises(ConfigError) as raised:
            open_state_file(configured, environment)
        assert (
            f"the state directory {foreign} cannot be used: it belongs to user nobody (65534), and"
            " this process runs as root; run this as the owner of the directory, or set"
            " --state.directory to a directory to which only root can write"
        ) == str(raised.value)
    assert [] == os.listdir(foreign)


def test_root_keeps_no_state_in_a_directory_that_others_can_write(foreign: Path) -> None:
    os.chown(foreign, 0, 0)
    foreign.chmod(0o777)
    with pytest.raises(ConfigError, match="other users can write to it"):
        open_state_file(foreign, {})


def test_root_keeps_no_state_in_a_directory_that_another_user_can_replace(
    foreign: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = foreign / "state"
    state.mkdir()
    message = f"users other than root can write to {foreign} and can replace it"
    for use in (open_state_file, check_state_directory):
        with pytest.raises(ConfigError, match=message):
            use(state, {})
    monkeypatch.setenv("SUDO_UID", "65534")
    assert open_state_file(state, {}) is not None
    os.chown(foreign, 0, 0)
    foreign.chmod(0o777)
    with pytest.raises(ConfigError, match=message):
        open_state_file(state / "below", {})
    foreign.chmod(0o1777)
    assert open_state_file(state, {}) is not None


def test_root_reads_the_state_with_the_rights_of_the_owner(
    foreign: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """So a file can cause no more than its owner could cause himself."""
    state = saved_text(foreign, '{"version": 1, "a": 1}')
    (foreign / "state.json").chmod(0o600)
    assert {} == state.load_read_only()
    assert "state.json cannot be read: Permission denied" in caplog.text
    os.chown(foreign / "state.json", 65534, 65534)
    assert {"version": 1, "a": 1} == state.load_read_only()
    assert (0, 0) == (os.geteuid(), os.getegid())


_OPENER = """
import json, os, sys
from exporter.runtime.state import open_state_file

if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
found = [open_state_file(None, environment) for environment in json.loads(sys.argv[1])]
print(json.dumps([state and str(state.directory) for state in found]))
"""


def test_an_unprivileged_user_has_the_state_at_home() -> None:
    """/var/lib is not writable; $XDG_STATE_HOME has priority over $HOME."""
    with tempfile.TemporaryDirectory() as home:
        os.chmod(home, 0o777)
        environments = [{"HOME": home}, {"HOME": home, "XDG_STATE_HOME": f"{home}/xdg"}, {}]
        done = run_program([sys.executable, "-c", _OPENER, json.dumps(environments)], check=True)
    expected = [f"{home}/.local/state/ssd-exporter", f"{home}/xdg/ssd-exporter", None]
    assert expected == json.loads(done.stdout)


_ROOT_OPENER = """
import os, sys
from exporter.runtime.state import open_state_file

os.chroot(sys.argv[1])
state = open_state_file(None, {"HOME": "/home", "XDG_STATE_HOME": "/xdg"})
print(state and state.directory)
"""


def test_root_has_the_state_in_var_lib(tmp_path: Path) -> None:
    as_root = [] if os.geteuid() == 0 else ["unshare", "--map-root-user"]
    done = run_program([*as_root, sys.executable, "-c", _ROOT_OPENER, str(tmp_path)], check=True)
    assert "/var/lib/ssd-exporter\n" == done.stdout
    assert ["var"] == os.listdir(tmp_path)


_LOOKER = """
import os, sys
from pathlib import Path
from exporter.runtime.state import existing_directory

if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
print(existing_directory(Path(sys.argv[1], "state"), {}))
"""


def test_a_directory_below_an_inaccessible_one_does_not_exist() -> None:
    with tempfile.TemporaryDirectory() as closed:
        os.chmod(closed, 0)
        done = run_program([sys.executable, "-c", _LOOKER, closed])
        os.chmod(closed, 0o700)
    assert "None\n" == done.stdout, done.stderr


def test_a_configured_directory_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"cannot be written: .*; make it writable for this user"):
        open_state_file(tmp_path / "file" / "state", {})


def test_an_unwritable_default_directory_is_only_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    assert open_state_file(None, {"STATE_DIRECTORY": str(tmp_path / "file" / "state")}) is None
    (record,) = caplog.records
    assert logging.WARNING == record.levelno
    assert "lost at the next restart; set --state.directory" in record.message
