"""Multi-vector retrieval, against cosines worked out one text at a time."""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from target_bench.core import registry
from target_bench.core.errors import ConfigError
from target_bench.core.identity import plugin_identity
from target_bench.core.index_store import load_index, save_index
from target_bench.core.schema import Table
from target_bench.core.vectors import Encoder, TextKind, Vectors
from target_bench.data.tables import MemoryCorpus
from tests.retrievers.models import Hashed
from tests.retrievers.tables import QUERIES, TABLES, ask, corpus, names, same_rankings, table

MultiVector = registry.resolve("retriever", "multi-vector")
MODULE = sys.modules[MultiVector.__module__]

SETTINGS: list[dict[str, Any]] = [
    {},
    {"rows": 1, "whole": []},
    {"context": [], "whole": ["title"], "rows": "all"},
    {"context": ["title"], "whole": [], "rows": "auto"},
]


def built(tables: Sequence[Table] = TABLES, **settings: Any) -> Any:
    retriever = MultiVector(settings.pop("encoder", None) or Hashed(), cache=False, **settings)
    retriever.embed_corpus(MemoryCorpus(tables))
    return retriever


def texts_of(table: Table, **settings: Any) -> list[str]:
    encoder = Hashed()
    built([table], encoder=encoder, **settings)
    return list(encoder.asked[0])


def cosine(one: str, other: str) -> float:
    encoder = Hashed()
    a, b = encoder.encode([one], "query")[0], encoder.encode([other], "table")[0]
    lengths = np.linalg.norm(a) * np.linalg.norm(b)
    return float(a @ b / lengths) if lengths else 0.0


def test_texts_of_a_table() -> None:
    rivers = table("r", "Rivers", ("river", "", "km"), (("Loire", 1, None), ("Rhône", 2, 813)), "F")
    assert texts_of(rivers) == [
        "Rivers F river  km Loire 1  Rhône 2 813",
        "Rivers F. river: Loire, 1",
        "Rivers F. river: Rhône, 2, km: 813",
    ]
    assert texts_of(rivers, context=[], whole=[], rows=1) == ["river: Loire, 1"]
    assert texts_of(table("none", "Rivers", ("river",)), whole=[]) == ["Rivers river"]
    assert texts_of(table("twice", "", ("a",), (("x",), ("x",))), whole=[]) == ["a: x"]
    assert texts_of(table("nothing", "", ("",), (("",),)), whole=[]) == [""]


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("cells", [1, 10, 10**6])
def test_scores_are_the_best_cosine(
    settings: dict[str, Any], cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MODULE, "_CELLS", cells)
    monkeypatch.setattr(MODULE, "_QUERIES", cells)
    for query, ranking in zip(QUERIES, ask(built(**settings), k=100), strict=True):
        has_direction = Hashed().encode([query], "query").any()
        assert len(ranking) == (len(TABLES) if has_direction else 0)
        for table_id, score in ranking:
            texts = texts_of(corpus()[table_id], **settings)
            assert score == pytest.approx(max(cosine(query, t) for t in texts), abs=1e-6)


@pytest.mark.parametrize("settings", SETTINGS)
def test_batches_change_nothing(settings: dict[str, Any]) -> None:
    retriever = built(**settings)
    same_rankings([ask(retriever, [query])[0] for query in QUERIES], ask(retriever))


def test_ties_keep_the_order_of_the_tables() -> None:
    assert names(ask(built(), ["plum"])[0])[:2] == ["twin1", "twin2"]
    assert names(ask(built(TABLES[::-1]), ["plum"])[0])[:2] == ["twin2", "twin1"]


def test_a_row_far_down_finds_its_table() -> None:
    rows = [(f"word{i}", i) for i in range(60)]
    long, other = table("long", "List", rows=rows), table("other", "List", rows=rows[:30])
    assert names(ask(built([other, long]), ["name word59 number 59"])[0])[0] == "long"


def test_rows_left_out_are_reported() -> None:
    retriever = built(rows=1)
    assert list(retriever.notes()) == [
        "7 of 8 tables have more rows than rows=1 lets in: those behind are not searched",
        "1 text was cut",
        "the encoder gave no direction (a vector of zeros) for 1 texts of tables, which score 0",
    ]
    assert "1 text was cut" in built().notes()


@pytest.mark.parametrize("settings", SETTINGS)
def test_saving_changes_nothing(settings: dict[str, Any], tmp_path: Path) -> None:
    saved = built(**settings)
    save_index(saved, corpus(), tmp_path / "index")
    loaded = MultiVector(Hashed(), cache=False, **settings)
    load_index(loaded, corpus(), tmp_path / "index")
    assert ask(loaded) == ask(saved)
    assert loaded.notes() == saved.notes()
    assert {p.suffix for p in tmp_path.rglob("*") if p.is_file()} <= {".npy", ".json"}


class Learning(Encoder):
    """Dimensions are the words of the corpus."""

    def fit(self, texts: Iterable[str]) -> None:
        self.words = sorted({word for text in texts for word in text.split()})

    def encode(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        rows = [[text.split().count(word) for word in self.words] for text in texts]
        return np.array(rows, dtype=np.float32)

    def save(self, folder: Path) -> None:
        (folder / "words").write_text(" ".join(self.words), encoding="utf-8")

    def load(self, folder: Path) -> None:
        self.words = (folder / "words").read_text(encoding="utf-8").split()


def test_what_an_encoder_has_learned_is_saved(tmp_path: Path) -> None:
    saved = built(encoder=Learning())
    saved.save(tmp_path)
    loaded = MultiVector(Learning(), cache=False)
    loaded.load(tmp_path, corpus())
    assert ask(loaded) == ask(saved)


def test_another_dimension_is_refused() -> None:
    retriever = built()
    retriever._encoding.encoder = Hashed(dims=8)
    with pytest.raises(ConfigError, match="queries 8 dimensions, and tables 64"):
        retriever.retrieve("plum", 3)


def test_vectors_of_zeros_are_reported() -> None:
    """A query without a direction finds nothing: all scores of 0 would rank by place."""
    retriever = built()
    assert ask(retriever, ["?", "plum"])[0] == []
    assert ask(retriever, ["?", "plum"])[1]
    assert "for 2 queries, which find nothing" in " ".join(retriever.notes())


def test_small_corpora() -> None:
    assert ask(built([]), ["plum"]) == [[]]
    assert list(built().retrieve_batch([], 3)) == []
    assert names(ask(built(TABLES[:1]), ["plum"])[0]) == ["fruit"]


def test_the_encoder_is_part_of_the_identity() -> None:
    one, warning = plugin_identity(MultiVector(Hashed()))
    assert warning is None
    assert one == plugin_identity(MultiVector(Hashed(), cache=False))[0]
    assert one != plugin_identity(MultiVector(Hashed(dims=8)))[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rows": -1}, "rows=-1"),
        ({"context": ["rows"]}, "header and rows are in each text already"),
        ({"context": ["titel"]}, "expected one or more of"),
        ({"whole": ["titel"]}, "expected one or more of"),
        ({"encoder": 3}, "encoder=3 is not an Encoder"),
        ({"encoder": "minilmm"}, "unknown encoder 'minilmm'"),
    ],
)
def test_bad_settings(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        MultiVector(**{"encoder": Hashed(), **arguments})
