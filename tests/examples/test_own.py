"""The examples of own plug-ins, and of an application, as their readers run them."""

import runpy
from pathlib import Path

import pytest

from tests.builders import ROOT

EXAMPLES = ROOT / "examples"


@pytest.fixture(autouse=True)
def _in_a_new_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("own_retriever", ["LastWord ", "bm25 ", ".431 [.375, .488]"]),
        ("own_metric", [".986 [.964, .994] beside .982 [.961, .992]", "1.604 ["]),
        ("own_task", ["grounded, 144 queries", ".312", ".028", ".368"]),
    ],
)
def test_prints(name: str, printed: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):  # the second time it finds its runs, and tells of nothing
        runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
        shown = capsys.readouterr().out
        assert [text for text in printed if text not in shown] == []


@pytest.mark.filterwarnings("default")  # those of the frameworks are not ours
def test_an_application() -> None:
    pytest.importorskip("fastapi")
    pytest.importorskip("langchain_core")
    pytest.importorskip("llama_index.core")
    from fastapi.testclient import TestClient

    application = runpy.run_path(str(EXAMPLES / "application.py"))
    question = "Who won the 1998 World Cup?"
    answer = TestClient(application["app"]).get("/tables", params={"question": question, "k": 2})
    ids = [table["id"] for table in answer.json()]
    assert ids == ["world-cup-1998-knockout", "world-cup-2018-knockout"]
    assert (
        TestClient(application["app"]).get("/tables", params={"question": " "}).status_code == 400
    )
    for framework in ("in_langchain", "in_llama_index"):
        best, *others = application[framework](question)
        assert best.startswith("1998 FIFA World Cup\n")
        assert len(others) == 2
