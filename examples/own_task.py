"""A task of your own: a subclass of ``Task``, or of a built-in task, whose prompts it then has.

``target-bench run mini --task examples/own_task.py:Grounded --retriever bm25`` runs it.
"""

from collections.abc import Sequence
from typing import Any

from target_bench import Query, TableId, evaluate, metric
from target_bench.tasks.question_answering import QuestionAnswering


@metric(decides=True)
def grounded(
    answer: str, references: Sequence[str], ranking: Sequence[TableId], gold: Sequence[TableId]
) -> bool:
    """Whether the answer holds a reference, and all gold tables were there to take it from."""
    right = any(reference.lower() in answer.lower() for reference in references)
    return right and set(gold) <= set(ranking)


class Grounded(QuestionAnswering):
    """Questions whose answer counts if it is right for the right reason."""

    name = "grounded"

    def metrics(self, queries: Sequence[Query], cutoffs: Sequence[int] = ()) -> list[Any]:
        return [grounded]


if __name__ == "__main__":
    results = evaluate(["bm25", "random", "oracle"], "mini", task=f"{__file__}:Grounded")
    print(results)
