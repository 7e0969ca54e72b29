"""Gold tables from people: pools of rankings, the labels of them, and queries with these."""

import json
import random
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from target_bench.core.errors import ConfigError, DataError
from target_bench.core.schema import Corpus, Dataset, Query, Table, TableId
from target_bench.data.own_data import record_of
from target_bench.data.table_text import WORDS, grid_rows
from target_bench.metrics.retrieval import NOT_RELEVANT, labelled_tables
from target_bench.reporting.labels.agreement import pair_agreement
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
    "Accept a question that a person could ask and that the table answers, and reject it otherwise."
)


# Out: the items of a form


def questions(dataset: Dataset, review: bool) -> list[Query]:
    """Return the questions that a form may be about.

    Args:
        dataset: the questions.
        review: whether to review them: the synthetic ones, or if there is none those with gold
            tables. Else those without gold tables, and those with labels of earlier pools.

    Raises:
        ConfigError: there is none.
    """
    name = f"{dataset.info.name} {dataset.split}"
    if review:
        with_gold = [query for query in dataset.queries if query.gold]
        if not with_gold:
            raise ConfigError(
                f"{name}: no question has a gold table, so there is nothing to review; leave "
                "--review out to judge tables"
            )
        return [query for query in with_gold if query.synthetic] or with_gold
    queries = [
        q for q in dataset.queries if not (q.gold or q.unanswerable) or NOT_RELEVANT in q.metadata
    ]
    if not queries:
        why = "every question has gold tables already; --review with --retriever asks about them"
        if not dataset.queries:
            why = "there are no questions; write some into queries.jsonl, or use `target-bench ask`"
        raise ConfigError(f"{name}: {why}")
    return queries


def shuffled(values: Sequence[T], seed: int | str) -> list[T]:
    """Return the values in random order: the first of them are a sample, too."""
    order = list(values)
    random.Random(seed).shuffle(order)  # noqa: S311 (no secret)
    return order


def pooled(
    queries: Sequence[Query], runs: Sequence[Result], depth: int, seed: int = 0
) -> dict[str, tuple[TableId, ...]]:
    """Pool the first ``depth`` tables of rankings (Spärck Jones & van Rijsbergen 1975).

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


def form_items(
    queries: Sequence[Query],
    corpus: Corpus,
    pools: Mapping[str, Sequence[TableId]],
    review: bool = False,
) -> list[Item]:
    """Return the items of a form; nothing in them says which retriever ranked a table.

    Args:
        queries: the questions.
        corpus: the tables.
        pools: query id -> its tables that are judged, an item each.
        review: whether a question with its gold tables is an item too, before its pool.
    """
    items = []
    for query in queries:
        if review:
            answers = tuple(("answer", answer) for answer in query.references if answer)
            tables = tuple(_shown(query, corpus[table]) for table in dict.fromkeys(query.gold))
            key: dict[str, str | int] = {"query_id": query.id}
            items.append(Item(key, query.text, (REVIEW,), answers, tables))
        for table in pools.get(query.id, ()):
            key = {"query_id": query.id, **table._asdict()}
            shown = _shown(query, corpus[table])
            items.append(Item(key, query.text, (RELEVANCE,), tables=(shown,)))
    return items


ROWS = 20
"""First rows of a table that are shown, and as many others with most words of the question."""


def _shown(query: Query, table: Table) -> ShownTable:
    rows = grid_rows(table)
    query_words = _words(query.text)
    common = [len(query_words & _words(" ".join(cell.text for cell in row))) for row in rows]
    later = sorted(range(ROWS + 1, len(rows)), key=lambda i: -common[i])
    places = {*range(min(ROWS + 1, len(rows))), *(i for i in later[:ROWS] if common[i])}
    titles = (str(table.context.get(name) or "") for name in ("title", "section_title"))
    title = " – ".join(filter(None, titles)) or str(table.id)
    return shown_table(title, rows, sorted(places))


def _words(text: str) -> set[str]:
    return {token for token in re.findall(WORDS, text.lower()) if len(token) > 2}


# In: the labels


class Label(NamedTuple):
    """What a person says of a table for a question, or with ``table`` None of the question.

    ``reply`` is None where it is left open.
    """

    annotator: str
    query_id: str
    table: TableId | None
    reply: str | None


@dataclass(frozen=True, slots=True)
class MergedLabels:
    """What people together say of a question.

    Attributes:
        state: ``labelled``: every table of the form was judged by anyone, or the question was
            accepted; ``rejected``: more reject it than accept it; ``disputed``: as many reject as
            accept it; ``unfinished``: a table is open.
        relevant: the tables that more people call relevant than not.
        not_relevant: the tables of which it is the other way round.
        disputed: the tables on which as many say one as the other; they stay unjudged.
        reviewed: whether anybody accepted the question itself.
    """

    state: str
    relevant: tuple[TableId, ...]
    not_relevant: tuple[TableId, ...]
    disputed: tuple[TableId, ...]
    reviewed: bool


def read_labels(files: Sequence[Path], dataset: Dataset) -> list[Label]:
    """Read the labels of the tables or questions of a dataset.

    Args:
        files: as for ``read_records``.
        dataset: the questions and tables that the form was written of.

    Raises:
        DataError: a file holds no labels of these questions; a question, table or label is
            unknown; a question has other words now; or one person judged a table twice.
    """
    queries = {query.id: query for query in dataset.queries}
    labels: dict[tuple[str, str, TableId | None], Label] = {}
    for record in read_records(files):
        label = _label(record, queries, dataset.corpus)
        earlier = labels.get(label[:3])
        if earlier is not None and earlier.reply is not None:
            raise DataError(
                f"{record['file']}: {label.annotator!r:.60} judged {label.table or 'the question'} "
                f"of {label.query_id!r:.60} twice; keep one of the files, or give each person a "
                "name"
            )
        labels[label[:3]] = label
    if all(label.reply is None for label in labels.values()):
        raise DataError(f"{', '.join(map(str, files))}: nothing is labelled")
    return list(labels.values())


def _label(record: Mapping[str, Any], queries: Mapping[str, Query], corpus: Corpus) -> Label:
    path, query = record["file"], queries.get(str(record.get("query_id")))
    if query is None:
        raise DataError(
            f"{path}: query_id: {record.get('query_id')!r:.60} is not among the questions of the "
            "corpus; name the corpus and the split that the form was written for"
        )
    shown = record.get("asked") or query.text
    if query.text != shown:
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
    try:
        reply = criterion.reply(record.get(criterion.name))
    except ValueError as error:
        raise DataError(f"{path}: {query.id!r:.60}: {error}") from error
    return Label(record["annotator"], query.id, table, None if reply is None else str(reply))


def merge(labels: Iterable[Label], dataset: Dataset) -> dict[str, MergedLabels]:
    """Return query id -> what people together say of it, of the queries with labels."""
    by_query: dict[str, list[Label]] = {}
    for label in labels:
        by_query.setdefault(label.query_id, []).append(label)
    return {q.id: _merged(by_query[q.id]) for q in dataset.queries if q.id in by_query}


def _merged(labels: Sequence[Label]) -> MergedLabels:
    votes: dict[TableId, Counter[str | None]] = {}
    verdicts: dict[str, str] = {}
    for label in labels:
        if label.table is not None:
            votes.setdefault(label.table, Counter())[label.reply] += 1
            if label.reply:  # who judges the tables of a question accepts it
                verdicts.setdefault(label.annotator, "accepted")
        elif label.reply:
            verdicts[label.annotator] = label.reply
    counts = Counter(verdicts.values())
    accepted, rejected = counts["accepted"], counts["rejected"]
    if rejected > accepted:
        state = "rejected"
    elif rejected == accepted != 0:
        state = "disputed"
    else:
        is_open = any(not (replies.keys() - {None}) for replies in votes.values())
        state = "unfinished" if is_open or not accepted else "labelled"
    balance = {table: n["relevant"] - n["not relevant"] for table, n in votes.items()}
    return MergedLabels(
        state=state,
        relevant=tuple(table for table, n in balance.items() if n > 0),
        not_relevant=tuple(table for table, n in balance.items() if n < 0),
        disputed=tuple(t for t, n in balance.items() if n == 0 and votes[t]["relevant"]),
        reviewed=any(label.table is None and label.reply == "accepted" for label in labels),
    )


def summary(labels: Sequence[Label], merged: Mapping[str, MergedLabels]) -> dict[str, Any]:
    """Return the document that ``target-bench labels read --json`` prints.

    ``agreement`` has the records of ``pair_agreement``, "cannot say" left out, of ``tables`` and
    of ``questions`` (``what``).
    """
    annotators = list(dict.fromkeys(label.annotator for label in labels))
    agreement = []
    for what, options in (
        ("tables", ("relevant", "not relevant")),
        ("questions", ("accepted", "rejected")),
    ):
        replies: dict[str, dict[tuple[str, TableId | None], str]] = {n: {} for n in annotators}
        for label in labels:
            if label.reply in options:
                replies[label.annotator][label.query_id, label.table] = label.reply
        agreement += [{"what": what, **record} for record in pair_agreement(replies)]
    people: dict[tuple[str, TableId | None], dict[str, list[str]]] = {}
    for label in labels:
        if label.reply:
            by_reply = people.setdefault((label.query_id, label.table), {})
            by_reply.setdefault(label.reply, []).append(label.annotator)
    disagreements = [
        {"query_id": name, "table": table and list(table), "said": people.get((name, table), {})}
        for name, judged in merged.items()
        for table in (*judged.disputed, *([None] if judged.state == "disputed" else []))
    ]
    n_relevant = sum(len(judged.relevant) for judged in merged.values())
    return {
        "annotators": annotators,
        "questions": dict(Counter(judged.state for judged in merged.values())),
        "judged": n_relevant + sum(len(judged.not_relevant) for judged in merged.values()),
        "relevant": n_relevant,
        "without_relevant": [
            query_id
            for query_id, judged in merged.items()
            if judged.state == "labelled" and judged.not_relevant and not judged.relevant
        ],
        "agreement": agreement,
        "disagreements": disagreements,
    }


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
        DataError: gold tables of a query are in several databases, which JSON lines cannot hold.
        StoreError: the file cannot be written.
    """
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
    return replace(query, gold=gold, database_id=database, metadata={**query.metadata, **more})
