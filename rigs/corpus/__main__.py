"""Prints a summary of the parsed corpus and every disagreement: python -m rigs.corpus."""

import sys

from rigs.corpus.corpus_result import read_corpus
from rigs.corpus.documents import CORPUS, NO_CORPUS


def main() -> int:
    """Run the comparison. Returns 0, 1 if there is a disagreement, or 2 without a corpus."""
    if not CORPUS.is_dir():
        print(NO_CORPUS, file=sys.stderr)
        return 2
    result = read_corpus()
    print(result.summary())
    for disagreement in result.disagreements:
        file, field, expected, actual = disagreement
        print(f"{file}: {field}: expected {expected}, is {actual}")
    wrong = len({disagreement.file for disagreement in result.disagreements})
    print(f"{wrong} files disagree" if wrong else "every file is read as expected")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
