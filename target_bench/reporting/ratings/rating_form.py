"""A form, one HTML file, in which people rate the answers of a run."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from target_bench.core.errors import ConfigError
from target_bench.core.linearisation import are_places
from target_bench.core.observer import Observer
from target_bench.core.schema import Corpus, Query, Table, TableId
from target_bench.data.highlights import HIGHLIGHTED
from target_bench.data.table_text import grid_rows
from target_bench.reporting.forms.form_page import Words, check_place, write_page
from target_bench.reporting.ratings.criteria import CRITERIA, CriteriaName
from target_bench.reporting.ratings.read_ratings import SAVED
from target_bench.reporting.report.report_runs import ReportRun, open_runs

_FOLDER = Path(__file__).parent
MOST_ROWS = 60
"""Rows of a table that a form shows; those with highlighted cells are shown in any case."""
MOST_TABLES = 3
"""Tables of a query that a form shows."""


def write_form(
    folder: Path,
    out: Path,
    criteria: CriteriaName | None = None,
    *,
    sample: int | None = None,
    seed: int = 0,
    data_dir: str | Path | None = None,
    observer: Observer | None = None,
) -> Path:
    """Write a form about the answers of a run, without its name and its scores.

    It needs no network and no other file. What is filled in is kept by the browser, and saved as
    JSON by a button; ``read_ratings`` reads that.

    Args:
        folder: the run folder.
        out: the file.
        criteria: what is asked; default: ``totto`` where queries have highlighted cells, else
            ``struc-bench``.
        sample: how many answers, drawn at random; default: all.
        seed: of the draw and of the order of the answers.
        data_dir: as for ``TARGET``.
        observer: gets warnings.

    Returns:
        The file.

    Raises:
        ConfigError: the run has no answers, ``sample`` is below 1, or no query has what is asked
            about.
        DataError: the data are missing, or not what they were.
        StoreError: the folder holds no finished run, or the file cannot be written.
    """
    check_place(out)
    if sample is not None and sample < 1:
        raise ConfigError(f"sample={sample}: a form asks about at least 1 answer")
    runs, loaded = open_runs([folder], data_dir, observer or Observer())
    try:
        run = runs[0]
        if not run.run.answers:
            raise ConfigError(f"{folder}: is a run of rankings; people rate answers")
        dataset = loaded.of_task(run.task).dataset
        asked = criteria or _default(dataset.queries)
        queries = _drawn(dataset.queries, sample, seed)
        items = [_item(query, run, dataset.corpus, asked) for query in queries]
    finally:
        for one in runs:
            one.close()
    _write(out, run, asked, items)
    return out


def _default(queries: Sequence[Query]) -> CriteriaName:
    return "totto" if any(HIGHLIGHTED in query.metadata for query in queries) else "struc-bench"


def _drawn(queries: Sequence[Query], sample: int | None, seed: int) -> list[Query]:
    chosen = list(queries)
    random.Random(seed).shuffle(chosen)  # noqa: S311 (no secret)
    return chosen[:sample]


def _item(query: Query, run: ReportRun, corpus: Corpus, criteria: CriteriaName) -> dict[str, Any]:
    answer = run.run.answers[query.id].generation
    ids = run.given.get(query.id) or query.gold
    tables = [_table(query, table_id, corpus) for table_id in ids[:MOST_TABLES]]
    cells = sum(len(table["marked"]) for table in tables)
    return {
        "id": query.id,
        "text": query.text,
        "tables": tables if criteria == "totto" else [],
        "answer": answer.text if answer.error is None else None,
        "references": list(filter(None, query.references)),
        "options": {one.name: one.shown(cells) for one in CRITERIA[criteria]},
    }


def _table(query: Query, table_id: TableId, corpus: Corpus) -> dict[str, Any]:
    table = corpus[table_id]
    rows = grid_rows(table)
    marked = are_places(rows, query.metadata.get(HIGHLIGHTED) or ())
    shown = sorted({*range(min(len(rows), MOST_ROWS)), *(row for row, _ in marked)})
    return {
        "title": _title(table),
        "rows": [
            [[c.text, c.row_span, c.column_span, c.is_header] for c in rows[place]]
            for place in shown
        ],
        "marked": [[shown.index(row), column] for row, column in marked],
        "left_out": len(rows) - len(shown),
    }


def _title(table: Table) -> str:
    named = (table.context.get(name) for name in ("title", "section_title", "section_text"))
    return " · ".join(str(part) for part in named if part)


def _write(
    out: Path, run: ReportRun, criteria: CriteriaName, items: Sequence[dict[str, Any]]
) -> None:
    n = f"{len(items):,} answer{'' if len(items) == 1 else 's'}"
    words = Words(
        title=f"Rating {n}",
        name="Rating form",
        heading=f"Rate {n}",
        explained="",
        items="Answers",
        what=SAVED.what,
    )
    questions = [{"name": one.name, "question": one.question} for one in CRITERIA[criteria]]
    same = {"criteria": criteria, "run": run.run.identity.key}
    content = {"questions": questions, "items": list(items)}
    write_page(out, _FOLDER, "rating_form", words, SAVED, same, content)
