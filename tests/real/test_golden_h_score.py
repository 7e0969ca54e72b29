"""The official H-Score against vectors of Struc-Bench's scripts, made up and real."""

import gzip
import json
from functools import cache

import numpy as np
import pytest

from target_bench.tables.h_score import (
    HScore,
    difflib_ratio,
    h_score_html,
    h_score_latex,
    h_score_text,
    levenshtein_similarity,
)
from target_bench.tables.read_html import HTML_PARSER
from tests.real.data import DATA
from tests.real.golden import TOLERANCE, Case, cases, needs_golden

pytestmark = needs_golden

FILE, REAL = "hscore.json", "hscore_real.json"


def _check(scores: HScore, expected: Case) -> None:
    assert dict(scores.sub) == pytest.approx(expected["sub"], abs=TOLERANCE)
    assert scores.content == pytest.approx(expected["content"], abs=TOLERANCE)
    assert scores.structure == pytest.approx(expected["structure"], abs=TOLERANCE)


@pytest.mark.parametrize("case", cases(FILE, "sequence_similarity"))
def test_similarity(case: Case) -> None:
    prediction, gold = case["input"]["prediction"], case["input"]["gold"]
    expected = case["expected"]
    similarity = levenshtein_similarity(prediction, gold)
    assert similarity == pytest.approx(expected["levenshtein"], abs=TOLERANCE)
    assert difflib_ratio(prediction, gold) == pytest.approx(expected["difflib"], abs=TOLERANCE)


@pytest.mark.parametrize("case", cases(FILE, "raw_text"))
def test_text(case: Case) -> None:
    _check(h_score_text(case["input"]["prediction"], case["input"]["gold"]), case["expected"])


@pytest.mark.parametrize("case", cases(FILE, "html"))
def test_html(case: Case) -> None:
    scores = h_score_html(case["input"]["prediction"], case["input"]["gold"])
    _check(scores, case["expected"][HTML_PARSER])


@pytest.mark.parametrize("case", cases(FILE, "latex"))
def test_latex(case: Case) -> None:
    _check(h_score_latex(case["input"]["prediction"], case["input"]["gold"]), case["expected"])


@cache
def _lines(name: str) -> list[str]:
    return gzip.decompress((DATA / name).read_bytes()).decode().split("\n")


@cache
def _texts(name: str) -> dict[int, str]:
    """Line of the gold file -> what a model wrote for it, or that line itself."""
    if name.endswith(".data.gz"):
        return dict(enumerate(_lines(name)))
    content = gzip.decompress((DATA / name).read_bytes()).decode()
    if name.endswith(".jsonl.gz"):
        records = map(json.loads, content.splitlines())
        return {int(record["key"]): record["result"] for record in records}
    by_report = json.loads(content)
    reports = _lines("rotowire/rotowire.test.text.gz")
    return {i: by_report[text] for i, text in enumerate(reports) if text in by_report}


REAL_KINDS = ("raw_text", "raw_text_ragged", "gold_as_prediction")
needs_rotowire = pytest.mark.skipif(
    not (DATA / "rotowire").is_dir(), reason=f"no RotoWire in {DATA} (set TARGET_BENCH_DATA)"
)


@needs_rotowire
@pytest.mark.parametrize("kind", REAL_KINDS)
def test_real_outputs(kind: str) -> None:
    gold = _lines("rotowire/rotowire.test.data.gz")
    chosen: list[Case] = [parameters.values[0] for parameters in cases(REAL, kind)]
    assert chosen
    for case in chosen:
        given = case["input"]
        text = _texts(given["predictions"])[given["index"]]
        _check(h_score_text(text, gold[given["index"]]), case["expected"])


@needs_rotowire
@pytest.mark.parametrize("case", cases(REAL, "corpus_mean"))
def test_corpus_mean(case: Case) -> None:
    texts = _texts(case["input"]["predictions"])
    gold = _lines("rotowire/rotowire.test.data.gz")
    scores = [h_score_text(text, gold[index]) for index, text in texts.items()]
    assert len(scores) == case["expected"]["n"] == 728
    for name in ("content", "structure"):
        mean = np.mean([getattr(score, name) for score in scores])
        assert mean == pytest.approx(case["expected"][name], abs=TOLERANCE)
