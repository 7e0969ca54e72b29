"""``target-bench check``."""

import json
from pathlib import Path

import pytest

from target_bench.testing import CONTRACTS, retriever_checks
from tests.cli.inside import Inside

N_CHECKS = len(retriever_checks("random"))
MOST_JUDGED = CONTRACTS["task"].most_sent

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
    assert out.startswith(f"random:seed=2: {N_CHECKS - 1} checks passed, 0 failed, 1 skipped\n")


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


def test_a_corpus(inside: Inside) -> None:
    out = inside.good("check", "--corpus", "mini", "--split", "test")
    assert out.startswith("mini: 3 checks passed, 0 failed, 1 skipped\n")
    broken = "class Broken:\n    def tables(self, release, split): ...\n"
    Path("broken.py").write_text(broken, encoding="utf-8")
    Path("shop").mkdir()
    Path("shop/films.csv").write_text("film,year\nHeat,1995\n", encoding="utf-8")
    Path("shop/queries.csv").write_text("query,table_id\nHeat,films\n", encoding="utf-8")
    assert inside.good("check", "./shop").startswith("./shop: 3 checks passed, 0 failed")
    done = inside("check", "--corpus", "broken.py:Broken")
    assert done.code == 3
    assert "Broken is not a corpus: inherit CorpusLoader" in done.out


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


def test_a_task_whose_judge_is_paid_for_is_checked_on_consent(inside: Inside) -> None:
    paid = """
from pathlib import Path

class Paid:
    paid = True

    def generate(self, request):
        with Path("asked").open("a") as file:
            file.write("!")
        return "{}"
"""
    Path("paid.py").write_text(paid, encoding="utf-8")
    task = ("check", "--task", "t2table:judged_by='paid.py:Paid'")
    done = inside(*task)
    assert done.code == 2
    assert f"up to {MOST_JUDGED} answers may be sent" in done.err
    assert not Path("asked").exists()
    assert " 0 failed" in inside(*task, "--yes").out
    sent = len(Path("asked").read_text()) / 2
    assert MOST_JUDGED * 0.4 < sent <= MOST_JUDGED
