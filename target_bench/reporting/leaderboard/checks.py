"""The four checks, each a rule of the leaderboard: its documentation is its published text.

The file can be read, the data are ours, no query is missing, and no part reads the gold. The first
two refuse a submission while it is read (``submission``, ``verify``); the others look at runs that
were scored again. Nothing else is asked of predictions: their scores are computed here.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from target_bench.core.identity import is_no_context, reads_gold
from target_bench.core.schema import Dataset, Retrieval
from target_bench.reporting.leaderboard.documents import RunDocument
from target_bench.reporting.leaderboard.entry import Finding, Level, RunEntry
from target_bench.reporting.leaderboard.submission import SubmittedPredictions


@dataclass(frozen=True, eq=False)
class RescoredRun:
    """A run of a submission, read and scored again, over all queries of its split.

    Attributes:
        place: of the run in the submission.
        document: what the submission says of it.
        dataset: the n queries that it has to answer.
        predictions: what the run is about: its answers, else its rankings.
        top: the ranking of each query, a missing one empty; without a retriever the tables that
            the query is given.
        entry: what a leaderboard holds of it; missing predictions are scored as wrong.
    """

    place: int
    document: RunDocument
    dataset: Dataset
    predictions: SubmittedPredictions
    top: list[Retrieval]
    entry: RunEntry


Findings = Iterator[tuple[Level, str]]
"""What a check finds: how serious it is, and a sentence with figures."""


def no_context(run: RunDocument) -> bool:
    """Whether a run retrieves nothing, so that its rankings have scores as a result alone."""
    return is_no_context(run.identity.get("retriever", {}))


def findings(run: RescoredRun) -> Iterator[Finding]:
    """Yield all that is to be said of a run by itself."""
    for check in (complete, original):
        for level, message in check(run):
            yield Finding(check.__name__, level, message, run.place)


def readable() -> None:
    """The file is a submission, and can be read and scored within limits; else it is refused.

    It is a plain zip, stored or deflated, with the files of a submission under their own names
    and nothing else: no path that leads out, no link, no name twice, no encryption, no zip64,
    no file over another, nothing before or after. It has at most 64 MiB and 202 files and
    unpacks to at most 512 MiB, no file to more than 300 times its packed size; a line has at
    most 1 MiB, a document 1 MiB, all of them together 4 MiB, a file 1,000,000 lines, an answer
    20,000 characters, all answers of a run 20,000,000 together. All text is UTF-8, and all JSON
    is strict: no NaN, no infinite number, no integer beyond 2^53, no key twice, no nesting
    deeper than 16 levels. Every file has the SHA-256 that submission.json names for it, and
    every document the fields it should have. The texts of a card are plain (no HTML, no control
    characters, none that change the direction of text), its links begin with http:// or
    https://, and it says of every corpus of the runs whether a model was trained on it, and
    on which split the settings were chosen. There is one run for each task and data: one setting of
    one system. No run is of a task whose answers a model judges. Reading and scoring takes at most
    60 minutes, or what ``--minutes`` says.
    """


def data() -> None:
    """The run is of the tables, queries and gold answers that the verifier has; else it is refused.

    Corpus and task are registered here, and the fingerprints are the same; the message names
    the source files that differ.
    """


def complete(run: RescoredRun) -> Findings:
    """Every query of the split is predicted once, from tables of the corpus.

    A missing query counts as wrong and is noted. Rejected: a query twice, or one that is not
    asked; a ranking that names a table twice, or one that the corpus does not have, or is
    longer than the largest cutoff (it counts as wrong, too).
    """
    predicted, n = run.predictions.by_query, len(run.dataset.queries)
    missing = n - len(predicted)
    if missing:
        yield "note", f"{missing:,} of {n:,} queries are missing; they count as wrong"
    for what, (many, first) in run.predictions.faults.items():
        more = ", ..." if many > len(first) else ""
        yield "rejected", f"{what}: {many:,} ({', '.join(first)}{more})"


PERFECT = 0.97
"""No system known has all gold tables on top for so large a share of a corpus."""


def original(run: RescoredRun) -> Findings:
    """No part of the system reads the gold.

    Upper bounds (``oracle``, ``gold``, a retriever of your own that declares ``reads_gold``) are
    rejected. Rankings with all gold tables on top for more than 97% of the queries are noted, for
    those who keep the board to look at: gold tables are public, and rescoring does not stop
    somebody who submits them.
    """
    document = run.document
    for part, name in (("retriever", document.retriever), ("generator", document.generator)):
        if name is not None and reads_gold(document.identity.get(part, {})):
            yield "rejected", f"its {part} is {name}, which reads the gold"
    on_top = [
        {*top.tables[: len(query.gold)]} == {*query.gold}
        for query, top in zip(run.dataset.queries, run.top, strict=True)
        if query.gold
    ]
    if document.generator is None and on_top and sum(on_top) > PERFECT * len(on_top):
        yield (
            "note",
            f"{sum(on_top):,} of {len(on_top):,} queries have all their gold tables on top, more "
            "than any system known",
        )


CHECKS: dict[str, Callable[..., object]] = {
    check.__name__: check for check in (readable, data, complete, original)
}
"""Name -> check, in the order in which they are made; ``docs/api.md`` shows their texts."""
