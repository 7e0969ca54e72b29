"""Sets of the size that the scores speak for."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from target_bench.core.contract import Retriever
from target_bench.core.errors import ConfigError
from target_bench.core.identity import plugin_identity
from target_bench.core.registry import create
from target_bench.core.schema import Corpus, TableId
from target_bench.models.set_sizes import KIND, by_gap, by_share, shares
from target_bench.models.training import training_record
from target_bench.retrievers.adaptive import Adaptive
from target_bench.retrievers.bm25 import BM25
from tests.builders import Counting
from tests.retrievers.tables import (
    ask,
    batches_change_nothing,
    built,
    corpus,
    hash_seed_changes_nothing,
    names,
)


class Given(Retriever):
    """The first tables of the corpus, with these scores."""

    def __init__(self, scores: Sequence[float]) -> None:
        self.scores = scores

    def embed_corpus(self, corpus: Corpus) -> None:
        self._ids = corpus.ids

    def retrieve(self, query: str, top_k: int) -> list[tuple[TableId, float]]:
        return list(zip(self._ids, self.scores, strict=False))[:top_k]


def _size(scores: Sequence[float], k: int = 8, **settings: Any) -> int:
    retriever = Adaptive(Given(scores), **settings)
    retriever.embed_corpus(corpus())
    return len(list(retriever.retrieve("any", k)))


@pytest.mark.parametrize(
    ("scores", "size"),
    [
        ([9, 8, 3, 2], 2),
        ([9, 3, 2.5, 2], 1),
        ([9, 8, 7, 1], 3),
        ([5, 4, 3, 2], 1),  # of equal gaps the first
        ([5, 5, 5], 3),
        ([5], 1),
        ([], 0),
        ([-1, -2, -9], 2),
    ],
)
def test_the_largest_gap(scores: Sequence[float], size: int) -> None:
    assert _size(scores) == size


@pytest.mark.parametrize(
    ("scores", "share", "size"),
    [
        ([10, 8, 5, 4.9], 0.5, 3),
        ([10, 8, 5], 0.0, 3),
        ([10, 10, 9], 1.0, 2),
        ([-1, -1, -2], 0.5, 2),  # no share of a score that is not positive
        ([0, 0], 0.5, 2),
        ([], 0.5, 0),
    ],
)
def test_a_share_of_the_first_score(scores: Sequence[float], share: float, size: int) -> None:
    assert _size(scores, rule="share", share=share) == size


def test_rules_do_not_depend_on_the_scale() -> None:
    scores = np.array([[9.0, 7, 2, 1], [5, 5, 1, 0.5]])
    filled = np.ones((2, 4), dtype=bool)
    for factor in (1e-6, 3.0, 1e6):
        assert by_gap(scores * factor, filled).tolist() == [2, 2]
        assert by_share(scores * factor, filled, 0.2).tolist() == [3, 3]
        np.testing.assert_allclose(shares(scores * factor, filled)[0], [1, 7 / 9, 2 / 9, 1 / 9])


def test_limits_of_the_size() -> None:
    assert _size([9, 3, 2, 1], least=3) == 3
    assert _size([9, 3], least=3) == 2
    assert _size([9, 8, 7, 1], k=2) == 2
    assert _size([9, 8, 7, 1], depth=2) == 1
    assert _size([9, 8, 7, 6.9], rule="share", depth=3) == 3


def test_the_set_is_the_beginning_of_the_ranking() -> None:
    query = "river river fruit plum rhine length"
    whole = ask(built("bm25"), [query], 8)[0]
    found = ask(built("adaptive"), [query], 8)[0]
    assert 0 < len(found) < len(whole)
    assert found == whole[: len(found)]


def _model(folder: Path, **changes: Any) -> Path:
    folder.mkdir()
    record = {"kind": KIND, "share": 0.8, "retriever": "bm25", "depth": 3, **changes}
    record["retriever_identity"] = plugin_identity(create("retriever", record["retriever"]))[0]
    training_record.write(folder, record, [])
    return folder


def test_a_learned_share(tmp_path: Path) -> None:
    spec = f"adaptive:rule=trained,model={_model(tmp_path / 'm')}"
    trained = create("retriever", spec)
    trained.embed_corpus(corpus())
    assert create("retriever", f"{spec},depth=3")
    with pytest.raises(ConfigError, match="depth=50: the model was trained with depth=3"):
        create("retriever", f"{spec},depth=50")
    assert ask(trained) == ask(built("adaptive:rule=share,share=0.8,depth=3"))


def test_what_was_learned_is_part_of_the_identity(tmp_path: Path) -> None:
    def identity(share: float) -> Any:
        folder = _model(tmp_path / str(share), share=share)
        return plugin_identity(create("retriever", f"adaptive:rule=trained,model={folder}"))[0]

    one, other = identity(0.5), identity(0.6)
    assert one["parts"]["model"] != other["parts"]["model"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"retriever": "tfidf"},
            "trained on the scores of tfidf, with class='TfIdf', and bm25 has 'BM25'; train one on",
        ),
        ({"retriever": "bm25:k1=2"}, "of bm25:k1=2, with config.k1=2.0, and bm25 has "),
        ({"kind": "encoder"}, "it holds no learned set size.*its kind is 'encoder'"),
        ({"share": 2}, "share=2.0"),
        ({"share": "x"}, "could not convert"),
        ({"depth": 0}, "depth=0"),
    ],
)
def test_a_model_that_does_not_fit(tmp_path: Path, changes: Any, message: str) -> None:
    folder = _model(tmp_path / "m", **changes)
    with pytest.raises(ConfigError, match=message):
        create("retriever", f"adaptive:rule=trained,model={folder}")


def test_a_model_fits_the_retriever_and_not_its_name(tmp_path: Path) -> None:
    folder = str(_model(tmp_path / "m"))
    trained = Adaptive(BM25(), rule="trained", model=folder)
    trained.embed_corpus(corpus())
    assert ask(trained) == ask(built("adaptive:rule=share,share=0.8,depth=3"))
    assert trained.notes() == []


SCORING = """
class Scoring:
    def embed_corpus(self, corpus):
        self.ids = corpus.ids

    def retrieve(self, query, top_k):
        return [(table, 1 / rank) for rank, table in enumerate(self.ids[:top_k], 1)]
"""


def test_a_retriever_that_has_changed_since_the_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its code, or a package of it: the model is used, and the note says what to do."""
    monkeypatch.chdir(tmp_path)
    code = tmp_path / "mine.py"
    code.write_text(SCORING)
    record = training_record.read(_model(tmp_path / "m", retriever="mine.py:Scoring"))
    other = tmp_path / "other"
    other.mkdir()
    record["retriever_identity"]["code"] = "0" * 64
    training_record.write(other, record, [])
    for folder, noted in (("m", False), ("other", True)):
        spec = f"adaptive:retriever='mine.py:Scoring',rule=trained,model={folder}"
        found = list(built(spec).notes())
        assert len(found) == noted
        assert not noted or "mine.py:Scoring has changed since the model in other was" in found[0]


UNKNOWN = """
class Unknown:
    def __init__(self, weight: float = 1.0):
        self._w = weight

    def embed_corpus(self, corpus):
        self.ids = corpus.ids

    def retrieve(self, query, top_k):
        return [(table, self._w / rank) for rank, table in enumerate(self.ids[:top_k], 1)]
"""


def test_a_retriever_without_an_identity_goes_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(UNKNOWN)
    _model(tmp_path / "m", retriever="mine.py:Unknown:weight=1")
    spec = "adaptive:retriever='mine.py:Unknown:weight=%s',rule=trained,model=m"
    assert list(built(spec % 1).notes()) == []
    with pytest.raises(ConfigError, match=r"scores of mine\.py:Unknown:weight=1, not of mine.*=3;"):
        create("retriever", spec % 3)


def test_more_tables_than_those_of_the_training(tmp_path: Path) -> None:
    folder = _model(tmp_path / "m")
    with pytest.raises(ConfigError, match="least=4: only depth=3 tables are looked at"):
        create("retriever", f"adaptive:rule=trained,model={folder},least=4")


def test_no_model(tmp_path: Path) -> None:
    message = "none: not a folder with target_bench.json; train a model with"
    with pytest.raises(ConfigError, match=message):
        create("retriever", f"adaptive:rule=trained,model={tmp_path / 'none'}")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("share=1.5", "share=1.5: a share of the first score"),
        ("least=0", "least=0: at least 1"),
        ("depth=0", "depth=0: at least 1"),
        ("rule=trained", "rule=trained needs the folder of a model"),
        ("model=x", "no other rule has one"),
        ("rule=guess", "rule"),
        ("share=0.3", "share=0.3: rule=gap reads no share; write rule=share"),
        ("share=0.3,rule=trained,model=x", "share=0.3: rule=trained reads no share"),
        ("share=0.5", "share=0.5: rule=gap reads no share"),
        ("least=60", "least=60: only depth=50 tables are looked at"),
        ("least=3,depth=2", "least=3: only depth=2 tables"),
    ],
)
def test_invalid_settings(settings: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        create("retriever", f"adaptive:{settings}")


def test_a_retriever_without_scores() -> None:
    retriever = Adaptive(Counting())
    retriever.embed_corpus(corpus())
    with pytest.raises(ConfigError, match="Counting ranks without scores, which adaptive needs"):
        retriever.retrieve("any", 3)


@pytest.mark.parametrize("spec", ["adaptive", "adaptive:rule=share,share=0.7"])
def test_invariances(spec: str) -> None:
    batches_change_nothing(spec)
    hash_seed_changes_nothing(spec)


def test_saving_changes_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    folder.mkdir()
    saved, loaded = built("adaptive"), create("retriever", "adaptive")
    saved.save(folder)
    loaded.load(folder, corpus())
    assert ask(loaded) == ask(saved)
    assert names(ask(loaded)[0])
