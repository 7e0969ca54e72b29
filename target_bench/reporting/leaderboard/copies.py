"""Whether predictions are those of another submission, perhaps with noise."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from target_bench.core.errors import DataError
from target_bench.core.observer import Observer
from target_bench.core.schema import Query, Retrieval
from target_bench.data.answer_words import words
from target_bench.reporting.leaderboard.archive import SUFFIX
from target_bench.reporting.leaderboard.documents import Card, RunDocument
from target_bench.reporting.leaderboard.entry import Level
from target_bench.reporting.leaderboard.recompute import RescoredRun
from target_bench.reporting.leaderboard.submission import (
    Submission,
    SubmittedPredictions,
    opened,
    rankings_of,
)

FEWEST = 50
"""Wrong tables, or wrong answers, below which likeness says nothing."""

DEPTH = 10
_SAME_PLACE = 0.5
_SHARED, _SAME_ORDER = 0.85, 0.97
_IDENTICAL = 0.3
_SAME_ANSWERS = 0.5
_WORDS = 5
_NEARLY_ALL = 0.95


class OtherRun(NamedTuple):
    """A run of another submission, on the data of a run that is checked.

    Attributes:
        name: of the submission and of its system.
        whole: whether all that was submitted with it is submitted again.
        authors: who made it, in small letters.
        document: what it says of the run.
        predictions: its rankings, or its answers.
        rankings: what it is about, or is built on.
    """

    name: str
    whole: bool
    authors: frozenset[str]
    document: RunDocument
    predictions: SubmittedPredictions
    rankings: SubmittedPredictions


def other_runs(
    folder: Path, path: Path, fingerprint: str, runs: Sequence[RescoredRun], observer: Observer
) -> Iterator[OtherRun]:
    """Yield the runs in a folder of submissions that are about the same as one of the runs.

    One submission is in memory at a time.

    Args:
        folder: where the submissions lie, in sub-folders perhaps.
        path: the submission that is checked, which may lie among them.
        fingerprint: of all that it holds.
        runs: its runs.
        observer: gets submissions that cannot be read, and are left out.

    Raises:
        DataError: there is no such folder.
    """
    if not folder.is_dir():
        raise DataError(f"--against {folder}: there is no such folder")
    for other in sorted(folder.rglob(f"*{SUFFIX}")):
        if other.is_file() and not other.is_symlink() and not other.samefile(path):
            try:
                with opened(other) as submission:
                    same = submission.fingerprint == fingerprint
                    matching = list(_matching(submission, other.name, same, runs))
            except DataError as error:
                observer.warning(f"{other}: not compared, because it is refused: {error}")
            else:
                yield from matching


def _matching(
    submission: Submission, name: str, whole: bool, runs: Sequence[RescoredRun]
) -> Iterator[OtherRun]:
    for place, document in enumerate(submission.runs):
        datasets = [run.dataset for run in runs if _on_same_data(run.document, document)]
        if datasets:
            queries = {query.id: query for dataset in datasets for query in dataset.queries}
            dataset = replace(datasets[0], queries=tuple(queries.values()))
            ranked, rankings = rankings_of(document, place), SubmittedPredictions()
            if ranked is not None:
                rankings = submission.rankings(ranked, dataset)
            answered = document.generator is not None
            predictions = submission.answers(place, dataset) if answered else rankings
            label = f"{submission.card.name} ({name})"
            authors = frozenset(author.casefold() for author in submission.card.authors)
            yield OtherRun(label, whole, authors, document, predictions, rankings)


def _on_same_data(mine: RunDocument, theirs: RunDocument) -> bool:
    """Return whether two runs answer the same queries from the same tables."""
    names = ("corpus", "split", "task", "corpus_fingerprint")
    return all(getattr(mine, name) == getattr(theirs, name) for name in names)


def copied(run: RescoredRun, card: Card, other: OtherRun) -> Iterator[tuple[Level, str]]:
    """Yield what is alike in a run and another one; the rule is that of ``checks.original``."""
    if not _on_same_data(run.document, other.document):
        return
    own = {author.casefold() for author in card.authors} <= other.authors
    equal = equal_rankings = _are_equal(run, run.rankings, other.rankings, other)
    if run.answers is not None:
        equal = _are_equal(run, run.answers, other.predictions, other)
    if equal and other.whole:
        yield "rejected", f"all of it is {other.name} again"
    elif equal:
        explained = own or _is_explained(run, other, equal_rankings)
        message = f"the predictions are those of {other.name}"
        yield "note" if explained else "rejected", message
    else:
        similar = _similar_rankings if run.answers is None else _similar_answers
        if message := similar(run, other):
            yield "note" if own else "suspicious", message


def _similar_answers(run: RescoredRun, other: OtherRun) -> str:
    """Say how many wrong answers of another generator are here, if half of them or more."""
    if _same_part(run, other, "generator"):
        return ""
    wrong = same = 0
    for query in _both(run, run.predictions, other.predictions):
        mine = words(run.predictions.by_query[query.id].generation.text)
        theirs = words(other.predictions.by_query[query.id].generation.text)
        if len(theirs.split()) >= _WORDS and theirs not in map(words, query.references):
            wrong += 1
            same += mine == theirs
    if wrong < FEWEST or same / wrong < _SAME_ANSWERS:
        return ""
    return f"{same:,} of {wrong:,} wrong answers of {other.name} are here, word for word"


def _similar_rankings(run: RescoredRun, other: OtherRun) -> str:
    """Say how much of another's mistakes is here, if that is suspicious."""
    mine, theirs = run.rankings.by_query, other.predictions.by_query
    ranked = [
        query
        for query in _both(run, run.rankings, other.predictions)
        if mine[query.id].tables and theirs[query.id].tables
    ]
    likeness = alike(
        [theirs[query.id].tables for query in ranked],
        [mine[query.id].tables for query in ranked],
        [query.gold for query in ranked],
    )
    if run.document.sets or other.document.sets:  # those of one or two tables are often the same
        likeness = likeness._replace(identical=0.0)
    if likeness.wrong < FEWEST or not likeness.suspicious:
        return ""
    return (
        f"{likeness.shared:.1%} of the wrong tables of {other.name} are here, "
        f"{likeness.same_place:.1%} at the same rank and {likeness.same_order:.1%} of "
        f"pairs in the same order; {likeness.identical:.1%} of all rankings are the same"
    )


class Likeness(NamedTuple):
    """Similarity of two systems' mistakes, over queries that both ranked.

    Tables that answer a query are in every good ranking, so only the others are compared, as
    those who look for plagiarism compare mistakes.

    Attributes:
        wrong: how many wrong tables the first one has among its first ten.
        shared: the share of them that the second has too.
        same_place: the share of them that the second has at the same rank.
        same_order: the share of pairs of shared ones that stand in the same order.
        identical: the share of queries with the same tables in the same order.
    """

    wrong: int
    shared: float
    same_place: float
    same_order: float
    identical: float

    @property
    def suspicious(self) -> bool:
        """Whether so much is alike that somebody has to look at it."""
        return (
            self.same_place >= _SAME_PLACE
            or (self.shared >= _SHARED and self.same_order >= _SAME_ORDER)
            or self.identical >= _IDENTICAL
        )


def alike(
    theirs: Sequence[Sequence[Hashable]],
    ours: Sequence[Sequence[Hashable]],
    gold: Sequence[Sequence[Hashable]],
) -> Likeness:
    """Compare two sets of rankings down to rank 10, query by query."""
    wrong = shared = place = pairs = ordered = identical = 0
    for first, second, right in zip(theirs, ours, gold, strict=True):
        depth = min(DEPTH, max(len(first), 1), max(len(second), 1))
        first, second = list(first[:depth]), list(second[:depth])
        identical += first == second
        ranks = {table: rank for rank, table in enumerate(second)}
        mistakes = [(rank, t) for rank, t in enumerate(first) if t not in right]
        copies = [ranks[t] for _, t in mistakes if t in ranks]
        wrong += len(mistakes)
        shared += len(copies)
        place += sum(ranks.get(t) == rank for rank, t in mistakes)
        pairs += len(copies) * (len(copies) - 1) // 2
        ordered += sum(a < b for i, a in enumerate(copies) for b in copies[i + 1 :])
    return Likeness(
        wrong,
        shared / max(wrong, 1),
        place / max(wrong, 1),
        ordered / max(pairs, 1),
        identical / max(len(gold), 1),
    )


def _both(
    run: RescoredRun, mine: SubmittedPredictions, theirs: SubmittedPredictions
) -> list[Query]:
    """Return the queries that both predict."""
    shared = mine.by_query.keys() & theirs.by_query.keys()
    return [query for query in run.dataset.queries if query.id in shared]


def _are_equal(
    run: RescoredRun, mine: SubmittedPredictions, theirs: SubmittedPredictions, other: OtherRun
) -> bool:
    """Return whether all that both predict is the same, and that is nearly all."""
    depth = min((k for r in (run, other) for k in r.document.cutoffs[-1:]), default=0)

    def shown(prediction: Any) -> Any:
        is_ranking = isinstance(prediction, Retrieval)
        return prediction.tables[:depth] if is_ranking else prediction.generation.text

    both = _both(run, mine, theirs)
    pairs = [(shown(mine.by_query[q.id]), shown(theirs.by_query[q.id])) for q in both]
    return (
        len(both) >= _NEARLY_ALL * len(run.dataset.queries)
        and all(first == second for first, second in pairs)
        and any(first != () for first, _ in pairs)  # no-context ranks nothing
    )


def _is_explained(run: RescoredRun, other: OtherRun, equal_rankings: bool) -> bool:
    """Return whether equal predictions are what honest runs of the same parts give."""
    if run.answers is None:
        labels = run.document.retriever, other.document.retriever
        return run.basis and _same_part(run, other, "retriever") and labels[0] == labels[1]
    retrieved = run.document.retriever is not None
    return retrieved and _same_part(run, other, "generator") and not equal_rankings


def _same_part(run: RescoredRun, other: OtherRun, part: str) -> bool:
    return run.document.identity.get(part) == other.document.identity.get(part)
