"""Opens the inputs of `read`: regular files and standard input, also compressed with gzip."""

import gzip
import io
import os
import stat
import zlib
from typing import TYPE_CHECKING, Any, TypeAlias

from exporter.report.formatting import quantity
from exporter.runtime.errors import ReadError

if TYPE_CHECKING:
    Stream: TypeAlias = io.BufferedReader[Any]
else:
    Stream = io.BufferedReader

#: The name of standard input on the command line.
STANDARD_INPUT = "-"

#: The start of the reason if an input is not there or is no regular file.
NOT_OPENED = "cannot be opened"

#: The size of the reads of a file, in bytes. A document has about 10 KB.
_BUFFER_BYTES = 1 << 16

_GZIP_MAGIC = b"\x1f\x8b"


def file_bytes(file: str, standard_input: Stream, limit: int) -> bytes:
    """Returns the content of one input, after decompression.

    file: the path of a file, or "-" for standard input. limit: the largest size in bytes.

    Raises:
        ReadError: the input cannot be read, or it is larger.
    """
    stream = standard_input if file == STANDARD_INPUT else opened(file)
    try:
        content = decompressed(stream).read(limit + 1)
    except (OSError, EOFError, zlib.error) as e:
        raise ReadError(f"cannot be read: {getattr(e, 'strerror', None) or e}") from e
    finally:
        if stream is not standard_input:
            stream.close()
    if len(content) > limit:
        raise ReadError(f"longer than {quantity(limit, 'B')}: it is no log page")
    return content


def opened(path: str) -> Stream:
    """Opens a regular file.

    Raises:
        ReadError: the file cannot be opened, or it is not a regular file.
    """
    try:
        # A FIFO would block, and opening some devices has effects. So the type is tested first.
        _require_regular(os.stat(path))
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    except (OSError, ValueError) as e:
        reason = e.strerror if isinstance(e, OSError) else str(e)
        raise ReadError(f"{NOT_OPENED}: {reason}") from e
    try:
        _require_regular(os.fstat(descriptor))
    except ReadError:
        os.close(descriptor)
        raise
    return io.BufferedReader(io.FileIO(descriptor, "rb"), _BUFFER_BYTES)


def _require_regular(status: os.stat_result) -> None:
    if stat.S_ISREG(status.st_mode):
        return
    kinds = (
        (stat.S_ISDIR, "a directory: name the files in it"),
        (stat.S_ISFIFO, "a pipe (FIFO): pass it as standard input, with -"),
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISBLK, "a device: save the output of `smartctl -x --json` for it, and read that"),
        (stat.S_ISCHR, "a device: name a file, or - for standard input"),
    )
    kind = next((words for test, words in kinds if test(status.st_mode)), "of an unknown type")
    raise ReadError(f"not a regular file but {kind}")


def decompressed(stream: Stream) -> Stream:
    """Returns a stream of the content, which gzip may have compressed."""
    if stream.peek(len(_GZIP_MAGIC))[: len(_GZIP_MAGIC)] == _GZIP_MAGIC:
        return io.BufferedReader(gzip.GzipFile(fileobj=stream), _BUFFER_BYTES)
    return stream
