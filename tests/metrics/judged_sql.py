"""Results judged as a run does it, without processes."""

from target_bench.core.schema import Executed
from target_bench.metrics.sql import JudgedAnswer, Rule, give_verdict
from target_bench.metrics.sql_results import compare_results


def judge(
    gold: Executed,
    predicted: Executed | None,
    gold_sql: str,
    rewritten: tuple[Executed, Executed] | None = None,
    rule: Rule = "bird",
) -> JudgedAnswer:
    """Compare the results of two statements; ``rewritten`` are those that Spider's rule ran."""
    values: dict[str, float] = {}
    for rules, pair in (
        (("bird", "soft_f1"), (gold, predicted)),
        (("spider",), rewritten or (gold, predicted)),
    ):
        ours, theirs = pair
        if theirs and ours.outcome == theirs.outcome == "executed":
            values |= compare_results(rules, ours.rows, theirs.rows, gold_sql)
    pair = rewritten if rewritten and rule == "spider" else (gold, predicted)
    return give_verdict(JudgedAnswer("q"), gold, predicted, values, rule, pair)
