"""Times of a run hold no import of modules."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from target_bench import TARGET
from tests.builders import Counting, only

SLOW = "import time\ntime.sleep(0.4)\n"


def test_modules_that_a_retriever_imports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("slow_index", "slow_query"):
        (tmp_path / f"{name}.py").write_text(SLOW, encoding="utf-8")

    class Lazy(Counting):
        def embed_corpus(self, corpus):  # type: ignore[no-untyped-def]
            __import__("slow_index")

            time.sleep(0.05)
            super().embed_corpus(corpus)

        def retrieve(self, query, top_k):  # type: ignore[no-untyped-def]
            __import__("slow_query")

            return super().retrieve(query, top_k)

    result = only(TARGET(("retrieval", "mini"), out=tmp_path / "runs").run(Lazy(), limit=3))
    assert {"slow_index", "slow_query"} <= sys.modules.keys()
    assert 0.05 <= result.seconds["embed_corpus"] < 0.4
    assert result.seconds["retrieve"] < 0.4


def test_a_reused_run_neither_writes_tables_nor_imports_parquet(tmp_path: Path) -> None:
    code = """if True:
        import sys
        from target_bench import evaluate
        evaluate("bm25", "mini", out=sys.argv[1])
        print("pyarrow.parquet" in sys.modules)
    """
    imported = [
        subprocess.run(
            [sys.executable, "-c", code, str(tmp_path)], check=True, capture_output=True, text=True
        ).stdout.strip()
        for _ in range(2)
    ]
    assert imported == ["True", "False"]
