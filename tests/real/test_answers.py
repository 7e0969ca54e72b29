"""Answers on the real corpora: published figures from the published predictions, and bounds."""

from pathlib import Path

import pytest

from target_bench.generators.replay import Replay
from target_bench.runs.result import Result
from target_bench.sql.extraction import extract
from tests.builders import Recorder, only
from tests.real.data import DATA, needs_data
from tests.target import TARGET

pytestmark = needs_data

FETAQA = DATA / "fetaqa"
ORDER = FETAQA / "t5-test-predictions.feta_id_order.json.gz"
BIRD = DATA / "bird" / "mini_dev_predictions"


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run folders of this module."""
    return tmp_path_factory.mktemp("runs")


def _target(task: str, corpus: str, out: Path) -> TARGET:
    return TARGET((task, corpus), data_dir=DATA, out=out, observer=Recorder())


def _run(task: str, corpus: str, retriever: str, generator: str, out: Path) -> Result:
    target = _target(task, corpus, out)
    result = only(target.run(retriever, generator=generator, top_k=3, limit=1000))
    assert result.stored.answers is not None
    assert result.stored.answers.failed == 0
    return result


@pytest.mark.parametrize(("model", "bleu"), [("t5-small", 22.07), ("t5-base", 27.43)])
def test_published_predictions_of_fetaqa(out: Path, model: str, bleu: float) -> None:
    """2,003 lines in an order of their own; sacreBLEU as measured on these files."""
    target = _target("qa", "fetaqa", out)
    predictions = FETAQA / f"{model}-test-predictions.txt.gz"
    result = only(target.score(predictions=predictions, order=ORDER, split="test"))
    assert result.stored.answers is not None
    assert (result.stored.answers.asked, result.stored.answers.answered) == (2003, 2003)
    assert round(result.scores["sacrebleu"].value, 2) == bleu
    assert "nrefs:1" in result.scores["sacrebleu"].signature


def test_reference_of_ottqa(out: Path) -> None:
    """The official reference file, scored against the questions' own answers."""
    target = _target("qa", "ottqa", out)
    result = only(target.score(predictions=DATA / "ottqa" / "dev_reference.json.gz"))
    assert result.stored.answers is not None
    assert (result.stored.answers.asked, result.stored.answers.answered) == (2214, 2214)
    assert result.scores["exact_match"].value == 1
    assert result.scores["token_f1"].value == 1


@pytest.mark.parametrize(
    ("task", "corpus", "metrics"),
    [
        ("qa", "fetaqa", ("sacrebleu", "token_f1")),
        ("qa", "ottqa", ("exact_match", "token_f1")),
        ("fv", "tabfact", ("accuracy", "f1_weighted")),
    ],
)
def test_better_tables_better_answers(
    out: Path, task: str, corpus: str, metrics: tuple[str, ...]
) -> None:
    """The baseline reads its tables: gold ones beat random ones, whose answers beat none."""
    gold = _run(task, corpus, "oracle", "gold", out)
    oracle = _run(task, corpus, "oracle", "extractive", out)
    chance = _run(task, corpus, "random", "extractive", out)
    empty = _run(task, corpus, "oracle", "empty", out)
    for name in metrics:
        best, high, low, none = (r.scores[name] for r in (gold, oracle, chance, empty))
        assert none.value <= 0.001  # one answer of OTT-QA is "A", an article: no word at all
        assert low.value < high.value < best.value
        assert low.high < high.low, "the intervals are apart"
        assert best.value == pytest.approx(100 if name == "sacrebleu" else 1)


@pytest.mark.skipif(not BIRD.is_dir(), reason="no predictions of BIRD mini-dev there")
def test_predictions_of_bird() -> None:
    """500 answers by position; the SQL alone, whatever lines it has."""
    queries = [f"q{i}" for i in range(500)]
    for path in sorted(BIRD.iterdir()):
        replay = Replay(str(path))
        replay.query_ids = queries
        assert list(replay.answers) == queries
        extracted = [extract(text) for text in replay.answers.values()]
        assert all(
            answer.sql and answer.database_id and "bird -----" not in answer.sql
            for answer in extracted
        )
