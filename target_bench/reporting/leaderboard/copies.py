"""Whether predictions are those of another submission, perhaps with noise."""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from target_bench.core.errors import DataError
from target_bench.core.observer import Observer
from target_bench.core.schema import Query
from target_bench.data.answer_words import words
from target_bench.reporting.leaderboard.archive import SUFFIX
from target_bench.reporting.leaderboard.documents import Card, RunDocument
from target_bench.reporting.leaderboard.entry import Level
from target_bench.reporting.leaderboard.recompute import RescoredRun, table_ids
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


@dataclass(frozen=True)
class OtherRun:
    """A run of another submission, on the data of a run that is checked.

    Attributes:
        name: of the submission and of its system.
        whole: whether all that was submitted with it is submitted again.
        authors: who made it.
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


def copied(run: RescoredRun, card: Card, other: OtherRun) -> Iterator[tuple[Level, str]]:
    """Yield what is alike in a run and another one; the rule is that of ``checks.original``."""
    if not _comparable(run.document, other.document):
        return
    own = {author.casefold() for author in card.authors} <= other.authors
    if _equal(run, other):
        if other.whole:
            yield "rejected", f"all of it is {other.name} again"
        else:
            level: Level = "note" if own or _explained(run, other) else "rejected"
            yield level, f"the predictions are those of {other.name}"
        return
    level = "note" if own else "suspicious"
    both = _both(run.predictions, other.predictions, run)
    if run.answers is not None:
        if not _same(run, other, "generator"):
            wrong, same = _same_answers(run, other, both)
            if wrong >= FEWEST and same / wrong >= _SAME_ANSWERS:
                yield (
                    level,
                    f"{same:,} of {wrong:,} wrong answers of {other.name} are here, word for word",
                )
        return
    mine, theirs = run.rankings.by_query, other.predictions.by_query
    ranked = [query for query in both if mine[query.id].tables and theirs[query.id].tables]
    likeness = alike(
        [theirs[query.id].tables for query in ranked],
        [mine[query.id].tables for query in ranked],
        [query.gold for query in ranked],
    )
    if run.document.sets or other.document.sets:
        likeness = replace(likeness, identical=0.0)  # sets of one or two tables are often the same
    if likeness.wrong >= FEWEST and likeness.suspicious:
        yield (
            level,
            f"{likeness.shared:.1%} of the wrong tables of {other.name} are here, "
            f"{likeness.same_place:.1%} at the same rank and {likeness.same_order:.1%} of pairs in "
            f"the same order; {likeness.identical:.1%} of all rankings are the same",
        )


@dataclass(frozen=True, slots=True)
class Likeness:
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


def _matching(
    submission: Submission, name: str, whole: bool, runs: Iterable[RescoredRun]
) -> Iterator[OtherRun]:
    for place, document in enumerate(submission.runs):
        mine = [run for run in runs if _comparable(run.document, document)]
        if not mine:
            continue
        known = {query.id for run in mine for query in run.dataset.queries}
        ranked, rankings = rankings_of(document, place), SubmittedPredictions()
        if ranked is not None:
            rankings = submission.rankings(ranked, known, table_ids(mine[0].dataset))
        answered = document.generator is not None
        predictions = submission.answers(place, known) if answered else rankings
        label = f"{submission.card.name} ({name})"
        authors = frozenset(author.casefold() for author in submission.card.authors)
        yield OtherRun(label, whole, authors, document, predictions, rankings)


def _comparable(mine: RunDocument, theirs: RunDocument) -> bool:
    """Return whether two runs answer the same queries from the same tables."""
    names = ("corpus", "split", "task", "corpus_fingerprint")
    return all(getattr(mine, name) == getattr(theirs, name) for name in names)


def _equal(run: RescoredRun, other: OtherRun) -> bool:
    """Return whether all that both predict is the same, and that is nearly all."""
    if run.answers is None:
        return _equal_rankings(run, other)
    both = _both(run.answers, other.predictions, run)
    mine, theirs = run.answers.by_query, other.predictions.by_query
    same = (mine[q.id].generation.text == theirs[q.id].generation.text for q in both)
    return _nearly_all(both, run) and all(same)


def _equal_rankings(run: RescoredRun, other: OtherRun) -> bool:
    both = _both(run.rankings, other.rankings, run)
    mine, theirs = run.rankings.by_query, other.rankings.by_query
    ranked = any(mine[query.id].tables for query in both)  # no-context ranks nothing
    depth = min((k for r in (run, other) for k in r.document.cutoffs[-1:]), default=0)
    same = (mine[q.id].tables[:depth] == theirs[q.id].tables[:depth] for q in both)
    return ranked and _nearly_all(both, run) and all(same)


def _both(
    mine: SubmittedPredictions, theirs: SubmittedPredictions, run: RescoredRun
) -> list[Query]:
    """Return the queries that both predict."""
    shared = mine.by_query.keys() & theirs.by_query.keys()
    return [query for query in run.dataset.queries if query.id in shared]


def _nearly_all(both: Sequence[Query], run: RescoredRun) -> bool:
    return bool(both) and len(both) >= _NEARLY_ALL * len(run.dataset.queries)


def _explained(run: RescoredRun, other: OtherRun) -> bool:
    """Return whether equal predictions are what honest runs of the same parts give."""
    if run.answers is None:
        labels = run.document.retriever, other.document.retriever
        return run.basis and _same(run, other, "retriever") and labels[0] == labels[1]
    retrieved = run.document.retriever is not None
    return retrieved and _same(run, other, "generator") and not _equal_rankings(run, other)


def _same(run: RescoredRun, other: OtherRun, part: str) -> bool:
    return run.document.identity.get(part) == other.document.identity.get(part)


def _same_answers(run: RescoredRun, other: OtherRun, both: Sequence[Query]) -> tuple[int, int]:
    """Return how many answers of the other are wrong, and how many of these are here."""
    wrong = same = 0
    for query in both:
        mine = words(run.predictions.by_query[query.id].generation.text)
        theirs = words(other.predictions.by_query[query.id].generation.text)
        if len(theirs.split()) >= _WORDS and theirs not in map(words, query.references):
            wrong += 1
            same += mine == theirs
    return wrong, same
