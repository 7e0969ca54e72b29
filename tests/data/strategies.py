"""Tables with anything in them, for property tests."""

from hypothesis import strategies as st

from target_bench.core.schema import Cell, Table, TableId
from target_bench.core.unicode_text import compose

any_text = st.text(st.characters(exclude_categories=()), max_size=8).map(compose)
"""Lone surrogates included, as they occur in broken web pages."""

any_cell: st.SearchStrategy[Cell] = st.one_of(
    any_text,
    st.integers(),
    st.sampled_from([2**64, -(2**64), 10**4000]),
    st.floats(),
    st.binary(max_size=4),
    st.booleans(),
    st.none(),
)


@st.composite
def tables(draw: st.DrawFn) -> list[Table]:
    """Tables with different ids and anything in their cells."""
    ids = draw(st.lists(st.tuples(any_text, any_text), unique=True, min_size=1, max_size=6))
    drawn = []
    for table_id in ids:
        header = draw(st.lists(any_text, min_size=1, max_size=3))
        row = st.lists(any_cell, min_size=len(header), max_size=len(header))
        rows = draw(st.lists(row, max_size=3))
        context = draw(st.dictionaries(any_text, any_text, max_size=2))
        drawn.append(Table(TableId(*table_id), header, rows, context))
    return drawn


def exact(table: Table) -> str:
    """Everything in a table, types, NaN and the sign of zero included."""
    parts = (
        tuple(table.id),
        list(table.header),
        [list(row) for row in table.rows],
        sorted(table.context.items()),
    )
    return repr(parts)
