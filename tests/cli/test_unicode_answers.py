"""Answers that macOS writes, with accents as characters of their own, are right."""

import json
from pathlib import Path
from unicodedata import normalize

from tests.cli.inside import Inside
from tests.data.test_unicode import CITIES
from tests.data.written import write_queries


def test_decomposed_answers_are_right(tmp_path: Path, inside: Inside) -> None:
    """Nine right answers in NFD, and a query id in NFD."""
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "t.csv").write_text("city\nx\n")
    ids = ["ü", *map(str, range(1, len(CITIES)))]
    write_queries(
        tmp_path / "own" / "queries.jsonl",
        [
            {"query_id": i, "query": "which city?", "table_id": "t", "answer": city}
            for i, city in zip(ids, CITIES, strict=True)
        ],
    )
    answers = [
        {"query_id": normalize("NFD", i), "answer": normalize("NFD", city)}
        for i, city in zip(ids, CITIES, strict=True)
    ]
    (tmp_path / "answers.jsonl").write_text("".join(f"{json.dumps(x)}\n" for x in answers))
    done = inside("score", "./own", "--task", "qa", "--predictions", "answers.jsonl", "--json")
    scores = json.loads(done.out)["results"][0]["scores"]
    assert scores["exact_match"]["value"] == scores["token_f1"]["value"] == 1.0
