"""What runs are called side by side: names of the user, else the settings in which they differ."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench.core.errors import ConfigError
from target_bench.core.settings import check_named_once, named
from target_bench.runs.differences import labels, settings
from target_bench.runs.manifest import Identity, Manifest, run_key
from target_bench.runs.result import Result
from tests.builders import ASKED, run_identity


def _run(
    retriever: str = "bm25", name: str | None = None, identity: Any = (), **asked: Any
) -> Result:
    content = run_identity(retriever=dict(identity), top_k=[10])
    key = run_key({**content, "asked": str(asked), "text": retriever})
    run = Result(Path("runs") / f"retrieval-mini-test-{key}")
    words = ASKED.model_copy(update={"retriever": retriever, "retriever_name": name, **asked})
    identity_of_run = Identity.model_validate(content)
    run.__dict__["manifest"] = Manifest(identity=identity_of_run, asked=words)
    return run


def _labels(*runs: Result) -> list[str]:
    found = labels(runs)
    assert len(set(found)) == len({run.folder for run in runs})
    return found


def test_what_all_runs_of_a_plugin_share_is_left_out() -> None:
    one, other = _run("bm25:k1=0.9,b=0.4,fields=[title, header]"), _run("lsa:dims=20,seed=1")
    two = _run("bm25:k1=1.2,b=0.4,fields=[title, header]")
    assert _labels(one, two, other) == ["bm25:k1=0.9", "bm25:k1=1.2", "lsa:dims=20,seed=1"]
    assert _labels(one, other)[0] == "bm25:k1=0.9,b=0.4,fields=[title, header]"
    assert _labels(one, _run("bm25"))[1] == "bm25"


def test_a_name_stands_for_all_settings() -> None:
    ours, again = _run("bm25:k1=0.9", "ours"), _run("bm25:k1=1.2", "ours")
    assert _labels(ours, _run("bm25:k1=1.2")) == ["ours", "bm25:k1=1.2"]
    assert _labels(ours, again) == ["ours:k1=0.9", "ours:k1=1.2"]
    answers = _run("bm25", "ours", generator="openai:model=a", generator_name="big")
    assert _labels(answers, ours)[0] == "ours + big"


def test_other_settings_tell_apart_what_has_one_label() -> None:
    mixed = _run(distractors=("ottqa:n=100",))
    assert _labels(_run(), mixed, _run("lsa")) == [
        "bm25 (distractors: none)",
        "bm25 (distractors: ottqa:n=100)",
        "lsa",
    ]
    one, other = (_run(task="qa", generator="gold", prompting={"tables": n}) for n in (1, 5))
    assert _labels(one, other) == ["bm25 + gold (tables=1)", "bm25 + gold (tables=5)"]


def test_objects_of_one_class_are_told_apart_by_their_arguments_and_packages() -> None:
    one, other = (_run("Mine", identity={"config": {"alpha": a}}) for a in (0.3, 0.5))
    assert _labels(one, other) == ["Mine (alpha=0.3)", "Mine (alpha=0.5)"]
    old, new = _run(), _run()
    for run, version in ((old, "0.2"), (new, "0.3")):
        used = {"used_packages": {"numpy": "2.0", "bm25s": version}}
        run.__dict__["manifest"] = run.manifest.model_copy(update={"environment": used})
        run.__dict__["folder"] = Path(version) / run.folder.name
    assert _labels(old, new) == ["bm25 (bm25s 0.2)", "bm25 (bm25s 0.3)"]


def test_the_same_run_made_twice_is_told_apart_by_its_folder() -> None:
    one, other = _run(), _run()
    for run, out in ((one, "runs"), (other, "again")):
        run.__dict__["folder"] = Path(out) / "retrieval-mini-test-abcdef012345"
    assert _labels(one, other)[1] == "bm25 (again/retrieval-mini-test-abcdef012345)"


def test_the_last_resort_is_the_beginning_of_the_id() -> None:
    one, other = _run(), _run()
    for run, key in ((one, "abcdef012345"), (other, "abcdef0aaaaa")):
        run.__dict__["folder"] = Path(f"runs/retrieval-mini-test-{key}")
    assert _labels(one, other) == ["bm25 (abcdef01)", "bm25 (abcdef0a)"]


def test_texts_that_are_no_plugin_are_labels_as_they_are() -> None:
    assert _labels(_run("my=run: of, 2020.trec"), _run("bm25:api_key=***")) == [
        "my=run: of, 2020.trec",
        "bm25:api_key=***",
    ]
    assert settings(_run("bm25:api_key=***"))["retriever.api_key"] == "***"


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), unique=True, min_size=2))
def test_labels_are_distinct(chosen: list[tuple[int, int]]) -> None:
    runs = [_run(f"bm25:k1={k1},b={b}") for k1, b in chosen]
    found = labels(runs)
    assert len(set(found)) == len(runs)
    assert not any("b=" in label for label in found) or len({b for _, b in chosen}) > 1


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("bm25", (None, "bm25")),
        ("bm25:k1=0.9", (None, "bm25:k1=0.9")),
        ("ours=bm25:k1=0.9", ("ours", "bm25:k1=0.9")),
        ("Our method (v2) = a/b.py:Mine", ("Our method (v2)", "a/b.py:Mine")),
        ("ours=hybrid:one='bm25:k1=1'", ("ours", "hybrid:one='bm25:k1=1'")),
        ("bm25,k1=0.9", (None, "bm25,k1=0.9")),
        ("mine.py:Mine:query='a=b'", (None, "mine.py:Mine:query='a=b'")),
    ],
)
def test_names_are_read(text: str, found: tuple[str | None, str]) -> None:
    assert named(text) == found


@pytest.mark.parametrize("text", ["ours=", "ours= ", "x" * 61 + "=bm25"])
def test_names_that_cannot_be_read(text: str) -> None:
    with pytest.raises(ConfigError, match="as in ours=bm25"):
        named(text)


@pytest.mark.parametrize(
    "texts",
    [["a=bm25", "a=lsa"], ["a=bm25", "b=bm25"], ["lsa=bm25", "lsa"], ["bm25", "a=bm25"]],
)
def test_a_name_stands_for_one_thing(texts: list[str]) -> None:
    with pytest.raises(ConfigError, match="stands for both"):
        check_named_once(texts)


def test_the_same_thing_twice_without_a_name_is_one_thing() -> None:
    check_named_once(["bm25", "bm25", "a=lsa"])
