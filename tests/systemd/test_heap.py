"""Memory that a thread has freed can be used by all threads of the daemon."""

import os
import sys

from tests.processes import run_program
from tests.required import lacking
from tests.unit_file import UnitFile

_THREADS = 16

#: Prints the number of bytes that threads which wait have freed, but kept: mallinfo2() counts them
#: as used. The objects are larger than 512 bytes, so that Python does not manage them itself.
_PROGRAM = f"""
import ctypes, threading
class Information(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in (
        "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks",
        "fordblks", "keepcost")]
library = ctypes.CDLL(None)
library.mallinfo2.restype = Information
freed, end = threading.Barrier({_THREADS + 1}), threading.Event()
def work():
    objects = [bytes(size) for size in range(600, 1000, 16) for _ in range(7)]
    del objects
    freed.wait()
    end.wait()
before = library.mallinfo2().uordblks
for _ in range({_THREADS}):
    threading.Thread(target=work).start()
freed.wait()
print(library.mallinfo2().uordblks - before)
end.set()
"""


def kept_bytes_per_thread(environment: dict[str, str]) -> float:
    done = run_program(
        [sys.executable, "-I", "-S", "-c", _PROGRAM], env={"PATH": os.defpath} | environment
    )
    if "mallinfo2" in done.stderr:
        lacking("this C library is not glibc 2.33 or later")
    return int(done.stdout) / _THREADS


def test_a_thread_keeps_no_freed_memory_for_itself() -> None:
    """The daemon grew by 340 KiB per hour, because each thread collected freed memory."""
    assert 100_000 < kept_bytes_per_thread({}), "or this tests nothing"
    assert 10_000 > kept_bytes_per_thread(UnitFile.read("ssd-exporter").environment())
