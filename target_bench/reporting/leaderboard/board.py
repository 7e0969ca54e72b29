"""The submissions that are there already, as far as a new one is compared with them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from target_bench.core.errors import DataError
from target_bench.core.observer import Observer
from target_bench.reporting.leaderboard.archive import SUFFIX
from target_bench.reporting.leaderboard.document_models import RunDocument
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
