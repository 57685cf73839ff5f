"""Malformed and truncated texts of kernel files."""

from collections.abc import Iterator

from hypothesis import strategies as st

#: Invalid numbers, numbers out of a counter's range, and characters that split or end lines.
_WORDS = st.sampled_from(
    [
        *("0", "1", "42", "4294967295", "18446744073709551615", "18446744073709551616"),
        *("9" * 5000, "-1", "+1", "1.5", "1e3", "nan", "inf", "1_0", "0x1f", "ffffffff"),
        *("٣", "٣٤", "²", "½", "\0", "\ud800", "\x85", "\u2028", "\x1c", "é", ":", "=", ""),
    ]
)


def texts(*words: str) -> st.SearchStrategy[str]:
    """Any text, and lines with these words of the file between valid and invalid numbers."""
    near = st.sampled_from([*words, "\n", "\n", " ", " ", " ", " "]) | _WORDS
    return (
        st.text(st.characters())
        | st.lists(near, max_size=60).map("".join)
        | st.lists(st.lists(near, max_size=20).map(" ".join)).map("\n".join)
    )


def cut(text: str) -> Iterator[str]:
    """Returns the text truncated at every position."""
    return (text[:end] for end in range(len(text)))
