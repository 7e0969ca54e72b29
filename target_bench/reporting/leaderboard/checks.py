"""The six checks, each a rule of the leaderboard: its documentation is its published text.

Six, because they are what a submitter has to get right and a reader has to be able to trust: the
file can be read, the data are ours, no query is missing, the scores are those of the predictions,
the times are possible, and the predictions are the system's own work. The first two refuse a
submission while it is read (``submission``, ``verify``); the others look at runs
that were scored again, and find as much as there is.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench.core.identity import is_no_context, reads_gold
from target_bench.core.schema import Dataset, Judgement, Query, Retrieval
from target_bench.core.task import LeakRules, Task, has_reference
from target_bench.harness.stages.score import MISSING
from target_bench.metrics.scores import spec_of
from target_bench.reporting.leaderboard.documents import Card, RunDocument
from target_bench.reporting.leaderboard.entry import Finding, Level, RunEntry
from target_bench.reporting.leaderboard.submission import SubmittedPredictions


@dataclass(frozen=True, eq=False)
class RescoredRun:
    """A run of a submission, read and scored again, over all queries of its split.

    Attributes:
        place: of the run in the submission.
        document: what the submission says of it.
        task: what it is about.
        dataset: the n queries that it has to answer.
        rankings: those it is about, or is built on; none without a retriever.
        answers: of a run about answers, else None.
        top: the ranking of each query, a missing one empty; without a retriever the tables that
            the query is given.
        judgements: query id -> what became of its answer, of a task that judges answers.
        hard: (n,) whether the baseline ranks no gold table of the query first; none is without a
            retriever.
        entry: what a leaderboard holds of it; missing predictions are scored as wrong.
    """

    place: int
    document: RunDocument
    task: Task[Any]
    dataset: Dataset
    rankings: SubmittedPredictions
    answers: SubmittedPredictions | None
    top: list[Retrieval]
    judgements: Mapping[str, Judgement]
    hard: NDArray[np.bool_]
    entry: RunEntry

    @property
    def predictions(self) -> SubmittedPredictions:
        """What the run is about: its answers, else its rankings."""
        return self.rankings if self.answers is None else self.answers


def no_context(run: RunDocument) -> bool:
    """Whether a run retrieves nothing, so that its rankings have scores as a result alone."""
    return is_no_context(run.identity.get("retriever", {}))


Findings = Iterator[tuple[Level, str]]
"""What a check finds: how serious it is, and a sentence with figures."""


def findings(run: RescoredRun, card: Card) -> Iterator[Finding]:
    """Yield all that is to be said of a run by itself."""
    # Answers may be published without the tables that their system was given.
    unknown_tables = run.answers is not None and card.predictions and no_context(run.document)
    for check in (complete, scores, times, original):
        for level, message in check(run):
            if check is original and level == "suspicious" and unknown_tables:
                level = "note"
            yield Finding(check=check.__name__, level=level, message=message, run=run.place)


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
    https://, and it says of every corpus of the runs whether a model was trained on it. No
    run is of a task whose answers a model judges. Reading and scoring takes at most 60 minutes,
    or what ``--minutes`` says.
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
    longer than the largest cutoff (it counts as wrong, too). Suspicious: missing and failed
    queries are hard more often than chance explains (Fisher's exact test, p < 0.001), hard
    being those for which BM25, run by the verifier, ranks no gold table first.
    """
    predicted, n = run.predictions.by_query, len(run.dataset.queries)
    missing = n - len(predicted)
    if missing:
        yield "note", f"{missing:,} of {n:,} queries are missing; they count as wrong"
    for what, (many, first) in run.predictions.faults.items():
        more = ", ..." if many > len(first) else ""
        yield "rejected", f"{what}: {many:,} ({', '.join(first)}{more})"
    gone = [q.id not in predicted or _failed(predicted[q.id]) for q in run.dataset.queries]
    drawn, hard = sum(gone), int(run.hard.sum())
    both = sum(is_gone and is_hard for is_gone, is_hard in zip(gone, run.hard, strict=True))
    if drawn and by_chance(both, drawn, hard, n) < 0.001:
        yield (
            "suspicious",
            f"{both:,} of the {drawn:,} queries without a prediction are hard, but only {hard:,} "
            f"of all {n:,} are; they count as wrong",
        )


_NAMED = 5
"""Scores that are named; of more their number is given."""


def scores(run: RescoredRun) -> Findings:
    """Declared scores are those of the predictions.

    Every score is computed again, and only these are shown. One that was declared and differs
    by more than 0.0001 (0.01 on a scale to 100; 0.005 where SQL is executed, because time
    limits differ between machines) is rejected if it has the signature of the score computed,
    intervals apart, else suspicious: it may be of another version. Metrics that are not computed
    here are noted.
    """
    unknown, wrong = [], Counter[Level]()
    unused = run.entry.basis and no_context(run.document)  # the entry has no such scores
    for name, declared in ({} if unused else run.document.scores).items():
        computed = run.entry.scores.get(name)
        if computed is None:
            unknown.append(ascii(name))
            continue
        if declared.value is None or isnan(computed.value):  # over no query
            agree = declared.value is None and isnan(computed.value)
        else:
            tolerance = spec_of(name, computed).tolerance
            agree = abs(declared.value - computed.value) <= tolerance
        if not agree:
            same = _measured(declared.signature) == _measured(computed.signature)
            level: Level = "rejected" if same else "suspicious"
            wrong[level] += 1
            if wrong[level] <= _NAMED:
                shown = "no number" if declared.value is None else f"{declared.value:.5g}"
                yield level, f"{name} is declared as {shown}, but is {computed.value:.5g}"
    for level, n in wrong.items():
        if n > _NAMED:
            yield level, f"{n - _NAMED} more declared scores are not those of the predictions"
    if unknown:
        yield "note", f"not computed here: {', '.join(unknown[:5])}"


def _measured(signature: str) -> str:
    """Return what a score measures, with the versions of packages: another one may differ."""
    return signature.partition("|interval:")[0]


def _failed(prediction: object) -> bool:
    error = getattr(getattr(prediction, "generation", prediction), "error", None)
    return error is not None and error != MISSING


FASTEST = 1e-6
"""Seconds below which no query is answered: a call of a Python function takes a tenth of it."""


def times(run: RescoredRun) -> Findings:
    """Declared times are possible; a missing time is not a fault.

    Rejected: a negative time; less than a microsecond for a query, alone or in a batch, or for an
    answer.
    """
    seconds, latency = run.document.seconds, run.document.latency_ms or {}
    for name, value in {**seconds, **latency}.items():
        if value < 0:
            yield "rejected", f"{name} is {value:g}, less than nothing"
    n_answers = 0 if run.answers is None else len(run.answers.by_query)
    for what, n, total in (
        ("queries ranked", run.document.timed_queries, seconds.get("retrieve")),
        ("median query ranked", 1, latency["p50"] / 1000 if "p50" in latency else None),
        ("answers given", n_answers, seconds.get("generate")),
    ):
        if n and total is not None and 0 <= total < n * FASTEST:
            yield "rejected", f"{n:,} {what} in {total:g} s, faster than possible"


PERFECT = 0.97
"""No system known has all gold tables on top for so large a share of a corpus."""

HARD = 0.8
IN_ORDER = 0.8
_DEPTH = 10
_MORE_OFTEN = 0.6
_WORDS = 12


def original(run: RescoredRun) -> Findings:
    """The predictions are the system's own: they know no gold, and are no other submission's.

    **Upper bounds** that read the gold (``oracle``, ``gold``, a retriever of your own that declares
    ``reads_gold``) are rejected.

    **Gold tables.** Looked at is the share of queries with all gold tables on top, by its lower
    bound of 99.9% confidence. Suspicious: it is above 0.97 over all queries; or above 0.8 over
    the hard ones (our baselines reach 0.46 at most); or, of queries with several gold tables
    and all of them on top, more than 0.8 have them in the very order of the gold file, which
    says nothing about relevance (BM25 has 32% of them so on Spider, 55% on BIRD). Two of the
    three are rejected. Suspicious too: among the first ten, the first gold table stands more
    often at some rank than at one above it: of the queries that have it at either, the lower
    bound of the share at the lower one is above 0.6 (BM25, TF-IDF and LSA reach 0.41 at most on
    OTT-QA, FeTaQA, TabFact, Spider and BIRD).

    **Gold answers.** A task says which tables hold the answer to a query, when an answer is a
    copy of the reference, and the shares of copies that chance and knowledge of the world
    explain. Looked at are queries whose tables do not hold the answer (for questions, the
    reference is in no cell, header or title of them; for statements, no gold table is among
    them; for SQL, no table of the gold database): of these, more answers are the reference word
    for word (for statements: the right label) than the task explains. Suspicious if the lower
    bound is above 0.5 for questions, 0.25 for SQL and 0.9 for statements; rejected if it is
    above 0.9 for questions or SQL. Suspicious too: of references with at least 12 words, more
    than half (of SQL more than 80%) are given word for word. Case, spaces and punctuation (of
    SQL quotes) do not count. What is suspicious in answers without rankings is a note where the
    card names the address at which others published them: their tables are not known here.

    **Duplicates.** A run whose predictions are equal to another's on at least 95% of the
    queries of the split, and differ on none, is rejected. It is noted where all authors are
    authors of the other too, unless all of the other submission is submitted again; where it is
    the retrieval that answers are built on and the same retriever is declared, by label and
    settings; and where answers of the same generator are equal though the rankings are not, as
    a database can be found in several ways.

    **Copies with noise.** Compared are mistakes, because right tables are in every good
    ranking: the tables among the first ten of the other that answer nothing. Suspicious: 50% of
    them are here at the same rank; or 85% are here and 97% of their pairs in the same order; or
    30% of all rankings are the same, table for table. (Of any two of our baselines on OTT-QA,
    FeTaQA, Spider and BIRD the first has at most 44% of them at the same rank and 27% of all
    rankings, and 96% of pairs in the same order; one BM25 with another k1 shares 80 to 99% of
    its mistakes, and is meant to be looked at.) Of answers that are wrong and have at least
    five words, half being the same word for word is suspicious, unless the same generator is
    declared. With fewer than 50 mistakes nothing is said. It is a note where all authors are
    authors of the other too.
    """
    document = run.document
    for part, name in (("retriever", document.retriever), ("generator", document.generator)):
        if name is not None and reads_gold(document.identity.get(part, {})):
            yield "rejected", f"its {part} is {name}, which reads the gold"
    yield from _gold_rankings(run) if run.answers is None else _gold_answers(run)


CHECKS: dict[str, Callable[..., object]] = {
    check.__name__: check for check in (readable, data, complete, scores, times, original)
}
"""Name -> check, in the order in which they are made; ``docs/api.md`` shows their texts."""


def _gold_rankings(run: RescoredRun) -> Findings:
    queries = zip(run.dataset.queries, run.top, run.hard, strict=True)
    labelled = [(query, top.tables, is_hard) for query, top, is_hard in queries if query.gold]
    on_top = [set(tables[: len(q.gold)]) == set(q.gold) for q, tables, _ in labelled]
    in_order = [
        tables[: len(query.gold)] == query.gold
        for (query, tables, _), top in zip(labelled, on_top, strict=True)
        if top and len(query.gold) > 1
    ]
    on_hard = [top for (*_, is_hard), top in zip(labelled, on_top, strict=True) if is_hard]
    leaks = [
        f"{sum(hits):,} of {len(hits):,} {what}"
        for hits, most, what in (
            (on_top, PERFECT, "queries have all their gold tables on top"),
            (on_hard, HARD, "queries that BM25 fails have all their gold tables on top"),
            (in_order, IN_ORDER, "rankings with several gold tables on top have the gold's order"),
        )
        if at_least(sum(hits), len(hits)) > most
    ]
    if leaks:
        yield "rejected" if len(leaks) > 1 else "suspicious", "; ".join(leaks)
    at = [0] * _DEPTH  # how often the first gold table stands at a rank
    for query, tables, _ in labelled:
        first = next((i for i, table in enumerate(tables[:_DEPTH]) if table in query.gold), None)
        if first is not None:
            at[first] += 1
    for lower in range(1, _DEPTH):
        above = min(range(lower), key=at.__getitem__)
        if at_least(at[lower], at[lower] + at[above]) > _MORE_OFTEN:
            yield (
                "suspicious",
                f"the first gold table stands {at[lower]:,} times at rank {lower + 1}, but "
                f"{at[above]:,} times at rank {above + 1}",
            )
            return


def _gold_answers(run: RescoredRun) -> Findings:
    rules = run.task.leaks
    if rules is None:
        return
    queries = [
        (query, top.tables, _is_copied(rules, run, query))
        for query, top in zip(run.dataset.queries, run.top, strict=True)
        if has_reference(run.task, query)
    ]
    if rules.unsupported is not None:
        holds, corpus = rules.holds_answer, run.dataset.corpus
        bare = [copy for query, tables, copy in queries if holds(query, tables, corpus) is False]
        bound = at_least(sum(bare), len(bare))
        if bound > rules.unsupported:
            certain = rules.certain is not None and bound > rules.certain
            got = "retrieved" if run.task.source == "retrieved" else "given"
            support = (
                f"though the tables {got} do not hold it"
                if any(tables for _, tables, _ in queries)
                else "and the predictions name no tables"
            )
            yield (
                "rejected" if certain else "suspicious",
                f"{sum(bare):,} of {len(bare):,} answers are the reference word for word, "
                f"{support}",
            )
    long = [
        copy
        for query, _, copy in queries
        if min((len(text.split()) for text in query.references), default=0) >= _WORDS
    ]
    if rules.verbatim is not None and at_least(sum(long), len(long)) > rules.verbatim:
        yield (
            "suspicious",
            f"{sum(long):,} of {len(long):,} long references are given word for word",
        )


def _is_copied(rules: LeakRules, run: RescoredRun, query: Query) -> bool:
    """Return whether the answer to a query is its reference."""
    answered = run.predictions.by_query.get(query.id)
    generation = None if answered is None else answered.generation
    text = "" if generation is None or generation.error is not None else generation.text
    return rules.is_copied(text, run.judgements.get(query.id), query)


CONFIDENCE = 0.999
"""Of every bound below: one honest run in a thousand lies outside of it by chance."""


def at_least(successes: int, n: int) -> float:
    """Return the lower bound of a share of which ``successes`` of ``n`` were seen.

    One-sided, exact (Clopper & Pearson 1934); 0 where nothing was seen.
    """
    if successes == 0:
        return 0.0
    from scipy.stats import beta

    return float(beta.ppf(1 - CONFIDENCE, successes, n - successes + 1))


def by_chance(drawn_marked: int, drawn: int, marked: int, n: int) -> float:
    """Return the probability that ``drawn`` of ``n`` hold at least this many ``marked``.

    Hypergeometric, as in Fisher's exact test.
    """
    from scipy.stats import hypergeom

    return float(hypergeom.sf(drawn_marked - 1, n, marked, drawn))
