"""Table question answering: is the answer right?"""

from collections.abc import Sequence
from typing import ClassVar, Literal

from target_bench.core.errors import DataError
from target_bench.core.metric import Metric
from target_bench.core.reasoning import READING
from target_bench.core.schema import AnswerKind, Dataset, Query
from target_bench.core.task import Predictions, Task, View
from target_bench.metrics.denotation import DenotationAccuracy, JudgedValues
from target_bench.metrics.scores import have_short_answers
from target_bench.metrics.text import (
    MOST_CHARACTERS,
    VERSION,
    count_references,
    read_forms,
    text_metrics,
)
from target_bench.models.answer_reading import AnswerReader, answer_alone


class QuestionAnswering(Task[JudgedValues]):
    """Free-form and short answers, compared with the reference answers of each question.

    A question whose answer is a list of values has them in its metadata as ``values``, and the
    numbers and dates that they stand for, where these are known, as ``canonical_values``. Answers
    of over 100,000 characters are unreadable and wrong.

    Args:
        bertscore: the model of the additional metric BERTScore, as in ``roberta-large`` or
            ``folder@6``, which names a layer (extra bertscore); None for none.
    """

    name = "question_answering"
    title = "Table Question Answering"
    aliases: ClassVar[tuple[str, ...]] = ("qa", "table_qa", "table_question_answering_task")
    scores = "texts"
    answer: ClassVar[AnswerKind] = "text"
    view = View("tables that were retrieved for a question", "text")

    def __init__(self, bertscore: str | None = None) -> None:
        self.bertscore = bertscore
        self._reader = AnswerReader(_read_answer)

    def check(self, dataset: Dataset) -> None:
        """Check that ``values`` in the metadata of a query, if it is there, is a list of texts.

        Raises:
            DataError: it is something else, or ``canonical_values`` are not as many.
        """
        for query in dataset.queries:
            values = query.metadata.get("values", [])
            canonical = query.metadata.get("canonical_values") or values
            are_lists = all(
                hasattr(each, "__len__") and not isinstance(each, str)
                for each in (values, canonical)
            )
            if not are_lists or len(canonical) != len(values):
                raise DataError(
                    f"query {query.id!r}: metadata values={values!r:.80}: expected the values of "
                    "the reference as a list of texts, with as many canonical_values, if any. If "
                    "the column means something else, rename it"
                )

    def metrics(
        self, queries: Sequence[Query], _cutoffs: Sequence[int] = ()
    ) -> list[Metric[JudgedValues]]:
        """Return every metric of generated text; denotation where all references are values."""
        metrics: list[Metric[JudgedValues]] = []
        number = count_references([query.references for query in queries])
        metrics += text_metrics(number, READING, set(read_forms(queries)))
        if _are_lists(queries):
            n_tagged = sum("canonical_values" in query.metadata for query in queries)
            all_or_some: Literal["yes", "some"] = "yes" if n_tagged == len(queries) else "some"
            metrics.append(DenotationAccuracy(all_or_some if n_tagged else "no"))
        if self.bertscore is not None:
            from target_bench.metrics.bertscore import BERTScore

            metrics.append(BERTScore(self.bertscore, READING))
        return metrics

    def main_metric(self, queries: Sequence[Query]) -> str:
        """Return denotation for lists of values, exact match for short answers, else BLEU."""
        if _are_lists(queries):
            return "denotation"
        return "exact_match" if have_short_answers(queries) else "sacrebleu"

    def examples(self, dataset: Dataset, predictions: Predictions) -> JudgedValues:
        """Return the answers without reasoning; None for one that failed or was not finished."""
        queries = dataset.queries
        return JudgedValues(
            self._reader.read_all(dataset, predictions),
            [query.references for query in queries],
            [_read_values(query) for query in queries],
            forms=read_forms(queries),
        )

    def parse_answers(self, examples: JudgedValues) -> Sequence[str | None]:
        """Return the text of each answer; None if it has none."""
        return examples.texts

    def settings(self) -> list[str]:
        """Return the version of the metrics' rules, which changes scores."""
        return [VERSION]


def _are_lists(queries: Sequence[Query]) -> bool:
    """Return whether the answers to all queries are lists of values."""
    return bool(queries) and all("values" in query.metadata for query in queries)


def _read_answer(text: str) -> str | None:
    """Return an answer without reasoning; None if nothing is left or it is too long."""
    answer = answer_alone(text)
    return None if answer is None or len(answer) > MOST_CHARACTERS else answer


def _read_values(query: Query) -> list[tuple[str, str]]:
    """Return the values of a reference, each with the number or date that it stands for, or ""."""
    values = query.metadata.get("values", ())
    canonical = query.metadata.get("canonical_values") or [""] * len(values)
    return list(zip(values, canonical, strict=True))
