"""Gold tables from people: pools of rankings, what was said of them, and queries with it."""

import json
import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

import numpy as np

from target_bench.core.errors import ConfigError, DataError
from target_bench.core.schema import Corpus, Dataset, Query, TableId
from target_bench.data.own_data import record_of
from target_bench.data.table_text import WORDS, cell_text, grid_rows
from target_bench.metrics.retrieval import NOT_RELEVANT, labelled_tables
from target_bench.reporting.labels.form import (
    Criterion,
    Item,
    ShownTable,
    read_records,
    shown_table,
    write_text,
)
from target_bench.runs.labels import labels as run_labels
from target_bench.runs.result import Result
from target_bench.runs.trec import word, words_of

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


@dataclass(frozen=True, slots=True)
class Pools:
    """The tables to judge for each question, and what they are made of.

    Attributes:
        pools: each question with its tables, in random order.
        found_alone: run -> how many of the tables no other run has among its first.
        not_found: how many questions are left out because no ranking has a table.
        judged: how many are left out because all those tables were judged before.
    """

    pools: tuple[tuple[Query, tuple[TableId, ...]], ...]
    found_alone: dict[str, int]
    not_found: int = 0
    judged: int = 0


def pooled(queries: Sequence[Query], runs: Sequence[Result], depth: int, seed: int = 0) -> Pools:
    """Pool the first tables of rankings (Spärck Jones & van Rijsbergen 1975).

    Tables that were judged for a question before are left out.

    Args:
        queries: the questions.
        runs: whose rankings are pooled.
        depth: how many tables of each ranking are taken.
        seed: of the order of the tables.

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
    names = run_labels(runs)
    alone = dict.fromkeys(names, 0)
    pools = []
    not_found = judged = 0
    for query in queries:
        firsts = [_first(run, query, depth) for run in runs]
        times = Counter(table for tables in firsts for table in tables)
        new = sorted(times.keys() - labelled_tables(query))
        for name, tables in zip(names, firsts, strict=True):
            alone[name] += sum(times[table] == 1 for table in tables if table in new)
        random.Random(f"{seed} {query.id}").shuffle(new)  # noqa: S311 (no secret)
        if new:
            pools.append((query, tuple(new)))
        elif times:
            judged += 1
        else:
            not_found += 1
    return Pools(tuple(pools), alone, not_found, judged)


def _first(run: Result, query: Query, depth: int) -> tuple[TableId, ...]:
    ranking = run.rankings.get(query.id)
    if ranking is None:
        raise DataError(
            f"{run.folder}: has no ranking of the question {query.id!r:.60}; run it again on all "
            "questions (without --limit), or finish it with the command that began it"
        )
    return ranking.tables[:depth]


def drawn(queries: Sequence[Query], n: int | None, seed: int = 0) -> list[Query]:
    """Draw ``n`` queries (None: all) in random order: the first of them are a sample, too."""
    shuffled = list(queries)
    random.Random(seed).shuffle(shuffled)  # noqa: S311 (no secret)
    return shuffled[:n]


def to_label(dataset: Dataset, every: bool = False) -> list[Query]:
    """Return the questions without gold tables, or with those of earlier pools.

    Args:
        dataset: all questions.
        every: return those with gold tables of another origin, too.

    Raises:
        ConfigError: there is none.
    """
    queries = [q for q in dataset.queries if every or not q.gold or NOT_RELEVANT in q.metadata]
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


def pool_items(pools: Pools, corpus: Corpus, rows: int = 20) -> list[Item]:
    """Return an item for each table of each pool; nothing in it says which retriever found it.

    Args:
        pools: the questions and their tables.
        corpus: the tables.
        rows: first rows of a table, and as many others with most words of the question.
    """
    return [
        Item(
            _key(query, table), query.text, (RELEVANCE,), (), (_shown(query, corpus, table, rows),)
        )
        for query, tables in pools.pools
        for table in tables
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


def _key(query: Query, table: TableId) -> dict[str, str | int]:
    return {
        "query_id": query.id,
        "database_id": table.database_id,
        "table_id": table.table_id,
    }


def _shown(query: Query, corpus: Corpus, table_id: TableId, most: int) -> ShownTable:
    table = corpus[table_id]
    titles = [str(table.context.get(name) or "") for name in ("title", "section_title")]
    rows = grid_rows(table)
    query_words = _words(query.text)
    marked = list(_evidence(query, table.header, table.rows))
    with_words = sorted(
        range(most, len(rows)),
        key=lambda i: -len(query_words & _words(" ".join(cell.text for cell in rows[i]))),
    )
    best = [i for i in with_words[:most] if query_words & _words(" ".join(c.text for c in rows[i]))]
    places = sorted({*range(min(most + 1, len(rows))), *best, *(row for row, _ in marked)})
    title = " – ".join(filter(None, titles)) or str(table_id)
    return shown_table(title, rows, places, marked)


def _words(text: str) -> set[str]:
    return {found for found in re.findall(WORDS, text.lower()) if len(found) > 2}


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


# In: what people said


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


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far two people agree on what both judged, "cannot say" left out.

    Attributes:
        annotators: their names.
        what: what they judged.
        n: how many tables or questions.
        same: the share on which they agree.
        kappa: Cohen's kappa (1960); None where both always say the same one thing.
        interval: its 95% interval, by the jackknife over questions; None without a kappa, or for
            one question.
    """

    annotators: tuple[str, str]
    what: Literal["tables", "questions"]
    n: int
    same: float
    kappa: float | None
    interval: tuple[float, float] | None


Replies = dict[TableId | None, str | int | None]
"""Table, or None for the question itself -> reply; None of one that is open."""
Said = dict[str, dict[str, Replies]]
"""Annotator -> query id -> replies."""


@dataclass(frozen=True, slots=True)
class CollectedLabels:
    """The labels of all people.

    Attributes:
        said: what each of them said.
        by_query: query id -> what they say together.
        agreements: of each pair of people.
    """

    said: Said
    by_query: Mapping[str, MergedLabels]
    agreements: tuple[Agreement, ...]

    def disagreements(self) -> Iterator[tuple[str, TableId | None, dict[str, list[str]]]]:
        """Yield (query id, table or None for the question, reply -> by whom)."""
        for query_id, labels in self.by_query.items():
            for table in (*labels.disputed, *([None] if labels.state == "disputed" else [])):
                replies: dict[str, list[str]] = {}
                for name, given in self.said.items():
                    if (reply := given.get(query_id, {}).get(table)) is not None:
                        replies.setdefault(str(reply), []).append(name)
                yield query_id, table, replies

    def to_json(self) -> dict[str, Any]:
        """Return the document that ``target-bench labels read --json`` prints."""
        merged = self.by_query.values()
        relevant = sum(len(labels.relevant) for labels in merged)
        return {
            "annotators": list(self.said),
            "questions": dict(Counter(labels.state for labels in merged)),
            "judged": relevant + sum(len(labels.not_relevant) for labels in merged),
            "relevant": relevant,
            "without_relevant": [
                name
                for name, labels in self.by_query.items()
                if labels.state == "labelled" and labels.not_relevant and not labels.relevant
            ],
            "agreement": [asdict(agreement) for agreement in self.agreements],
            "disagreements": [
                {"query_id": name, "table": table and list(table), "said": replies}
                for name, table, replies in self.disagreements()
            ],
        }


def collect(files: Sequence[Path], dataset: Dataset) -> CollectedLabels:
    """Read what people said of the tables or questions of a dataset.

    Args:
        files: as for ``read_records``.
        dataset: the questions and tables that the form was written of.

    Raises:
        DataError: a file holds no labels of these questions; a question, table or label is
            unknown; a question has other words now; or one person judged a table twice.
    """
    queries = {query.id: query for query in dataset.queries}
    said: Said = {}
    texts: dict[str, dict[str, str]] = {}
    for record in read_records(files):
        query, table, reply = _checked(record, queries, dataset.corpus)
        given = said.setdefault(record["annotator"], {}).setdefault(query.id, {})
        if given.get(table) is not None:
            raise DataError(
                f"{record['file']}: {record['annotator']!r:.60} judged {table or 'the question'} "
                f"of {query.id!r:.60} twice; keep one of the files, or give each person a name"
            )
        given[table] = reply
        if table is None and reply == "accepted":
            texts.setdefault(query.id, {})[record["annotator"]] = record.get("text") or query.text
    everything = [replies for given in said.values() for replies in given.values()]
    if not any(reply is not None for replies in everything for reply in replies.values()):
        raise DataError(f"{', '.join(map(str, files))}: nothing is labelled")
    by_query = {}
    for query_id, query in queries.items():
        replies = [given[query_id] for given in said.values() if query_id in given]
        if replies:
            by_query[query_id] = _merged(replies, {*texts.get(query_id, {}).values()}, query.text)
    agreements = (
        _agreement(said, pair, what)
        for pair in combinations(said, 2)
        for what in ("tables", "questions")
    )
    return CollectedLabels(said, by_query, tuple(filter(None, agreements)))


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
    asked = record.get("asked")
    if asked not in (None, "", query.text) and query.text != record.get("text"):
        raise DataError(
            f"{path}: {query.id!r:.60}: the form asked {asked!r:.80}, and the corpus has "
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


def _merged(said: Sequence[Replies], texts: set[str], text: str) -> MergedLabels:
    votes: dict[TableId, Counter[str | int | None]] = {}
    verdicts: Counter[str | int | None] = Counter()
    for own in said:
        for table, reply in own.items():
            if table is not None:
                votes.setdefault(table, Counter())[reply] += 1
        verdict = own.get(None)
        # Who judges the tables of a question accepts it.
        verdicts[verdict or ("accepted" if any(own.values()) else None)] += 1
    outcome = {
        table: counted["relevant"] - counted["not relevant"] for table, counted in votes.items()
    }
    is_open = any(not (counted.keys() - {None}) for counted in votes.values())
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
        relevant=tuple(table for table, n in outcome.items() if n > 0),
        not_relevant=tuple(table for table, n in outcome.items() if n < 0),
        disputed=tuple(t for t, n in outcome.items() if n == 0 and votes[t]["relevant"]),
        reviewed=bool(texts),
    )


def _agreement(
    said: Said, pair: tuple[str, str], what: Literal["tables", "questions"]
) -> Agreement | None:
    judged = {"tables": ("relevant", "not relevant"), "questions": ("accepted", "rejected")}[what]
    mine, theirs = (said[name] for name in pair)
    both = [
        (query_id, reply, theirs[query_id][table])
        for query_id, replies in mine.items()
        for table, reply in replies.items()
        if reply in judged and theirs.get(query_id, {}).get(table) in judged
    ]
    if not both:
        return None
    query_ids, first, second = map(np.array, zip(*both, strict=True))
    kappa = _kappa(first, second)
    same = float((first == second).mean())
    names = list(dict.fromkeys(query_ids.tolist()))
    if kappa is None or len(names) < 2:
        return Agreement(pair, what, len(both), same, kappa, None)
    without = [_kappa(first[query_ids != name], second[query_ids != name]) for name in names]
    left_out = np.array([kappa if value is None else value for value in without])
    error = ((len(names) - 1) * left_out.var()) ** 0.5
    low, high = kappa - 1.96 * error, kappa + 1.96 * error
    return Agreement(pair, what, len(both), same, kappa, (max(low, -1.0), min(high, 1.0)))


def _kappa(first: Any, second: Any) -> float | None:
    if len({*first.tolist(), *second.tolist()}) < 2:
        return None
    from sklearn.metrics import cohen_kappa_score

    return float(cohen_kappa_score(first, second))


def with_labels(queries: Sequence[Query], merged: Mapping[str, MergedLabels]) -> list[Query]:
    """Return the queries with what people said of them, without those they rejected.

    Of a question that is disputed or unfinished nothing is taken.
    """
    kept = []
    for query in queries:
        labels = merged.get(query.id)
        if labels is not None and labels.state == "labelled":
            kept.append(_labelled(query, labels))
        elif labels is None or labels.state != "rejected":
            kept.append(query)
    return kept


def _labelled(query: Query, merged: MergedLabels) -> Query:
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
    """Write the questions with what people said of them; or, as ``.qrels``, the judgements alone.

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
    kept = with_labels(dataset.queries, merged)
    if path.suffix == ".qrels":
        judged = [(query, sorted(labelled_tables(query))) for query in kept]
        words = words_of(dict.fromkeys(table for _, tables in judged for table in tables))
        lines = [
            f"{word(query.id)} 0 {words[table]} {int(table in query.gold)}\n"
            for query, tables in judged
            for table in tables
        ]
    else:
        left = {query.id for query in kept}
        splits: dict[str, list[Query]] = {dataset.split: kept}
        for split, queries in (other_splits or {}).items():
            splits.setdefault(split, []).extend(queries)
        refused = [query for query in dataset.queries if query.id not in left]
        splits.setdefault("rejected", []).extend(refused)
        lines = [
            json.dumps(record_of(query) | {"split": split}, ensure_ascii=False) + "\n"
            for split, queries in splits.items()
            for query in queries
        ]
    write_text(path, "".join(lines))
