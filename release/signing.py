"""Signatures by GnuPG. The key stays in the keyring of the caller (GNUPGHOME)."""

from dataclasses import dataclass
from pathlib import Path

from release.programs import run


@dataclass(frozen=True, slots=True)
class Key:
    """A key for signatures.

    name: its fingerprint, or another name that GnuPG accepts. when: the time of the signatures, in
    seconds since 1970: equal files get equal signatures. The key must be older.
    """

    name: str
    when: int

    def detached(self, path: Path) -> Path:
        """Writes and returns PATH.asc, a signature of a file."""
        return self._signed(path, path.with_name(f"{path.name}.asc"), "--detach-sign")

    def inline(self, path: Path, target: Path) -> Path:
        """Writes and returns a copy of a text file that contains its signature."""
        return self._signed(path, target, "--clear-sign")

    def rpm(self, package: Path) -> None:
        """Adds a signature to a package for dnf."""
        time = f"--batch --faked-system-time {self.when}!"
        run(
            *("rpmsign", "--addsign", "--define", "__gpg /usr/bin/gpg"),
            *("--define", f"_gpg_name {self.name}"),
            *("--define", f"_gpg_sign_cmd_extra_args {time}", package),
        )

    def public(self, path: Path) -> Path:
        """Writes and returns a file with the public key, as text."""
        text = run(
            "gpg", "--batch", "--export-options", "export-minimal", "--armor", "--export", self.name
        )
        path.write_text(text)
        return path

    def _signed(self, path: Path, target: Path, how: str) -> Path:
        run(
            *("gpg", "--batch", "--yes", "--faked-system-time", f"{self.when}!"),
            *("--local-user", self.name, "--armor", "--output", target, how, path),
        )
        return target
