"""A task whose answers a model rates, and a corpus of two queries for it."""

from collections.abc import Generator as Iterating
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from target_bench import (
    AnswerJudge,
    CorpusInfo,
    CorpusLoader,
    Dataset,
    Generation,
    Judgement,
    Metric,
    MetricSpec,
    Predictions,
    Query,
    Retrieval,
    Table,
    TableId,
    Task,
)
from target_bench.core.release import Release

JUDGED: list[str] = []
"""The answers that the model was asked about, in all tests."""

Ratings = Sequence[float]


class Rating(Metric[Ratings]):
    """The mean of the ratings."""

    spec = MetricSpec("rating", of="ratings", deterministic=False, rank=1, decides=True)
    signature = "rating|version:1"

    def statistics(self, examples: Ratings) -> NDArray[np.float64]:
        return np.array([[rating, 1.0] for rating in examples])

    def value(self, totals: NDArray[np.float64]) -> NDArray[np.float64]:
        means: NDArray[np.float64] = totals[..., 0] / totals[..., 1]
        return means


class Rated(Task[Ratings], AnswerJudge):
    """Sentences that a model rates."""

    name = "rated"
    title = "Rated Sentences"
    source = "none"
    replays = True
    scores: ClassVar[str] = "ratings"

    def __init__(self) -> None:
        self.judge = self

    def metrics(self, _queries: Sequence[Query], _cutoffs: Sequence[int] = ()) -> list[Rating]:
        return [Rating()]

    def examples(self, dataset: Dataset, predictions: Predictions) -> Ratings:
        return [predictions.judgements[query.id].record["rating"] for query in dataset.queries]

    def unjudged(
        self,
        dataset: Dataset,
        generations: Mapping[str, Generation],
        _retrievals: Mapping[str, Retrieval],
        known: Mapping[str, Judgement],
    ) -> list[Query]:
        def is_judged(query: Query) -> bool:
            judgement = known.get(query.id)
            fingerprint = f"about {generations[query.id].text}"
            return judgement is not None and judgement.fingerprint == fingerprint

        return [query for query in dataset.queries if not is_judged(query)]

    def judged(
        self,
        queries: Sequence[Query],
        _dataset: Dataset,
        generations: Mapping[str, Generation],
        _retrievals: Mapping[str, Retrieval],
    ) -> Iterating[Judgement, None, None]:
        for query in queries:
            generation = generations[query.id]
            failed = generation.error is not None
            if not failed:
                JUDGED.append(generation.text)
            record = {"rating": 0.0 if failed else 0.75, "reply": "Good!"}
            yield Judgement(query.id, f"about {generation.text}", record)


class Sentences(CorpusLoader):
    """Two queries about nothing."""

    info = CorpusInfo("sentences", "Sentences", ("rated",), ("test",), "ours", "us", "here")
    cached = False

    def __init__(self) -> None:
        self.embedded = Path(__file__).parent

    def tables(self, _release: Release, _split: str) -> Iterator[Table]:
        yield Table(TableId("0", "a"), ["x"], [["1"]], {})

    def queries(self, _release: Release, _split: str) -> Iterator[Query]:
        for name in ("a", "b"):
            yield Query(name, f"say {name}", (TableId("0", "a"),), f"It is {name}.")


class Echo:
    """Says the query."""

    def generate(self, request: Any) -> str:
        return f"I {request.messages[-1].content.strip()}"
