"""Late interaction and rerankers are trained as encoders are: with the same record and checks."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from target_bench import TARGET
from target_bench.core.errors import ConfigError
from target_bench.models.cross_encoder import Scorer
from target_bench.models.encoders.sentence_transformers import minilm_model
from target_bench.models.encoders.token_vectors import TokenEncoder
from target_bench.models.encoders.weights import folder_revision, quietly
from target_bench.models.training import fine_tuning, losses, training_record
from target_bench.models.training.fine_tuning import Settings, Trained
from target_bench.models.training.model_kinds import Kind
from target_bench.models.training.training_loop import Course
from target_bench.models.training.training_splits import Data
from tests.builders import Recorder
from tests.cli.inside import Inside
from tests.data import written
from tests.models.training.shops import FRUITS, shops
from tests.models.training.test_training_loop import COPY, FIG, LIME, PLUM, pair
from tests.retrievers.models import cross_encoder, token_encoder

KINDS: tuple[Kind, ...] = ("late-interaction", "reranker")


def test_max_sims_are_those_of_the_library() -> None:
    model = TokenEncoder("minilm", None, 16, 8, "cpu", "float32").trainable()
    questions, texts = ["what is a fig", "lime"], ["fig", "lime and plum", "a"]
    asked, found = model.encode_query(questions), model.encode_document(texts)
    wanted = model.similarity(asked, found).numpy() / np.array([[len(a)] for a in asked])
    np.testing.assert_allclose(
        losses.max_sims(model, questions, texts).detach().numpy(), wanted, atol=1e-5
    )


def test_the_loss_of_a_reranker_is_that_of_the_formula() -> None:
    """Each gold table among its own negatives; one without any counts 0."""
    model = Scorer(minilm_model(), None, 16, 8, "cpu", "float32").trainable()
    model.eval()
    batch = [pair("a", FIG, LIME, PLUM), pair("b", COPY, LIME), pair("c", PLUM)]
    expected = [0.0]
    for one in batch[:2]:
        texts = [(one.question, table.text) for table in (one.table, *one.negatives)]
        scores = model(model.preprocess(texts))["scores"].detach().numpy().ravel()
        expected.append(np.log(np.exp(scores).sum()) - scores[0])
    found = float(losses.among_own(model, batch).detach())
    assert found == pytest.approx(sum(expected) / 3, abs=1e-4)
    assert float(losses.among_own(model, batch[2:]).detach()) == 0


@pytest.fixture(scope="module", params=KINDS)
def learned(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Kind, Trained, Path]:
    """A model of each kind, trained on the shops."""
    folder = tmp_path_factory.mktemp("kinds")
    corpus = shops(folder / "shops")
    course = Course(epochs=6, batch_size=8, lr=5e-4, seed=3)
    settings = Settings(kind=request.param, negatives="random", max_tokens=24, course=course)
    data = Data([corpus], validation_split="validation", shared_tables=True)
    return request.param, fine_tuning.train(data, folder / "model", settings, Recorder()), corpus


def test_it_learns(learned: tuple[Kind, Trained, Path]) -> None:
    kind, found, _ = learned
    assert found.pairs == 2 * len(FRUITS)
    assert found.losses[-1] < 0.8 * found.losses[0]
    assert len(found.validation) == 7
    assert found.epoch > 0
    stated = training_record.read(found.folder)
    assert stated["settings"]["kind"] == kind
    assert stated["settings"]["n_negatives"] == {"late-interaction": 1, "reranker": 4}[kind]
    assert len(stated["base"]["revision"]) == 64


def test_a_score_says_what_the_model_has_seen(
    learned: tuple[Kind, Trained, Path], tmp_path: Path
) -> None:
    kind, found, corpus = learned
    spec = {
        "late-interaction": f"late-interaction:model={found.folder}",
        "reranker": f"rerank:retriever=random,depth=3,model={found.folder}",
    }[kind]
    heard = Recorder()
    target = TARGET(("retrieval", corpus), out=tmp_path / "runs", observer=heard)
    (result,) = target.run(spec, "validation")
    assert [w for w in heard.warnings if "12 of the 12 questions and 12 of the 12 gold" in w]
    manifest = json.loads((result.folder / "manifest.json").read_text())
    assert any("was chosen" in note for note in manifest["notes"])


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_gives_the_same_weights(kind: Kind, tmp_path: Path) -> None:
    """The random layer of a reranker included."""
    corpus = shops(tmp_path / "shops")
    made: dict[Kind, Any] = {"late-interaction": token_encoder, "reranker": cross_encoder}
    base = str(made[kind](tmp_path / "base"))
    folders = [tmp_path / name for name in ("one", "two", "other")]
    for folder, seed in zip(folders, (1, 1, 2), strict=True):
        course = Course(batch_size=4, lr=1e-2, seed=seed)
        settings = Settings(base, "random", kind=kind, max_tokens=12, course=course)
        data = Data([corpus], shared_tables=True, limit=8)
        fine_tuning.train(data, folder, settings, Recorder())
    one, two, other = map(folder_revision, folders)
    assert one == two != other


def test_a_new_layer_is_seeded() -> None:
    made = [fine_tuning._model(Scorer(minilm_model(), None, 16, 8, "cpu", "float32"), settings)
            for settings in (Settings(kind="reranker"), Settings(kind="reranker"))]  # fmt: skip
    one, two = (model.model.classifier.weight for model in made)
    assert (one == two).all()


def test_a_reranker_needs_negatives() -> None:
    with pytest.raises(ConfigError, match="n_negatives=0: a number from 1 is needed for reranker"):
        Settings(kind="reranker", n_negatives=0)
    assert Settings(n_negatives=0).hard == 0


def test_a_reranker_does_not_train_on_nothing(tmp_path: Path) -> None:
    """A question whose gold table is the only one has no hard negative."""
    written.write_own(tmp_path / "one", {"a.csv": "x\n1\n"}, [written.asked("a")])
    data = Data([tmp_path / "one"], split="test", keep_out=[], shared_tables=True)
    settings = Settings(str(cross_encoder(tmp_path / "base")), "random", kind="reranker")
    with pytest.raises(ConfigError, match="no question has a hard negative"):
        fine_tuning.train(data, tmp_path / "model", settings, Recorder())
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("kind", KINDS)
def test_a_base_that_is_not_there(kind: Kind, tmp_path: Path) -> None:
    data = Data([shops(tmp_path / "shops")], shared_tables=True)
    with pytest.raises(ConfigError, match=r"/none is not there"):
        fine_tuning.train(data, tmp_path / "model", Settings("./none", kind=kind), Recorder())
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("kind", KINDS)
def test_the_command_says_how_to_use_the_model(kind: Kind, inside: Inside) -> None:
    shops(Path("shops"))
    made: dict[Kind, Any] = {"late-interaction": token_encoder, "reranker": cross_encoder}
    with quietly():
        base = str(made[kind](Path("base").absolute()))
    options = f"--corpus ./shops --shared-tables --base {base} --limit 4 --max-tokens 12 -o model"
    options += " --negatives random"
    done = inside("train", kind, *options.split(), "--rows", "2")
    assert done.code == 0, done.err
    spec = done.out.strip().splitlines()[-1].strip().removeprefix('--retriever "').rstrip('"')
    assert spec.endswith("model=model,rows=2")
    scored = inside("run", "./shops", "--retriever", spec)
    assert (scored.code, "recall" in scored.out) == (0, True), scored.err
