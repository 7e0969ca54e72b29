"""Times of a run hold no import of modules."""

import builtins
import subprocess
import sys
import time
from pathlib import Path
from threading import Thread

import pytest

from target_bench import TARGET
from target_bench.runs.times import worked
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


def test_the_work_itself_and_errors() -> None:
    original = builtins.__import__
    with worked() as took:
        time.sleep(0.02)
    assert 0.02 <= took[0] < 0.4
    with pytest.raises(ModuleNotFoundError), worked():
        __import__("no_such_module_there_is")
    assert builtins.__import__ is original


def test_imports_of_another_thread_take_nothing_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "slow_beside.py").write_text("import time\ntime.sleep(0.1)\n")
    monkeypatch.syspath_prepend(tmp_path)
    with worked() as took:
        beside = Thread(target=__import__, args=("slow_beside",))
        beside.start()
        time.sleep(0.15)
        beside.join()
    assert took[0] >= 0.15


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
