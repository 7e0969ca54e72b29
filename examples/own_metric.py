"""A metric of your own is a function; the names of its parameters say what it is given.

``target-bench run mini --retriever bm25 --metric examples/own_metric.py:hit`` adds it to a run.
"""

from collections.abc import Sequence

from target_bench import TableId, evaluate, metric


def hit(ranking: Sequence[TableId], gold: Sequence[TableId], k: int) -> bool:
    """Whether the first k tables hold a gold table: of several, one is enough."""
    return any(table in ranking[:k] for table in gold)


@metric(higher_is_better=False, scale="unbounded", digits=1)
def words(answer: str) -> float:
    """Count the words of an answer."""
    return len(answer.split())


if __name__ == "__main__":
    rankings = evaluate("bm25", "mini", metrics=[hit])
    print(rankings["bm25"]["hit@10"], "beside", rankings["bm25"]["recall@10"])
    answers = evaluate("bm25", "mini", task="qa", metrics=[words])
    print(answers["bm25"]["words"])
