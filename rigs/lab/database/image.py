"""Root file system with MariaDB, sysbench and fio, and a drive with a database."""

import os
import shutil
import tempfile
from pathlib import Path

from rigs.lab.mariadb import Tables, server
from rigs.lab.vm import cache, root
from rigs.lab.vm.kernel import Kernel

_PACKAGES = ("mariadb-server", "sysbench", "fio", "e2fsprogs")

#: The maintainer scripts, which do not run, create this user and group.
_USER = "mysql:x:{id}:{id}::/nonexistent:/bin/false\n"
_GROUP = "mysql:x:{id}:\n"

#: Direct I/O as on production servers, and a buffer pool that is smaller than the tables. Dirty
#: pages are written continuously, as on a busy server.
_SERVER = """\
[mariadbd]
datadir = /data/mysql
socket = /run/mysqld/mysqld.sock
user = mysql
skip-networking
skip-log-bin
innodb-flush-method = O_DIRECT
innodb-buffer-pool-size = 64M
innodb-log-file-size = 64M
innodb-max-dirty-pages-pct = 0
innodb-io-capacity = 250
[client]
socket = /run/mysqld/mysqld.sock
"""

#: The script after the start needs files that the maintainer scripts create.
_DROP_IN = "[Service]\nExecStartPost=\n"

#: The default until systemd 257 is off (docs/top.md).
_ACCOUNTING = "[Manager]\nDefaultIOAccounting=yes\n"

#: The tables, about 20 MB.
TABLES = Tables(count=4, rows=20_000, threads=8)

DATA_MEGABYTES = 1000

#: Its user in the guest.
_ID = 150

_MASKED = ("mariadb.service", "fio.service", "rsync.service")


def image(kernel: Kernel) -> Path:
    """Creates the image; it takes about half a minute."""
    addition = root.Addition("database", _PACKAGES, Path(__file__), 3000, _configure)
    return root.extended(kernel, addition)


def data() -> Path:
    """Creates a file system with the tables.

    The server of this machine writes them, which has the same version as that of the guest. In the
    guest, whose CPU is emulated, this would take a minute.
    """
    sources = [Path(__file__), Path(__file__).parents[1] / "mariadb.py"]
    return cache.made(f"database_data-{cache.digest(sources)}.ext4", _make_data)


def _make_data(image: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="ssd-data-") as name:
        place = Path(name)
        directory = place / "data"
        with server(directory, place) as socket:
            TABLES.create(socket)
        for path in (directory, *directory.rglob("*")):
            os.chown(path, _ID, _ID)
        (tree := place / "tree").mkdir()
        shutil.move(directory, tree / "mysql")
        made = ("mke2fs", "-q", "-t", "ext4", "-E", "lazy_itable_init=0", "-d")
        cache.run(*made, tree, image, f"{DATA_MEGABYTES}M")


def _configure(tree: Path) -> None:
    etc = tree / "etc"
    for name, line in (("passwd", _USER), ("group", _GROUP)):
        with (etc / name).open("a") as f:
            f.write(line.format(id=_ID))
    (tree / "data").mkdir()
    (etc / "mysql").mkdir(exist_ok=True)
    settings = etc / "mysql" / "my.cnf"
    settings.unlink(missing_ok=True)
    settings.write_text(_SERVER)
    units = etc / "systemd" / "system"
    for directory in ("system.conf.d", "system/mariadb.service.d"):
        (etc / "systemd" / directory).mkdir(parents=True, exist_ok=True)
    (units / "mariadb.service.d" / "lab.conf").write_text(_DROP_IN)
    (etc / "systemd" / "system.conf.d" / "lab.conf").write_text(_ACCOUNTING)
    # The lab starts the server after it has made the file system.
    for unit in _MASKED:
        (units / "multi-user.target.wants" / unit).unlink(missing_ok=True)
