"""MiniLM is trained for real: it learns, says what it learned from, and the same twice."""

import json
from pathlib import Path

import numpy as np
import pytest

from target_bench import TARGET
from target_bench.core import registry
from target_bench.core.errors import ConfigError
from target_bench.models.encoders.sentence_transformers import SentenceTransformers
from target_bench.models.encoders.weights import folder_revision
from target_bench.models.training import fine_tuning, training_record
from target_bench.models.training.fine_tuning import Settings, Trained
from target_bench.models.training.training_loop import Course
from target_bench.models.training.training_splits import Data
from tests.builders import Recorder
from tests.models.training.conftest import SETTINGS
from tests.models.training.shops import FRUITS, shops

Fixture = tuple[Trained, Path, Recorder]


def test_it_learns(trained: Fixture) -> None:
    """The loss falls, and questions in other words find their tables better than before."""
    found, _, heard = trained
    assert found.pairs == 2 * len(FRUITS)
    assert found.losses[-1] < 0.7 * found.losses[0]
    assert len(found.validation) == SETTINGS.course.epochs + 1
    best = found.validation[found.epoch]["mrr"]
    assert found.epoch > 0
    assert best > found.validation[0]["mrr"] + 0.2
    assert best == max(scores["mrr"] for scores in found.validation)
    assert heard.steps == SETTINGS.course.epochs * 3
    assert "train: epoch 4 of 4" in heard.stages


def test_the_folder_states_the_training(trained: Fixture) -> None:
    found, corpus, _ = trained
    stated = training_record.read(found.folder)
    assert stated["base"]["class"] == "MiniLM"
    assert len(stated["base"]["revision"]) == 64
    assert stated["settings"]["seed"] == 3
    assert stated["settings"]["max_tokens"] == 24
    assert stated["data"]["kept_out"] == ["shops test", "shops validation"]
    assert stated["data"]["shared_tables"] is True
    (train,) = stated["data"]["train"]
    assert (train["corpus"], train["split"], train["queries"]) == ("shops", "train", 24)
    assert len(train["corpus_fingerprint"]) == 64
    pairs = training_record.read_pairs(found.folder)
    assert [p.query_id for p in pairs if p.use == "train"][:2] == ["t-fig", "u-fig"]
    assert len([p for p in pairs if p.use == "validation"]) == len(FRUITS)
    assert str(corpus) not in json.dumps(stated)


def test_the_model_is_usable_by_name(trained: Fixture) -> None:
    """Its limit comes along, and it is another model than its base."""
    found, _, _ = trained
    encoder = registry.create("encoder", f"sentence-transformers:model={found.folder}")
    vectors = encoder.encode(["the shop in Oslo", "word " * 50], "query")
    assert vectors.shape == (2, 384)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert "24 tokens" in " ".join(encoder.notes())
    base = registry.create("encoder", "minilm")
    assert np.abs(base.encode(["the shop in Oslo"], "query") - vectors[:1]).max() > 0.01


def test_a_score_says_what_the_model_has_seen(trained: Fixture, tmp_path: Path) -> None:
    found, corpus, _ = trained
    heard = Recorder()
    spec = f"dense:encoder='sentence-transformers:model={found.folder}'"
    for retriever in (spec, f'hybrid:retrievers=[bm25, "{spec}"]'):
        target = TARGET(("retrieval", corpus), out=tmp_path / "runs", observer=heard)
        (result,) = target.run(retriever, "validation")
        said = [w for w in heard.warnings if "was chosen, among its epochs, by" in w]
        assert "12 of the 12 questions and 12 of the 12 gold tables" in said[-1]
        assert [w for w in heard.warnings if "was trained on 0 of the 12 questions and 12" in w]
        manifest = json.loads((result.folder / "manifest.json").read_text())
        assert any("was chosen" in note for note in manifest["notes"])
        heard.warnings.clear()
    TARGET(("retrieval", corpus), out=tmp_path / "runs", observer=heard).run(spec, "test")
    assert not [w for w in heard.warnings if "was trained on" in w]


def test_the_same_seed_gives_the_same_weights(tmp_path: Path) -> None:
    import torch

    corpus = shops(tmp_path / "shops")
    before = torch.get_rng_state()
    folders = [tmp_path / name for name in ("one", "two", "other")]
    for folder, seed in zip(folders, (1, 1, 2), strict=True):
        course = Course(batch_size=16, lr=1e-4, seed=seed)
        settings = Settings(max_tokens=12, course=course)
        fine_tuning.train(
            Data([corpus], shared_tables=True, limit=16), folder, settings, Recorder()
        )
    one, two, other = map(folder_revision, folders)
    assert one == two != other
    assert torch.equal(before, torch.get_rng_state())


def test_a_trained_base_brings_its_training_along(trained: Fixture, tmp_path: Path) -> None:
    found, corpus, _ = trained
    heard = Recorder()
    settings = Settings(
        base=f"sentence-transformers:model={found.folder}", course=Course(batch_size=16)
    )
    data = Data([corpus], shared_tables=True, limit=8)
    again = fine_tuning.train(data, tmp_path / "again", settings, heard)
    assert any("the base in" in w and "12 questions" in w for w in heard.warnings)
    assert training_record.read(again.folder)["base"]["trained"]["settings"]["seed"] == 3
    assert (
        len(training_record.read_pairs(again.folder))
        == len(training_record.read_pairs(found.folder)) + 8
    )
    strict = Data([corpus], shared_tables=True, limit=8, strict=True)
    with pytest.raises(ConfigError, match="itself trained on"):
        fine_tuning.train(strict, tmp_path / "strict", settings, Recorder())


def test_prompts_come_along(tmp_path: Path) -> None:
    from tests.models.encoders.minilm import FOLDER

    base = SentenceTransformers(str(FOLDER), query_prompt="ask: ", table_prompt="read: ")
    base.trainable().save(str(tmp_path / "saved"), create_model_card=False)
    saved = SentenceTransformers(str(tmp_path / "saved"))
    for kind in ("query", "table"):
        mine, theirs = saved.encode(["a"], kind), base.encode(["a"], kind)
        np.testing.assert_allclose(mine, theirs, atol=1e-6)
