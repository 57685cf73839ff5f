#!/bin/sh
# What SQLite reports if one read of a valid database fails, and the disk works again afterwards.
#
# Guess: "disk I/O error", which a program can tell from a damaged file and try again.
#
# Seen with SQLite 3.50.4 (APSW 3.50.4.0). One read of a database with a table of 2,000 rows fails with EIO:
#   PRAGMA integrity_check         no error: a row "unable to get the page. error code=8458"
#                                  (SQLITE_IOERR_CORRUPTFS), where a damaged page has its row.
#                                  The same connection says "ok" afterwards.
#   first opening for writing      no error: SQLite opens the file read-only. Writes of this connection fail
#     fails                        with "attempt to write a readonly database" (SQLITE_READONLY).
# So a program that puts a damaged or read-only database aside loses a good one through one bad read.
#
# Installs APSW from PyPI in a temporary folder. Requires python3 with venv. Exits with 1 if the behaviour
# has changed.
set -eu

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/venv"
"$place/venv/bin/pip" install --quiet --disable-pip-version-check apsw==3.50.4.0

"$place/venv/bin/python" - "$place/test.db" <<'END'
import ctypes
import errno
import sys

import apsw

path = sys.argv[1]
database = apsw.Connection(path)
database.execute("CREATE TABLE t(n INTEGER PRIMARY KEY, text)")
database.execute("INSERT INTO t WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 2000) SELECT n, hex(n) FROM c")
database.close()

# SQLite calls the kernel through a table of functions, which its own tests also replace.
disk = apsw.VFS("disk", "unix")
left = {"read": 0, "open": 0}
kept = []


def failing(call, *types):
    """Replaces a call by one that fails when `left` reaches zero."""
    name = next(n for n in (f"p{call}64", f"p{call}", call) if disk.xGetSystemCall(n))
    kind = ctypes.CFUNCTYPE(*types, use_errno=True)
    real = kind(disk.xGetSystemCall(name))

    def wrapped(*arguments):
        left[call] -= 1
        if left[call] == 0:
            ctypes.set_errno(errno.EIO)
            return -1
        return real(*arguments)

    kept.append(kind(wrapped))
    disk.xSetSystemCall(name, ctypes.cast(kept[-1], ctypes.c_void_p).value)


failing("read", ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64)
failing("open", ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_int)

database = apsw.Connection(path)
database.execute("PRAGMA cache_size = 5").fetchall()
database.execute("SELECT count(*) FROM sqlite_schema").fetchall()
left["read"] = 4
check = "PRAGMA integrity_check(1)"
damaged, fine = (database.execute(check).fetchall()[0][0].replace("\n", " ") for _ in "12")
database.close()

left["open"] = 1
database = apsw.Connection(path)
try:
    database.execute("DELETE FROM t")
    write = "ok"
except apsw.ReadOnlyError as e:
    write = str(e)

print("SQLite", apsw.sqlite_lib_version())
print("integrity_check with a failed read:", damaged)
print("integrity_check again:             ", fine)
print("write after a failed open:         ", write)
sys.exit("error code=8458" not in damaged or fine != "ok" or "readonly" not in write)
END
