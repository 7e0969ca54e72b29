"""The statements of docs/production.md for extensions of DuckDB, which exist for DuckDB 1.5.

They need an interpreter with ``duckdb==1.5.5``, ``duckdb-extensions``, ``duckdb-extension-vss`` and
``duckdb-extension-fts``, apart from DuckDB 2.0, which this project needs.
``TARGET_BENCH_DUCKDB_EXTENSIONS`` is its path.
"""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from target_bench.core.schema import Corpus
from target_bench.data.load import load
from target_bench.data.table_text import Serializer
from tests.builders import ROOT

pytestmark = pytest.mark.slow

PAGE = (ROOT / "docs" / "production.md").read_text(encoding="utf-8")
QUESTIONS = ["Summer Olympics", "moons of Saturn", "Formula One champions"]

PROGRAM = """
import json, sys, duckdb
from duckdb_extensions import import_extension
given = json.load(sys.stdin)
database = duckdb.connect("tables.duckdb", config={"extension_directory": "extensions"})
for name in ("vss", "fts"):
    import_extension(name, con=database)
database.execute("CREATE TABLE tables (table_id TEXT, text TEXT, vector FLOAT[384])")
database.executemany("INSERT INTO tables VALUES (?, ?, ?)", given["tables"])
*index_vectors, nearest, load_words, index_words, ranked = given["statements"]
for statement in (*index_vectors, load_words, index_words):
    database.execute(statement)
plan = database.execute("EXPLAIN " + nearest, [given["vectors"][0]]).fetchall()
answer = {
    "plan": str(plan),
    "nearest": [database.execute(nearest, [v]).fetchall() for v in given["vectors"]],
    "ranked": [database.execute(ranked, [q]).fetchall() for q in given["questions"]],
}
json.dump(answer, sys.stdout)
"""


def _answer(corpus: Corpus, vectors: Any, folder: Path) -> Any:
    """What the page's statements return: vectors that are nearest, and rankings by words."""
    python = os.environ.get("TARGET_BENCH_DUCKDB_EXTENSIONS")
    if not python:
        pytest.skip("TARGET_BENCH_DUCKDB_EXTENSIONS is not set")
    (block,) = re.findall(r"^```sql\n(LOAD vss.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    texts = map(Serializer(rows="auto"), corpus)
    rows = zip((table.table_id for table in corpus.ids), texts, vectors.tolist(), strict=True)
    given = {
        "statements": [part.strip() for part in block.split(";") if part.strip()],
        "tables": list(rows),
        "vectors": vectors[:3].tolist(),
        "questions": QUESTIONS,
    }
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(
        [python, "-c", PROGRAM],
        input=json.dumps(given), capture_output=True, text=True, cwd=folder, env=environment,
        check=False, timeout=300,
    )  # fmt: skip
    assert not done.returncode, done.stderr
    return json.loads(done.stdout)


def test_the_statements_find_near_vectors_and_rank_by_words(tmp_path: Path) -> None:
    corpus = load("mini", "test").corpus
    vectors = np.random.default_rng(7).normal(size=(len(corpus), 384))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    answer = _answer(corpus, vectors, tmp_path)
    assert "HNSW_INDEX_SCAN" in answer["plan"]
    ids = [table.table_id for table in corpus.ids]
    for number, rows in enumerate(answer["nearest"]):
        exact = np.argsort(-vectors @ vectors[number], kind="stable")[:10]
        names = [name for (name,) in rows]
        assert names[0] == ids[number]
        assert len({ids[i] for i in exact} & set(names)) >= 8  # the index is approximate
    texts = {table.table_id: Serializer(rows="auto")(corpus[table]).lower() for table in corpus.ids}
    for question, rows in zip(QUESTIONS, answer["ranked"], strict=True):
        scores = [score for _, score in rows]
        assert scores == sorted(scores, reverse=True)
        stems = [word[:4] for word in question.lower().split() if word != "of"]
        assert all(any(stem in texts[name] for stem in stems) for name, _ in rows)
        assert all(stem in texts[rows[0][0]] for stem in stems)
