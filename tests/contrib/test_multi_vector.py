"""Multi-vector retrieval, against cosines worked out one text at a time."""

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from target_bench.core import registry
from target_bench.core.schema import Table
from target_bench.data.tables import MemoryCorpus
from tests.retrievers.models import Hashed
from tests.retrievers.tables import QUERIES, TABLES, ask, corpus, table

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
    return list(encoder.encoded[0])


def cosine(first: str, other: str) -> float:
    encoder = Hashed()
    a, b = encoder.encode([first], "query")[0], encoder.encode([other], "table")[0]
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
