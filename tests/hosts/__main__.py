"""Rewrites expected.prom: python -m tests.hosts [NAME ...]. Review the diff afterwards."""

import sys
import tempfile
from pathlib import Path

from tests.hosts.host import FOLDERS, Host, folders


def main(names: list[str]) -> int:
    """Writes the pages of the named hosts, or of all hosts. Returns the exit status."""
    known = {folder.name for folder in folders()}
    if unknown := sorted(set(names) - known):
        print(f"no such host in {FOLDERS}: {', '.join(unknown)}", file=sys.stderr)
        return 2
    for name in names or sorted(known):
        with tempfile.TemporaryDirectory() as place:
            page = Host(FOLDERS / name, Path(place)).play().expected()
        golden = FOLDERS / name / "expected.prom"
        if not golden.is_file() or golden.read_text(encoding="utf-8") != page:
            golden.write_text(page, encoding="utf-8")
            print(name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
