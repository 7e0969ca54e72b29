"""Results judged as a run does it, without processes."""

from target_bench.core.schema import Executed
from target_bench.metrics.sql import JudgedQuery, Rule, verdict
from target_bench.metrics.sql_results import compare_results


def judge(
    gold: Executed | None,
    predicted: Executed | None,
    gold_sql: str,
    rewritten: tuple[Executed, Executed] | None = None,
    rule: Rule = "bird",
) -> JudgedQuery:
    """Compare what two statements gave, under every rule; arguments as for ``verdict``."""
    values: dict[str, float] = {}
    for rules, pair in (
        (("bird", "soft_f1"), (gold, predicted)),
        (("spider",), rewritten or (gold, predicted)),
    ):
        ours, theirs = pair
        if ours and theirs and ours.outcome == theirs.outcome == "executed":
            values |= compare_results(rules, ours.rows, theirs.rows, gold_sql)
    return verdict(gold, predicted, values, rewritten, rule)
