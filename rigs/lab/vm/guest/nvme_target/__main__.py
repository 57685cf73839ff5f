"""Creates and connects a drive for each file: ``python3 -m nvme_target FILE...``."""

import contextlib
import os
import socket
import sys
import threading
from pathlib import Path

from .connection import Connection
from .drive import Drive

#: Device that nvme-cli uses as well; its response contains the instance.
_FABRICS = "/dev/nvme-fabrics"


def _accept(listening: socket.socket, drive: Drive) -> None:
    while True:
        stream, _ = listening.accept()
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        serving = threading.Thread(target=drive.serve, args=(Connection(stream),), daemon=True)
        serving.start()


def _begin(file: Path) -> None:
    name = f"nqn.2014-08.org.example:{file.stem}"
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    drive = Drive(file, name.encode())
    threading.Thread(target=_accept, args=(listening, drive), daemon=True).start()
    options = f"transport=tcp,traddr=127.0.0.1,trsvcid={port},nqn={name},hostnqn=nqn.lab"
    fabrics = os.open(_FABRICS, os.O_RDWR)
    try:
        os.write(fabrics, options.encode())
    finally:
        os.close(fabrics)


def main() -> None:
    for argument in sys.argv[1:]:
        _begin(Path(argument))
    notify = os.environ.get("NOTIFY_SOCKET")
    if notify:
        with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as telling:
            telling.sendto(b"READY=1", notify)
    threading.Event().wait()


if __name__ == "__main__":
    main()
