"""Votes of the questions of a log."""

import json
from pathlib import Path
from typing import Any

import pytest

from target_bench import TableSearch, evaluate
from target_bench.core.contract import Retriever
from target_bench.core.errors import ConfigError, DataError
from target_bench.core.registry import create, resolve
from target_bench.core.schema import Query, TableId
from tests.retrievers.tables import ask, corpus, names

History = resolve("retriever", "history")

LOG = (
    ("what did plums cost in the north", "kings"),
    ("what did plums cost in the south", "kings"),
    ("which monarch reigned in Norway", "rivers"),
    ("die höchsten Berge der Alpen", "tokyo"),
)


def _questions(*pairs: tuple[str, str]) -> list[Query]:
    return [Query(text, text, (TableId("0", table),)) for text, table in pairs or LOG]


def _built(log: Any = None, **settings: Any) -> Retriever:
    retriever: Retriever = History(log or _questions(), **settings)
    retriever.embed_corpus(corpus())
    return retriever


def _first(retriever: Retriever, query: str) -> list[str]:
    return names(ask(retriever, [query], 3)[0])


def test_similar_questions_vote_for_their_tables() -> None:
    """Two votes are more than one; a table of both lists is first; without a vote bm25 stays."""
    assert _first(_built(retriever="no-context"), "what did plums cost in Norway") == [
        "kings",
        "rivers",
    ]
    both = "what did the apple cost, and a plum, in the north"
    assert {*_first(_built(), both)[:2]} == {"fruit", "kings"}
    assert _first(_built(weight=2), both)[0] == "kings"
    assert _first(_built(weight=0), both)[0] == "fruit"
    for query in ("apple price", "unheard-of", ""):
        assert ask(_built(), [query]) != []
        alone = create("retriever", "bm25")
        alone.embed_corpus(corpus())
        assert names(ask(_built(), [query])[0]) == names(ask(alone, [query])[0])


def test_a_question_is_not_answered_by_itself() -> None:
    query = "Which monarch reigned in  Norway"
    retriever = _built(retriever="no-context")
    assert _first(retriever, query) == []
    assert _first(retriever, query) == [], "asked at another cutoff"
    assert "1 of 1 questions stand in the log" in "\n".join(retriever.notes())
    unread = create("retriever", "history:log=none.csv")
    assert unread.notes()[0] == "the log has 0 questions", "the error of the log comes first"
    assert _first(_built(retriever="no-context", repeats=True), query) == ["rivers"]


def test_near_paraphrases_and_few_neighbours() -> None:
    query = "what did plums cost in the west"
    alone = {"retriever": "no-context"}
    assert _first(_built(**alone), query) == ["kings"]
    assert _first(_built(**alone, most_similar=0.1), query) == []
    both = _questions(("plums cost", "kings"), ("plums sell", "rivers"))
    assert _first(_built(both, **alone), "plums cost what") == ["kings", "rivers"]
    assert _first(_built(both, **alone, neighbours=1), "plums cost what") == ["kings"]
    assert _first(_built(**alone), "wer ist der") == ["tokyo"]
    assert _first(_built(**alone, language="de"), "wer ist der") == []


def test_logs_without_a_word_and_tables_without_a_question() -> None:
    assert _first(_built(_questions(("the of", "kings"))), "plum") != []
    assert _built().retrieve_batch([], 3) == []


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({"neighbours": 0}, "neighbours=0: at least 1"),
        ({"weight": -1}, "weight=-1: at least 0"),
        ({"split": "week:.5", "log": __file__}, "split=week:.5: expected time:.8"),
        ({"log": "nowhere.csv"}, "log=nowhere.csv: there is no such file"),
    ],
)
def test_settings_that_cannot_be(settings: dict[str, Any], fault: str) -> None:
    with pytest.raises((ConfigError, DataError), match=fault):
        History(**{"log": [], **settings}).embed_corpus(corpus())


SHOP = """question,sql,time
sales of May,SELECT sum(total) FROM orders,2026-06-01
sales of June,SELECT sum(total) FROM orders,2026-06-02
sales of July,SELECT sum(total) FROM orders,2026-06-03
sales of August,SELECT sum(total) FROM orders,2026-06-04
"""


@pytest.mark.filterwarnings("ignore")
def test_a_divided_file_from_the_command_line(tmp_path: Path) -> None:
    """The log and the questions that are asked are parts of one file; an index is saved."""
    for name in ("orders", "clients", "lots"):
        (tmp_path / f"{name}.csv").write_text("id,name\n1,a\n")
    log = tmp_path / "queries.csv"
    log.write_text(SHOP)
    history = f"history:log={log},split=time:.7"
    results = evaluate(["bm25", history], f"{tmp_path}:split=time:.7", top_k=[1, 3])
    assert [float(result.scores["recall@1"]) for result in results] == [0, 1]
    assert len(results[0].run.rankings) == 2
    log.write_text(SHOP.replace("orders", "lots"))  # an edited log is another run
    edited = evaluate(history, f"{tmp_path}:split=time:.7", top_k=[1, 3])[0]
    assert edited.folder.name != results[1].folder.name
    TableSearch(str(tmp_path), history).save(tmp_path / "index")
    hit = TableSearch.load(tmp_path / "index", str(tmp_path), history).search(
        "sales of May and June", 1
    )[0]
    assert hit.table.id.table_id == "lots"


def test_rows_of_sql_alone(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text(json.dumps({"query_text": "SELECT reign_of_monarch FROM kings"}) + "\n")
    assert _first(_built(log, retriever="no-context"), "the monarchs' reign") == ["kings"]
