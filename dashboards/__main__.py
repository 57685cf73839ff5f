"""python -m dashboards [DIRECTORY] writes every dashboard: read the difference before a commit.

Needs Python 3.11, as the SDK does.
"""

import sys
from pathlib import Path

from dashboards.documents import DIRECTORY, documents


def main(directory: Path) -> int:
    """Write the files that differ, and print their names."""
    for name, text in documents().items():
        file = directory / name
        if not file.is_file() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")
            sys.stdout.write(f"{name}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if sys.argv[1:] else DIRECTORY))
