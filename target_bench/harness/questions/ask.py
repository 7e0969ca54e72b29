"""``ask``: keep the questions that only their gold tables answer, and rate them."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from target_bench.core.metric import Score
from target_bench.core.observer import Observer
from target_bench.core.schema import Corpus, Dataset, Query, Table, TableId
from target_bench.core.settings import read_whole
from target_bench.data.highlights import cell_text
from target_bench.data.load import load
from target_bench.harness.consent import Confirm
from target_bench.harness.evaluate import evaluate
from target_bench.harness.questions.model import ModelWriter
from target_bench.harness.questions.table_view import Draft, TableView, seed_random
from target_bench.harness.questions.templates import TemplateWriter

AMBIGUOUS = "questions to which another table gives another answer"
SEVERAL_DATABASES = "questions that tables of several databases answer"
ELSEWHERE = "questions whose answer is not in the row that they name, or is blank"
REPEATED = "questions that were written twice"


@dataclass(frozen=True)
class SyntheticQuestions:
    """Synthetic questions, as ``ask`` returns them.

    ```python
    from target_bench import ask

    written = ask("mini", n=20)
    print(len(written.queries), written.wanted, written.queries[0].metadata["synthetic"])
    # 20 20 template
    ```

    Attributes:
        queries: the questions. Their metadata say what wrote them (``synthetic``) and which
            ``cells`` of the first gold table the answer comes from.
        wanted: the number of questions that was asked for.
        dropped: reason -> number of questions or tables that were left out.
    """

    queries: tuple[Query, ...]
    wanted: int
    dropped: Mapping[str, int]

    @property
    def n_several_gold(self) -> int:
        """The number of questions with several gold tables, which hold the same cells."""
        return sum(len(query.gold) > 1 for query in self.queries)


def ask(
    corpus: str | Path | Dataset | Corpus,
    n: int = 100,
    seed: int = 0,
    generator: object = None,
    *,
    confirm: Confirm | None = None,
    observer: Observer | None = None,
) -> SyntheticQuestions:
    """Write questions with known gold tables about the tables of a corpus.

    ```python
    from target_bench import ask

    query = ask("mini", n=20).queries[0]
    print(query.text)  # 2016 Summer Olympics medal table: what is the rank of China?
    print(query.answer, query.gold[0])  # 3 0/olympics-2016-medals
    ```

    A table that gives the same answer is gold, too; a question to which another table gives another
    answer is dropped.

    Args:
        corpus: by name, path, or loaded already; it needs no queries.
        n: the number of questions.
        seed: the same seed gives the same questions, or asks a generator about the same tables.
        generator: a generator that writes the questions, or its name with settings. Default:
            templates in English and German, which look up a cell by a unique name.
        confirm: is asked before requests that may cost money; None: they are sent.
        observer: gets progress and warnings.

    Raises:
        ConfigError: ``n`` is not a whole number from 1, a name is unknown, or the paid requests
            were not confirmed.
        DataError: files are missing or broken.
        PluginError: the generator breaks its contract.
    """
    n = read_whole("n", n, 1)
    if not isinstance(corpus, Corpus):
        corpus = (corpus if isinstance(corpus, Dataset) else load(corpus)).corpus
    observer = observer or Observer()
    writer: TemplateWriter | ModelWriter
    if generator is None:
        writer = TemplateWriter(corpus, seed)
    else:
        writer = ModelWriter(corpus, n, generator, confirm, observer)
    tables = sorted(corpus.ids, key=lambda table: seed_random(seed, table).random())
    observer.stage("ask", total=n)
    kept: dict[str, Query] = {}  # by its text
    dropped: Counter[str] = Counter()
    drafts = writer.write(tables)
    # A batch is looked up in one pass over the corpus, so it is as large as what is missing.
    while len(kept) < n and (batch := list(islice(drafts, max(n - len(kept), 50)))):
        before = len(kept)
        for query in _check_drafts(batch, corpus, writer.name, dropped):
            if query.text in kept:
                dropped[REPEATED] += 1
            elif len(kept) < n:
                kept[query.text] = query
        observer.advance(len(kept) - before)
    queries = (
        replace(query, id=f"synthetic-{i:04d}") for i, query in enumerate(kept.values(), start=1)
    )
    return SyntheticQuestions(tuple(queries), n, dict(dropped + writer.dropped))


def _check_drafts(
    drafts: Sequence[Draft], corpus: Corpus, writer: str, dropped: Counter[str]
) -> Iterator[Query]:
    """Yield a query for each sound draft, and count the others in ``dropped`` by their reason.

    A draft is sound if all tables that answer it, its own among them, give one answer, and are of
    one database.
    """
    answers = _look_up_everywhere(drafts, corpus)
    for draft, values_by_table in zip(drafts, answers, strict=True):
        if len(set(values_by_table.values())) > 1:
            dropped[AMBIGUOUS] += 1
        elif len({table.database_id for table in values_by_table}) > 1:
            dropped[SEVERAL_DATABASES] += 1
        elif not draft.values <= values_by_table.get(draft.table, frozenset()):
            dropped[ELSEWHERE] += 1
        else:
            others = [table for table in values_by_table if table != draft.table]
            yield _make_query(draft, others, corpus[draft.table], writer)


def _look_up_everywhere(
    drafts: Sequence[Draft], corpus: Corpus
) -> list[dict[TableId, frozenset[str]]]:
    """Return for each draft the tables that answer it, with the values that they give."""
    answers: list[dict[TableId, frozenset[str]]] = [{} for _ in drafts]
    # A table that answers a draft holds all of its keys, so it is enough to look at the tables that
    # hold one of them. Which one does not matter: ``min`` takes any. All tables hold "".
    drafts_by_key: dict[str, list[int]] = defaultdict(list)
    for i, draft in enumerate(drafts):
        drafts_by_key[min(draft.keys, default="")].append(i)
    columns = {name for draft in drafts for name in draft.columns}
    for table in corpus:
        view = TableView(table)
        if columns.isdisjoint(view.columns):
            continue
        for key in view.rows_by_cell.keys() & drafts_by_key.keys():
            for i in drafts_by_key[key]:
                if values := view.look_up(drafts[i]):
                    answers[i][table.id] = values
    return answers


def _make_query(draft: Draft, others: Sequence[TableId], table: Table, writer: str) -> Query:
    cells = [
        {
            "row": row + 1,
            "column": str(table.header[column]),
            "value": cell_text(table.rows[row][column]).strip(),
        }
        for row, column in draft.cells
    ]
    return Query(
        id="",  # numbered when all are known
        text=draft.text,
        gold=(draft.table, *others),
        answer=draft.answer[0] if len(draft.answer) == 1 else draft.answer,
        database_id=draft.table.database_id,
        metadata={"synthetic": writer, "cells": cells},
    )


PROBES = {"bm25": "bm25", "titles alone": "bm25:fields=[title]", "random": "random"}
"""A good retriever, the titles that may give questions away, and chance."""


def rate_questions(dataset: Dataset, queries: Sequence[Query]) -> dict[str, Score]:
    """Return recall@1 of each of ``PROBES`` on the questions."""
    with TemporaryDirectory() as folder:
        results = evaluate(
            list(PROBES.values()),
            replace(dataset, queries=tuple(queries)),
            name=list(PROBES),
            top_k=1,
            out=folder,
            observer=_NoWarnings(),
        )
        return {name: results[name]["recall@1"] for name in PROBES}


class _NoWarnings(Observer):
    """Drops warnings: the user's own run on these questions repeats them."""

    def warning(self, message: str) -> None:
        """Print nothing."""


def find_weakness(scores: Mapping[str, Score]) -> str | None:
    """Say why questions of these ratings cannot tell retrievers apart; None if they can."""
    bm25, titles, chance = (scores[name] for name in PROBES)
    if chance.value >= 0.5:
        share = f"{chance.value:.0%} of the gold tables are found by chance"
        return f"{share}, because there are so few tables: retrievers cannot be told apart"
    if bm25.n < 20:
        return f"{bm25.n} questions tell little: a difference of 20 points can be chance"
    if bm25.value >= 0.95:
        return "bm25 gets nearly all right, so no retriever can stand out. Try --generator"
    if titles.value > (bm25.value + chance.value) / 2:
        return "titles alone do nearly as well: the questions give them away"
    if not bm25.low > chance.high:
        return "bm25 is not better than chance: the questions are too few, or fit too many tables"
    return None
