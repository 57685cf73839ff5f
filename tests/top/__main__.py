"""Rewrites the files in `golden`. Review the difference: users will see it."""

from tests.top.golden_screens import FOLDER, texts

if __name__ == "__main__":
    for name, text in texts().items():
        (FOLDER / f"{name}.txt").write_text(text, encoding="utf-8")
