"""Files that another user may have written: what is opened, how much is read, which numbers hold.

A user who owns a directory can put anything at a file's path before root or the daemon opens it.
"""

import ast
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.runtime import lock_file, untrusted_file
from exporter.runtime.untrusted_file import TooLargeFile, UnusableFile
from tests.processes import open_files

ROOT = Path(__file__).parents[2] / "exporter"


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        # The path of a socket has at most 107 bytes.
        directory = os.open(path.parent, os.O_RDONLY)
        made.bind(f"/proc/self/fd/{directory}/{path.name}")
        os.close(directory)


#: What may lie at the path of a file, and the word for it in the message.
TRAPS: dict[str, tuple[Callable[[Path], None], str]] = {
    "pipe": (os.mkfifo, "a pipe"),
    "directory": (Path.mkdir, "a directory"),
    "link to an endless device": (lambda path: path.symlink_to("/dev/zero"), "a symbolic link"),
    "link to a file": (lambda path: path.symlink_to("/etc/passwd"), "a symbolic link"),
    "dangling link": (lambda path: path.symlink_to("nowhere"), "a symbolic link"),
    "socket": (_socket, "a socket"),
}


@pytest.mark.parametrize("trap", TRAPS)
def test_only_a_regular_file_is_opened(tmp_path: Path, trap: str) -> None:
    path = tmp_path / "state.json"
    prepare, word = TRAPS[trap]
    prepare(path)
    for use in (
        lambda: untrusted_file.read(path, 100),
        lambda: untrusted_file.check(path, 100),
        lambda: untrusted_file.read_part(path, 0, 100),
        lambda: lock_file.open_lock_file(path, 0o600),
    ):
        with pytest.raises(UnusableFile) as raised:
            use()
        assert f"it is {word}, not a regular file" == raised.value.strerror


def test_a_device_is_not_opened() -> None:
    with pytest.raises(UnusableFile, match="it is a device"):
        untrusted_file.read("/dev/zero", 100)


def test_a_file_up_to_the_limit_is_read(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    path.write_bytes(b"x" * 100)
    assert b"x" * 100 == untrusted_file.read(path, 100)
    with pytest.raises(TooLargeFile, match="it is larger than 99 bytes"):
        untrusted_file.read(path, 99)
    with pytest.raises(TooLargeFile, match="it is larger than 99 bytes"):
        untrusted_file.check(path, 99)


def test_a_file_without_a_size_is_read_up_to_the_limit() -> None:
    """The kernel reports the size 0 for files of /proc. A file that grows has the same effect."""
    with pytest.raises(TooLargeFile):
        untrusted_file.read("/proc/self/status", 100)
    assert b"Name:" in untrusted_file.read("/proc/self/status", 1 << 20)


@pytest.mark.parametrize("trap", TRAPS)
def test_a_path_of_another_user_names_only_a_regular_file(tmp_path: Path, trap: str) -> None:
    path = tmp_path / "my.cnf"
    prepare, word = TRAPS[trap]
    prepare(path)
    with pytest.raises(UnusableFile, match=f"it is {word}, not a regular file"):
        untrusted_file.read_named(path, 100)
    if trap != "directory":
        with pytest.raises(UnusableFile, match="it is not a directory"):
            untrusted_file.list_named(path, 100)


def test_files_of_the_kernel_are_not_opened_at_a_path_of_another_user() -> None:
    assert b"" == untrusted_file.read_named("/proc/self/status", 1 << 20)
    with pytest.raises(UnusableFile, match="it is a file of the kernel"):
        untrusted_file.list_named("/proc", 1 << 20)
    for path in Path("/sys/kernel").iterdir():
        if path.is_file() and path.stat().st_size:
            with pytest.raises(UnusableFile, match="it is a file of the kernel"):
                untrusted_file.read_named(path, 1 << 20)


def test_a_file_at_a_path_of_another_user_is_read_up_to_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "my.cnf"
    path.write_bytes(b"x" * 100)
    assert b"x" * 100 == untrusted_file.read_named(path, 100)
    with pytest.raises(TooLargeFile, match="it is larger than 99 bytes"):
        untrusted_file.read_named(path, 99)
    with pytest.raises(UnusableFile, match="no"):
        untrusted_file.read_named(path, 100, lambda _status: "no")


def test_a_directory_at_a_path_of_another_user_is_listed_up_to_the_limit(tmp_path: Path) -> None:
    for name in "bca":
        (tmp_path / name).touch()
    assert ("a", "b", "c") == untrusted_file.list_named(tmp_path, 3)
    with pytest.raises(TooLargeFile, match="it has more than 2 names"):
        untrusted_file.list_named(tmp_path, 2)
    with pytest.raises(UnusableFile, match="no"):
        untrusted_file.list_named(tmp_path, 3, lambda _status: "no")


#: Replaces a file by a socket just before the open(2) with this number, and prints what happens.
#: Opening a socket by its path fails with ENXIO, so it shows that the replacement was opened.
_REPLACED_BEFORE_AN_OPEN = """
import os, sys
from exporter.runtime import untrusted_file
path, socket, count, name = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
seen = []
def hook(event, arguments):
    if event == "open" and is_active:
        seen.append(arguments[0])
        if len(seen) == count:
            os.rename(socket, path)
is_active = False
sys.addaudithook(hook)
is_active = True
try:
    getattr(untrusted_file, name)(path, 0o600)
    print("opened the file")
except OSError as e:
    print(e.strerror)
"""


@pytest.mark.parametrize("function", ["read", "read_named", "opened"])
@pytest.mark.parametrize(
    ("number", "outcome"), [(1, "it is a socket, not a regular file"), (2, "opened the file")]
)
def test_what_replaces_the_file_before_an_open_is_not_opened(
    tmp_path: Path, function: str, number: int, outcome: str
) -> None:
    (tmp_path / "state.json").write_bytes(b"x")
    _socket(tmp_path / "socket")
    paths = [str(tmp_path / "state.json"), str(tmp_path / "socket")]
    argv = [sys.executable, "-c", _REPLACED_BEFORE_AN_OPEN, *paths, str(number), function]
    ended = subprocess.run(argv, capture_output=True, text=True, check=True, cwd=ROOT.parent)
    assert f"{outcome}\n" == ended.stdout


def test_a_file_that_is_refused_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "agent.json").touch()
    with pytest.raises(UnusableFile, match="it belongs to user 7"):
        untrusted_file.read(
            tmp_path / "agent.json", 100, refusal=lambda _status: "it belongs to user 7"
        )


def test_no_descriptor_stays_open(tmp_path: Path) -> None:
    before = open_files()
    for number, (prepare, _) in enumerate(TRAPS.values()):
        path = tmp_path / str(number)
        prepare(path)
        with pytest.raises(UnusableFile):
            untrusted_file.read(path, 100)
    assert set() == open_files() - before


@pytest.mark.parametrize("trap", [name for name in TRAPS if name != "directory"])
def test_a_prepared_temporary_file_is_removed_and_not_opened(tmp_path: Path, trap: str) -> None:
    prepare, _ = TRAPS[trap]
    prepare(tmp_path / ".state.json.new")
    prepare(tmp_path / "state.json")
    untrusted_file.replace_at(tmp_path / "state.json", b"new", 0o600)
    assert ["state.json"] == os.listdir(tmp_path)
    assert b"new" == untrusted_file.read(tmp_path / "state.json", 100)


def test_a_new_file_is_not_created_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileExistsError):
        untrusted_file.create(tmp_path / "link", 0o600)
    assert not (tmp_path / "elsewhere").exists()


_NUMBERS = (
    st.integers()
    | st.floats()
    | st.booleans()
    | st.sampled_from([10**400, -(10**400), float("nan"), float("inf"), None, "1", [1]])
)


@given(_NUMBERS)
def test_a_number_is_in_the_range_or_none(value: object) -> None:
    number = untrusted_file.number(value, -5, 1e11)
    if isinstance(value, bool) or not isinstance(value, int | float) or not -5 <= value <= 1e11:
        assert number is None
    else:
        assert isinstance(number, float)
        assert number == float(value)


#: Functions and methods that open a file by its path.
_OPENERS = {
    *("open", "fdopen", "connect", "mkfifo", "memfd_create", "mkstemp", "TemporaryFile"),
    *("NamedTemporaryFile", "read_text", "read_bytes", "write_text", "write_bytes"),
}

#: The other modules that open files, and why another user cannot have written these files, or why
#: `untrusted_file` is not suitable.
_OTHER_OPENERS = {
    "runtime/untrusted_file": "the functions that all other modules use",
    "cli": "the configuration file, which the operator names; /dev/null",
    "web/tls": "certificates, which the operator names",
    "web/config_file": "the web configuration, which the operator names",
    "runtime/printable": "/dev/null, in place of a closed standard stream",
    "reading/input_file": "regular files that the user names, read as a stream with limits",
    "linux/files": "files of /proc and /sys",
    "pages/live_site": "the stylesheet and the script, which are part of the program",
    "linux/scsi_sysfs": "files of /sys",
    "linux/task_states": "files of /proc, of which it reads 128 bytes",
    "capture/sysfs_capture": "files of /sys",
    "capture/host_capture": "fdopen of a file that `create` has just created",
    "programs/leftovers": "files of /proc, of which it reads 64 KiB",
    "runtime/lock_file": "/proc/locks, of which it reads 1 MiB",
    "runtime/output_file": "fdopen of a file that `create` has just created",
    "wear/wear_database": "SQLite opens the file by its path, after `check`",
    "smart/document_directory": "the agent's directory, without links",
    "smart/nvme_log_program": "a device that smartctl has opened; it must be a device node",
    "latency/trace_instance": "files of tracefs, which only root can change",
    "latency/trace_guard": "/dev/null, as the standard streams of the guard",
    "probe/probe_file": "a file in a private directory that must belong to this user",
    "measurement/ownership": "directories, without links",
    "commands/probe_setup/system_files": "directories, without links",
}


def opening_modules() -> Iterator[tuple[str, str]]:
    """Yields each module of exporter/ that opens a file, with the name of the function."""
    for path in sorted(ROOT.rglob("*.py")):
        module = str(path.relative_to(ROOT).with_suffix(""))
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call):
                continue
            function = node.func
            name = getattr(function, "id", None) or getattr(function, "attr", "")
            # WearHistory.open is a constructor of this project.
            if name in _OPENERS and "WearHistory" not in ast.unparse(function):
                yield module, name


def test_no_other_module_opens_a_file_that_another_user_may_have_written() -> None:
    found = {module for module, _ in opening_modules()}
    assert found == set(_OTHER_OPENERS), "use exporter.runtime.untrusted_file"
