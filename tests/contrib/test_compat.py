"""Retrievers and generators of the original TARGET package run as they are, told no dataset."""

import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from target_bench import TableSearch, evaluate
from target_bench.core import registry
from target_bench.core.errors import ConfigError, MissingExtraError, PluginError
from target_bench.core.identity import plugin_identity
from target_bench.core.registry import find_task
from target_bench.core.schema import AnswerKind, Corpus, GenerationRequest, Table, TableId
from target_bench.data.tables import MemoryCorpus
from target_bench.runs.result import Results
from target_bench.sql.extraction import extract
from tests.builders import Recorder
from tests.data.releases import write_spider
from tests.retrievers.tables import TABLES, ask, corpus, same_rankings, table
from tests.target import TARGET

FILE = Path(__file__).with_name("target_style.py")
ORIGINAL = Path(__file__).with_name("original")
ROOT = FILE.parents[2]
Compat = registry.resolve("retriever", "compat")


@pytest.fixture(autouse=True)
def original_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """The original package is installed."""
    monkeypatch.syspath_prepend(str(ORIGINAL))


def _compat(name: str, tables: Corpus | None = None, **settings: Any) -> Any:
    given = ",".join(f"{key}={value}" for key, value in settings.items()).lower()
    retriever = Compat(f"{FILE}:{name}:{given}")
    retriever.embed_corpus(tables or corpus())
    return retriever


def _names(retriever: Any, query: str, k: int) -> list[str]:
    return [table_id for _, table_id in retriever.retrieve(query, k)]


def test_a_custom_class() -> None:
    retriever = _compat("Overlapping")
    assert _names(retriever, "which river has length 813", 1) == ["rivers"]
    assert _names(retriever, "apple price", 1) == ["fruit"]
    assert len(_names(retriever, "x", 20)) == len(TABLES)


def test_a_class_that_makes_vectors() -> None:
    retriever = _compat("Letters")
    text = "fruit price apple 3 pear 4.5"
    [(best, score), *others] = ask(retriever, [text], 3)[0]
    assert best == TableId("0", "fruit")
    assert score == pytest.approx(1)
    assert all(-1 <= other <= score for _, other in others)
    assert retriever.retrieve("東京", 1) == [(TABLES[0].id, 0.0)]  # no letter: ties, corpus order
    together = ask(retriever, [text, "", "king"], 4)
    same_rankings(together[:1], ask(retriever, [text], 4))


def test_what_the_class_gets() -> None:
    retriever = Compat(f"{FILE}:Overlapping", batch_size=3)
    retriever.embed_corpus(corpus())
    batches = retriever.target.batches
    assert [len(batch["table"]) for batch in batches] == [3, 3, 2]
    first = batches[0]
    assert list(first) == ["database_id", "table_id", "table", "context"]
    assert first["table_id"] == ["fruit", "rivers", "kings"]
    assert first["database_id"] == ["0", "0", "0"]
    assert first["table"][0] == [["fruit", "price"], ["apple", 3], ["pear", 4.5]]
    assert first["context"][1]["title"] == "Rivers of France"


class Overlap:
    """An original retriever without its base class."""

    def embed_corpus(self, dataset_name: str, corpus: Any) -> None:
        self.tables: dict[tuple[str, str], str] = {}
        for batch in corpus:
            ids = zip(batch["database_id"], batch["table_id"], strict=True)
            self.tables |= dict(zip(ids, map(str, batch["table"]), strict=True))

    def retrieve(self, query: str, dataset_name: str, top_k: int) -> list[tuple[str, str]]:
        words = query.lower().split()
        best = sorted(self.tables, key=lambda t: -sum(w in self.tables[t].lower() for w in words))
        return best[:top_k]


def test_it_is_wrapped_without_being_asked(tmp_path: Path) -> None:
    target = TARGET(("Table Retrieval Task", "mini"), out=tmp_path, observer=Recorder())
    theirs: Any = Overlap()
    (bare,), (wrapped,) = (target.run(r, top_k=3) for r in (theirs, Compat(theirs)))
    assert bare.folder == wrapped.folder  # the same retriever
    assert bare.stored.counts.failed == 0
    assert bare.scores["recall@3"].value > 0.3
    search = TableSearch(corpus(), theirs)
    assert search.search("which river has length 813", 1)[0].table.id.table_id == "rivers"


def test_a_file_that_imports_their_package(tmp_path: Path) -> None:
    target = TARGET(("Table Retrieval", "mini"), out=tmp_path, observer=Recorder())
    (result,) = target.run(f"{FILE}:Overlapping:lower=false", top_k=3)
    (compat,) = target.run(f"compat:target='{FILE}:Overlapping:lower=false'", top_k=3)
    assert result.folder == compat.folder


def test_frames() -> None:
    pytest.importorskip("pandas")
    form = "pandas df"
    tables = _compat("Frames", form=form).target.tables
    assert list(tables[0].columns) == ["fruit", "price"]
    assert tables[0].to_numpy().tolist() == [["apple", 3], ["pear", 4.5]]
    assert tables[3].shape == (0, 2)


def test_dictionaries() -> None:
    tables = _compat("Frames", form="json").target.tables
    assert tables[0] == [{"fruit": "apple", "price": 3}, {"fruit": "pear", "price": 4.5}]


def test_numbers_as_ids_and_an_own_batch() -> None:
    numbered = MemoryCorpus([table("3"), table("1"), table("2")])
    retriever = _compat("InBatches", numbered)
    assert retriever.retrieve_batch(["a", "b"], 2) == [[("0", "3"), ("0", "1")]] * 2
    assert retriever.target.seen["query"] == ["a", "b"]
    assert retriever.target.seen["table_id"] == [[], []]  # no gold table is told


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        ({"fruit": [1.0, 2.0, 3.0]}, r"of 2 numbers for table 0/rivers, of 3 for table 0/fruit"),
        ({"kings": [np.nan, 0]}, r"table 'kings': gave a vector with NaN"),
        ({"kings": [[1.0], [2.0]]}, r"table 'kings': gave an array of shape \(2, 1\)"),
        ({"kings": "no"}, r"table 'kings': gave no vector of numbers"),
    ],
)
def test_vectors_that_are_none(vectors: dict[str, Any], message: str) -> None:
    class Given:
        def embed_corpus(self, dataset_name: str, corpus_entry: Any) -> Any:
            return vectors.get(corpus_entry["table_id"], [1.0, 2.0])

        def embed_query(self, query: str, dataset_name: str) -> Any:
            return [1.0, 2.0, 3.0]

    with pytest.raises(PluginError, match=message):
        Compat(Given()).embed_corpus(corpus())
    vectors.clear()
    retriever = Compat(Given())
    retriever.embed_corpus(corpus())
    with pytest.raises(PluginError, match="vectors of 3 numbers, embed_corpus of 2"):
        retriever.retrieve("x", 1)


def test_an_object_of_the_original_package_is_evaluated(tmp_path: Path) -> None:
    """Its classes without ``retrieve`` are wrapped before their methods are checked."""

    class Embeds:
        def embed_corpus(self, dataset_name: str, corpus_entry: Any) -> Any:
            return [1.0, float(len(corpus_entry["table_id"]))]

        def embed_query(self, query: str, dataset_name: str) -> Any:
            return [1.0, 0.0]

    original: Any = Embeds()
    (result,) = evaluate(original, "mini", out=tmp_path, limit=5, observer=Recorder())
    assert len(result.run.rankings) == 5


def test_the_command_line_and_the_identity(tmp_path: Path) -> None:
    spec = f"compat:target='{FILE}:Overlapping:lower=false'"
    retriever = registry.create("retriever", spec)
    identity, warning = plugin_identity(retriever)
    assert warning is None
    assert identity["parts"]["target"]["config"]["lower"] is False
    copy = tmp_path / FILE.name
    copy.write_text(FILE.read_text())
    same = registry.create("retriever", f"compat:target='{copy}:Overlapping:lower=false'")
    assert plugin_identity(same)[0] == identity
    copy.write_text(FILE.read_text() + "\nEDITED = True\n")
    edited = registry.create("retriever", f"compat:target='{copy}:Overlapping:lower=false'")
    assert plugin_identity(edited)[0] != identity


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (f"{FILE}:Nobody", "no 'Nobody'"),
        (f"{FILE}:Letters:rows=3", "unknown setting 'rows'"),
        (f"{FILE}:Frames:form=parquet", "expected_corpus_format='parquet' is none of"),
        ("Letters", "unknown retriever 'Letters'"),
        (object(), "object has no method embed_corpus"),
        (dict, "dict is a class"),
    ],
)
def test_what_cannot_be(target: object, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Compat(target)


def test_the_page_for_users_of_the_package() -> None:
    """Every retriever, task and corpus that stands in its tables is there."""
    page = (ROOT / "docs" / "moving_from_target.md").read_text(encoding="utf-8")
    specs = re.findall(r"`((?:bm25|tfidf|dense):[^`]+)`", page)
    assert len(specs) == 6
    for spec in specs:
        with suppress(MissingExtraError):  # of the encoder or the index
            registry.create("retriever", spec)
    section = page[page.index("## Tasks and corpora") : page.index("## Retrievers and generators")]
    rows = re.findall(r"^\| ([^|]+) \|", section, re.M)[1:]
    tasks, corpora = rows[:4], [name for row in rows[4:] for name in re.findall(r"`(.+?)`", row)]
    assert [find_task(task).name for task in tasks] == list(registry.names("task"))[:4]
    assert len(corpora) == 9
    names = sys.modules[Compat.__module__]._CORPORA
    assert all(registry.is_known("corpus", names.get(c, (c, None))[0]) for c in corpora)


CompatGenerator = registry.resolve("generator", "compat")
QA = ("Table Question Answering Task", "mini")
TABLE = Table(TableId("0", "cups"), ("year", "team"), [[1990, "Reds"], [1991, None]])
TITLES = """
from target_benchmark.generators import AbsGenerator

class Titles(AbsGenerator):
    def generate(self, table_str, query):
        return {"content": table_str.splitlines()[0]}
"""


class Plain:
    """Answers some, and fails on others."""

    def generate(self, table_str: str, query: str) -> Any:
        if query.startswith("How many"):
            raise ValueError("no number")
        return {"content": "Reds"}


def _request(*tables: Table, answer: AnswerKind = "text") -> GenerationRequest:
    return GenerationRequest("q", "a_task", (), "Who won?", tables, answer=answer)


def _run(out: Path, generator: Any, task: Any = QA) -> Results:
    target = TARGET(task, out=out, observer=Recorder())
    return target.run("oracle", generator=generator, limit=10)


class Fixed:
    """Gives the same answer always, and keeps the tables that it is shown."""

    def __init__(self, answer: Any = "") -> None:
        self.answer = answer

    def generate(self, table_str: str, query: str) -> Any:
        self.table_str = table_str
        return self.answer


def _shown(request: GenerationRequest) -> str:
    generator = Fixed()
    CompatGenerator(generator).generate(request)
    return generator.table_str


def test_what_a_generator_gets() -> None:
    other = Table(TableId("0", "clubs"), ("club",), [["Blues"]])
    assert _shown(_request(TABLE, other)) == (
        "table name: ('0', 'cups')\n| year | team |\n| 1990 | Reds |\n| 1991 | None |\n\n"
        "table name: ('0', 'clubs')\n| club |\n| Blues |\n"
    )
    assert _shown(_request()).startswith("Some or all tables are not available.")
    schema = {"schema": "CREATE TABLE cups (year int)"}
    described = Table(TableId("sport", "cups"), ("year",), [], schema)
    assert _shown(_request(described, answer="sql")) == (
        "\nDatabase Name: sport\nSchema:\n\nCREATE TABLE cups (year int)\n\n---\n"
    )


@pytest.mark.parametrize(
    ("answer", "text"),
    [("Reds", "Reds"), ({"content": "Reds"}, "Reds"), ({"content": ""}, "")],
)
def test_answers(answer: Any, text: str) -> None:
    assert CompatGenerator(Fixed(answer)).generate(_request()) == text


def test_an_answer_about_a_database() -> None:
    generator = CompatGenerator(Fixed({"sql_query": "SELECT 1 -- {x}", "database_id": "sport"}))
    statement = extract(generator.generate(_request(TABLE, answer="sql")))
    assert (statement.sql, statement.database_id) == ("SELECT 1 -- {x}", "sport")


@pytest.mark.parametrize("answer", [None, 3, {"text": "Reds"}, {"content": None}])
def test_what_is_no_answer(answer: Any) -> None:
    with pytest.raises(TypeError, match="neither text nor a dictionary with content"):
        CompatGenerator(Fixed(answer)).generate(_request())


def test_a_run_says_which_answers_failed(tmp_path: Path) -> None:
    results = _run(tmp_path, Plain())
    (result,) = results
    assert result.stored.answers is not None
    failed = result.stored.answers.failed
    assert 0 < failed < result.stored.answers.answered + failed == 10
    message = f"generator Plain failed on {failed} of 10 queries of mini (scored 0)"
    for shown in (str(results), repr(results), str(result), results._repr_html_()):
        assert message in shown.replace("\n", " ")
        assert "ValueError: no number" in shown.replace("\n", " ")
    assert "failed" not in str(_run(tmp_path, "gold"))
    assert _run(tmp_path, Plain())[0].folder == result.folder  # it has an identity


def test_a_generator_that_imports_their_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).with_name("original")))
    (tmp_path / "theirs.py").write_text(TITLES)
    (result,) = _run(tmp_path, f"{tmp_path / 'theirs.py'}:Titles")
    assert result.stored.answers is not None
    assert (result.stored.answers.answered, result.stored.answers.failed) == (10, 0)


def test_the_class_of_the_original_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = sys.modules[Compat.__module__].TARGET
    tasks = [("Table Retrieval Task", "mini"), ("Table Question Answering Task", ["mini"])]
    theirs: Any = Overlap()
    target = original(downstream_tasks=tasks, out=tmp_path, observer=Recorder())
    retrieval, answers = target.run(
        retriever=theirs, generator=Fixed("x"), split="test", top_k=10, limit=9
    )
    assert retrieval.scores["recall@10"].value > 0.1
    assert answers.scores["token_f1"].value == 0
    write_spider(tmp_path / "spider")
    monkeypatch.setenv("TARGET_BENCH_DATA", str(tmp_path))
    named = original(
        ("Table Retrieval", ["Spider_Validation", "mini"]), out=tmp_path, observer=Recorder()
    )
    runs = named.run("bm25", top_k=1, limit=1)
    assert [(r.identity.corpus, r.identity.split) for r in runs] == [
        ("spider", "validation"), ("mini", "test"),
    ]  # fmt: skip
    with pytest.raises(ConfigError, match=r"unknown corpus 'minni'\. Did you mean mini"):
        original(("Table Retrieval", "minni"))
