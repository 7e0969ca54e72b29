"""The size of sets is learned, says from what, and runs on what it was learned from say so."""

from pathlib import Path

import pytest

from target_bench import TARGET
from target_bench.core.errors import ConfigError
from target_bench.models.set_sizes import LearnedSize
from target_bench.models.training import training_record
from target_bench.models.training.threshold import SizeSettings, train_size
from target_bench.models.training.training_splits import Data
from tests.builders import Recorder, json_lines
from tests.cli.inside import Inside

NAMES = ("anchor", "basket", "candle", "dagger")


def _corpus(folder: Path) -> Path:
    """Questions that name two tables in full and a third one in part."""
    (folder / "tables").mkdir(parents=True)
    questions = []
    for number, name in enumerate(NAMES):
        for kind in ("prices", "weights", "history"):
            rows = f"{kind},year\n{number},{number + 1900}\n"
            (folder / "tables" / f"{name} {kind}.csv").write_text(rows)
        split = "test" if number == 3 else "validation"
        questions.append(
            {
                "query_id": f"q-{name}",
                "query": f"{name} prices and {name} weights",
                "table_id": [f"{name} prices", f"{name} weights"],
                "split": split,
            }
        )
    (folder / "queries.jsonl").write_text(json_lines(questions))
    return folder


def _data(folder: Path, split: str = "validation", **options: object) -> Data:
    return Data([_corpus(folder)], split, None, ["test"], **options)  # type: ignore[arg-type]


def test_it_learns_the_size(tmp_path: Path) -> None:
    data = _data(tmp_path / "items")
    trained = train_size(data, tmp_path / "model")
    assert (trained.questions, trained.size, trained.f_beta) == (3, 2, 1)
    model = LearnedSize(tmp_path / "model")
    assert (model.share, model.retriever, model.depth) == (trained.share, "bm25", 50)
    named = ("retrieval:sets=true", data.corpora[0])
    target = TARGET(named, out=tmp_path / "runs", observer=Recorder())
    spec = f"adaptive:rule=trained,model={tmp_path / 'model'}"
    for split in ("validation", "test"):
        scores = target.run(spec, split=split).scores
        assert scores["set_f1"].value == 1
        assert scores["set_size"].value == 2


def test_recall_may_count_more(tmp_path: Path) -> None:
    data = _data(tmp_path / "items")
    sizes = [
        train_size(data, tmp_path / str(beta), SizeSettings("lsa", beta)).size
        for beta in (0.1, 1, 10)
    ]
    assert sizes == sorted(sizes)


def test_the_folder_states_the_training(tmp_path: Path) -> None:
    train_size(_data(tmp_path / "items"), tmp_path / "model", SizeSettings(depth=5))
    stated = training_record.read(tmp_path / "model")
    assert stated["kind"] == "set-size"
    assert stated["data"]["kept_out"] == ["items test"]
    assert stated["retriever_identity"]["class"] == "BM25"
    assert stated["depth"] == 5
    pairs = training_record.read_pairs(tmp_path / "model")
    assert [pair.query_id for pair in pairs[:3]] == ["q-anchor", "q-anchor", "q-basket"]
    assert str(tmp_path) not in str(stated)


def test_a_run_on_what_it_was_learned_from_says_so(tmp_path: Path) -> None:
    data = _data(tmp_path / "items")
    train_size(data, tmp_path / "model")
    spec = f"adaptive:rule=trained,model={tmp_path / 'model'}"
    said = {}
    for split in ("validation", "test"):
        recorder = Recorder()
        target = TARGET(("retrieval", data.corpora[0]), out=tmp_path / "runs", observer=recorder)
        target.run(spec, split=split)
        said[split] = [text for text in recorder.warnings if "was trained on" in text]
    (note,) = said["validation"]
    assert "was trained on 3 of the 3 questions and 6 of the 6 gold tables" in note
    assert said["test"] == []


def test_what_will_be_scored_is_not_learned_from(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is kept out because it will be scored"):
        train_size(_data(tmp_path / "items", "test"), tmp_path / "model")
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"beta": 0.0}, "beta=0.0: expected a number above 0"), ({"depth": 0}, "depth=0: at least")],
)
def test_invalid_settings(settings: dict[str, float], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        SizeSettings(**settings)  # type: ignore[arg-type]


def test_a_retriever_without_scores(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="random ranks without scores"):
        train_size(_data(tmp_path / "items"), tmp_path / "model", SizeSettings("random"))


def test_the_command(tmp_path: Path, inside: Inside) -> None:
    folder = _corpus(tmp_path / "items")
    options = ("--keep-out", "test", "-o", "model")
    said = inside.good("train", "set-size", "--corpus", str(folder), *options)
    assert "3 questions: tables with at least" in said
    assert "mean F1 of the sets 1.000, mean size 2.0" in said
    assert "'adaptive:retriever=\"bm25\",rule=trained,model=model'" in said
