"""Whether predictions are those of another submission, perhaps with noise."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from target_bench.core.errors import DataError
from target_bench.core.observer import Observer
from target_bench.data.answer_words import words
from target_bench.models.answer_reading import check_time
from target_bench.reporting.leaderboard.checks import RescoredRun
from target_bench.reporting.leaderboard.documents import RunDocument
from target_bench.reporting.leaderboard.entry import Finding, Level
from target_bench.reporting.leaderboard.submission import (
    SUFFIX,
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


def copies(
    folder: Path,
    path: Path,
    submission: Submission,
    runs: Sequence[RescoredRun],
    observer: Observer,
) -> Iterator[Finding]:
    """Compare runs with those of every submission in a folder and its sub-folders.

    Args:
        folder: where the others lie; the submission itself may lie among them.
        path: of the submission.
        submission: it, open.
        runs: its runs.
        observer: gets submissions that cannot be read, and are left out.

    Raises:
        DataError: there is no such folder.
    """
    if not folder.is_dir():
        raise DataError(f"--against {folder}: there is no such folder")
    for other_path in sorted(folder.rglob(f"*{SUFFIX}")):
        if not other_path.is_file() or other_path.is_symlink() or other_path.samefile(path):
            continue
        try:
            with opened(other_path) as other:
                yield from list(_copies_of(other, other_path.name, submission, runs))
        except DataError as error:
            observer.warning(f"{other_path}: not compared, because it is refused: {error}")


def _copies_of(
    other: Submission, name: str, submission: Submission, runs: Sequence[RescoredRun]
) -> Iterator[Finding]:
    label = f"{other.card.name} ({name})"
    whole = other.fingerprint == submission.fingerprint
    mine, theirs = ({a.casefold() for a in each.card.authors} for each in (submission, other))
    for place, document in enumerate(other.runs):
        for run in runs:
            if _data(run.document) != _data(document):
                continue
            check_time()
            ranked, rankings = rankings_of(document, place), SubmittedPredictions()
            if ranked is not None:
                rankings = other.rankings(ranked, run.dataset)
            answers = None if document.generator is None else other.answers(place, run.dataset)
            kind, message = likeness(run, document, rankings, answers, label)
            level: Level = "suspicious" if kind == "similar" else "rejected"
            if whole and kind in ("equal", "explained"):
                message = f"all of it is {label} again"
            elif mine <= theirs or kind == "explained":
                level = "note"
            if kind:
                yield Finding(check="original", level=level, message=message, run=run.place)


def _data(run: RunDocument) -> tuple[str, ...]:
    return run.corpus, run.split, run.task, run.corpus_fingerprint


def likeness(
    run: RescoredRun,
    document: RunDocument,
    rankings: SubmittedPredictions,
    answers: SubmittedPredictions | None,
    label: str,
) -> tuple[str, str]:
    """Say how a run is like another on the same data; the rule is that of ``checks.original``.

    Args:
        run: it.
        document: what the other submission says of its run.
        rankings: the other's rankings, or those that its answers are built on.
        answers: the other's answers, or None.
        label: what the other is called.

    Returns:
        ``equal``, ``explained`` (equal, as honest runs of the same parts are), ``similar``, or an
        empty text; and a sentence with figures.
    """
    depth = min((k for each in (run.document, document) for k in each.cutoffs[-1:]), default=0)
    tables = [
        {name: ranking.tables[:depth] for name, ranking in each.by_query.items()}
        for each in (run.rankings, rankings)
    ]
    n = len(run.dataset.queries)
    equal = same_rankings = _are_equal(n, *tables)
    same = {part: _is_same(run, document, part) for part in ("retriever", "generator")}
    if run.answers is None or answers is None:
        labels_agree = run.document.retriever == document.retriever
        explained = run.entry.basis and same["retriever"] and labels_agree
        similar = _similar_rankings(run, document, rankings, label)
    else:
        texts, their_texts = (
            {name: answer.generation.text for name, answer in each.by_query.items()}
            for each in (run.answers, answers)
        )
        equal = _are_equal(n, texts, their_texts)
        retrieved = run.document.retriever is not None
        explained = retrieved and same["generator"] and not same_rankings
        similar = "" if same["generator"] else _similar_answers(run, texts, their_texts, label)
    if equal:
        return "explained" if explained else "equal", f"the predictions are those of {label}"
    return "similar" if similar else "", similar


def _is_same(run: RescoredRun, document: RunDocument, part: str) -> bool:
    return run.document.identity.get(part) == document.identity.get(part)


def _are_equal(n: int, mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> bool:
    """Return whether all that both predict is the same, and that is nearly all of n queries."""
    both = mine.keys() & theirs.keys()
    return (
        len(both) >= _NEARLY_ALL * n
        and all(mine[name] == theirs[name] for name in both)
        and any(mine[name] != () for name in both)  # no-context ranks nothing
    )


def _similar_answers(
    run: RescoredRun, mine: Mapping[str, str], theirs: Mapping[str, str], label: str
) -> str:
    """Say how many wrong answers of another generator are here, if half of them or more."""
    wrong = same = 0
    for query in run.dataset.queries:
        if query.id in mine and query.id in theirs:
            text = words(theirs[query.id])
            if len(text.split()) >= _WORDS and text not in map(words, query.references):
                wrong += 1
                same += words(mine[query.id]) == text
    if wrong < FEWEST or same / wrong < _SAME_ANSWERS:
        return ""
    return f"{same:,} of {wrong:,} wrong answers of {label} are here, word for word"


def _similar_rankings(
    run: RescoredRun, document: RunDocument, rankings: SubmittedPredictions, label: str
) -> str:
    """Say how much of another's mistakes is here, if that is suspicious."""
    mine, theirs = run.rankings.by_query, rankings.by_query
    triples = [
        (theirs[query.id].tables, mine[query.id].tables, query.gold)
        for query in run.dataset.queries
        if query.id in mine and query.id in theirs
    ]
    wrong, shared, same_place, same_order, identical = alike([t for t in triples if all(t[:2])])
    if run.document.sets or document.sets:  # those of one or two tables are often the same
        identical = 0.0
    suspicious = (
        same_place >= _SAME_PLACE
        or (shared >= _SHARED and same_order >= _SAME_ORDER)
        or identical >= _IDENTICAL
    )
    if wrong < FEWEST or not suspicious:
        return ""
    return (
        f"{shared:.1%} of the wrong tables of {label} are here, {same_place:.1%} at the same rank "
        f"and {same_order:.1%} of pairs in the same order; {identical:.1%} of all rankings are "
        "the same"
    )


def alike(
    rankings: Sequence[tuple[Sequence[Hashable], Sequence[Hashable], Sequence[Hashable]]],
) -> tuple[int, float, float, float, float]:
    """Compare the mistakes of two systems down to rank 10, query by query.

    Tables that answer a query are in every good ranking, so only the others are compared, as
    those who look for plagiarism compare mistakes.

    Args:
        rankings: (theirs, ours, gold tables) of each query.

    Returns:
        How many wrong tables the first system has among its first ten; the shares of them that
        the second has too, and has at the same rank; the share of pairs of shared ones that
        stand in the same order; the share of queries with the same tables in the same order.
    """
    wrong = shared = place = pairs = ordered = identical = 0
    for first, second, gold in rankings:
        depth = min(DEPTH, max(1, min(len(first), len(second))))
        first, second = list(first[:depth]), list(second[:depth])
        identical += first == second
        ranks = {table: rank for rank, table in enumerate(second)}
        mistakes = [(rank, table) for rank, table in enumerate(first) if table not in gold]
        copied = [ranks[table] for _, table in mistakes if table in ranks]
        wrong += len(mistakes)
        shared += len(copied)
        place += sum(ranks.get(table) == rank for rank, table in mistakes)
        pairs += len(copied) * (len(copied) - 1) // 2
        ordered += sum(a < b for i, a in enumerate(copied) for b in copied[i + 1 :])
    some = max(wrong, 1)
    shares = shared / some, place / some, ordered / max(pairs, 1)
    return wrong, *shares, identical / max(len(rankings), 1)
