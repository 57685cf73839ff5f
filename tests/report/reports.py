"""Hypothesis strategies for reports: hostile names, NaN and infinity, tables of any size."""

from hypothesis import strategies as st

from exporter.report.content import Band, Chart, ChartLine, Mark, Report, Table

#: All characters, including surrogates and the control characters of terminals.
words = st.text(st.characters(exclude_categories=()), max_size=60)
numbers = st.one_of(
    st.floats(),
    st.floats(0, 1e12),
    st.integers(0, 50).map(float),
    st.sampled_from((0.0, 5e-324, 1e18, -1e18, 1e300, 1e-13)),
)
points = st.lists(st.tuples(numbers, numbers), max_size=30).map(tuple)
lines = st.builds(ChartLine, words, points, st.booleans())
marks = st.builds(Mark, numbers, words)
bands = st.builds(Band, numbers, numbers, words)
units = st.sampled_from(("", "B", "B/s", "s", "IOPS"))
charts = st.builds(
    Chart,
    words,
    words,
    words,
    st.lists(lines, max_size=6).map(tuple),
    st.lists(marks, max_size=6).map(tuple),
    st.lists(bands, max_size=6).map(tuple),
    units,
    units,
)


def _tables(columns: int) -> st.SearchStrategy[Table]:
    cells = st.tuples(*[words] * columns)
    rows = st.lists(cells, max_size=5).map(tuple)
    return st.builds(Table, words, cells, rows, st.frozensets(st.integers(0, 6)))


tables = st.integers(0, 5).flatmap(_tables)
plain = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), words, st.binary(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.one_of(words, st.integers()), inner, max_size=3),
        st.frozensets(st.integers(), max_size=3),
    ),
    max_leaves=8,
)
reports = st.builds(
    Report,
    words,
    words,
    st.lists(st.tuples(words, words), max_size=4).map(tuple),
    st.lists(st.one_of(charts, tables), max_size=3).map(tuple),
    st.lists(words, max_size=3),
    st.dictionaries(words, plain, max_size=3),
    st.one_of(st.none(), st.booleans()),
)
