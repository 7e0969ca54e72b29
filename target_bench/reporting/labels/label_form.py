"""A form, one HTML file, in which people judge the tables of pools or review questions."""

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from target_bench.core.errors import ConfigError
from target_bench.core.schema import Corpus, Query, Table, TableId
from target_bench.data.table_text import WORDS, Analyzer, cell_text
from target_bench.reporting.forms.form_page import Words, check_place, write_page
from target_bench.reporting.labels.pooling import Pool
from target_bench.reporting.labels.read_labels import SAVED
from target_bench.reporting.report.shown_tables import COLUMNS, TableSize, embedded

_WORD = re.compile(WORDS)
_FOLDER = Path(__file__).parent
"""Where the form's script and style are."""


@dataclass(frozen=True, slots=True)
class FormOptions:
    """What a form shows.

    Attributes:
        review: whether people say of each question if it is a good one, and may edit it. Its gold
            tables are shown as such.
        by: the properties that the sample is proportional over.
        size: of each table the first rows, and as many others that hold most words of the question.
    """

    review: bool = False
    by: tuple[str, ...] = ()
    size: TableSize = field(default_factory=lambda: TableSize(rows=20))


def write_form(
    out: Path, pools: Sequence[Pool], corpus: Corpus, options: FormOptions | None = None
) -> Path:
    """Write a form about questions and the tables of their pools.

    It says nothing of which retriever found a table, needs no network and no other file. What is
    filled in is kept by the browser, and saved as JSON by a button; ``read_labels`` reads that.

    Args:
        out: the file.
        pools: the questions, in the order in which they are asked.
        corpus: the tables.
        options: what is shown.

    Raises:
        ConfigError: there is no question, or ``out`` is a folder.
        StoreError: the file cannot be written.
    """
    check_place(out)
    options = options or FormOptions()
    if not pools:
        raise ConfigError("there is no question to ask people about")
    items = [_item(pool, corpus, options) for pool in pools]
    key = hashlib.sha256(json.dumps([items, options.review]).encode()).hexdigest()[:12]
    n = f"{len(pools):,} question{'' if len(pools) == 1 else 's'}"
    words = Words(
        title=f"{'Review of' if options.review else 'Labels for'} {n}",
        name="Review" if options.review else "Labels",
        heading=f"Review {n}" if options.review else f"Which tables answer {n}?",
        explained=_REVIEW if options.review else _JUDGE,
        items="Questions",
        what=SAVED.what,
    )
    same = {"form": key, "by": ",".join(options.by)}
    content = {"review": options.review, "items": items}
    write_page(out, _FOLDER, "label_form", words, SAVED, same, content)
    return out


_JUDGE = (
    "A table is relevant if it answers the question, alone or together with other tables of the "
    "list; a table on the same topic that does not is not relevant."
)
_REVIEW = (
    "Accept a question that a person could ask and that the table answers; edit it where other "
    "words would be clearer, and reject it otherwise."
)


def _item(pool: Pool, corpus: Corpus, options: FormOptions) -> dict[str, Any]:
    query = pool.query
    gold = [table for table in dict.fromkeys(query.gold) if options.review]
    asked = [table for table in pool.tables if table not in gold]
    matching = _Matching(query.text)
    answers = [answer for answer in query.references if answer] if options.review else []
    return {
        "id": query.id,
        "text": query.text,
        "answers": answers,
        "gold": [
            _table(corpus, table, matching, options.size, _evidence(query, corpus[table]))
            for table in gold
        ],
        "tables": [_table(corpus, table, matching, options.size) for table in asked],
    }


def _evidence(query: Query, table: Table) -> set[tuple[int, int]]:
    """Return row and column of the cells that a synthetic question says its answer is from."""
    given = query.metadata.get("cells")
    found = set()
    for cell in given if query.synthetic and isinstance(given, list | tuple) else ():
        row = cell.get("row") if isinstance(cell, dict) else None
        if not (isinstance(row, int) and 1 <= row <= len(table.rows)):
            continue
        if cell.get("column") in table.header:
            column = list(table.header).index(cell["column"])
            if cell_text(table.rows[row - 1][column]) == cell.get("value"):
                found.add((row - 1, column))
    return found


def _table(
    corpus: Corpus,
    table_id: TableId,
    matching: "_Matching",
    size: TableSize,
    evidence: AbstractSet[tuple[int, int]] = frozenset(),
) -> dict[str, Any]:
    """Return a table with its first rows, those that hold most words of the question, and marks.

    Args:
        corpus: the tables.
        table_id: the table.
        matching: the words of the question.
        size: how much of it is shown.
        evidence: row and column of cells that are shown and marked in any case.
    """
    table = corpus[table_id]
    places = sorted({*_places(table, matching, size.rows), *(row for row, _ in evidence)})
    cut = replace(table, rows=[table.rows[place] for place in places])
    found = embedded(cut, replace(size, rows=len(places) or 1))
    return found | {
        "n_rows": len(table.rows),
        "places": places,
        "words": matching.in_table(found),
        "evidence": [[places.index(row), column] for row, column in sorted(evidence)],
    }


def _places(table: Table, matching: "_Matching", most: int) -> list[int]:
    counted = [
        (len(matching.stems_in(" ".join(map(cell_text, row[:COLUMNS])))), -place)
        for place, row in enumerate(table.rows[most:], start=most)
    ]
    best = sorted((one for one in counted if one[0]), reverse=True)[:most]
    return sorted([*range(min(most, len(table.rows))), *(-place for _, place in best)])


class _Matching:
    """The words of a question, as retrievers compare words: without endings and accents."""

    def __init__(self, question: str) -> None:
        self._analyse = Analyzer(WORDS, True, "en_plus", "english")
        self._wanted = frozenset(self._analyse(question))

    def stems_in(self, text: str) -> frozenset[str]:
        """Return which of the question's stems a text holds."""
        return self._wanted.intersection(self._analyse(text))

    def in_table(self, shown: dict[str, Any]) -> list[str]:
        """Return the words of a shown table, in lower case, that are words of the question."""
        words = {word for text in _texts(shown) for word in _WORD.findall(text.lower())}
        return sorted(word for word in words if self.stems_in(word))


def _texts(value: Any) -> Iterator[str]:
    """Yield title, column names and cells."""
    cells = [cell for row in value["rows"] for cell in row if cell is not None]
    for text in (value["title"], *value["header"], *cells):
        yield text if isinstance(text, str) else text[0]
