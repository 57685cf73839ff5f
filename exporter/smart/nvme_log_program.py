"""Reads log pages of NVMe drives, as a program of its own: Python is started with its path.

A command that a drive does not answer blocks its thread in the kernel, and no signal ends it. The
agent therefore runs this program as it runs smartctl, with a time limit, for all drives that are
due. It imports nothing of this package: a start of Python with more takes twice the CPU time.

It sends only Identify Controller and Get Log Page, through the ioctl of the kernel
(linux/nvme_ioctl.h). Each page is one command, and each command waits for the previous one. The
structures are those of the NVM Express Base Specification 2.0, figures 197 (Get Log Page) and 275
(Identify Controller).

Arguments: a device, an absolute path; then ``identify``, or pages as ``NUMBER:BYTES:SPECIFIC`` in
decimal; then the next device.

Output, a line each: ``device PATH`` before the lines of a device, and ``began SECONDS`` with the
time that the devices before it took. ``ask NUMBER`` precedes each
page, so that the page on which a drive hangs is known. It is followed by ``page NUMBER HEX``; or by
``status NUMBER STATUS`` with the NVMe status (decimal) if the drive refuses the page; or by
``error NUMBER TEXT`` if the kernel does. The answer to Identify is ``identify HEX``, then page 00h
if the drive has it. ``unusable TEXT`` says why a device has no answers.
"""

import array
import fcntl
import os
import stat
import struct
import sys
import time

#: NVME_IOCTL_ADMIN_CMD: _IOWR('N', 0x41, struct nvme_admin_cmd).
_ADMIN_COMMAND = 0xC048_4E41
#: struct nvme_admin_cmd: opcode, flags, nsid, cdw2, cdw3, metadata, addr, metadata_len, data_len,
#: cdw10 to cdw15, timeout_ms, result.
_COMMAND = struct.Struct("<BBxxIIIQQII6III")
_GET_LOG_PAGE, _IDENTIFY = 0x02, 0x06
_WHOLE_CONTROLLER = 0xFFFF_FFFF
_IDENTIFY_CONTROLLER, _IDENTIFY_BYTES = 1, 4096

_SUPPORTED_LOG_PAGES, _SUPPORTED_BYTES = 0x00, 1024
_HEALTH = 0x02
#: Do not clear an event that waits for this page. smartctl clears those of the health log anyway.
_RETAIN_EVENT = 1 << 15
#: The byte of Identify Controller with LPA, and its bit for page 00h.
_LPA, _LPA_SUPPORTED_PAGES = 261, 1 << 5


def main(arguments: list[str]) -> None:
    """Reads the pages of each device and prints them."""
    descriptor, start = -1, time.monotonic()
    for argument in arguments:
        if argument.startswith("/"):
            if descriptor >= 0:
                os.close(descriptor)
            _print(f"device {argument}")
            _print(f"began {time.monotonic() - start:.3f}")
            descriptor = _open(argument)
        elif descriptor < 0:
            continue
        elif argument == "identify":
            _identify(descriptor)
        else:
            number, size, specific = (int(part) for part in argument.split(":"))
            _read(descriptor, number, size, specific)


def _open(path: str) -> int:
    """Returns a descriptor of a device; -1 if there is none."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as e:
        _print(f"unusable {e.strerror}")
        return -1
    if stat.S_IFMT(os.fstat(descriptor).st_mode) not in (stat.S_IFCHR, stat.S_IFBLK):
        _print("unusable not a device")
        os.close(descriptor)
        return -1
    return descriptor


def _identify(descriptor: int) -> None:
    data = array.array("B", bytes(_IDENTIFY_BYTES))
    try:
        status = _send(descriptor, _IDENTIFY, data, _IDENTIFY_CONTROLLER, 0, nsid=0)
    except OSError as e:
        _print(f"unusable Identify Controller: {e.strerror}")
        return
    if status:
        _print(f"unusable Identify Controller: NVMe status {status:#06x}")
        return
    _print(f"identify {data.tobytes().hex()}")
    if data[_LPA] & _LPA_SUPPORTED_PAGES:
        _read(descriptor, _SUPPORTED_LOG_PAGES, _SUPPORTED_BYTES, 0)


def _read(descriptor: int, number: int, size: int, specific: int) -> None:
    """Prints a log page.

    size: its bytes, a multiple of 4.
    specific: the log specific identifier, for example the number of an endurance group.
    """
    _print(f"ask {number}")
    data = array.array("B", bytes(size))
    dwords = size // 4 - 1
    retain = 0 if number == _HEALTH else _RETAIN_EVENT
    word_10 = number | retain | (dwords & 0xFFFF) << 16
    word_11 = specific << 16 | dwords >> 16
    try:
        status = _send(descriptor, _GET_LOG_PAGE, data, word_10, word_11, nsid=_WHOLE_CONTROLLER)
    except OSError as e:
        _print(f"error {number} {e.strerror}")
        return
    _print(f"status {number} {status}" if status else f"page {number} {data.tobytes().hex()}")


def _send(
    descriptor: int, opcode: int, data: "array.array[int]", word_10: int, word_11: int, *, nsid: int
) -> int:
    """Sends a command that reads into `data`. Returns the NVMe status; 0 means success.

    The time limit is that of the kernel: after a shorter one it would reset the controller.

    Raises:
        OSError: the kernel does not send it, or the drive did not answer.
    """
    address, length = data.buffer_info()
    words = word_10, word_11, 0, 0, 0, 0
    command = bytearray(_COMMAND.pack(opcode, 0, nsid, 0, 0, 0, address, 0, length, *words, 0, 0))
    status: int = fcntl.ioctl(descriptor, _ADMIN_COMMAND, command, True)
    return status


def _print(line: str) -> None:
    """Prints a line at once: what was read before the drive hangs is not lost."""
    os.write(1, line.encode("ascii", "replace") + b"\n")


if __name__ == "__main__":
    main(sys.argv[1:])
