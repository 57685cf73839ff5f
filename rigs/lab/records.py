"""Keeps the records of a long measurement in a file, so that its table can be printed again."""

import argparse
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    RecordT = TypeVar("RecordT", bound=DataclassInstance)
else:
    RecordT = TypeVar("RecordT")


def add_arguments(parser: argparse.ArgumentParser, file: Path) -> None:
    """Adds --file, with this default, and --only-table."""
    parser.add_argument("--file", type=Path, default=file, help="of the records, one per line")
    parser.add_argument("--only-table", action="store_true", help="print the table of the file")


@contextmanager
def recording(file: Path) -> Iterator[Callable[[RecordT], None]]:
    """Yields a function that prints a record and appends it to the new file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w") as lines:

        def record(one: RecordT) -> None:
            text = json.dumps(asdict(one))
            print(text, flush=True)
            lines.write(text + "\n")
            lines.flush()

        yield record


def read(file: Path, kind: type[RecordT]) -> list[RecordT]:
    """Returns the records of a file."""
    return [kind(**json.loads(line)) for line in file.read_text().splitlines()]
