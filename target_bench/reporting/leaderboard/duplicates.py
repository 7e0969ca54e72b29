"""Submissions that are there already, and whether predictions are theirs, perhaps with noise."""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from target_bench.core.errors import DataError
from target_bench.core.observer import Observer
from target_bench.core.schema import Query
from target_bench.data.answer_words import words
from target_bench.reporting.leaderboard.archive import SUFFIX
from target_bench.reporting.leaderboard.card import Card
from target_bench.reporting.leaderboard.document_models import RunDocument
from target_bench.reporting.leaderboard.entry import Level
from target_bench.reporting.leaderboard.read_submission import Read, Submission, opened
from target_bench.reporting.leaderboard.recompute import Checked, ranked_place, table_ids


@dataclass(frozen=True)
class Other:
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
    predictions: Read
    rankings: Read


def others(
    folder: Path, path: Path, fingerprint: str, runs: Iterable[Checked], observer: Observer
) -> Iterator[Other]:
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
    wanted = list(runs)
    for other in sorted(folder.rglob(f"*{SUFFIX}")):
        if other.is_file() and not other.is_symlink() and not other.samefile(path):
            try:
                with opened(other) as submission:
                    same = submission.fingerprint == fingerprint
                    found = _matching(submission, other.name, same, wanted)
            except DataError as error:
                observer.warning(f"{other}: not compared, because it is refused: {error}")
            else:
                yield from found


def _matching(submission: Submission, name: str, whole: bool, runs: list[Checked]) -> list[Other]:
    found = []
    for place, document in enumerate(submission.runs):
        mine = [run for run in runs if comparable(run.document, document)]
        if not mine:
            continue
        known = {query.id for run in mine for query in run.dataset.queries}
        ranked = ranked_place(document, place)
        rankings = Read()
        if ranked is not None:
            rankings = submission.rankings(ranked, known, table_ids(mine[0].dataset))
        answered = document.generator is not None
        predictions = submission.answers(place, known) if answered else rankings
        label = f"{submission.card.name} ({name})"
        authors = frozenset(author.casefold() for author in submission.card.authors)
        found.append(Other(label, whole, authors, document, predictions, rankings))
    return found


def comparable(one: RunDocument, other: RunDocument) -> bool:
    """Whether two runs answer the same queries from the same tables."""
    names = ("corpus", "split", "task", "corpus_fingerprint")
    return all(getattr(one, name) == getattr(other, name) for name in names)


@dataclass(frozen=True, slots=True)
class Alike:
    """Similarity of two systems' mistakes, over queries that both ranked.

    Tables that answer a query are in every good ranking, so only the others are compared, as
    those who look for plagiarism compare mistakes.

    Attributes:
        queries: how many queries both ranked.
        wrong: how many wrong tables the first one has among its first ten.
        shared: the share of them that the second has too.
        same_place: the share of them that the second has at the same rank.
        same_order: the share of pairs of shared ones that stand in the same order.
        identical: the share of queries with the same tables in the same order.
    """

    queries: int
    wrong: int
    shared: float
    same_place: float
    same_order: float
    identical: float


DEPTH = 10


def alike(
    one: Sequence[Sequence[Hashable]],
    other: Sequence[Sequence[Hashable]],
    gold: Sequence[Sequence[Hashable]],
) -> Alike:
    """Compare two sets of rankings down to rank 10, query by query."""
    wrong = shared = place = pairs = ordered = identical = 0
    for first, second, right in zip(one, other, gold, strict=True):
        depth = min(DEPTH, max(len(first), 1), max(len(second), 1))
        mine, theirs = list(first[:depth]), list(second[:depth])
        identical += mine == theirs
        ranks = {table: rank for rank, table in enumerate(theirs)}
        mistakes = [(rank, t) for rank, t in enumerate(mine) if t not in right]
        found = [ranks[t] for _, t in mistakes if t in ranks]
        wrong += len(mistakes)
        shared += len(found)
        place += sum(ranks.get(t) == rank for rank, t in mistakes)
        pairs += len(found) * (len(found) - 1) // 2
        ordered += sum(a < b for i, a in enumerate(found) for b in found[i + 1 :])
    n = len(gold)
    return Alike(
        n,
        wrong,
        shared / max(wrong, 1),
        place / max(wrong, 1),
        ordered / max(pairs, 1),
        identical / max(n, 1),
    )


FEWEST = 50
"""Wrong tables, or wrong answers, below which likeness says nothing."""

_SAME_PLACE = 0.5
_SHARED, _SAME_ORDER = 0.85, 0.97
_IDENTICAL = 0.3
_SAME_ANSWERS = 0.5
_WORDS = 5
_NEARLY_ALL = 0.95


def duplicate(run: Checked, card: Card, other: Other) -> Iterator[tuple[Level, str]]:
    """The predictions are not those of another submission.

    A run whose predictions are equal to another's on at least 95% of the queries of the split, and
    differ on none, is rejected. It is noted where all authors are authors of the other too, unless
    all of the other submission is submitted again; where it is the retrieval that answers are
    built on and the same retriever is declared, by label and settings; and where answers of the
    same generator are equal though the rankings are not, as a database can be found in several
    ways.
    """
    if not comparable(run.document, other.document) or not _equal(run, other):
        return
    if other.whole:
        yield "rejected", f"all of it is {other.name} again"
        return
    level: Level = "note" if _own(card, other) or _explained(run, other) else "rejected"
    yield level, f"the predictions are those of {other.name}"


def copied(run: Checked, card: Card, other: Other) -> Iterator[tuple[Level, str]]:
    """The predictions are not another's with noise.

    Compared are mistakes, because right tables are in every good ranking: the tables among the
    first ten of the other that answer nothing. Suspicious: 50% of them are here at the same rank;
    or 85% are here and 97% of their pairs in the same order; or 30% of all rankings are the same,
    table for table. (Of any two of our baselines on OTT-QA, FeTaQA, Spider and BIRD the first has
    at most 44% of them at the same rank and 27% of all rankings, and 96% of pairs in the same
    order; one BM25 with another k1 shares 80 to 99% of its mistakes, and is meant to be looked at.)
    Of answers that are wrong and have at least five words, half being the same word for word is
    suspicious, unless the same generator is declared. With fewer than 50 mistakes nothing is said.
    It is a note where all authors are authors of the other too.
    """
    if not comparable(run.document, other.document) or _equal(run, other):
        return
    level: Level = "note" if _own(card, other) else "suspicious"
    if run.answers is not None:
        if _same(run, other, "generator"):
            return
        wrong, same = _same_answers(run, other)
        if wrong >= FEWEST and same / wrong >= _SAME_ANSWERS:
            yield (
                level,
                f"{same:,} of {wrong:,} wrong answers of {other.name} are here, word for word",
            )
        return
    found = _alike(run, other)
    if found.wrong >= FEWEST and _suspicious(found):
        yield (
            level,
            f"{found.shared:.1%} of the wrong tables of {other.name} are here, "
            f"{found.same_place:.1%} at the same rank and {found.same_order:.1%} of pairs in the "
            f"same order; {found.identical:.1%} of all rankings are the same",
        )


def _suspicious(found: Alike) -> bool:
    return (
        found.same_place >= _SAME_PLACE
        or (found.shared >= _SHARED and found.same_order >= _SAME_ORDER)
        or found.identical >= _IDENTICAL
    )


def _own(card: Card, other: Other) -> bool:
    """Whether everyone who is credited is credited for the other, too."""
    return {author.casefold() for author in card.authors} <= other.authors


def _explained(run: Checked, other: Other) -> bool:
    """Whether equal predictions are what honest runs of the same parts give."""
    if run.answers is None:
        labels = run.document.retriever, other.document.retriever
        return run.basis and _same(run, other, "retriever") and labels[0] == labels[1]
    retrieved = run.document.retriever is not None
    return retrieved and _same(run, other, "generator") and not _equal_rankings(run, other)


def _same(run: Checked, other: Other, part: str) -> bool:
    return run.document.identity.get(part) == other.document.identity.get(part)


def _both(run: Checked, other: Other) -> list[Query]:
    mine, theirs = run.predictions.found, other.predictions.found
    return [query for query in run.dataset.queries if query.id in mine and query.id in theirs]


def _equal(run: Checked, other: Other) -> bool:
    if run.answers is None:
        return _equal_rankings(run, other)
    both = _both(run, other)
    mine, theirs = run.answers.found, other.predictions.found
    return _nearly_all(both, run) and all(
        mine[query.id].generation.text == theirs[query.id].generation.text for query in both
    )


def _equal_rankings(run: Checked, other: Other) -> bool:
    mine, theirs = run.rankings.found, other.rankings.found
    both = [query for query in run.dataset.queries if query.id in mine and query.id in theirs]
    ranked = any(mine[query.id].tables for query in both)  # no-context ranks nothing
    depth = min((k for one in (run, other) for k in one.document.cutoffs[-1:]), default=0)
    return (
        ranked
        and _nearly_all(both, run)
        and all(mine[q.id].tables[:depth] == theirs[q.id].tables[:depth] for q in both)
    )


def _nearly_all(both: Sequence[Query], run: Checked) -> bool:
    return bool(both) and len(both) >= _NEARLY_ALL * len(run.dataset.queries)


def _alike(run: Checked, other: Other) -> Alike:
    both = [
        query
        for query in _both(run, other)
        if run.rankings.found[query.id].tables and other.predictions.found[query.id].tables
    ]
    return alike(
        [other.predictions.found[query.id].tables for query in both],
        [run.rankings.found[query.id].tables for query in both],
        [query.gold for query in both],
    )


def _same_answers(run: Checked, other: Other) -> tuple[int, int]:
    wrong = same = 0
    for query in _both(run, other):
        mine = words(run.predictions.found[query.id].generation.text)
        theirs = words(other.predictions.found[query.id].generation.text)
        if len(theirs.split()) >= _WORDS and theirs not in map(words, query.references):
            wrong += 1
            same += mine == theirs
    return wrong, same
