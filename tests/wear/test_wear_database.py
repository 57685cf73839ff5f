"""Tests of the wear history file: kill -9, a full disk, missing rights, invalid contents."""

import contextlib
import logging
import os
import random
import resource
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from exporter.drives.wear_counter import DAY, WearObservation
from exporter.runtime.kept_copy import MAX_COPIES
from exporter.wear import wear_database, wear_tables
from exporter.wear.wear_history import WearHistory
from exporter.wear.wear_tables import VERSION
from tests.duration import at_most
from tests.fuzz import examples
from tests.mounts import filled, small_memory_disk
from tests.required import lacking

KEY = "naa.5002538e40a1b2c3"


def day(number: int) -> WearObservation:
    return WearObservation(number * DAY, number * DAY, 0.1, 0.01, number * 10**10)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "history.sqlite"


def written(path: Path, *days: int) -> None:
    history = WearHistory.open(path)
    for number in days:
        history.record(KEY, day(number))
    history.close()


def found(path: Path) -> list[float | None]:
    history = WearHistory.open(path)
    days = [seen.at / DAY for seen in history.observations(KEY)]
    history.close()
    return list(days)


def aside(path: Path) -> list[Path]:
    return sorted(path.parent.glob("history.sqlite.kept-*"))


def test_the_file_is_readable_by_its_owner_only_and_has_no_companions(path: Path) -> None:
    written(path, 1)
    assert [path] == list(path.parent.iterdir())
    assert 0o600 == path.stat().st_mode & 0o777


def test_another_process_may_read_while_it_is_open(path: Path) -> None:
    history = WearHistory.open(path)
    history.record(KEY, day(1))
    history.flush()
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as reader:
        assert [(1,)] == reader.execute("SELECT COUNT(*) FROM observation").fetchall()
    history.record(KEY, day(2))
    history.close()
    assert [1, 2] == found(path)


_WRITER = """
import sys
from pathlib import Path
from exporter.wear.wear_history import WearHistory
from exporter.drives.wear_counter import DAY, WearObservation

history, day = WearHistory.open(Path(sys.argv[1])), int(sys.argv[2])
while True:
    day += 1
    for drive in range(24):
        history.record(f"drive {drive}", WearObservation(day * DAY, None, 0.1, 0.01, day))
    history.flush()
    print(day, flush=True)
"""


@pytest.mark.slow
def test_kill_9_loses_nothing_that_was_flushed(path: Path) -> None:
    """At 50 moments: the rows of all 24 drives of a round, or of none."""
    chance, last = random.Random(9), 0
    for _ in range(10):
        for _ in range(5):
            with subprocess.Popen(
                [sys.executable, "-c", _WRITER, str(path), str(last)],
                stdout=subprocess.PIPE,
                text=True,
            ) as writer:
                assert writer.stdout is not None
                first = writer.stdout.readline()
                time.sleep(chance.random() * 0.02)
                writer.send_signal(signal.SIGKILL)
                lines = [first, *writer.stdout]
            last = max(int(line) for line in lines if line.endswith("\n"))
        history = WearHistory.open(path)
        newest = {history.observations(f"drive {drive}")[-1].at / DAY for drive in range(24)}
        history.close()
        assert newest in ({last}, {last + 1})
        (last,) = (int(number) for number in newest)
    assert [] == aside(path)
    with contextlib.closing(sqlite3.connect(path)) as reader:
        assert [("ok",)] == reader.execute("PRAGMA integrity_check").fetchall()


def test_a_full_disk_loses_neither_old_nor_new_rows(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A file size limit simulates a full disk: the write fails in the same way for SQLite."""
    caplog.set_level(logging.INFO)
    written(path, *range(1, 100))
    history = WearHistory.open(path)
    _, hard = before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size, hard))
        for number in range(100, 300):
            history.record(KEY, day(number))
            history.flush()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    (message,) = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert "new rows of wear are kept in memory until it can be; repair the disk" in message.message
    assert list(range(1, 300)) == [seen.at / DAY for seen in history.observations(KEY)]
    history.flush()
    assert "can be written again; nothing is lost" in caplog.messages[-1]
    history.close()
    assert list(range(1, 300)) == found(path)
    assert [] == aside(path)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with small_memory_disk(tmp_path) as disk:
        yield disk


def test_a_disk_that_is_really_full(small_disk: Path) -> None:
    path = small_disk / "history.sqlite"
    written(path, *range(1, 10))
    ballast = filled(small_disk)
    history = WearHistory.open(path)
    for number in range(10, 400):
        history.record(KEY, day(number))
        history.flush()
    assert list(range(1, 400)) == [seen.at / DAY for seen in history.observations(KEY)]
    ballast.unlink()
    history.close()
    assert list(range(1, 400)) == found(path)


def test_a_disk_that_is_full_from_the_start(small_disk: Path) -> None:
    ballast = filled(small_disk)
    history = WearHistory.open(small_disk / "history.sqlite")
    history.record(KEY, day(1))
    history.flush()
    assert (day(1),) == history.observations(KEY)
    ballast.unlink()
    history.close()
    assert [1] == found(small_disk / "history.sqlite")


def test_a_missing_directory_is_one_warning_until_it_exists_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "state" / "history.sqlite"
    history = WearHistory.open(path)
    for number in range(5):
        history.record(KEY, day(number))
        history.flush()
    assert (1, 5) == (len(caplog.records), len(history.observations(KEY)))
    path.parent.mkdir()
    history.close()
    assert [0, 1, 2, 3, 4] == found(path)


_READER = """
import os, sys
from pathlib import Path
from exporter.wear.wear_history import WearHistory
from exporter.drives.wear_counter import DAY, WearObservation

if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
history = WearHistory.open(Path(sys.argv[1]))
history.record(sys.argv[2], WearObservation(9 * DAY, None, 0.1, 0.01))
history.flush()
print([seen.at / DAY for seen in history.observations(sys.argv[2])])
history.close()
"""


def test_a_read_only_file_is_read_and_not_changed(tmp_path: Path) -> None:
    """For example, the file system was remounted read-only."""
    # Not below tmp_path, which other users cannot enter.
    directory = Path(tempfile.mkdtemp())
    path = directory / "history.sqlite"
    written(path, 1, 2)
    path.chmod(0o444)
    directory.chmod(0o555)
    try:
        argv = [sys.executable, "-c", _READER, str(path), KEY]
        done = subprocess.run(argv, capture_output=True, text=True, check=True)
        assert "[1.0, 2.0, 9.0]\n" == done.stdout
        assert "cannot be used: attempt to write a readonly database" in done.stderr
        assert [path] == list(directory.iterdir())
    finally:
        directory.chmod(0o755)
        path.chmod(0o600)
        assert [1, 2] == found(path)
        path.unlink()
        directory.rmdir()


def test_a_command_beside_the_daemon_reads_and_changes_nothing(path: Path) -> None:
    daemon = WearHistory.open(path)
    daemon.record(KEY, day(1))
    daemon.flush()
    command = WearHistory.open(path, read_only=True)
    command.record(KEY, day(2))
    command.flush()
    assert (day(1), day(2)) == command.observations(KEY)
    daemon.record(KEY, day(3))
    daemon.close()
    command.close()
    assert [1, 3] == found(path)


@pytest.mark.parametrize("content", [None, b"", b"invalid" * 1000])
def test_a_command_neither_creates_nor_repairs_the_file(
    path: Path, caplog: pytest.LogCaptureFixture, content: bytes | None
) -> None:
    """Otherwise root's `check` could create a file that the daemon cannot write."""
    if content is not None:
        path.write_bytes(content)
    command = WearHistory.open(path, read_only=True)
    command.record(KEY, day(1))
    assert (day(1),) == command.observations(KEY)
    command.close()
    assert ([] if content is None else [path]) == list(path.parent.iterdir())
    assert content is None or content == path.read_bytes()
    (message,) = caplog.messages
    assert "the wear history is not used" in message


@pytest.mark.parametrize("name", ["a b%20?mode=ro#.sqlite", "\udcff.sqlite"])
def test_the_file_can_have_any_name(tmp_path: Path, name: str) -> None:
    written(tmp_path / name, 1)
    assert [1] == found(tmp_path / name)
    assert [name] == os.listdir(tmp_path)


def test_a_file_of_a_later_version_is_renamed(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    written(path, 1)
    with contextlib.closing(sqlite3.connect(path)) as file:
        file.execute(f"PRAGMA user_version = {VERSION + 1}")
    written(path, 2)
    assert [2] == found(path)
    (old,) = aside(path)
    assert f"it has version {VERSION + 1}, not {VERSION}; renamed to {old.name}" in caplog.text
    with contextlib.closing(sqlite3.connect(old)) as file:
        assert [(1,)] == file.execute("SELECT COUNT(*) FROM observation").fetchall()


@pytest.mark.parametrize(
    "schema",
    [
        "CREATE TABLE of_another_program (a)",
        f"CREATE TABLE observation (a); PRAGMA user_version = {VERSION}",
        f"CREATE TABLE drive (id, key); PRAGMA user_version = {VERSION}",
    ],
)
def test_a_database_with_other_tables_is_renamed(path: Path, schema: str) -> None:
    with contextlib.closing(sqlite3.connect(path)) as file:
        file.executescript(schema)
    written(path, 1)
    assert [1] == found(path)
    assert 1 == len(aside(path))


def test_a_directory_in_place_of_the_file_is_renamed(path: Path) -> None:
    path.mkdir()
    written(path, 1)
    assert [1] == found(path)
    assert 1 == len(aside(path))


def test_a_file_that_is_too_large_is_renamed(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)
    written(path, 1)
    assert [1] == found(path)


def test_a_file_that_is_damaged_during_use_loses_only_its_own_rows(path: Path) -> None:
    written(path, *range(1, 50))
    history = WearHistory.open(path)
    history.record(KEY, day(50))
    history.flush()
    path.write_bytes(b"\xff" * path.stat().st_size)
    history.record(KEY, day(51))
    history.close()
    assert [51] == found(path)
    assert 1 == len(aside(path))


def test_an_old_journal_is_not_applied_to_a_new_file(path: Path) -> None:
    path.write_bytes(b"invalid" * 1000)
    journal = path.with_name("history.sqlite-journal")
    journal.write_bytes(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + b"\0" * 4096)
    written(path, 1)
    assert [1] == found(path)
    assert not journal.exists()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("whole") / "history.sqlite"
    history = WearHistory.open(path)
    for number in range(60):
        for drive in range(3):
            history.record(f"drive {drive}", day(number))
    history.close()
    return path.read_bytes()


def usable(path: Path, content: bytes) -> None:
    """With any content of the file, no error is raised, and new rows can be read again.

    New rows are accepted after a day at the latest, because an old row can have a wrong date in the
    future.
    """
    for left in path.parent.iterdir():
        left.unlink()
    path.write_bytes(content)
    history = WearHistory.open(path)
    for number in (100, 101, 102):
        for drive in range(3):
            history.record(f"drive {drive}", day(number))
        history.flush()
    assert day(102) == history.observations("drive 1")[-1]
    history.close()
    later = WearHistory.open(path)
    assert day(102) == later.observations("drive 1")[-1]
    later.close()


_QUICK = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
    max_examples=examples(60),
)


def test_a_message_of_sqlite_that_is_not_utf_8_raises_no_error(path: Path, whole: bytes) -> None:
    """Python cannot decode such a message, and raises UnicodeDecodeError instead."""
    usable(path, whole.replace(b"sqlite_autoindex_drive_1", b"sqlite_autoindex_dr\xffve_1"))


@_QUICK
@given(cut=st.floats(0, 1))
def test_a_file_that_is_cut_off_anywhere_raises_no_error(
    path: Path, whole: bytes, cut: float
) -> None:
    usable(path, whole[: int(cut * len(whole))])


@_QUICK
@given(data=st.data())
def test_a_file_with_changed_bytes_raises_no_error(
    path: Path, whole: bytes, data: st.DataObject
) -> None:
    """Half of the changes are in the first page, which describes the file."""
    content = bytearray(whole)
    places = st.integers(0, 200) | st.integers(0, len(whole) - 1)
    for place, byte in data.draw(st.lists(st.tuples(places, st.integers(0, 255)), max_size=8)):
        content[place] = byte
    usable(path, bytes(content))


@_QUICK
@given(content=st.binary(max_size=5000))
def test_a_file_with_any_content_raises_no_error(path: Path, content: bytes) -> None:
    usable(path, content)


@pytest.mark.parametrize("place", range(100))
def test_each_byte_of_the_header_can_be_wrong(path: Path, whole: bytes, place: int) -> None:
    for byte in (0, 255, whole[place] ^ 1):
        usable(path, whole[:place] + bytes([byte]) + whole[place + 1 :])


#: Parts of a schema that SQLite evaluates when a file is read, checked or written.
_TRAPS = {
    "a view": "CREATE VIEW trap AS SELECT randomblob(1000000000) AS at",
    "a trigger": "CREATE TRIGGER trap AFTER INSERT ON drive BEGIN DELETE FROM drive; END",
    "an index": "CREATE INDEX trap ON drive (length(key))",
    "a further table": "CREATE TABLE trap (a)",
    "a computed column": "ALTER TABLE drive ADD COLUMN trap AS (length(zeroblob(900000000)))",
    "a check": "ALTER TABLE drive ADD COLUMN trap CHECK (length(randomblob(1000)) > 0)",
}


@pytest.mark.parametrize("trap", _TRAPS)
def test_a_file_with_another_schema_is_not_used(
    path: Path, caplog: pytest.LogCaptureFixture, trap: str
) -> None:
    written(path, 1)
    with contextlib.closing(sqlite3.connect(path)) as file:
        file.execute(_TRAPS[trap])
    command = WearHistory.open(path, read_only=True)
    assert () == command.observations(KEY)
    command.close()
    assert "it has other tables, indexes, views or triggers" in caplog.text
    written(path, 2)
    assert [2] == found(path)
    assert 1 == len(aside(path))


def test_tables_that_change_after_the_check_are_not_used(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The owner of the file changes it while a command of root uses it."""
    written(path, 1)
    command = WearHistory.open(path, read_only=True)
    assert [DAY] == [seen.at for seen in command.observations(KEY)]
    computed = "nand_written_bytes INTEGER AS (length(hex(zeroblob(1000))))"
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as file:
        file.execute("PRAGMA writable_schema = ON")
        ((version,),) = file.execute("PRAGMA schema_version").fetchall()
        sql = f"replace(sql, 'nand_written_bytes INTEGER', '{computed}')"
        file.execute(f"UPDATE sqlite_master SET sql = {sql} WHERE name = 'observation'")
        file.execute(f"PRAGMA schema_version = {version + 1}")
    assert () == command.observations(KEY)
    command.close()
    assert "it has other tables, indexes, views or triggers" in caplog.text


def change(path: Path, statement: str) -> None:
    """Changes a file in another process. The limit of SQLite's memory applies to a process."""
    code = (
        "import sqlite3, sys\nwith sqlite3.connect(sys.argv[1]) as file: file.execute(sys.argv[2])"
    )
    subprocess.run([sys.executable, "-c", code, str(path), statement], check=True)


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO drive (key) VALUES (CAST(zeroblob(100000000) AS TEXT))",
        "UPDATE observation SET used_ratio = zeroblob(50000000)",
    ],
)
def test_a_file_with_huge_values_takes_little_memory(
    path: Path, caplog: pytest.LogCaptureFixture, statement: str
) -> None:
    written(path, 1)
    change(path, statement)
    command = WearHistory.open(path, read_only=True)
    assert () == command.observations(KEY)
    command.close()
    assert "it requires too much memory; the wear history is not used" in caplog.text
    written(path, 2)
    assert [2] == found(path)
    assert 1 == len(aside(path))


#: Opens a history while the address space has no room, and then a little more each time.
_SHORT_OF_MEMORY = """
import contextlib, logging, resource, sys
from pathlib import Path
from exporter.wear.wear_history import WearHistory
from exporter.drives.wear_counter import DAY, WearObservation

logging.basicConfig(format="%(message)s", stream=sys.stdout)
path, key = Path(sys.argv[1]), sys.argv[2]
WearHistory.open(path.with_name("other.sqlite")).close()  # everything is imported
with open("/proc/self/statm") as file:
    used = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used, resource.RLIM_INFINITY))
ballast = []
for size in (1 << 16, 1 << 13, 1 << 10):
    with contextlib.suppress(MemoryError):
        while True:
            ballast.append(bytes(size))
while ballast:
    del ballast[-8:]
    with contextlib.suppress(MemoryError):
        history = WearHistory.open(path)
        history.record(key, WearObservation(300 * DAY, None, 0.1, 0.01))
        history.flush()
        history.close()
"""


def test_a_real_lack_of_memory_costs_no_row(path: Path) -> None:
    """Before, the first failed allocation renamed the file, and the second one replaced it."""
    written(path, *range(300))
    argv = [sys.executable, "-c", _SHORT_OF_MEMORY, str(path), KEY]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert "cannot be used: there is not enough memory; new rows of wear are kept" in done.stdout
    assert "free memory, or raise the limit of this process" in done.stdout
    assert [] == aside(path), done.stdout
    assert list(range(300)) == found(path)[:300]


def test_a_history_is_not_judged_while_memory_is_short(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(path, *range(30))

    def fails(_connection: sqlite3.Connection) -> None:
        raise sqlite3.DatabaseError("database disk image is malformed")

    monkeypatch.setattr(wear_tables, "prepare", fails)
    monkeypatch.setattr(wear_database, "_is_short_of_memory", lambda: True)
    history = WearHistory.open(path)
    history.close()
    assert [] == aside(path)


def fails_to_allocate(monkeypatch: pytest.MonkeyPatch, times: int) -> list[object]:
    """The first calls that open a database fail, as SQLite does without memory."""
    calls: list[object] = []
    prepare = wear_tables.prepare

    def limited(connection: sqlite3.Connection) -> None:
        calls.append(connection)
        if len(calls) <= times:
            raise MemoryError
        prepare(connection)

    monkeypatch.setattr(wear_tables, "prepare", limited)
    return calls


@pytest.mark.parametrize("times", [1, 2, 5])
def test_allocations_that_fail_within_a_second_cost_no_row(
    path: Path, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    written(path, *range(300))
    calls = fails_to_allocate(monkeypatch, times)
    history = WearHistory.open(path)
    for number in range(300, 310):
        history.record(KEY, day(number))
        history.flush()
    history.close()
    assert times < len(calls)
    assert ([], list(range(310))) == (aside(path), found(path))


@pytest.mark.parametrize("is_large", [False, True])
def test_only_a_large_file_can_be_the_reason_of_a_lack_of_memory(
    path: Path, monkeypatch: pytest.MonkeyPatch, *, is_large: bool
) -> None:
    written(path, 1)
    if is_large:
        with path.open("ab") as file:
            file.truncate(wear_tables.HEAP_BYTES)
    fails_to_allocate(monkeypatch, 2)
    WearHistory.open(path).close()
    assert is_large == bool(aside(path))


def test_two_files_that_are_damaged_within_a_second_are_both_kept(path: Path) -> None:
    for content in (b"first" * 100, b"second" * 100):
        path.write_bytes(content)
        written(path, 1)
    assert [b"first" * 100, b"second" * 100] == [each.read_bytes() for each in aside(path)]


def test_beyond_the_limit_of_copies_new_rows_wait_in_memory(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(MAX_COPIES):
        path.write_bytes(b"damaged %d" % number * 100)
        written(path, 1)
    path.write_bytes(b"one more" * 100)
    caplog.clear()
    history = WearHistory.open(path)
    history.record(KEY, day(2))
    history.flush()
    assert b"one more" * 100 == path.read_bytes()
    assert MAX_COPIES == len(aside(path))
    (line,) = caplog.messages
    assert "it cannot be set aside: there are already 8 copies of history.sqlite" in line
    aside(path)[0].unlink()
    history.close()
    assert [2] == found(path)


def test_a_file_that_a_person_puts_in_place_is_used(path: Path, tmp_path: Path) -> None:
    """For example a copy that was kept, while the daemon has the old one open."""
    other = tmp_path / "restored"
    written(other, 1, 2, 3)
    history = WearHistory.open(path)
    history.record(KEY, day(8))
    history.flush()
    os.replace(other, path)
    history.record(KEY, day(9))
    history.close()
    assert ([], [1, 2, 3, 9]) == (aside(path), found(path))


def test_a_text_in_place_of_a_number_is_not_read(path: Path) -> None:
    written(path, 1, 2)
    change(path, "UPDATE observation SET used_ratio = zeroblob(5000000) WHERE at < 100000")
    assert [1, 2] == found(path)
    history = WearHistory.open(path)
    assert [None, 0.1] == [seen.used_ratio for seen in history.observations(KEY)]
    history.close()


def test_at_most_the_last_thousand_rows_are_read(path: Path) -> None:
    written(path, 1)
    rows = ((number / 10,) for number in range(100_000))
    with contextlib.closing(sqlite3.connect(path)) as file, file:
        file.execute("DELETE FROM observation")
        file.executemany("INSERT INTO observation (drive, at) VALUES (1, ?)", rows)
    history = WearHistory.open(path, read_only=True)
    seen = [each.at for each in history.observations(KEY)]
    history.close()
    assert [number / 10 for number in range(99_000, 100_000)] == seen


def test_a_call_that_works_for_too_long_is_ended(
    path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(path, *range(100))
    monkeypatch.setattr(wear_database, "_INSTRUCTIONS_PER_CALL", 100)
    monkeypatch.setattr(wear_database, "_MAX_INSTRUCTIONS", 500)
    history = WearHistory.open(path, read_only=True)
    assert () == history.observations(KEY)
    history.close()
    assert "cannot be used: interrupted" in caplog.text


@pytest.mark.parametrize("name", ["history.sqlite", "history.sqlite-journal", "history.sqlite-wal"])
@pytest.mark.parametrize("read_only", [False, True], ids=["daemon", "command"])
def test_a_pipe_is_not_opened(
    path: Path, caplog: pytest.LogCaptureFixture, name: str, read_only: bool
) -> None:
    """SQLite would wait for a writer for ever."""
    if name != path.name:
        written(path, 1)
    os.mkfifo(path.with_name(name))
    history = WearHistory.open(path, read_only=read_only)
    assert () == history.observations(KEY)
    history.close()
    assert "it is a pipe, not a regular file" in caplog.text
    assert read_only == path.with_name(name).is_fifo()


def test_a_link_is_not_followed(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.sqlite"
    written(other, 5)
    path.symlink_to(other)
    written(path, 1)
    assert [1] == found(path)
    assert [5] == found(other)


#: The name of a super-journal.
VICTIM = "history.sqlite-mjABCDEF9AB"


def write_hot_journal(path: Path, victim: Path, page_bytes: int = 4096) -> None:
    """Writes a rollback journal whose super-journal is `victim`: SQLite deletes `victim` after it.

    path: the database. SQLite 3.53 only deletes a super-journal with a name like the one below that
    contains the name of the journal; 3.40 deletes any file.
    Source: https://www.sqlite.org/fileformat.html#the_rollback_journal and pager.c.
    """
    assert victim.name == VICTIM
    journal = path.with_name(f"{path.name}-journal")
    victim.write_bytes(bytes(journal) + b"\0")
    magic = bytes.fromhex("d9d505f920a163d7")
    header = magic + struct.pack(">IIIII", 0xFFFFFFFF, 1, 4, 512, page_bytes)
    name = bytes(victim)
    lock_page = 0x40000000 // page_bytes + 1
    journal.write_bytes(
        header.ljust(512, b"\0")
        + struct.pack(">I", lock_page)
        + name
        + struct.pack(">II", len(name), sum(name))
        + magic
    )


def test_root_deletes_no_file_that_the_owner_of_the_directory_names(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """In a directory of its own user, the daemon can delete only files of this user."""
    if os.geteuid() != 0:
        lacking("it takes root to give a directory away")
    victim, directory = tmp_path / VICTIM, Path(tempfile.mkdtemp())
    try:
        path = directory / "history.sqlite"
        written(path, 1)
        write_hot_journal(path, victim)
        for each in (directory, *directory.iterdir()):
            os.chown(each, 65534, 65534)
        for read_only in (True, False):
            history = WearHistory.open(path, read_only=read_only)
            history.record(KEY, day(2))
            history.flush()
            history.close()
            assert victim.exists()
        assert "it belongs to user nobody (65534), and this process runs as root" in caplog.text
    finally:
        shutil.rmtree(directory)


_LEASE = """
import fcntl, os, signal, sys
signal.signal(signal.SIGIO, signal.SIG_IGN)
file = os.open(sys.argv[1], os.O_RDWR)
fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
print(flush=True)
sys.stdin.read()
"""


@pytest.fixture
def foreign() -> Iterator[Path]:
    """The history of another user, with rows of the first day."""
    if os.geteuid() != 0:
        lacking("it takes root to give a directory away")
    directory = Path(tempfile.mkdtemp())
    written(directory / "history.sqlite", 1)
    for each in (directory, *directory.iterdir()):
        os.chown(each, 65534, 65534)
    yield directory / "history.sqlite"
    shutil.rmtree(directory)


def read_by_root(path: Path) -> list[float]:
    history = WearHistory.open(path, read_only=True)
    days = [seen.at / DAY for seen in history.observations(KEY)]
    history.close()
    return days


def test_root_reads_a_copy_of_the_file_of_another_user(
    foreign: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tempfile.TemporaryDirectory() as own:
        # The other user may enter it, unlike pytest's own.
        os.chmod(own, 0o755)
        monkeypatch.setattr(tempfile, "tempdir", own)
        assert [1] == read_by_root(foreign)
        assert (0, 0) == (os.geteuid(), os.getuid())
        assert [] == os.listdir(own), "the copy was not removed"


def test_a_lease_of_the_owner_does_not_make_a_command_of_root_wait(
    foreign: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A process that opens a file with a lease waits for up to 45 s (fcntl(2), F_SETLEASE)."""
    argv = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    argv += ["/usr/bin/python3", "-c", _LEASE, str(foreign)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(argv, **pipes) as owner:  # type: ignore[call-overload]
        assert owner.stdout.readline() == b"\n"
        with at_most(5):
            assert [] == read_by_root(foreign)
        owner.communicate()
    assert "Resource temporarily unavailable; the wear history is not used" in caplog.text
    assert [1] == read_by_root(foreign)


def test_no_file_is_deleted_after_the_files_were_given_to_root(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The owner of a file changes with chown; its contents stay those of the user before."""
    victim = path.with_name(VICTIM)
    written(path, 1)
    write_hot_journal(path, victim)
    for read_only in (True, False):
        history = WearHistory.open(path, read_only=read_only)
        assert () == history.observations(KEY)
        history.record(KEY, day(2))
        history.close()
        assert victim.exists()
    assert "its journal names another file, to be deleted" in caplog.text
    assert [2] == found(path)


def test_the_journal_of_the_previous_test_is_one_that_sqlite_obeys(
    path: Path, tmp_path: Path
) -> None:
    """Otherwise that test would not show anything."""
    written(path, 1)
    victim = tmp_path / VICTIM
    write_hot_journal(path, victim)
    with contextlib.closing(sqlite3.connect(path)) as file:
        file.execute("SELECT COUNT(*) FROM drive").fetchall()
    assert not victim.exists()
