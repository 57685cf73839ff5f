"""Every system call on the state directory, the poll documents and the probe directory fails once.

Each place below is run as often as it makes system calls. In each run, another one of them fails,
with each of the errors. Three things are checked: the other files of the directory stay as they
are; the file of the place has its old or its new content, or its old content was set aside; and the
next run, without an error, has the usual result. `python -m tests.test_injected_errors` prints the
table.
"""

import gc
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from exporter.drives.wear_counter import DAY, WearObservation
from exporter.probe import probe_file, slc_results
from exporter.probe.budget import ProbeBudget
from exporter.probe.cliff_result import CacheCliff, CliffResult, WritePhase
from exporter.probe.host_lock import HostLock, ProbePidFile
from exporter.probe.location import free_space
from exporter.probe.slc_results import SlcResult, SlcResultStore
from exporter.runtime import kept_copy
from exporter.runtime import state as state_module
from exporter.runtime.errors import ConfigError, SourceError
from exporter.runtime.kept_copy import KeptCopies
from exporter.runtime.state import StateFile, open_state_file
from exporter.smart import forgetting
from exporter.smart.document_directory import DocumentReader, DocumentWriter
from exporter.smart.polling.poll_document import file_name
from exporter.wear.wear_history import WearHistory
from tests.fakes import FakeClock
from tests.injected_errors import ERRORS, Failing
from tests.processes import open_files
from tests.smart.test_poll_document import POLL
from tests.smart.test_poll_document import ROLL as HEARTBEAT

#: The functions of the module os that are system calls on files. All modules use them, because
#: `open()` follows links. SQLite makes its calls itself: see `tests/wear/test_wear_database.py`.
CALLS = (
    *(
        "open",
        "read",
        "pread",
        "write",
        "pwrite",
        "fdopen",
        "stat",
        "lstat",
        "fstat",
        "fstatvfs",
        "statvfs",
    ),
    *("listdir", "scandir", "mkdir", "link", "rename", "replace", "unlink", "remove", "rmdir"),
    *("fsync", "fdatasync", "ftruncate", "fchmod", "fchown", "utime", "access", "readlink"),
)

#: A file of another record in the directory.
OTHER = "of another record.json"

MIB = 1 << 20

SLC = SlcResult(
    ("a drive",),
    "sda",
    1_699_999_000.5,
    CacheCliff(CliffResult.CLIFF, 1 << 33, (WritePhase(0, 5e8), WritePhase(1 << 32, 1e8))),
    {30: 1 << 30},
)


def day(number: int) -> WearObservation:
    return WearObservation(number * DAY, number * DAY, 0.1, 0.01, number * 10**10)


@dataclass(frozen=True)
class Place:
    """Code that touches a directory.

    act: does it. It may keep objects in the dictionary, as a daemon does, from the run with the
        error to the next one.
    result: returns what the next run must have achieved; compared with that of a run without error.
    prepare: creates what is there before.
    own: the files of the place. Others must not change.
    raises: the exceptions that the callers catch.
    loses: what an error costs, for the table.
    """

    act: Callable[[Path, dict[str, Any]], object]
    result: Callable[[Path, dict[str, Any]], object]
    prepare: Callable[[Path], object] = lambda _: None
    own: tuple[str, ...] = ()
    raises: tuple[type[Exception], ...] = (OSError,)
    loses: str = "nothing"
    others: dict[str, str] = field(default_factory=lambda: {OTHER: "kept"})


def saved(directory: Path, value: int) -> None:
    StateFile(directory).save({"a": value})


def loaded(directory: Path, kept: dict[str, Any]) -> None:
    """A daemon starts, and saves its state later."""
    kept["loaded"] = StateFile(directory).load()


def daemon_lock(directory: Path, _: dict[str, Any]) -> bool:
    """Returns whether the daemon holds the lock. It is released again."""
    state = StateFile(directory)
    state.hold()
    is_held = state._held >= 0
    if is_held:
        os.close(state._held)
    return is_held


def history(directory: Path, kept: dict[str, Any]) -> WearHistory:
    """Returns the history that the daemon has open."""
    if "history" not in kept:
        kept["history"] = WearHistory.open(directory / "history.sqlite")
    found: WearHistory = kept["history"]
    return found


def worn(directory: Path, *days: int) -> None:
    kept: dict[str, Any] = {}
    for number in days:
        record_wear(directory, kept, number)
    kept["history"].close()


def record_wear(directory: Path, kept: dict[str, Any], number: int = 2) -> None:
    found = history(directory, kept)
    found.record("a drive", day(number))
    found.flush()


def wear_days(directory: Path, kept: dict[str, Any]) -> list[float]:
    if "history" in kept:
        kept.pop("history").close()
    found = WearHistory.open(directory / "history.sqlite")
    days = [seen.at / DAY for seen in found.observations("a drive")]
    found.close()
    return days


def budget(directory: Path, kept: dict[str, Any]) -> ProbeBudget:
    if "budget" not in kept:
        kept["budget"] = ProbeBudget(directory, FakeClock(), "boot-1")
    found: ProbeBudget = kept["budget"]
    return found


def spend(directory: Path, kept: dict[str, Any]) -> None:
    """Charges a run of 1 MiB, once."""
    found = budget(directory, kept)
    if "reserved" not in kept:
        kept["reserved"] = found.reserve("a drive", "fsync", MIB)
    found.settle(MIB, None)


def spent(directory: Path, _: dict[str, Any]) -> object:
    """Returns whether at least these bytes count, whatever the error was."""
    found = ProbeBudget(directory, FakeClock(), "boot-1")
    found.recover()
    left = found.remaining("a drive")
    full = found.limits("a drive")
    return full.life_bytes - left.life_bytes >= 2 * MIB and left.life_bytes > 0


def documents(directory: Path, kept: dict[str, Any]) -> set[str]:
    """Returns the names of the documents that a reader has read so far."""
    reader = kept.setdefault("reader", DocumentReader(directory))
    names: set[str] = kept.setdefault("names", set())
    for name, text in reader.changed():
        if isinstance(text, bytes):
            names.add(name)
    return names


NAMES = {file_name(POLL.path, POLL.type, is_daily=daily) for daily in (False, True)}


def write_documents(directory: Path) -> None:
    DocumentWriter(directory).write(POLL)
    DocumentWriter(directory).write(HEARTBEAT)


def written_documents(directory: Path, _: dict[str, Any]) -> set[str]:
    return documents(directory, {})


def locked(directory: Path, _: dict[str, Any]) -> None:
    lock = HostLock((directory,))
    try:
        lock.acquire()
    finally:
        lock.release()


def held(directory: Path, kept: dict[str, Any]) -> None:
    kept["writer"] = DocumentWriter(directory)
    try:
        kept["writer"].hold()
    finally:
        kept["writer"].close()


PLACES: dict[str, Place] = {
    "state.json: save": Place(
        lambda directory, _: saved(directory, 2),
        lambda directory, _: StateFile(directory).load(),
        lambda directory: saved(directory, 1),
        ("state.json",),
        loses="this save; the old state stays",
    ),
    "state.json: load": Place(
        loaded,
        lambda directory, _: saved(directory, 3) or StateFile(directory).load(),  # type: ignore[func-returns-value]
        lambda directory: saved(directory, 1),
        ("state.json",),
        loses="the state of this run, if the error stays; the file is kept",
    ),
    "state.json: lock": Place(
        daemon_lock,
        daemon_lock,
        own=("daemon.lock",),
        loses="the detection of a second daemon",
    ),
    "state directory: create": Place(
        lambda directory, _: open_state_file(directory / "state", {}),
        lambda directory, _: (directory / "state").is_dir(),
        own=("state",),
        raises=(ConfigError,),
        loses="this start; lack of memory or descriptors for less than a second costs nothing",
    ),
    "history.sqlite: record": Place(
        record_wear,
        wear_days,
        lambda directory: worn(directory, 1),
        ("history.sqlite",),
        raises=(),
        loses="nothing: new rows wait in memory",
    ),
    "history.sqlite: open": Place(
        lambda directory, kept: history(directory, kept).observations("a drive"),
        wear_days,
        lambda directory: worn(directory, 1, 2, 3),
        ("history.sqlite",),
        raises=(),
        loses="the estimate until the next one",
    ),
    "history.sqlite: set aside": Place(
        record_wear,
        wear_days,
        lambda directory: (directory / "history.sqlite").write_bytes(b"damaged" * 100),
        ("history.sqlite",),
        raises=(),
        loses="nothing: the damaged file is kept",
    ),
    "set-aside copies: count": Place(
        lambda directory, kept: kept.setdefault("copies", KeptCopies(directory)).refresh(),
        lambda _, kept: kept["copies"].counts,
        lambda directory: (
            kept_copy.set_aside(directory / OTHER) and (directory / OTHER).write_text("kept")
        ),
        raises=(),
        loses="the number on the page",
    ),
    "probe-budget.json: charge a run": Place(
        spend,
        spent,
        own=("probe-budget.json", "probe-budget.json.copy", "probe-budget.lock"),
        loses="at most the bytes of this run, which count as written",
    ),
    "probe-budget.json: read": Place(
        lambda directory, kept: budget(directory, kept).refresh(),
        spent,
        lambda directory: spend(directory, {}),
        ("probe-budget.lock",),
        loses="this probe",
    ),
    "forget-…: request": Place(
        lambda directory, _: forgetting.request(directory, "S1"),
        lambda directory, _: forgetting.requests(directory),
        own=("forget-S1",),
        loses="this request",
    ),
    "forget-…: list and remove": Place(
        lambda directory, _: forgetting.remove(directory, forgetting.requests(directory)),
        lambda directory, _: forgetting.requests(directory),
        lambda directory: forgetting.request(directory, "S1"),
        ("forget-S1",),
        raises=(),
        loses="nothing: the request is processed again",
    ),
    "slc-….json: save": Place(
        lambda directory, _: slc_results.save(directory, SLC),
        lambda directory, _: slc_results.read_result(directory, SLC.drives),
        own=(slc_results._name(SLC.drives),),
        loses="this result",
    ),
    "slc-….json: read": Place(
        lambda directory, kept: kept.setdefault("slc", SlcResultStore(directory)).refresh(),
        lambda _, kept: kept["slc"].results(lambda: {"sda": "a drive"}),
        lambda directory: slc_results.save(directory, SLC),
        raises=(SourceError,),
        loses="this result on the page until the next reading",
    ),
    "probe-process.json: write": Place(
        lambda directory, _: ProbePidFile(directory).write(os.getpid()),
        lambda directory, _: (directory / "probe-process.json").exists(),
        own=("probe-process.json",),
        loses="this probe",
    ),
    "probe-process.json: read": Place(
        lambda directory, _: ProbePidFile(directory).kill_leftover(),
        lambda directory, _: ProbePidFile(directory).kill_leftover(),
        lambda directory: ProbePidFile(directory).write(1),
        ("probe-process.json",),
        raises=(),
        loses="nothing",
    ),
    "probe lock": Place(
        locked,
        lambda directory, _: HostLock((directory,)).acquire(),
        own=("ssd-exporter-probe.lock",),
        loses="this probe",
    ),
    "poll document: write": Place(
        lambda directory, _: DocumentWriter(directory).write(POLL),
        written_documents,
        own=tuple(NAMES),
        loses="this poll of the drive",
    ),
    "poll document: read": Place(
        documents,
        documents,
        write_documents,
        raises=(SourceError,),
        loses="nothing: it is read again",
    ),
    "poll document: sweep": Place(
        lambda directory, _: DocumentWriter(directory).sweep(set()),
        written_documents,
        write_documents,
        tuple(NAMES),
        loses="nothing: the next heartbeat repeats it",
    ),
    "poll documents: lock": Place(
        held,
        held,
        loses="the lock until the next document",
    ),
    "heartbeat: write": Place(
        lambda directory, _: DocumentWriter(directory).write(HEARTBEAT),
        lambda directory, _: DocumentReader(directory).read_heartbeat(),
        own=("agent.json",),
        loses="this heartbeat; the next one follows in 15 s",
    ),
    "heartbeat: read": Place(
        lambda directory, _: DocumentReader(directory).read_heartbeat(),
        lambda directory, _: DocumentReader(directory).read_heartbeat(),
        write_documents,
        raises=(SourceError,),
        loses="nothing: the last one is used",
    ),
    "probe file: create and fill": Place(
        lambda directory, _: probe_file.prepare(directory, "sda", 2 * MIB),
        lambda directory, _: (directory / "sda").stat().st_size,
        own=("sda",),
        raises=(SourceError,),
        loses="this probe",
    ),
    "probe file: extend": Place(
        lambda directory, _: probe_file.prepare(directory, "sda", 2 * MIB),
        lambda directory, _: (directory / "sda").stat().st_size,
        lambda directory: probe_file.prepare(directory, "sda", MIB),
        own=("sda",),
        raises=(SourceError,),
        loses="this probe",
    ),
    "probe file: check": Place(
        lambda directory, _: probe_file.check(directory, "sda", MIB),
        lambda directory, _: probe_file.check(directory, "sda", MIB).name,
        lambda directory: probe_file.prepare(directory, "sda", MIB),
        raises=(SourceError,),
        loses="this probe",
    ),
    "probe file: shorten": Place(
        lambda directory, _: probe_file.shorten(directory, "sda", MIB),
        lambda directory, _: (directory / "sda").stat().st_size,
        lambda directory: probe_file.prepare(directory, "sda", 2 * MIB),
        ("sda",),
        raises=(SourceError,),
        loses="nothing: the next probe shortens it",
    ),
    "probe file: remove": Place(
        lambda directory, _: probe_file.remove(directory, "sda"),
        lambda directory, _: (directory / "sda").exists(),
        lambda directory: probe_file.prepare(directory, "sda", MIB),
        ("sda",),
        raises=(SourceError,),
        loses="nothing: the file stays",
    ),
    "probe directory: free space": Place(
        lambda directory, _: free_space(directory),
        lambda directory, _: free_space(directory).size_bytes > 0,
        raises=(SourceError,),
        loses="this probe",
    ),
}


class Injected:
    """Lets one system call of a block fail: that with the number `which`, counted from 0.

    seen: the number of calls. name: the name of the one that failed; empty if there was none.
    """

    def __init__(self, which: int, error: str) -> None:
        self._which, self._error = which, error
        self.seen, self.name = 0, ""

    @contextmanager
    def installed(self) -> Iterator["Injected"]:
        with pytest.MonkeyPatch.context() as patch:
            for name in CALLS:
                meant = self._counter(name)
                patch.setattr(os, name, Failing(self._error, name, times=1, is_meant=meant))
            yield self

    def _counter(self, name: str) -> Callable[..., bool]:
        def is_meant(*arguments: Any, **_: Any) -> bool:
            path = arguments[0] if arguments else ""
            text = os.fspath(path) if isinstance(path, str | os.PathLike) else ""
            # The processes of the host are not the subject. /proc/self/fd opens a file again.
            if text.startswith("/proc/") and not text.startswith("/proc/self/fd"):
                return False
            is_it, self.seen = self.seen == self._which, self.seen + 1
            self.name = name if is_it else self.name
            return is_it

        return is_meant


def contents(directory: Path) -> dict[str, bytes | None]:
    """Returns the content of each file, keyed by name; None for a directory.

    Of the file of the probes, which has random content, it is the length.
    """
    found: dict[str, bytes | None] = {}
    for each in directory.iterdir():
        if each.name == "sda":
            found[each.name] = str(each.stat().st_size).encode()
        else:
            found[each.name] = each.read_bytes() if each.is_file() else None
    return found


def prepared(place: Place) -> Path:
    directory = Path(tempfile.mkdtemp(prefix="ssd-exporter-errors-"))
    directory.chmod(0o700)
    for name, text in place.others.items():
        (directory / name).write_text(text)
    place.prepare(directory)
    return directory


@cache
def outcome(name: str) -> tuple[object, dict[str, bytes | None]]:
    """Returns the result of a place and the files after it, without any error."""
    place = PLACES[name]
    directory, kept = prepared(place), {}  # type: ignore[var-annotated]
    place.act(directory, kept)
    files = contents(directory)
    result = place.result(directory, kept)
    shutil.rmtree(directory)
    return result, files


def injected(name: str, error: str, which: int) -> str:
    """Runs a place in which one call fails, and checks it. Returns the call; empty for none."""
    place = PLACES[name]
    expected, files = outcome(name)
    directory, kept = prepared(place), {}  # type: ignore[var-annotated]
    before, descriptors = contents(directory), open_files()
    faulty = Injected(which, error)
    with faulty.installed(), suppress(*place.raises):
        place.act(directory, kept)
    what = f"{faulty.name} ({error}, call {which})"
    if not faulty.name:
        shutil.rmtree(directory)
        return ""
    found = contents(directory)
    for file, content in before.items():
        if file not in place.own:
            assert content == found.get(file), f"{what} has changed {file}"
        elif file != "history.sqlite":  # its rows are compared below
            copies = [text for other, text in found.items() if other.startswith(f"{file}.kept-")]
            allowed = (content, files.get(file))
            assert found.get(file) in allowed or content in copies, f"{what} has lost {file}"
    held = {path for path in open_files() - descriptors if "history.sqlite" not in str(path)}
    assert set() == held, f"{what} has left a descriptor open"
    place.act(directory, kept)
    assert expected == place.result(directory, kept), f"after {what}"
    shutil.rmtree(directory)
    return faulty.name


@pytest.fixture(autouse=True, scope="module")
def without_objects_of_other_tests() -> Iterator[None]:
    """`open_files` collects garbage for each call: 0.3 s with the objects of a whole test run."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(autouse=True)
def quick_and_usual(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Sets the umask of the units, and no pause between two attempts."""
    monkeypatch.setattr(state_module, "_RETRY_SECONDS", 0.0)
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("name", PLACES)
def test_an_error_of_any_system_call_costs_only_its_own_record(name: str, error: str) -> None:
    which = 0
    while injected(name, error, which):
        which += 1
    assert which > 0, "the place makes no system call"


def main() -> None:
    """Prints the table: place, calls that failed, errors, and what was lost."""
    state_module._RETRY_SECONDS = 0.0
    os.umask(0o022)
    print("| place | failed calls | errors | lost |\n|---|---|---|---|")
    for name, place in PLACES.items():
        calls: list[str] = []
        for error in ERRORS:
            which = 0
            while call := injected(name, error, which):
                calls.append(call)
                which += 1
        kinds = ", ".join(dict.fromkeys(calls))
        count = len(calls) // len(ERRORS)
        print(f"| {name} | {count}: {kinds} | {', '.join(ERRORS)} | {place.loses} |")


if __name__ == "__main__":
    main()
