"""What runs are called side by side: names of the user, else the settings in which they differ."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench.core.errors import ConfigError
from target_bench.core.settings import check_names_differ, split_name
from target_bench.runs.differences import make_labels
from target_bench.runs.manifest import Identity, Manifest, run_key
from target_bench.runs.result import Result
from tests.builders import ASKED, run_identity


def _run(retriever: str = "bm25", name: str | None = None, **asked: Any) -> Result:
    content = run_identity(retriever={}, top_k=[10])
    key = run_key({**content, "asked": str(asked), "text": retriever})
    run = Result(Path("runs") / f"retrieval-mini-test-{key}")
    words = ASKED.model_copy(update={"retriever": retriever, "retriever_name": name, **asked})
    identity_of_run = Identity.model_validate(content)
    run.run._manifest = Manifest(identity=identity_of_run, command=words)
    return run


def _labels(*runs: Result) -> list[str]:
    of_runs = make_labels(runs)
    assert len(set(of_runs)) == len({run.folder for run in runs})
    return of_runs


def _at(folder: str) -> Result:
    """A run of bm25 in a folder."""
    run = _run()
    run.run.folder = Path(folder)
    return run


FIELDS = "b=0.4,fields=[title, header]"
FIRST, SECOND = _run(f"bm25:k1=0.9,{FIELDS}"), _run(f"bm25:k1=1.2,{FIELDS}")
LSA, OURS = _run("lsa:dims=20,seed=1"), _run("bm25:k1=0.9", "ours")
BIG = _run("bm25", "ours", generator="openai:model=a", generator_name="big")
FEW, MANY = (_run(task="qa", generator="gold", prompting={"tables": n}) for n in (1, 5))
KEYS = "runs/retrieval-mini-test-abcdef012345", "runs/retrieval-mini-test-abcdef0aaaaa"


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        # What all runs of a plug-in share is left out.
        ([FIRST, SECOND, LSA], ["bm25:k1=0.9", "bm25:k1=1.2", "lsa:dims=20,seed=1"]),
        ([FIRST, LSA], [f"bm25:k1=0.9,{FIELDS}", "lsa:dims=20,seed=1"]),
        # A name stands for all settings.
        ([OURS, _run("bm25:k1=1.2")], ["ours", "bm25:k1=1.2"]),
        ([OURS, _run("bm25:k1=1.2", "ours")], ["ours:k1=0.9", "ours:k1=1.2"]),
        ([BIG, OURS], ["ours + big", "ours:k1=0.9"]),
        # Other settings tell apart what has one label.
        (
            [_run(), _run(distractors=("ottqa:n=100",)), _run("lsa")],
            ["bm25 (distractors: none)", "bm25 (distractors: ottqa:n=100)", "lsa"],
        ),
        # What one of them does not say leaves no gap.
        ([_run(about="own", limit=5), _run()],
         ["bm25 (own, limit=5)", "bm25 (limit=default)"]),
        ([FEW, MANY], ["bm25 + gold (tables=1)", "bm25 + gold (tables=5)"]),
        # The last resort is the beginning of the id, or the folder of a run that was made twice.
        ([*map(_at, KEYS)], ["bm25 (abcdef01)", "bm25 (abcdef0a)"]),
        ([_at("a/x-abcdef012345"), _at("b/x-abcdef012345")],
         ["bm25 (a/x-abcdef012345)", "bm25 (b/x-abcdef012345)"]),
        # Texts that are no plug-in are labels as they are.
        ([_run("my=run: of, 2020.trec"), _run("bm25:api_key=***")],
         ["my=run: of, 2020.trec", "bm25:api_key=***"]),
    ],
)  # fmt: skip
def test_labels(runs: list[Result], expected: list[str]) -> None:
    assert _labels(*runs) == expected


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), unique=True, min_size=2))
def test_labels_are_distinct(chosen: list[tuple[int, int]]) -> None:
    runs = [_run(f"bm25:k1={k1},b={b}") for k1, b in chosen]
    of_runs = make_labels(runs)
    assert len(set(of_runs)) == len(runs)
    assert not any("b=" in label for label in of_runs) or len({b for _, b in chosen}) > 1


@pytest.mark.parametrize(
    ("text", "expected"),
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
def test_names_are_read(text: str, expected: tuple[str | None, str]) -> None:
    assert split_name(text) == expected


@pytest.mark.parametrize("text", ["ours=", "ours= ", "x" * 61 + "=bm25"])
def test_names_that_cannot_be_read(text: str) -> None:
    with pytest.raises(ConfigError, match="as in ours=bm25"):
        split_name(text)


@pytest.mark.parametrize("texts", ["a=bm25 a=lsa", "a=bm25 b=bm25", "lsa=bm25 lsa", "bm25 a=bm25"])
def test_a_name_stands_for_one_thing(texts: str) -> None:
    with pytest.raises(ConfigError, match="means both"):
        check_names_differ(texts.split())
    check_names_differ(["bm25", "bm25", "a=lsa"])
