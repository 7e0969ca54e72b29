"""Cases judged as a run judges them, and put in their order again."""

from collections.abc import Sequence
from functools import partial

from target_bench.sql.execution import Judge
from target_bench.sql.judged_answer import Case, Judged
from target_bench.sql.workers.pool import Pool


def in_order(pool: Pool, judge: Judge, cases: Sequence[Case]) -> list[Judged]:
    found = pool.as_done(partial(judge.judge, case) for case in cases)
    by_id = {judged.case.query_id: judged for judged in found}
    return [by_id[case.query_id] for case in cases]
