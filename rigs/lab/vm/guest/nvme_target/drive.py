"""A simulated drive and its responses to commands."""

import itertools
import mmap
import threading
from collections.abc import Callable
from pathlib import Path

from . import condition, pages
from .condition import Condition
from .connection import Command, Connection
from .pages import BLOCK_BYTES

_BYTES = 64 << 20

_FABRICS = 0x7F
_PROPERTY_SET, _CONNECT, _PROPERTY_GET = 0, 1, 4
_CAPABILITIES, _VERSION, _CONFIGURATION, _STATUS = 0x00, 0x08, 0x14, 0x1C
#: Capabilities: 128 entries per queue, contiguous, ready within 15 s, NVM command set.
_OF_CAPABILITIES = 127 | 1 << 16 | 30 << 24 | 1 << 37

_GET_LOG, _IDENTIFY, _SET_FEATURES, _GET_FEATURES, _EVENT, _KEEP_ALIVE = 2, 6, 9, 10, 12, 24
_FLUSH, _WRITE, _READ, _DATASET_MANAGEMENT = 0, 1, 2, 9
_TEMPERATURE, _NUMBER_OF_QUEUES = 4, 7
_UNDER = 1 << 20
_SUPPORTED_LOGS, _ERROR_LOG, _HEALTH_LOG, _FIRMWARE_LOG, _OCP_LOG = 0, 1, 2, 3, 0xC0

#: Status codes with the bit "do not retry".
_INVALID_OPCODE, _INVALID_FIELD, _INVALID_LOG = 0x4001, 0x4002, 0x4109
_UNRECOVERED_READ = 0x4281


class Drive:
    """A drive, shared by all connections of a host. `file` contains its condition."""

    def __init__(self, file: Path, name: bytes) -> None:
        self._file = file
        self._name = name
        self._data = mmap.mmap(-1, _BYTES)
        self._configuration = 0
        self._reads = itertools.count(1)
        self._read_bytes = self._written_bytes = self._failed = self._refused = 0

    def serve(self, connection: Connection) -> None:
        """Processes the commands of a connection until its end."""
        is_admin = False
        for command in connection.commands():
            if command.opcode == _FABRICS:
                # The upper half of the first word is the queue number.
                if command.fabrics_type == _CONNECT:
                    is_admin = not command.words[0] >> 16
                self._fabrics(connection, command)
            elif is_admin:
                self._administer(connection, command)
            else:
                self._move(connection, command)

    def _fabrics(self, connection: Connection, command: Command) -> None:
        if command.fabrics_type == _CONNECT:
            connection.respond(command, result=1)
            return
        offset = command.words[1]
        if command.fabrics_type == _PROPERTY_SET:
            if offset == _CONFIGURATION:
                self._configuration = command.words[2]
            connection.respond(command)
            return
        shut_down = 0b1000 if self._configuration >> 14 & 0b11 else 0
        values = {
            _CAPABILITIES: _OF_CAPABILITIES,
            _VERSION: 0x00010400,
            _CONFIGURATION: self._configuration,
            _STATUS: self._configuration & 1 | shut_down,
        }
        connection.respond(command, result=values.get(offset, 0))

    def _administer(self, connection: Connection, command: Command) -> None:
        now = condition.read(self._file)
        if command.opcode == _IDENTIFY:
            self._identify(connection, command, now)
        elif command.opcode == _GET_LOG:
            which = command.words[0] & 0xFF
            seconds = now.log_delays_seconds.get(str(which), 0.0)
            # Other commands, such as keep-alive, are processed meanwhile.
            _later(
                now.health_delay_seconds if which == _HEALTH_LOG else seconds,
                lambda: self._log(connection, command, now),
            )
        elif command.opcode in (_SET_FEATURES, _GET_FEATURES):
            connection.respond(command, result=_feature(command, now))
        elif command.opcode == _KEEP_ALIVE:
            connection.respond(command)
        elif command.opcode != _EVENT:  # which waits for events, and none will come
            connection.respond(command, _INVALID_OPCODE)

    def _identify(self, connection: Connection, command: Command, now: Condition) -> None:
        found = {
            0: lambda: pages.namespace(_BYTES),
            1: lambda: pages.controller(now, self._name, _BYTES),
            2: lambda: pages.namespaces(command.namespace),
            3: lambda: pages.descriptors(now.serial),
        }.get(command.words[0] & 0xFF)
        if found is None:
            connection.respond(command, _INVALID_FIELD)
        else:
            connection.give(command, found())

    def _log(self, connection: Connection, command: Command, now: Condition) -> None:
        size = ((command.words[1] & 0xFFFF) << 16 | command.words[0] >> 16) * 4 + 4
        which, start = command.words[0] & 0xFF, command.words[2]
        if which == _HEALTH_LOG:
            log = pages.health(
                now,
                read_bytes=self._read_bytes,
                written_bytes=self._written_bytes,
                failed=self._failed,
                refused=self._refused,
            )
        elif which in (_ERROR_LOG, _FIRMWARE_LOG):
            log = b""
        elif which == _SUPPORTED_LOGS:
            log = pages.supported_logs(now)
        elif str(which) in now.log_pages:
            log = bytes.fromhex(now.log_pages[str(which)])
            if which == _OCP_LOG and now.nand_write_ratio:
                before = int.from_bytes(log[:16], "little")
                nand_bytes = before + int(self._written_bytes * now.nand_write_ratio)
                log = nand_bytes.to_bytes(16, "little") + log[16:]
        else:
            self._refused += 1
            connection.respond(command, _INVALID_LOG)
            return
        length = now.log_lengths_bytes.get(str(which), size)
        connection.give(command, log[start : start + size].ljust(size, b"\0")[:length])

    def _move(self, connection: Connection, command: Command) -> None:
        """First block and number of blocks (transmitted minus one) of a read or write."""
        block, blocks = command.quadword, (command.words[2] & 0xFFFF) + 1
        start, size = block * BLOCK_BYTES, blocks * BLOCK_BYTES
        if command.opcode == _READ:
            now = condition.read(self._file)
            if any(block <= bad < block + blocks for bad in now.bad_blocks):
                self._failed += 1
                connection.respond(command, _UNRECOVERED_READ)
                return
            self._read_bytes += size
            data = self._data[start : start + size]
            delay = now.read_delay_seconds
            if now.slow_read_every and next(self._reads) % now.slow_read_every == 0:
                delay += now.slow_read_seconds
            _later(delay, lambda: connection.give(command, data))
        elif command.opcode == _WRITE:
            self._written_bytes += size
            self._data[start : start + size] = command.data
            connection.respond(command)
        else:
            # Discarded blocks may keep their data.
            known = command.opcode in (_FLUSH, _DATASET_MANAGEMENT)
            connection.respond(command, 0 if known else _INVALID_OPCODE)


def _feature(command: Command, now: Condition) -> int:
    """Value of a feature: number of queues, or the temperature threshold in kelvin."""
    which = command.words[0] & 0xFF
    if which == _NUMBER_OF_QUEUES:
        return 3 << 16 | 3
    if which == _TEMPERATURE and not command.words[1] & _UNDER:
        return now.warning_celsius + pages.KELVIN
    return 0


def _later(seconds: float, do: Callable[[], None]) -> None:
    if seconds:
        timer = threading.Timer(seconds, do)
        timer.daemon = True
        timer.start()
    else:
        do()
