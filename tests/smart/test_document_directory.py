"""Tests of the directory of poll documents, on a real file system."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from exporter.runtime.errors import NotAvailable, ReadError
from exporter.smart import document_directory
from exporter.smart.document_directory import HEARTBEAT_FILE, DocumentReader, DocumentWriter
from exporter.smart.polling.poll_document import LARGEST_BYTES, file_name, parse_poll_document
from tests.injected_errors import Failing, descriptors_left
from tests.processes import open_files
from tests.smart.test_poll_document import POLL
from tests.smart.test_poll_document import ROLL as HEARTBEAT

NAME = file_name(POLL.path, POLL.type, is_daily=False)
DAILY = file_name(POLL.path, POLL.type, is_daily=True)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    directory = tmp_path / "run"
    directory.mkdir(mode=0o750)
    return directory


pytestmark = pytest.mark.usefixtures("usual_mask")


def texts(reader: DocumentReader) -> dict[str, bytes]:
    return {name: text for name, text in reader.changed() if isinstance(text, bytes)}


def refusals(reader: DocumentReader) -> dict[str, str]:
    return {name: str(text) for name, text in reader.changed() if isinstance(text, ReadError)}


def test_a_document_is_read_as_it_was_written(place: Path) -> None:
    DocumentWriter(place).write(POLL)
    found = texts(DocumentReader(place))
    assert [DAILY, NAME] == list(found)
    assert parse_poll_document(found[NAME]) == POLL


def test_the_heartbeat_is_not_a_poll_document(place: Path) -> None:
    DocumentWriter(place).write(HEARTBEAT)
    assert {} == texts(DocumentReader(place))
    assert DocumentReader(place).read_heartbeat()


def test_only_what_changed_is_read_again(place: Path) -> None:
    writer, reader = DocumentWriter(place), DocumentReader(place)
    writer.write(POLL)
    assert {NAME, DAILY} == texts(reader).keys()
    assert {} == texts(reader)
    writer.write(POLL)
    assert {NAME, DAILY} == texts(reader).keys()


def test_a_directory_that_was_never_created_is_not_available(tmp_path: Path) -> None:
    with pytest.raises(NotAvailable):
        DocumentReader(tmp_path / "none").read_heartbeat()


def test_the_documents_of_a_directory_that_was_created_again_are_read(place: Path) -> None:
    """On ext4 they have the same inodes, and on many kernels the same times, within 4 ms."""
    writer, reader = DocumentWriter(place), DocumentReader(place)

    def write() -> None:
        writer.write(POLL)
        for file in place.iterdir():
            os.utime(file, (1, 1))

    write()
    assert {NAME, DAILY} == texts(reader).keys()
    for file in place.iterdir():
        file.unlink()
    place.rmdir()
    with pytest.raises(NotAvailable):
        list(reader.changed())
    write()
    assert {NAME, DAILY} == texts(reader).keys()


def test_documents_of_removed_drives_are_deleted(place: Path) -> None:
    writer = DocumentWriter(place)
    writer.write(POLL)
    writer.write(HEARTBEAT)
    (place / f".{NAME}.new").write_text("half")
    writer.sweep(set())
    assert [HEARTBEAT_FILE] == os.listdir(place)


def test_a_half_written_file_is_not_read(place: Path) -> None:
    (place / f".{NAME}.new").write_text("half")
    assert {} == texts(DocumentReader(place))


@pytest.mark.parametrize("mode", [0o660, 0o646, 0o777])
def test_a_file_writable_by_others_is_refused(place: Path, mode: int) -> None:
    DocumentWriter(place).write(POLL)
    (place / NAME).chmod(mode)
    assert {NAME} == refusals(DocumentReader(place)).keys()


def test_a_directory_that_others_can_write_is_refused(place: Path) -> None:
    place.chmod(0o777)
    with pytest.raises(ReadError, match="other users than its owner can write it: not trusted"):
        DocumentReader(place).read_heartbeat()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_file_of_another_owner_is_refused(place: Path) -> None:
    DocumentWriter(place).write(POLL)
    os.chown(place / NAME, 65534, 65534)
    assert "belongs to user 65534" in refusals(DocumentReader(place))[NAME]
    os.chown(place, 65534, 65534)
    with pytest.raises(ReadError, match="belongs to user 65534"):
        DocumentReader(place).read_heartbeat()


def test_a_link_is_not_followed(place: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("{}")
    (place / NAME).symlink_to(tmp_path / "elsewhere")
    assert {NAME} == refusals(DocumentReader(place)).keys()
    (tmp_path / "link").symlink_to(place)
    with pytest.raises(ReadError):
        DocumentReader(tmp_path / "link").read_heartbeat()


def test_a_hard_link_is_refused(place: Path, tmp_path: Path) -> None:
    DocumentWriter(place).write(POLL)
    os.link(place / NAME, tmp_path / "other")
    assert "it has several names" in refusals(DocumentReader(place))[NAME]


def test_a_pipe_does_not_block_the_reader(place: Path) -> None:
    os.mkfifo(place / NAME, 0o600)
    assert "not a regular file" in refusals(DocumentReader(place))[NAME]


def test_a_file_too_large_is_not_read(place: Path) -> None:
    (place / NAME).write_bytes(b"x" * (LARGEST_BYTES + 1))
    assert "larger than" in refusals(DocumentReader(place))[NAME]


def link(file: Path, victim: Path) -> None:
    file.symlink_to(victim)


def second_name(file: Path, victim: Path) -> None:
    os.link(victim, file)


def pipe(file: Path, _victim: Path) -> None:
    os.mkfifo(file)


@pytest.mark.parametrize("put", [link, second_name, pipe])
def test_a_writer_opens_nothing_that_was_put_in_its_way(
    place: Path, tmp_path: Path, put: Callable[[Path, Path], None]
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    put(place / f".{NAME}.new", victim)
    DocumentWriter(place).write(POLL)
    assert {DAILY, NAME} == texts(DocumentReader(place)).keys()
    assert "precious" == victim.read_text()


@pytest.mark.parametrize("mode", [0o770, 0o757])
def test_a_directory_that_others_can_write_is_not_written_to(place: Path, mode: int) -> None:
    place.chmod(mode)
    with pytest.raises(PermissionError, match="can write it: not written"):
        DocumentWriter(place).write(POLL)
    with pytest.raises(PermissionError):
        DocumentWriter(place).sweep(set())
    assert [] == os.listdir(place)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give directories away")
def test_a_directory_of_another_owner_is_not_written_to(place: Path) -> None:
    os.chown(place, 65534, 65534)
    with pytest.raises(PermissionError, match="it belongs to user 65534: not written"):
        DocumentWriter(place).write(POLL)
    assert [] == os.listdir(place)


def test_a_link_to_a_directory_is_not_written_to(place: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(place)
    with pytest.raises(NotADirectoryError):
        DocumentWriter(tmp_path / "link").write(POLL)
    assert [] == os.listdir(place)


def test_a_directory_has_one_writer_also_after_it_was_created_again(place: Path) -> None:
    first, second = DocumentWriter(place), DocumentWriter(place)
    first.hold()
    with pytest.raises(BlockingIOError):
        second.hold()
    place.rmdir()
    first.write(HEARTBEAT)
    with pytest.raises(BlockingIOError):
        second.write(POLL)
    assert [HEARTBEAT_FILE] == os.listdir(place)


@pytest.mark.parametrize("name", [HEARTBEAT_FILE, NAME])
@pytest.mark.parametrize(
    ("prepare", "word"),
    [
        (Path.mkdir, "a directory"),
        (os.mkfifo, "a pipe"),
        (lambda path: path.symlink_to("/dev/zero"), "a symbolic link"),
    ],
    ids=["directory", "pipe", "link"],
)
def test_a_document_that_is_no_regular_file_is_not_trusted(
    place: Path, name: str, prepare: Callable[[Path], None], word: str
) -> None:
    """Before, a directory raised an error that nothing caught, and the descriptor stayed open."""
    prepare(place / name)
    before = open_files()
    expected = f"{place}/{name}: it is {word}, not a regular file: not trusted"
    if name == HEARTBEAT_FILE:
        with pytest.raises(ReadError) as raised:
            DocumentReader(place).read_heartbeat()
        assert expected == str(raised.value)
    else:
        assert {name: expected} == refusals(DocumentReader(place))
    assert set() == open_files() - before


def both(place: Path) -> DocumentReader:
    DocumentWriter(place).write(POLL)
    return DocumentReader(place)


@pytest.mark.parametrize("name", ["ENOMEM", "EMFILE", "EIO", "EINTR"])
def test_a_document_whose_read_fails_once_is_read_again(
    place: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """The file does not change: the agent replaces that of a daily poll once a day."""
    reader = both(place)
    fails = Failing(name, "open", is_meant=lambda path, *_, **__: path == DAILY)
    with fails.installed(monkeypatch):
        first = dict(reader.changed())
    assert f"{place}/{DAILY}: {os.strerror(getattr(errno, name))}" == str(first[DAILY])
    assert isinstance(first[NAME], bytes)
    assert {DAILY} == texts(reader).keys()
    assert {} == dict(reader.changed())


@pytest.mark.parametrize("left", [0, 1])
def test_without_a_free_descriptor_the_reason_is_reported_and_the_next_read_succeeds(
    place: Path, left: int
) -> None:
    """One descriptor is enough to open the directory, and not to list it."""
    reader = both(place)
    with descriptors_left(left), pytest.raises(ReadError) as raised:
        list(reader.changed())
    assert f"{place}: Too many open files" == str(raised.value)
    assert {NAME, DAILY} == texts(reader).keys()


def test_a_document_that_is_refused_is_read_when_it_is_trusted_again(place: Path) -> None:
    """A change of the permissions changes neither the inode, nor the time, nor the size."""
    reader = both(place)
    (place / NAME).chmod(0o666)
    assert {NAME} == refusals(reader).keys()
    (place / NAME).chmod(0o640)
    assert {NAME} == texts(reader).keys()


@pytest.mark.parametrize("excess", [0, 1, 10])
def test_the_first_documents_are_read_and_only_more_are_reported(
    place: Path, monkeypatch: pytest.MonkeyPatch, excess: int
) -> None:
    monkeypatch.setattr(document_directory, "_MAX_FILES", 5)
    for number in range(5 + excess):
        (place / f"drive-{number:02d}.json").write_text("{}")
    reader = DocumentReader(place)
    assert {f"drive-{number:02d}.json" for number in range(5)} == texts(reader).keys()
    message = f"{place}: only 5 of {5 + excess} documents are read"
    assert (message if excess else None) == (reader.limit and str(reader.limit))
    # A drive keeps its place when another one appears.
    (place / "drive-.json").write_text("{}")
    assert {} == texts(reader)
    (place / "drive-03.json").unlink()
    assert {"drive-.json"} == texts(reader).keys()


@pytest.mark.parametrize("name", ["EIO", "EROFS", "EINTR"])
def test_a_document_that_cannot_be_deleted_does_not_keep_the_others(
    place: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    writer = DocumentWriter(place)
    writer.write(POLL)
    first = os.listdir(place)[0]
    fails = Failing(name, "unlink", is_meant=lambda path, **_: path == first)
    with fails.installed(monkeypatch), pytest.raises(OSError, match=os.strerror(fails.number)):
        writer.sweep(set())
    assert [first] == os.listdir(place)
    writer.sweep(set())
    assert [] == os.listdir(place)
