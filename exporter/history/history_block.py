"""The format of the history files: blocks that are appended, each with checksums. Pure.

A block has a header of 28 bytes and a body that zlib compresses. The header has a checksum of its
own, so that a reader can skip a body that it does not need. A damaged block costs only itself: the
reader looks for the next header. So nothing needs to be repaired before the next block is appended.

The body of minutes and hours contains the identities of the drives, then the periods. A value is a
float of 16 bits, with three digits: rates in MB/s, awaits in ms. The body of events is JSON.
"""

import struct
import zlib
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from exporter.history.io_summary import IDLE, IoSummary, Period
from exporter.io.verdict import Verdict

#: What a block contains.
MINUTES, HOURS, EVENTS = 1, 2, 3

#: The version is part of the first bytes. A file of another version has no block for this one.
_MAGIC = b"\xf5IO1"

#: The first bytes, the kind, the first and the last period, the length of the body and its CRC-32;
#: then the CRC-32 of these.
_HEADER, _CHECKSUM = struct.Struct("<4sIIIII"), struct.Struct("<I")
HEADER_BYTES = _HEADER.size + _CHECKSUM.size

#: The largest body, compressed and not. 256 drives with a bottleneck each and an hour of minutes
#: have 0.3 MB.
_MAX_BODY_BYTES, _MAX_PLAIN_BYTES = 1 << 20, 4 << 20

#: The window of the compression, as a power of two, and its level of memory. They take 50 KB; the
#: defaults of zlib take 270 KB, and save nothing with a body of 5 KB.
_WINDOW_BITS, _MEMORY_LEVEL = 13, 5

#: How many bytes are searched at a time for the next header after a damaged block.
_SEARCH_BYTES = 1 << 16

_COUNT = struct.Struct("<H")

#: A period: index, seconds with a sample, bytes of the bitmap, drives with I/O, bottlenecks.
_PERIOD = struct.Struct("<IHHHH")
_VALUES = struct.Struct("<6e")
_BOTTLENECK = struct.Struct("<HBH")

#: Limits of the values in a file. A float of 16 bits ends at 65,504.
_MAX_HALF, _MAX_SHORT, _MAX_INDEX = 65_504.0, 0xFFFF, 0xFFFF_FFFF
_MAX_IDENTITY_BYTES = 255

_MEGA, _MILLI = 1e6, 1e-3

#: The numbers of the verdicts in the files. They never change.
CODES = {
    Verdict.DEVICE: 1,
    Verdict.CPU_SOFTIRQ: 2,
    Verdict.THROTTLED: 3,
    Verdict.WRITE_CACHE: 4,
    Verdict.THERMAL: 5,
    Verdict.LINK: 6,
    Verdict.UNKNOWN: 7,
}
_VERDICTS = {code: verdict for verdict, code in CODES.items()}


class Block(NamedTuple):
    """A block of a file, without its body. first, last: its periods, or minutes of its events."""

    kind: int
    first: int
    last: int
    offset: int
    length: int
    checksum: int


def encoded(kind: int, first: int, last: int, plain: bytes) -> bytes:
    """Returns a block. plain: the body before compression."""
    packer = zlib.compressobj(6, zlib.DEFLATED, _WINDOW_BITS, _MEMORY_LEVEL)
    body = packer.compress(plain) + packer.flush()
    header = _HEADER.pack(
        _MAGIC, kind, min(first, _MAX_INDEX), min(last, _MAX_INDEX), len(body), zlib.crc32(body)
    )
    return header + _CHECKSUM.pack(zlib.crc32(header)) + body


def blocks(read: Callable[[int, int], bytes], size: int) -> Iterator[Block]:
    """Yields the blocks of a file whose header is intact.

    read: returns bytes of the file. Its arguments are the offset and the count.
    size: the size of the file in bytes.
    """
    offset = 0
    while offset + HEADER_BYTES <= size:
        block = _header(read(offset, HEADER_BYTES), offset)
        if block is None:
            offset = _next_header(read, offset + 1, size)
            continue
        yield block
        end = block.offset + block.length
        if end == size or _header(read(end, HEADER_BYTES), end) is not None:
            offset = end
        else:
            # The body may have been cut, and the next block begins within its length.
            offset = _next_header(read, block.offset, size)


def body(read: Callable[[int, int], bytes], block: Block) -> bytes | None:
    """Returns the body of a block; None if it is damaged."""
    packed = read(block.offset, block.length)
    if len(packed) != block.length or zlib.crc32(packed) != block.checksum:
        return None
    unpacker = zlib.decompressobj()
    try:
        plain = unpacker.decompress(packed, _MAX_PLAIN_BYTES)
    except zlib.error:
        return None
    return plain if unpacker.eof else None


def encoded_period(
    index: int, seconds: float, drives: Mapping[str, IoSummary], table: dict[str, int]
) -> bytes:
    """Returns a period as it is in the body of a block.

    table: the number of each drive in the block, keyed by identity. New drives are added.
    """
    for identity in drives:
        table.setdefault(identity, len(table))
    bitmap = bytearray((len(table) + 7) // 8)
    for identity in drives:
        number = table[identity]
        bitmap[number >> 3] |= 1 << (number & 7)
    busy = sorted((table[identity], each) for identity, each in drives.items() if each != IDLE)
    bottlenecks = [
        _BOTTLENECK.pack(number, CODES[verdict], _short(lasted))
        for number, each in busy
        for verdict, lasted in each.verdicts.items()
        if verdict in CODES
    ]
    return b"".join(
        (
            _PERIOD.pack(index, _short(seconds), len(bitmap), len(busy), len(bottlenecks)),
            bitmap,
            *(_COUNT.pack(number) for number, _ in busy),
            *(_packed(each) for _, each in busy),
            *bottlenecks,
        )
    )


def has_bottleneck(packed: bytes) -> bool:
    """Returns True if a drive had a bottleneck in a packed period."""
    return bool(_PERIOD.unpack_from(packed)[4])


def encoded_table(table: Mapping[str, int]) -> bytes:
    """Returns the identities of the drives as they are in the body of a block."""
    names = [
        identity.encode("utf-8", "backslashreplace")[:_MAX_IDENTITY_BYTES] for identity in table
    ]
    return _COUNT.pack(len(names)) + b"".join(bytes((len(name),)) + name for name in names)


def decoded(plain: bytes, only: str | None = None) -> list[Period]:
    """Returns the periods in the body of a block; fewer if a part of it makes no sense.

    only: the identity of the drive that is wanted; None for all drives.
    """
    periods = []
    try:
        names, offset = _names(plain)
        wanted = None if only is None else stored_name(only)
        numbers = [n for n, name in enumerate(names) if wanted is None or name == wanted]
        while offset < len(plain):
            period, offset = _period(plain, offset, names, numbers)
            periods.append(period)
    except (struct.error, IndexError):
        # The checksum is right, so another program has written the block.
        pass
    return periods


def stored_name(identity: str) -> str:
    """Returns the identity of a drive as it is read from a file: at most 255 bytes."""
    cut = identity.encode("utf-8", "backslashreplace")[:_MAX_IDENTITY_BYTES]
    return cut.decode("utf-8", "replace")


def _header(packed: bytes, offset: int) -> Block | None:
    if len(packed) < HEADER_BYTES:
        return None
    magic, kind, first, last, length, checksum = _HEADER.unpack_from(packed)
    is_intact = _CHECKSUM.unpack_from(packed, _HEADER.size)[0] == zlib.crc32(packed[: _HEADER.size])
    if magic != _MAGIC or not is_intact or length > _MAX_BODY_BYTES:
        return None
    return Block(kind, first, last, offset + HEADER_BYTES, length, checksum)


def _next_header(read: Callable[[int, int], bytes], offset: int, size: int) -> int:
    """Returns the next place of a file that may be a header; the size if there is none."""
    while offset < size:
        part = read(offset, _SEARCH_BYTES)
        found = part.find(_MAGIC)
        if found >= 0:
            return offset + found
        if len(part) < len(_MAGIC):
            break
        offset += len(part) - len(_MAGIC) + 1
    return size


def _names(plain: bytes) -> tuple[list[str], int]:
    (count,), offset = _COUNT.unpack_from(plain), _COUNT.size
    names = []
    for _ in range(count):
        length = plain[offset]
        names.append(plain[offset + 1 : offset + 1 + length].decode("utf-8", "replace"))
        offset += 1 + length
    return names, offset


def _period(
    plain: bytes, offset: int, names: Sequence[str], wanted: Sequence[int]
) -> tuple[Period, int]:
    """Returns the period at an offset with the wanted drives, and the offset of the next one."""
    index, seconds, bitmap_bytes, count, bottlenecks = _PERIOD.unpack_from(plain, offset)
    bitmap = offset + _PERIOD.size
    numbers = bitmap + bitmap_bytes
    values = numbers + count * _COUNT.size
    verdicts = values + count * _VALUES.size
    end = verdicts + bottlenecks * _BOTTLENECK.size
    if end > len(plain):
        raise IndexError
    busy = struct.unpack_from(f"<{count}H", plain, numbers)
    lasted: dict[int, dict[Verdict, float]] = {}
    for number, code, each in _BOTTLENECK.iter_unpack(plain[verdicts:end]):
        if code in _VERDICTS:
            lasted.setdefault(number, {})[_VERDICTS[code]] = float(each)
    drives = {}
    for number in wanted:
        if number >> 3 >= bitmap_bytes or not plain[bitmap + (number >> 3)] & 1 << (number & 7):
            continue
        place = bisect_left(busy, number)
        if place < count and busy[place] == number:
            packed = _VALUES.unpack_from(plain, values + place * _VALUES.size)
            drives[names[number]] = _unpacked(packed, lasted.get(number, {}))
        else:
            drives[names[number]] = IDLE
    return Period(index, float(seconds), drives), end


def _packed(each: IoSummary) -> bytes:
    rates = (each.read_bytes / _MEGA, each.written_bytes / _MEGA)
    awaits = (each.read_await, each.read_worst, each.write_await, each.write_worst)
    return _VALUES.pack(
        *(min(value, _MAX_HALF) for value in rates),
        *(min(value / _MILLI, _MAX_HALF) for value in awaits),
    )


def _unpacked(packed: Sequence[float], verdicts: Mapping[Verdict, float]) -> IoSummary:
    # NaN, infinite and negative values are not written. Comparisons with NaN are false.
    values = [value if 0 <= value <= _MAX_HALF else 0.0 for value in packed]
    read, written, read_await, read_worst, write_await, write_worst = values
    return IoSummary(
        read * _MEGA,
        written * _MEGA,
        read_await * _MILLI,
        read_worst * _MILLI,
        write_await * _MILLI,
        write_worst * _MILLI,
        verdicts,
    )


def _short(number: float) -> int:
    return min(max(round(number), 0), _MAX_SHORT)
