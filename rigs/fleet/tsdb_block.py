"""Writes blocks of Prometheus' database with months of constant values within seconds.

The cost of a rule that reads 7 days can be measured only with 7 days in the database. `promtool
tsdb create-blocks-from` reads its whole input again for each block of two hours, which would take
days for 4,000 drives at 15 s. Here series with the same values have equal chunks, which
Prometheus reads and decodes for each series.

Format: docs/format/ of https://github.com/prometheus/prometheus/tree/v2.42.0/tsdb.
"""

import json
import struct
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

#: Maximum number of samples in a chunk, as in Prometheus.
_SAMPLES = 120
#: Magic numbers of the files, and the encoding of chunks.
_INDEX_MAGIC, _CHUNKS_MAGIC, _XOR = 0xBAAAD700, 0x85BD40DD, 1


class Flat(NamedTuple):
    """A series: sorted name and labels, a constant value, milliseconds between two samples."""

    labels: tuple[tuple[str, str], ...]
    value: float
    step: int


def write(
    directory: Path,
    number: int,
    begin: int,
    end: int,
    series: Iterable[Flat],
    *,
    thanos: Mapping[str, str] | None = None,
) -> None:
    """Writes a block for Unix milliseconds begin to end (exclusive) into a database directory.

    thanos: external labels, for a block in a bucket of Thanos. Its Store reads the chunks of a
    query in one pass and requires chunks of its own for each series.
    """
    name = f"01{number:024d}"
    place = directory / name
    (place / "chunks").mkdir(parents=True)
    every = sorted(series)
    with (place / "chunks" / "000001").open("wb") as file:
        chunks = _Chunks(file, begin, end, are_shared=thanos is None)
        (place / "index").write_bytes(_index(every, chunks))
    meta = {
        "ulid": name,
        "minTime": begin,
        "maxTime": end,
        "stats": {
            "numSamples": sum((end - begin + flat.step - 1) // flat.step for flat in every),
            "numSeries": len(every),
            "numChunks": chunks.count,
        },
        "compaction": {"level": 1, "sources": [name]},
        "version": 1,
    }
    if thanos is not None:
        own = {"version": 1, "labels": dict(thanos), "downsample": {"resolution": 0}}
        meta["thanos"] = {**own, "source": "receive"}
    (place / "meta.json").write_text(json.dumps(meta))


class _List(NamedTuple):
    """The chunks of a value and step.

    head, tail: the list of chunks in the index before and after the place of the first chunk.
    """

    data: bytes
    chunks: int
    head: bytes
    tail: bytes
    appended: "_Appended"


class _Chunks:
    """Writes the file of chunks, and builds the lists of chunks for the index."""

    def __init__(self, file: BinaryIO, begin: int, end: int, *, are_shared: bool) -> None:
        self._file, self._begin, self._end = file, begin, end
        self._are_shared = are_shared
        self._at = file.write(struct.pack(">IB3x", _CHUNKS_MAGIC, 1))
        self._lists: dict[tuple[float, int], _List] = {}
        self._written: dict[tuple[float, int], bytes] = {}
        self.count = 0

    def list_of(self, flat: Flat) -> tuple[bytes, bytes, "_Appended"]:
        """Returns the two parts of the list of a series, and the CRC of the second one."""
        key = flat.value, flat.step
        known = self._lists.get(key)
        if known is None:
            known = self._lists[key] = self._built(*key)
        place = self._written.get(key)
        if place is None:
            place = _uvarint(self._at)
            self._at += self._file.write(known.data)
            self.count += known.chunks
            if self._are_shared:
                self._written[key] = place
        return known.head + place, known.tail, known.appended

    def _built(self, value: float, step: int) -> _List:
        content, head, tail = bytearray(), b"", bytearray()
        before, at = 0, 0
        times = range(self._begin, self._end, step)
        starts = range(0, len(times), _SAMPLES)
        for start in starts:
            samples = times[start : start + _SAMPLES]
            first, last, here = samples[0], samples[-1], len(content)
            data = bytes((_XOR,)) + _xor(first, len(samples), step, value)
            content += _uvarint(len(data) - 1) + data + struct.pack(">I", crc32c(data))
            if start == 0:
                head = _uvarint(len(starts)) + _varint(first) + _uvarint(last - first)
            else:
                tail += _uvarint(first - before) + _uvarint(last - first) + _varint(here - at)
            before, at = last, here
        return _List(bytes(content), len(starts), head, bytes(tail), _Appended(bytes(tail)))


def _xor(first: int, count: int, step: int, value: float) -> bytes:
    """An XOR chunk. With constant value and step each sample after the second is two zero bits."""
    head = struct.pack(">H", count) + _varint(first) + struct.pack(">d", value)
    if count == 1:
        return head
    return head + _uvarint(step) + bytes((1 + 2 * (count - 2) + 7) // 8)


def _index(every: Sequence[Flat], lists: _Chunks) -> bytes:
    content = bytearray(struct.pack(">IB", _INDEX_MAGIC, 2))
    words = sorted({word for flat in every for pair in flat.labels for word in pair} | {""})
    symbol = {word: _uvarint(at) for at, word in enumerate(words)}
    symbols = len(content)
    content += _framed(struct.pack(">I", len(words)) + b"".join(map(_text, words)))
    content += bytes(-len(content) % 16)
    first_series = len(content)
    postings: dict[tuple[str, str], list[int]] = defaultdict(list)
    for flat in every:
        content += bytes(-len(content) % 16)
        here = len(content) // 16
        postings["", ""].append(here)
        for pair in flat.labels:
            postings[pair].append(here)
        names = b"".join(symbol[word] for pair in flat.labels for word in pair)
        names = _uvarint(len(flat.labels)) + names
        head, tail, appended = lists.list_of(flat)
        names += head
        content += _uvarint(len(names) + len(tail)) + names + tail
        content += struct.pack(">I", appended.crc(crc32c(names)))
    first_posting = len(content) + -len(content) % 4
    entries = bytearray()
    for pair in sorted(postings):
        content += bytes(-len(content) % 4)
        entries += b"\2" + _text(pair[0]) + _text(pair[1]) + _uvarint(len(content))
        ids = postings[pair]
        content += _framed(struct.pack(f">{len(ids) + 1}I", len(ids), *ids))
    table = len(content)
    content += _framed(struct.pack(">I", len(postings)) + bytes(entries))
    contents = struct.pack(">6Q", symbols, first_series, 0, 0, first_posting, table)
    return bytes(content + contents + struct.pack(">I", crc32c(contents)))


def _framed(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data + struct.pack(">I", crc32c(data))


def _text(word: str) -> bytes:
    return _uvarint(len(word.encode())) + word.encode()


def _uvarint(number: int) -> bytes:
    encoded = bytearray()
    while number >= 0x80:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def _varint(number: int) -> bytes:
    return _uvarint(number << 1 if number >= 0 else (-number << 1) - 1)


def _table() -> list[int]:
    table = []
    for byte in range(256):
        rest = byte
        for _ in range(8):
            rest = rest >> 1 ^ (0x82F63B78 if rest & 1 else 0)
        table.append(rest)
    return table


_TABLE = _table()


def crc32c(data: bytes, before: int = 0) -> int:
    """CRC-32C (RFC 3720 B.4) of `data`, continuing from the CRC `before`."""
    rest = ~before & 0xFFFFFFFF
    for byte in data:
        rest = rest >> 8 ^ _TABLE[(rest ^ byte) & 0xFF]
    return ~rest & 0xFFFFFFFF


class _Appended:
    """Computes the CRC of a prefix followed by `data` from the CRC of the prefix."""

    def __init__(self, data: bytes) -> None:
        self._nothing = crc32c(data)
        bits = [crc32c(data, 1 << bit) ^ self._nothing for bit in range(32)]
        self._bytes = [
            [_folded(value, bits[8 * at : 8 * at + 8]) for value in range(256)] for at in range(4)
        ]

    def crc(self, before: int) -> int:
        low, second, third, high = self._bytes
        return (
            self._nothing
            ^ low[before & 0xFF]
            ^ second[before >> 8 & 0xFF]
            ^ third[before >> 16 & 0xFF]
            ^ high[before >> 24]
        )


def _folded(value: int, bits: Sequence[int]) -> int:
    folded = 0
    for bit, crc in enumerate(bits):
        if value >> bit & 1:
            folded ^= crc
    return folded
