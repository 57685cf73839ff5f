"""Someone who reads the README on a minimal Debian host, and types its commands."""

import os
import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rigs.lab.vm import cache
from tests.end_to_end.programs import need
from tests.required import lacking
from tests.systemd.machine import Machine, Unavailable, booted_from

TOP = Path(__file__).parents[2]
PERSON = "person"
HOME = f"/home/{PERSON}"

#: Packages of a server (systemd), and git for the clone.
HAS = ("systemd", "systemd-sysv", "dbus", "sudo", "curl", "make", "git", "ca-certificates")

#: Configuration of this machine for the package indexes of Debian and Python.
REACHES = (
    *("/etc/apt/sources.list", "/etc/apt/sources.list.d", "/etc/apt/apt.conf.d"),
    *("/etc/apt/keyrings", "/usr/share/keyrings", "/etc/pip.conf", "/etc/resolv.conf"),
)
AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt"
THEIR_PLACE = "/opt/authorities.crt"


def commands(heading: str) -> list[str]:
    """The lines of the first block of commands below a heading of the README.

    A line that ends with a pipe continues on the next one.
    """
    block = rf"^#+ {re.escape(heading)}$.*?^```console$\n(.*?)^```$"
    found = re.search(block, (TOP / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    assert found, f"README has no block of commands below {heading}"
    lines = found[1].replace("|\n", "|").splitlines()
    return [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]


def fresh_root() -> Path:
    """A minimal Debian root with `HAS`; created once."""

    def make(tree: Path) -> None:
        cache.run(
            *("mmdebstrap", "--quiet", "--mode=root", "--variant=minbase"),
            *("--dpkgopt=path-exclude=/usr/share/doc/*", f"--include={','.join(HAS)}"),
            *("bookworm", tree),
        )
        # Otherwise the same files would be omitted from later installations.
        (tree / "etc" / "dpkg" / "dpkg.cfg.d" / "99mmdebstrap").unlink(missing_ok=True)

    return cache.made(f"fresh-{cache.digest([], *HAS)}", make)


def put_in(layer: Path, _: Path) -> None:
    """A user with a clone, sudo, and network access."""
    # The configuration used to create the root would list its packages twice.
    (layer / "etc" / "apt").mkdir(parents=True)
    (layer / "etc" / "apt" / "sources.list").write_text("")
    for path in map(Path, REACHES):
        target = layer / path.relative_to("/")
        if path.is_dir():
            shutil.copytree(path, target)
        elif path.exists():
            shutil.copyfile(path, target)
    (layer / "etc" / "hostname").write_text("fresh\n")
    (layer / "etc" / "hosts").write_text("127.0.0.1 localhost fresh\n")
    (layer / "opt").mkdir()
    # A path that no package writes: ca-certificates regenerates its own files.
    shutil.copyfile(AUTHORITIES, layer / THEIR_PLACE.lstrip("/"))
    clone = layer / HOME.lstrip("/") / "ssd-exporter"
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=TOP, check=True, capture_output=True, text=True).stdout
    for name in filter(None, names.split("\0")):
        if (TOP / name).is_file():
            (clone / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(TOP / name, clone / name)
    sudoers = layer / "etc" / "sudoers.d" / PERSON
    sudoers.parent.mkdir(parents=True)
    sudoers.write_text(f"{PERSON} ALL=(ALL) NOPASSWD: ALL\n")
    sudoers.chmod(0o440)


@contextmanager
def host(port: int, root: Path | None = None) -> Iterator[Machine]:
    """The booted host. Skips if this machine cannot boot one, or if its port is in use.

    root: the system that it boots, by default `fresh_root()`.
    """
    need("mmdebstrap", "git")
    try:
        # With the network of this host, and therefore its ports.
        with booted_from(root or fresh_root(), put_in, "--resolv-conf=off") as made:
            made.run("useradd", "--no-create-home", "--shell=/bin/bash", PERSON)
            made.run("chown", "-R", f"{PERSON}:", HOME)
            if made.run("curl", "--silent", f"http://127.0.0.1:{port}/").returncode == 0:
                lacking(f"something on this machine listens on port {port} already")
            yield made
    except Unavailable as e:
        lacking(str(e))


def typed(machine: Machine, line: str, status: int = 0, timeout: float = 400) -> tuple[str, float]:
    """Runs a command line in a shell in the clone; returns its output and duration.

    Prompts are answered with yes. status: the expected exit status. timeout: in seconds.
    """
    # Except lines that refer to files of this machine.
    names = {name for name in os.environ if name.startswith("PIP_")} - {"PIP_FIND_LINKS"}
    environment = {
        **{name: os.environ[name] for name in names},
        "PIP_CERT": THEIR_PLACE,
        "HOME": HOME,
        "USER": PERSON,
        "LANG": "C.UTF-8",
        "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games",
    }
    shell = f"cd ~/ssd-exporter && yes | bash -c {shlex.quote(line)}"
    begun = time.monotonic()
    done = machine.run(
        *("runuser", f"--user={PERSON}", "--", "env", "--ignore-environment"),
        *(f"{name}={value}" for name, value in environment.items()),
        *("bash", "-c", shell),
        timeout=timeout,
    )
    seconds = time.monotonic() - begun
    assert status == done.returncode, f"{line}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout, seconds
