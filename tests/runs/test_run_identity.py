"""Two runs are the same run exactly when nothing that can change a result differs."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench import compare, evaluate
from target_bench.core import identity, registry
from target_bench.core.contract import Retriever
from target_bench.core.identity import code_hash, plugin_identity
from target_bench.core.ranking import Ranking
from target_bench.core.schema import Corpus
from target_bench.metrics.scores import hash_metric_code
from target_bench.runs.manifest import run_key
from target_bench.runs.result import Result
from target_bench.runs.score_tables import describe_edited
from tests.builders import Recorder, only
from tests.runs.stored import copied
from tests.target import TARGET

SOURCE = """
class Mine:
    def __init__(self, k1: float = 1.2) -> None:
        self.k1 = k1

    def embed_corpus(self, corpus):
        pass

    def retrieve(self, query, top_k):
        return []
"""


class Plain(Retriever):
    """A retriever of this test module."""

    packages = ("numpy", "no-such-distribution")

    def __init__(self, weight: float = 1.0, fields: tuple[str, ...] = ("title",)) -> None:
        self.weight = weight
        self.fields = fields

    def embed_corpus(self, corpus: Corpus) -> None: ...

    def retrieve(self, query: str, top_k: int) -> Ranking:
        return []


class Forgetful(Plain):
    """Does not keep its argument."""

    def __init__(self, seed: int) -> None:
        super().__init__()


class Configured(Forgetful):
    """Says itself what its settings are."""

    def config(self) -> dict[str, Any]:
        return {"seed": 7}


class Open(Plain):
    """Settings that leave no trace under a name of their own."""

    def __init__(self, **settings: int) -> None:
        self.settings = settings


def _typed() -> object:
    """An object of a class that was typed into an interpreter."""
    namespace: dict[str, Any] = {"__name__": "typed_into_an_interpreter"}
    exec(SOURCE, namespace)
    return namespace["Mine"]()


def _write(path: Path, source: str = SOURCE) -> str:
    path.parent.mkdir(exist_ok=True)
    path.write_text(source, encoding="utf-8")
    return f"{path}:Mine"


def _identity(spec: str) -> dict[str, Any]:
    identity, warning = plugin_identity(registry.create("retriever", spec))
    assert warning is None
    return identity


def test_class_code_and_settings_make_a_plugin() -> None:
    identity, warning = plugin_identity(Plain(0.5))
    assert warning is None
    assert identity["class"] == f"{__name__}:Plain"
    assert identity["config"] == {"weight": 0.5, "fields": ["title"]}
    assert "packages" not in identity
    assert identity["code"] == code_hash(Plain)
    assert plugin_identity(Plain(0.5)) == (identity, None)
    assert plugin_identity(Configured(1))[0]["config"] == {"seed": 7}
    others = [plugin_identity(p)[0] for p in (Plain(), Plain(2.0), Plain(fields=("a", "b")))]
    assert len({run_key(each) for each in (identity, *others)}) == 4


def test_where_a_file_lies_does_not_count(tmp_path: Path) -> None:
    here, there = (_identity(_write(tmp_path / name / "mine.py")) for name in "ab")
    assert here == there
    assert here["class"] == "mine.py:Mine"


@pytest.mark.parametrize(
    ("make", "fault"),
    [
        (_typed, "Mine cannot be identified .*never be reused.* define the class in a file"),
        (lambda: Plain(weight=object()), "Plain cannot be identified .*not JSON"),  # type: ignore[arg-type]
        (lambda: Plain(fields=b"title"), "not JSON"),  # type: ignore[arg-type]
        (lambda: Forgetful(1), "seed"),
        (lambda: Open(s=1), r"\*\*kwargs"),
    ],
)
def test_what_cannot_be_identified_is_never_reused(make: Callable[[], object], fault: str) -> None:
    (first, warning), (second, _) = plugin_identity(make()), plugin_identity(make())
    assert warning is not None
    assert re.search(fault, warning, re.DOTALL), warning
    assert run_key(first) != run_key(second)


json_values: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.sampled_from(["ü", "\ud800"])),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(max_size=5), inner)),
    max_leaves=6,
)


@given(json_values)
def test_key_of_any_settings(value: Any) -> None:
    """Twelve hexadecimal digits, whatever the settings hold."""
    key = run_key({"config": value})
    assert len(key) == 12
    assert int(key, 16) >= 0
    assert run_key({"config": value}) == key != run_key({"config": [value]})


def test_key_is_the_same_everywhere() -> None:
    """The order of the entries does not count; a key of today is found again tomorrow."""
    identity = {"a": 1, "b": {"c": ["ü", None], "d": 0.1}}
    reordered = {"b": {"d": 0.1, "c": ["ü", None]}, "a": 1}
    assert run_key(identity) == run_key(reordered) == "8cc29709546b"


def test_what_the_identity_of_a_run_holds(tmp_path: Path) -> None:
    runs = copied(tmp_path)
    ranked, answered = (
        json.loads((folder / "manifest.json").read_bytes())["identity"]
        for folder in (runs.bm25, runs.answers)
    )
    data = {"task", "task_version", "corpus", "split", "metrics"}
    data |= {"corpus_fingerprint", "queries_fingerprint"}
    assert set(ranked) == data | {"top_k", "retriever"}
    assert set(answered) == data | {"retrieval", "generator", "prompt"}
    plugin = {"class", "version", "config"}
    assert set(ranked["retriever"]) == plugin | {"ranking"}
    assert set(answered["generator"]) == plugin


def test_every_argument_that_changes_a_result_makes_another_run(tmp_path: Path) -> None:
    def key(task: str = "question_answering", retriever: str = "random", **options: Any) -> str:
        options = {"limit": 6} | options
        return TARGET((task, "mini"), out=tmp_path).run(retriever, **options)[0].run.key

    variants: list[dict[str, Any]] = [
        {},
        {"retriever": "random:seed=7"},
        {"retriever": "bm25"},
        {"retriever": "bm25:k1=2"},
        {"limit": 7},
        {"top_k": 5},
        {"generator": "extractive:tables=1"},
        {"generator": "gold"},
        {"table_format": "json"},
        {"tables": 1},
        {"task": "fact_verification"},
        {"task": "retrieval"},
        {"task": "retrieval", "top_k": [1, 10]},
    ]
    keys = [key(**variant) for variant in variants]
    assert len(set(keys)) == len(variants)
    assert key() == keys[0]


def test_used_packages_are_recorded_and_no_part_of_the_identity(tmp_path: Path) -> None:
    (run,) = evaluate("bm25", "mini", task="retrieval", limit=3, out=tmp_path)
    used = run.run.manifest.environment["used_packages"]
    assert used.keys() == {"target-bench", "bm25s", "PyStemmer", "numpy", "scipy", "py3langid"}
    assert "numpy" not in str(run.run.manifest.identity.content)


def test_an_edited_metric_scores_again_and_is_never_shown_as_reused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rankings are reused; whose code changed is named."""

    def run(observer: Recorder) -> Result:
        target = TARGET(("retrieval", "mini"), out=tmp_path, observer=observer)
        return only(target.run("bm25", limit=20))

    first, again = run(Recorder()), run(Recorder())
    assert (first.run.reused, again.run.reused) == (False, True)
    edited, observer = first.scores["recall@10"].value, Recorder()
    with monkeypatch.context() as patch:
        patch.setattr("target_bench.metrics.scores.source_hash", lambda _: "edited")
        changed = run(observer)
    assert not changed.run.reused
    (said,) = (w for w in observer.warnings if "scores computed again" in w)
    assert "the code of metrics recall, " in said
    assert changed.scores["recall@10"].value == edited
    assert "recall" in json.loads((changed.folder / "scores.json").read_text("utf-8"))["code"]


def test_an_edited_metric_of_ones_own_scores_again_and_is_named(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"

    def run(value: str) -> tuple[Result, Recorder]:
        file.write_text(f"def found(ranking, gold):\n    return {value}\n", encoding="utf-8")
        observer = Recorder()
        target = TARGET(("retrieval", "mini"), out=tmp_path / "runs", observer=observer)
        return only(target.run("bm25", limit=20, metrics=f"{file}:found")), observer

    first, _ = run("0.25")
    again, observer = run("0.25")
    assert (first.run.reused, again.run.reused) == (False, True)
    assert not any("computed again" in warning for warning in observer.warnings)
    changed, observer = run("0.75")
    assert not changed.run.reused
    assert changed.folder == first.folder
    assert changed.scores["found"].value == 0.75
    assert [w for w in observer.warnings if "the code of metric found changed" in w]


def test_reading_a_run_says_that_a_metric_was_edited_since(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its scores are those that were stored; ``score`` computes them again."""
    runs = [only(evaluate(name, "mini", limit=9, out=tmp_path)) for name in ("bm25", "tfidf")]
    assert describe_edited(runs[0], ["recall@10"]) is None
    assert not any("other code" in note for note in compare(runs).notes)
    monkeypatch.setattr("target_bench.metrics.scores.source_hash", lambda _: "edited")
    said = "recall was computed by other code than this version has; to compute it again: target"
    assert said in str(describe_edited(runs[0], ["recall@10"]))
    notes = compare(runs, ["recall@10"]).notes
    assert [said in note for note in notes if "other code" in note] == [True, True]


def test_the_source_of_a_metric_covers_what_it_uses(monkeypatch: pytest.MonkeyPatch) -> None:
    """An edit of what counts n-grams changes the source of rougeL, one of the postings does not."""

    def edit(name: str) -> dict[str, str]:
        monkeypatch.setattr(
            identity, "digest", lambda path: "edited" if path.name == name else str(path)
        )
        return hash_metric_code(["rougeL"])

    assert edit("ngrams.py") != edit("nothing") == edit("postings.py")


READS = """
import os
from pathlib import Path
from target_bench import Retriever

class Mine(Retriever):
    def embed_corpus(self, corpus):
        self.ids = [table.id for table in corpus]

    def retrieve(self, query, top_k):
        BODY
        return self.ids[:top_k]
"""


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ("open(__file__).close()", "open"),
        ("Path(__file__).read_text()", "read_text"),
        ("os.environ.get('OFF')", "environ"),
        ("os.getenv('OFF')", "getenv"),
        ("open('asked', 'w').close()", ""),
        ("query.strip()", ""),
    ],
)
def test_a_reused_plug_in_that_reads_files_or_the_environment_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, name: str
) -> None:
    """What it reads is outside its identity: said where it is reused, not at its first run."""
    monkeypatch.chdir(tmp_path)  # a body opens a file to write
    file = tmp_path / "mine.py"
    file.write_text(READS.replace("BODY", body), encoding="utf-8")
    warnings = []
    for _ in range(2):
        target = TARGET(("retrieval", "mini"), out=tmp_path, observer=(observer := Recorder()))
        target.run(f"{file}:Mine", limit=3)
        warnings.append([w for w in observer.warnings if "reads files or the environment" in w])
    assert warnings[0] == []
    assert [f"line 11: {name})" in w for w in warnings[1]] == [True] * bool(name)
