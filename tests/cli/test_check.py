"""``target-bench check``."""

import json
from pathlib import Path

import pytest

from target_bench.testing import retriever_checks
from tests.cli.inside import Inside

N_CHECKS = len(retriever_checks("random"))

FILE = """
class Mine:
    def __init__(self, extra: int = 0) -> None:
        self.extra = extra

    def embed_corpus(self, corpus):
        print("indexing")
        self.ids = list(corpus.ids)

    def retrieve(self, query, top_k):
        return self.ids[: top_k + self.extra]
"""


@pytest.fixture
def mine(tmp_path: Path) -> str:
    (tmp_path / "mine.py").write_text(FILE, encoding="utf-8")
    return "mine.py:Mine"


def test_a_built_in(inside: Inside) -> None:
    out = inside.good("check", "random:seed=2")
    assert out.startswith(f"random:seed=2: {N_CHECKS - 2} checks passed, 0 failed, 2 skipped\n")


def test_a_class_in_a_file(inside: Inside, mine: str) -> None:
    done = inside("check", mine)
    assert done.code == 0
    assert done.out.startswith(f"mine.py:Mine: {N_CHECKS - 2} checks passed, 0 failed, 2 skipped\n")
    assert "indexing" not in done.out


def test_json_and_skips(inside: Inside, mine: str) -> None:
    skips = ("--skip", "top_k=known", "--skip", "inputs")
    done = inside("check", f"{mine}:extra=1", *skips, "--json")
    outcomes = {o["check"]: o for o in json.loads(done.out)["outcomes"]}
    assert outcomes["top_k"] == {"check": "top_k", "status": "skipped", "detail": "known"}
    assert outcomes["inputs"]["detail"] == "left out with --skip"


def test_a_name_that_no_retriever_has(inside: Inside) -> None:
    assert "extractive: " in inside.good("check", "extractive")


def test_a_generator_that_is_paid_for_is_asked_on_consent(inside: Inside) -> None:
    paid = """
from pathlib import Path

class Paid:
    paid = True

    def generate(self, request):
        with Path("asked").open("a") as file:
            file.write("!")
        return request.query
"""
    Path("paid.py").write_text(paid, encoding="utf-8")
    done = inside("check", "--generator", "paid.py:Paid")
    assert done.code == 2
    assert "up to 100 texts may be sent" in done.err
    assert "--yes" in done.err
    assert not Path("asked").exists()
    agreed = inside("check", "--generator", "paid.py:Paid", "--yes")
    assert (agreed.code, agreed.err) == (0, done.err.partition("Error")[0])
    assert " 0 failed" in agreed.out
    assert Path("asked").exists()


def test_a_retriever_that_is_paid_for_is_asked_on_consent(inside: Inside) -> None:
    paid = """
from pathlib import Path

class Paid:
    paid = True

    def embed_corpus(self, corpus):
        self.ids = list(corpus.ids)
        self.count(len(self.ids))

    def retrieve(self, query, top_k):
        self.count(1)
        return self.ids[:top_k]

    def count(self, n):
        with Path("asked").open("a") as file:
            file.write("!" * n)
"""
    Path("paid.py").write_text(paid, encoding="utf-8")
    done = inside("check", "paid.py:Paid")
    assert done.code == 2
    assert "up to 1,000 texts may be sent" in done.err
    assert not Path("asked").exists()
    assert " 0 failed" in inside("check", "paid.py:Paid", "--yes").out
    assert 0 < len(Path("asked").read_text()) <= 1_000
