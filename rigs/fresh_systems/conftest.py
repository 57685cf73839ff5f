"""Fixtures: a key, two releases, and their repositories."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from rigs.fresh_systems.releases import NEW, OLD, Releases, made

#: Older than the commits, whose time the signatures have.
_KEY_TIME = "20260101T000000"


@pytest.fixture(scope="session")
def key(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The fingerprint of a key in a keyring of its own."""
    # The path of the agent's socket has at most 107 characters.
    home = Path("/tmp") / f"ssd-release-{os.getpid()}"
    home.mkdir(mode=0o700)
    before = os.environ.get("GNUPGHOME")
    os.environ["GNUPGHOME"] = str(home)
    try:
        yield new_key("ssd-exporter test <test@example.org>")
    finally:
        subprocess.run(["gpgconf", "--kill", "all"], check=False)
        shutil.rmtree(home, ignore_errors=True)
        if before is None:
            del os.environ["GNUPGHOME"]
        else:
            os.environ["GNUPGHOME"] = before


def new_key(user: str) -> str:
    """Makes a key without a password; returns its fingerprint."""
    common = ("gpg", "--batch", "--quiet", "--faked-system-time", _KEY_TIME)
    kind = ("--passphrase", "", "--quick-generate-key", user, "rsa3072", "sign", "never")
    subprocess.run([*common, *kind], check=True, capture_output=True)
    listed = subprocess.run(
        ["gpg", "--batch", "--with-colons", "--list-keys", user],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return next(line.split(":")[9] for line in listed.splitlines() if line.startswith("fpr:"))


@pytest.fixture(scope="session")
def releases(key: str, tmp_path_factory: pytest.TempPathFactory) -> Releases:
    """The files of two versions, and the repositories with both."""
    work = tmp_path_factory.mktemp("release")
    files = {version: made(version, work / version, key) for version in (OLD, NEW)}
    return Releases(work, files)
