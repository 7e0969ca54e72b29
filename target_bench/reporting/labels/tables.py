"""Gold tables from people: pools of rankings, the replies about them, and queries with these."""

import json
import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np

from target_bench.core.errors import ConfigError, DataError
from target_bench.core.schema import Corpus, Dataset, Query, TableId
from target_bench.data.own_data import record_of
from target_bench.data.table_text import WORDS, cell_text, grid_rows
from target_bench.metrics.retrieval import NOT_RELEVANT, labelled_tables
from target_bench.reporting.labels.cells import kappa_interval
from target_bench.reporting.labels.form import (
    Criterion,
    Item,
    ShownTable,
    read_records,
    shown_table,
    write_text,
)
from target_bench.runs.result import Result
from target_bench.runs.trec import word, words_of

T = TypeVar("T")

RELEVANCE = Criterion(
    "label",
    "Does this table answer the question?",
    (("relevant", "relevant"), ("not relevant", "not relevant"), ("cannot say", "cannot say")),
)
REVIEW = Criterion(
    "question",
    "Is this a good question?",
    (("accepted", "accept"), ("rejected", "reject")),
)
JUDGE_HELP = (
    "A table is relevant if it answers the question, alone or together with other tables of the "
    "list; a table on the same topic that does not is not relevant."
)
REVIEW_HELP = (
    "Accept a question that a person could ask and that the table answers; edit it where other "
    "words would be clearer, and reject it otherwise."
)


# Out: pools, and the items of a form about them


def to_label(dataset: Dataset, every: bool = False) -> list[Query]:
    """Return the questions without gold tables, or with those of earlier pools.

    Args:
        dataset: all questions.
        every: return those with gold tables of another origin, too.

    Raises:
        ConfigError: there is none.
    """
    queries = [
        q
        for q in dataset.queries
        if every or not (q.gold or q.unanswerable) or NOT_RELEVANT in q.metadata
    ]
    if not queries:
        why = "every question has gold tables already; --all asks about them, too"
        if not dataset.queries:
            why = "there are no questions; write some into queries.jsonl, or use `target-bench ask`"
        raise ConfigError(f"{dataset.info.name} {dataset.split}: {why}")
    return queries


def to_review(dataset: Dataset) -> list[Query]:
    """Return the synthetic questions, or if there is none those with gold tables.

    Raises:
        ConfigError: no question has a gold table.
    """
    with_gold = [query for query in dataset.queries if query.gold]
    if not with_gold:
        raise ConfigError(
            f"{dataset.info.name} {dataset.split}: no question has a gold table, so there is "
            "nothing to review; leave --review out to judge tables"
        )
    return [query for query in with_gold if query.synthetic] or with_gold


def shuffled(values: Sequence[T], seed: int | str) -> list[T]:
    """Return the values in random order: the first of them are a sample, too."""
    order = list(values)
    random.Random(seed).shuffle(order)  # noqa: S311 (no secret)
    return order


def pooled(
    queries: Sequence[Query], runs: Sequence[Result], depth: int, seed: int = 0
) -> dict[str, tuple[TableId, ...]]:
    """Pool the first tables of rankings (Spärck Jones & van Rijsbergen 1975).

    Args:
        queries: the questions.
        runs: whose rankings are pooled.
        depth: how many tables of each ranking are taken.
        seed: of the order of the tables.

    Returns:
        Query id -> the tables that were not judged before, in random order; no entry where no
        ranking has a table.

    Raises:
        ConfigError: a run's rankings are shorter than ``depth``.
        DataError: a run has no ranking of a question.
    """
    for run in runs:
        deepest = max(run.retrieval.identity.top_k, default=0)
        if deepest < depth:
            raise ConfigError(
                f"depth={depth}: the rankings of {run.folder} have {deepest} tables; lower --depth "
                "or run it again with a larger --top-k"
            )
        missing = next((query.id for query in queries if query.id not in run.rankings), None)
        if missing is not None:
            raise DataError(
                f"{run.folder}: has no ranking of the question {missing!r:.60}; run it again on "
                "all questions (without --limit), or finish it with the command that began it"
            )
    pools = {}
    for query in queries:
        tables = {table for run in runs for table in run.rankings[query.id].tables[:depth]}
        if tables:
            new = sorted(tables - labelled_tables(query))
            pools[query.id] = tuple(shuffled(new, f"{seed} {query.id}"))
    return pools


def pool_items(
    queries: Sequence[Query],
    pools: Mapping[str, Sequence[TableId]],
    corpus: Corpus,
    rows: int = 20,
) -> list[Item]:
    """Return an item for each table of each pool; nothing in it says which retriever found it.

    Args:
        queries: the questions.
        pools: query id -> its tables.
        corpus: the tables.
        rows: first rows of a table, and as many others with most words of the question.
    """
    return [
        Item(
            {"query_id": query.id, "database_id": table.database_id, "table_id": table.table_id},
            query.text,
            (RELEVANCE,),
            tables=(_shown(query, corpus, table, rows),),
        )
        for query in queries
        for table in pools.get(query.id, ())
    ]


def review_items(queries: Sequence[Query], corpus: Corpus, rows: int = 20) -> list[Item]:
    """Return an item for each question, with its gold tables; cells it was made from are marked."""
    return [
        Item(
            {"query_id": query.id},
            query.text,
            (REVIEW,),
            tuple(("answer", answer) for answer in query.references if answer),
            tuple(_shown(query, corpus, table, rows) for table in dict.fromkeys(query.gold)),
            editable=True,
        )
        for query in queries
    ]


def _shown(query: Query, corpus: Corpus, table_id: TableId, most: int) -> ShownTable:
    table = corpus[table_id]
    rows = grid_rows(table)
    query_words = _words(query.text)
    common = [len(query_words & _words(" ".join(cell.text for cell in row))) for row in rows]
    later = sorted(range(most + 1, len(rows)), key=lambda i: -common[i])
    with_words = [i for i in later[:most] if common[i]]
    marked = list(_evidence(query, table.header, table.rows))
    places = {*range(min(most + 1, len(rows))), *with_words, *(row for row, _ in marked)}
    titles = (str(table.context.get(name) or "") for name in ("title", "section_title"))
    title = " – ".join(filter(None, titles)) or str(table_id)
    return shown_table(title, rows, sorted(places), marked)


def _words(text: str) -> set[str]:
    return {token for token in re.findall(WORDS, text.lower()) if len(token) > 2}


def _evidence(
    query: Query, header: Sequence[str], rows: Sequence[Sequence[Any]]
) -> Iterator[tuple[int, int]]:
    """Yield places, the header being row 0, of the cells that a synthetic question is made from."""
    given = query.metadata.get("cells")
    for cell in given if query.synthetic and isinstance(given, list | tuple) else ():
        row = cell.get("row") if isinstance(cell, dict) else None
        if not (isinstance(row, int) and 1 <= row <= len(rows)) or cell.get("column") not in header:
            continue
        column = list(header).index(cell["column"])
        if cell_text(rows[row - 1][column]) == cell.get("value"):
            yield row, column


# In: the replies


State = Literal["labelled", "rejected", "disputed", "unfinished"]


@dataclass(frozen=True, slots=True)
class MergedLabels:
    """What people together say of a question.

    Attributes:
        state: ``labelled``: every table of the form was judged by anyone, or the question was
            accepted; ``rejected``: more reject it than accept it; ``disputed``: as many reject as
            accept it, or they edited it differently; ``unfinished``: a table is open.
        text: the question as it was edited; None where it was not.
        relevant: the tables that more people call relevant than not.
        not_relevant: the tables of which it is the other way round.
        disputed: the tables on which as many say one as the other; they stay unjudged.
        reviewed: whether anybody accepted the question itself.
    """

    state: State
    text: str | None
    relevant: tuple[TableId, ...]
    not_relevant: tuple[TableId, ...]
    disputed: tuple[TableId, ...]
    reviewed: bool


Replies = dict[TableId | None, str | int | None]
"""Table, or None for the question itself -> reply; None of one that is open."""


@dataclass(frozen=True, slots=True)
class CollectedLabels:
    """The labels of all people.

    Attributes:
        replies: annotator -> query id -> replies.
        by_query: query id -> what they say together.
    """

    replies: Mapping[str, Mapping[str, Replies]]
    by_query: Mapping[str, MergedLabels]

    def to_json(self) -> dict[str, Any]:
        """Return the document that ``target-bench labels read --json`` prints.

        ``agreement`` has a record of each pair of people and of what both judged (``tables`` or
        ``questions``), "cannot say" left out: how many (``n``), the share on which they agree
        (``same``), Cohen's ``kappa`` (1960; None where both always say the same one thing) and its
        95% ``interval`` by the jackknife over questions (None for one question).
        """
        merged = self.by_query.values()
        relevant = sum(len(labels.relevant) for labels in merged)
        pairs = [
            _agreement(self.replies, first, second, judged)
            for first, second in combinations(self.replies, 2)
            for judged in _JUDGED
        ]
        return {
            "annotators": list(self.replies),
            "questions": dict(Counter(labels.state for labels in merged)),
            "judged": relevant + sum(len(labels.not_relevant) for labels in merged),
            "relevant": relevant,
            "without_relevant": [
                query_id
                for query_id, labels in self.by_query.items()
                if labels.state == "labelled" and labels.not_relevant and not labels.relevant
            ],
            "agreement": [pair for pair in pairs if pair is not None],
            "disagreements": [
                {
                    "query_id": query_id,
                    "table": table and list(table),
                    "said": self._said(query_id, table),
                }
                for query_id, labels in self.by_query.items()
                for table in (*labels.disputed, *([None] if labels.state == "disputed" else []))
            ],
        }

    def _said(self, query_id: str, table: TableId | None) -> dict[str, list[str]]:
        """Return reply -> who gave it."""
        names: dict[str, list[str]] = {}
        for name, given in self.replies.items():
            if (reply := given.get(query_id, {}).get(table)) is not None:
                names.setdefault(str(reply), []).append(name)
        return names


_JUDGED = {"tables": ("relevant", "not relevant"), "questions": ("accepted", "rejected")}


def _agreement(
    replies: Mapping[str, Mapping[str, Replies]], first: str, second: str, judged: str
) -> dict[str, Any] | None:
    other = replies[second]
    both = [
        (query_id, reply, other[query_id][table])
        for query_id, given in replies[first].items()
        for table, reply in given.items()
        if reply in _JUDGED[judged] and other.get(query_id, {}).get(table) in _JUDGED[judged]
    ]
    if not both:
        return None
    query_ids, labels, other_labels = map(np.array, zip(*both, strict=True))
    kappa = _kappa(labels, other_labels)
    others = [query_ids != name for name in {*query_ids.tolist()}]
    bounds = kappa_interval(kappa, [_kappa(labels[kept], other_labels[kept]) for kept in others])
    return {
        "annotators": [first, second],
        "what": judged,
        "n": len(both),
        "same": float((labels == other_labels).mean()),
        "kappa": kappa,
        "interval": bounds,
    }


def _kappa(first: Any, second: Any) -> float | None:
    if len({*first.tolist(), *second.tolist()}) < 2:
        return None
    from sklearn.metrics import cohen_kappa_score

    return float(cohen_kappa_score(first, second))


def collect(files: Sequence[Path], dataset: Dataset) -> CollectedLabels:
    """Read the replies about the tables or questions of a dataset.

    Args:
        files: as for ``read_records``.
        dataset: the questions and tables that the form was written of.

    Raises:
        DataError: a file holds no labels of these questions; a question, table or label is
            unknown; a question has other words now; or one person judged a table twice.
    """
    queries = {query.id: query for query in dataset.queries}
    replies: dict[str, dict[str, Replies]] = {}
    edits: dict[str, set[str]] = {}
    for record in read_records(files):
        query, table, reply = _checked(record, queries, dataset.corpus)
        judged = replies.setdefault(record["annotator"], {}).setdefault(query.id, {})
        if judged.get(table) is not None:
            raise DataError(
                f"{record['file']}: {record['annotator']!r:.60} judged {table or 'the question'} "
                f"of {query.id!r:.60} twice; keep one of the files, or give each person a name"
            )
        judged[table] = reply
        if table is None and reply == "accepted":
            edits.setdefault(query.id, set()).add(record.get("text") or query.text)
    by_query = {
        query.id: _merged(people, edits.get(query.id, set()), query.text)
        for query in dataset.queries
        if (people := [by_id[query.id] for by_id in replies.values() if query.id in by_id])
    }
    if not any(
        reply is not None
        for judged in replies.values()
        for by_table in judged.values()
        for reply in by_table.values()
    ):
        raise DataError(f"{', '.join(map(str, files))}: nothing is labelled")
    return CollectedLabels(replies, by_query)


def _checked(
    record: Mapping[str, Any], queries: Mapping[str, Query], corpus: Corpus
) -> tuple[Query, TableId | None, str | int | None]:
    name, path = record.get("query_id"), record["file"]
    query = queries.get(str(name))
    if query is None:
        raise DataError(
            f"{path}: query_id: {name!r:.60} is not among the questions of the corpus; name the "
            "corpus and the split that the form was written for"
        )
    shown = record.get("asked")
    if shown not in (None, "", query.text) and query.text != record.get("text"):
        raise DataError(
            f"{path}: {query.id!r:.60}: the form asked {shown!r:.80}, and the corpus has "
            f"{query.text!r:.80}; write a new form, as labels are for the words that were shown"
        )
    table, criterion = None, REVIEW
    if record.get("table_id") not in (None, ""):
        table = TableId(str(record.get("database_id") or "0"), str(record["table_id"]))
        criterion = RELEVANCE
        if table not in corpus:
            raise DataError(f"{path}: table_id: there is no table {str(table)!r:.80} in the corpus")
    text = record.get("text")
    if text is not None and not (isinstance(text, str) and text.strip()):
        raise DataError(f"{path}: {query.id!r:.60}: text: expected a question, found {text!r:.60}")
    try:
        return query, table, criterion.reply(record.get(criterion.name))
    except ValueError as error:
        raise DataError(f"{path}: {query.id!r:.60}: {error}") from error


def _merged(people: Sequence[Replies], texts: set[str], text: str) -> MergedLabels:
    votes: dict[TableId, Counter[str | int | None]] = {}
    verdicts: Counter[str | int | None] = Counter()
    for replies in people:
        for table, reply in replies.items():
            if table is not None:
                votes.setdefault(table, Counter())[reply] += 1
        # Who judges the tables of a question accepts it.
        verdicts[replies.get(None) or ("accepted" if any(replies.values()) else None)] += 1
    balance = {
        table: counts["relevant"] - counts["not relevant"] for table, counts in votes.items()
    }
    is_open = any(not (counts.keys() - {None}) for counts in votes.values())
    accepted, rejected = verdicts["accepted"], verdicts["rejected"]
    state: State = "unfinished" if is_open or not accepted else "labelled"
    if rejected > accepted:
        state = "rejected"
    elif rejected == accepted != 0 or len(texts) > 1:
        state = "disputed"
    edited = next(iter(texts)) if len(texts) == 1 else text
    return MergedLabels(
        state=state,
        text=None if edited == text else edited,
        relevant=tuple(table for table, n in balance.items() if n > 0),
        not_relevant=tuple(table for table, n in balance.items() if n < 0),
        disputed=tuple(t for t, n in balance.items() if n == 0 and votes[t]["relevant"]),
        reviewed=bool(texts),
    )


def check_place(path: Path) -> None:
    """See that labels can be written to a file of this name.

    Raises:
        ConfigError: it has another suffix than ``.jsonl`` and ``.qrels``.
    """
    if path.suffix not in (".jsonl", ".qrels"):
        raise ConfigError(
            f"-o {path}: name a file of queries (queries.jsonl in the folder of the tables) or of "
            "judgements for trec_eval and ir-measures (labels.qrels)"
        )


def write_labels(
    path: Path,
    dataset: Dataset,
    merged: Mapping[str, MergedLabels],
    other_splits: Mapping[str, Sequence[Query]] | None = None,
) -> None:
    """Write the questions with their labels; or, as ``.qrels``, the judgements alone.

    Of a question that is disputed or unfinished nothing is taken.

    Args:
        path: the file, which is replaced. Questions that people rejected go to the split
            ``rejected``.
        dataset: the questions.
        merged: query id -> what people say together.
        other_splits: split -> its queries, which are written as they are.

    Raises:
        ConfigError: the file has another suffix than ``.jsonl`` and ``.qrels``.
        DataError: gold tables of a query are in several databases, which JSON lines cannot hold.
        StoreError: the file cannot be written.
    """
    check_place(path)
    kept: list[Query] = []
    rejected: list[Query] = []
    for query in dataset.queries:
        labels = merged.get(query.id)
        state = "unfinished" if labels is None else labels.state
        (rejected if state == "rejected" else kept).append(
            _with_labels(query, labels) if labels and state == "labelled" else query
        )
    if path.suffix == ".qrels":
        judged = [(query, table) for query in kept for table in sorted(labelled_tables(query))]
        words = words_of(dict.fromkeys(table for _, table in judged))
        lines = [f"{word(q.id)} 0 {words[table]} {int(table in q.gold)}" for q, table in judged]
    else:
        splits: dict[str, list[Query]] = {dataset.split: kept}
        for split, queries in [*(other_splits or {}).items(), ("rejected", rejected)]:
            splits.setdefault(split, []).extend(queries)
        lines = [
            json.dumps(record_of(query) | {"split": split}, ensure_ascii=False)
            for split, queries in splits.items()
            for query in queries
        ]
    write_text(path, "".join(f"{line}\n" for line in lines))


def _with_labels(query: Query, merged: MergedLabels) -> Query:
    gold = tuple(dict.fromkeys([*query.gold, *merged.relevant]))
    database = gold[0].database_id if gold else query.database_id
    more: dict[str, Any] = {}
    if merged.relevant or merged.not_relevant or NOT_RELEVANT in query.metadata:
        refused = (labelled_tables(query) | {*merged.not_relevant}) - set(gold)
        more[NOT_RELEVANT] = [
            table.table_id if table.database_id == database else list(table)
            for table in sorted(refused)
        ]
    if merged.reviewed:
        more["reviewed"] = True
    if merged.text is not None:
        more["query_before"] = query.text
    metadata = {**query.metadata, **more}
    text = merged.text or query.text
    return replace(query, text=text, gold=gold, database_id=database, metadata=metadata)
