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

ASKED: list[str] = []
"""The answers that the model was asked about, in all tests."""

Ratings = Sequence[float]


class Rating(Metric[Ratings]):
    """The mean of the ratings."""

    spec = MetricSpec("rating", of="ratings", deterministic=False, rank=1, decides=True)
    signature = "rating|version:1"

    def statistics(self, examples: Ratings) -> NDArray[np.float64]:
        return np.array([[one, 1.0] for one in examples])

    def value(self, totals: NDArray[np.float64]) -> NDArray[np.float64]:
        found: NDArray[np.float64] = totals[..., 0] / totals[..., 1]
        return found


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
        def holds(query: Query) -> bool:
            of = f"about {generations[query.id].text}"
            return query.id in known and known[query.id].fingerprint == of

        return [query for query in dataset.queries if not holds(query)]

    def judged(
        self,
        queries: Sequence[Query],
        _dataset: Dataset,
        generations: Mapping[str, Generation],
        _retrievals: Mapping[str, Retrieval],
    ) -> Iterating[Judgement, None, None]:
        for query in queries:
            given = generations[query.id]
            if given.error is None:
                ASKED.append(given.text)
            rating = 0.0 if given.error is not None else 0.75
            yield Judgement(query.id, f"about {given.text}", {"rating": rating, "reply": "Good!"})


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


class Says:
    """Says the query."""

    def generate(self, request: Any) -> str:
        return f"I {request.messages[-1].content.strip()}"
