"""Multi-vector retrieval, against cosines worked out one text at a time."""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from target_bench.core import registry
from target_bench.core.errors import ConfigError
from target_bench.core.index_store import load_index, save_index
from target_bench.core.schema import Table
from target_bench.core.vectors import Encoder, TextKind, Vectors
from target_bench.data.tables import MemoryCorpus
from tests.retrievers.models import Hashed
from tests.retrievers.tables import QUERIES, TABLES, ask, corpus, names, table

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


def test_a_row_far_down_finds_its_table() -> None:
    rows = [(f"word{i}", i) for i in range(60)]
    long, other = table("long", "List", rows=rows), table("other", "List", rows=rows[:30])
    assert names(ask(built([other, long]), ["name word59 number 59"])[0])[0] == "long"


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
