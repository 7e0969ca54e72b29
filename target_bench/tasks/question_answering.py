"""Table question answering: is the answer right?"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from target_bench.components.answer_reading import Reading
from target_bench.core.answer_options import ANSWER_OPTIONS
from target_bench.core.interfaces import Dataset, Metric
from target_bench.core.reasoning import READING, without_reasoning
from target_bench.core.schema import Generation, Query, Retrieval
from target_bench.metrics.text import JudgedAnswers, number_of_references, text_metrics


class QuestionAnswering:
    """Free-form and short answers, compared with the reference answers of each question.

    Args:
        bertscore: the model of the additional metric BERTScore, as in ``roberta-large`` or
            ``folder@6``, which names a layer (extra bertscore); None for none.
    """

    name = "question_answering"
    title = "Table Question Answering"
    aliases = ("qa", "table_qa")
    input = "tables that were retrieved for a question"
    answer = "text"
    reads: ClassVar[frozenset[str]] = frozenset({*ANSWER_OPTIONS, "table_format"})

    def __init__(self, bertscore: str | None = None) -> None:
        self.bertscore = bertscore
        self._reading = Reading(_without_reasoning)

    def metrics(self, queries: Sequence[Query]) -> list[Metric[Any]]:
        """Every metric of generated text."""
        found: list[Metric[Any]] = []
        number = number_of_references([query.references for query in queries])
        found += text_metrics(number, READING)
        if self.bertscore is not None:
            from target_bench.metrics.bertscore import BERTScore

            found.append(BERTScore(self.bertscore, READING))
        return found

    def examples(
        self,
        dataset: Dataset,
        generations: Sequence[Generation],
        _retrievals: Mapping[str, Retrieval],
    ) -> JudgedAnswers:
        """The answers without their reasoning blocks; a failed or unfinished one as None.

        Raises:
            BudgetError: the budget is spent.
        """
        return JudgedAnswers(
            [None if g.error is not None else self.parse(g.text) for g in generations],
            [query.references for query in dataset.queries],
        )

    def settings(self) -> list[str]:
        """What changes a score besides the metrics: nothing."""
        return []

    def parse(self, text: str) -> str | None:
        """The answer without its reasoning blocks; None if it holds nothing else.

        Raises:
            BudgetError: the budget is spent.
        """
        return self._reading(text)

    def limit_time(self, seconds: float) -> None:
        """Give reading and scoring all answers no more than this."""
        self._reading.limit_time(seconds)

    def check_budget(self) -> None:
        """See that time is left.

        Raises:
            BudgetError: the budget is spent.
        """
        self._reading.check()


def _without_reasoning(text: str) -> str | None:
    said = without_reasoning(text)
    return None if text and not said else said
