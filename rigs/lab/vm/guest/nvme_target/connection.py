"""A TCP connection of a host: one command queue (NVMe/TCP Transport Specification 1.0)."""

import socket
import struct
import threading
from collections.abc import Iterator
from dataclasses import dataclass

_INITIALIZE, _INITIALIZED = 0, 1
_COMMAND, _RESPONSE = 4, 5
_DATA = 7
_LAST_DATA = 1 << 2

#: Header: type, flags, header length, data offset, total length.
_HEADER = struct.Struct("<BBBBI")


@dataclass(frozen=True, slots=True)
class Command:
    """A submission queue entry. data: data in the command. words: command dwords 10 to 15."""

    opcode: int
    fabrics_type: int
    number: int
    namespace: int
    words: tuple[int, ...]
    data: bytes

    @property
    def quadword(self) -> int:
        """Dwords 10 and 11, an 8-byte address in most commands."""
        return self.words[0] | self.words[1] << 32


class Connection:
    """Reads commands in order; responses may be sent in any order and from any thread."""

    def __init__(self, stream: socket.socket) -> None:
        self._socket = stream
        self._stream = stream.makefile("rb")
        self._sending = threading.Lock()

    def commands(self) -> Iterator[Command]:
        """Yields commands until the host closes the connection."""
        while len(head := self._stream.read(_HEADER.size)) == _HEADER.size:
            kind, _, _, offset, length = _HEADER.unpack(head)
            body = self._stream.read(length - _HEADER.size)
            if kind == _INITIALIZE:
                # Version 0, no digests, no limit of data per transfer.
                self._send(_INITIALIZED, 0, struct.pack("<HBBI112x", 0, 0, 0, 1 << 20))
            elif kind == _COMMAND:
                yield _parsed(body[:64], body[offset - _HEADER.size :] if offset else b"")
            else:
                return

    def respond(self, command: Command, status: int = 0, result: int = 0) -> None:
        """Sends a response. status: as in the specification, without the phase tag."""
        entry = struct.pack("<QHHHH", result, 0, 0, command.number, status << 1)
        self._send(_RESPONSE, 0, entry)

    def give(self, command: Command, data: bytes) -> None:
        """Sends data and a successful response."""
        self._send(
            _DATA, _LAST_DATA, struct.pack("<HHIII", command.number, 0, 0, len(data), 0), data
        )
        self.respond(command)

    def _send(self, kind: int, flags: int, head: bytes, data: bytes = b"") -> None:
        size = _HEADER.size + len(head)
        packed = _HEADER.pack(kind, flags, size, size if data else 0, size + len(data))
        try:
            with self._sending:
                self._socket.sendall(packed + head + data)
        except OSError:
            # The host has closed the connection.
            return


def _parsed(entry: bytes, data: bytes) -> Command:
    opcode, _, number, namespace = struct.unpack_from("<BBHI", entry)
    words = struct.unpack_from("<6I", entry, 40)
    # In a fabrics command, the byte after the command number is the type.
    return Command(opcode, entry[4], number, namespace, words, data)
