"""What trec_eval and ir-measures say about an exported run."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import ir_measures
import numpy as np
import pytest
import pytrec_eval

from target_bench.runs.ranking_files import to_word
from target_bench.runs.result import Result

AT_K = {"recall": ("R", "recall"), "success": ("Success", "success"), "precision": ("P", "P")}
AT_K["ndcg"] = ("nDCG", "ndcg_cut")
WHOLE = {"mrr": ("RR", "recip_rank"), "map": ("AP", "map")}


def check_figures(result: Result, paths: tuple[Path, Path], cutoffs: Sequence[int]) -> None:
    """Assert that both judges score the exported files to the figures of the result.

    Their values of every query agree, and their means over all judged queries.
    """
    names = {
        f"{ours}@{k}": (f"{ir}@{k}", f"{trec}_{k}")
        for ours, (ir, trec) in AT_K.items()
        for k in cutoffs
    }
    names |= WHOLE
    by_ir, by_trec = ir_measures_values(paths, [ir for ir, _ in names.values()]), trec_eval(paths)
    for ours, (ir, trec) in names.items():
        for theirs in (by_ir[ir], {query: values[trec] for query, values in by_trec.items()}):
            values = np.array([theirs.get(to_word(query), 0.0) for query in result.per_query.ids])
            assert values == pytest.approx(result.per_query.values[ours], abs=1e-6), ours
            assert values.mean() == pytest.approx(result.scores[ours].value, abs=1e-9), ours


def ir_measures_values(
    paths: tuple[Path, Path], names: Sequence[str]
) -> Mapping[str, Mapping[str, float]]:
    """Return measure -> query -> value, as ir-measures computes it of run and judgements."""
    values: dict[str, dict[str, float]] = {name: {} for name in names}
    for result in ir_measures.iter_calc(
        [ir_measures.parse_measure(name) for name in names],
        list(ir_measures.read_trec_qrels(str(paths[1]))),  # type: ignore[no-untyped-call]  # theirs has no hints
        list(ir_measures.read_trec_run(str(paths[0]))),  # type: ignore[no-untyped-call]  # theirs has no hints
    ):
        values[str(result.measure)][result.query_id] = result.value
    return values


def trec_eval(paths: tuple[Path, Path]) -> Mapping[str, Mapping[str, float]]:
    """Return query -> measure -> value, as trec_eval computes it of run and judgements."""
    with paths[0].open(encoding="utf-8") as run, paths[1].open(encoding="utf-8") as qrels:
        rankings, judgements = pytrec_eval.parse_run(run), pytrec_eval.parse_qrel(qrels)
    at_k = {f"{name}.1,3,5,10,50" for _, name in AT_K.values()}
    measures = at_k | {name for _, name in WHOLE.values()}
    values: Mapping[str, Mapping[str, float]] = pytrec_eval.RelevanceEvaluator(
        judgements, measures
    ).evaluate(rankings)
    return values
