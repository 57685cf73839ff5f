"""python -m tests.corpus: our reading of the corpus, and where it is not as expected."""

import sys

from tests.corpus.documents import CORPUS, NO_CORPUS
from tests.corpus.verdict import verdict


def main() -> int:
    """Print the summary and every disagreement; 1 where there is one, 2 without a corpus."""
    if not CORPUS.is_dir():
        print(NO_CORPUS, file=sys.stderr)
        return 2
    found = verdict()
    print(found.summary())
    for each in found.disagreements:
        print(f"{each.file}: {each.field}: expected {each.expected}, is {each.actual}")
    wrong = len({each.file for each in found.disagreements})
    print(f"{wrong} files disagree" if wrong else "every file is read as expected")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
