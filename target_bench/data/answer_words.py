"""Compare answers and tables by their words alone: case, spaces and punctuation do not count."""

import re
from functools import lru_cache

from target_bench.core.schema import Corpus, Query, TableId
from target_bench.data.table_text import cell_text


def words(text: str) -> str:
    """Give the words of a text, with single spaces between them."""
    return " ".join(re.findall(r"[^\W_]+", text.casefold()))


def is_copied(answer: str, _judgement: object, query: Query) -> bool:
    """Say whether an answer has the words of a reference, and no others: a rule of leaks."""
    given = words(answer)
    return given != "" and given in map(words, query.references)


@lru_cache(maxsize=2000)
def table_words(corpus: Corpus, table_id: TableId) -> str:
    """Give the words of a table: context, header and cells, with a space at both ends."""
    table = corpus[table_id]
    context = [str(value) for value in table.context.values()]
    cells = (cell_text(cell) for row in table.rows for cell in row)
    return f" {words(' '.join([*context, *table.header, *cells]))} "
