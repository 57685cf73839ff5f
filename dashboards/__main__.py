"""Writes the JSON files of all dashboards: python -m dashboards [DIRECTORY].

Requires Python 3.11, like the SDK. Review the difference before you commit it.
"""

import sys
from pathlib import Path

from dashboards.documents import DIRECTORY, documents


def main(directory: Path) -> int:
    """Writes the files that have changed and prints their names. Returns 0."""
    for name, text in documents().items():
        file = directory / name
        if not file.is_file() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")
            sys.stdout.write(f"{name}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if sys.argv[1:] else DIRECTORY))
