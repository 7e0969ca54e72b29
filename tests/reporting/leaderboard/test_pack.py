"""Packing, what is accepted of it, and the commands from a run to the site."""

import json
import platform
import random
import shutil
from collections.abc import Callable
from dataclasses import replace
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from target_bench import AnswerJudge, Corpus, Retriever, TableId
from target_bench.core.errors import ConfigError, StoreError
from target_bench.corpora import load
from target_bench.data.selection import select_queries
from target_bench.reporting.leaderboard.archive import RefusedError
from target_bench.reporting.leaderboard.pack import pack, publish_all, publish_label
from target_bench.reporting.leaderboard.verify import verify
from target_bench.runs.ranking_files import to_word, to_words
from target_bench.runs.result import Result
from tests.builders import Recorder, json_lines
from tests.cli.inside import Inside
from tests.reporting.leaderboard.conftest import card
from tests.reporting.leaderboard.forging import files_of, find, packed, with_lines
from tests.target import TARGET

QUERIES = select_queries(load("mini"), "retrieval").queries


def _target(out: Path, task: str = "retrieval", data: Any = "mini") -> TARGET:
    return TARGET((task, data), out=out / "runs", observer=Recorder())


def test_the_same_runs_are_the_same_bytes(
    runs: list[Path], packed_bm25: Path, tmp_path: Path
) -> None:
    """Wherever they lie; the folder of a submission is made."""
    folders = sorted(runs[0].parent.iterdir())
    copies = [Path(shutil.copytree(f, tmp_path / "elsewhere" / f.name)) for f in folders]
    again = pack(publish_all(copies[::-1]), card(), tmp_path / "new" / "again.tbs.zip")
    assert again.read_bytes() == packed_bm25.read_bytes()


def test_scores_are_those_of_the_run(packed_bm25: Path, runs: list[Path]) -> None:
    """To the last digit, of every task."""
    verified = verify(packed_bm25)
    for folder in runs:
        assert verified.scores[folder.name].items() >= Result(folder).scores.items()


class Failing(Retriever):
    def embed_corpus(self, corpus: Corpus) -> None:
        self.first = corpus.ids[0]

    def retrieve(self, query: str, top_k: int) -> list[TableId]:
        if "most" in query:
            raise OSError(f"no such file: {Path.home()}/secret of {platform.node()}")
        return [self.first]


def test_nothing_of_the_machine_or_the_data_is_packed(
    packed_bm25: Path, runs: list[Path], tmp_path: Path
) -> None:
    failing = _target(tmp_path).run(Failing())[0].folder
    theirs = files_of(pack(publish_all([failing]), card(), tmp_path / "b.tbs.zip"))
    everything = b"".join((files_of(packed_bm25) | theirs).values()).decode()
    assert '"error": "raised OSError"' in everything or '"error": "failed"' in everything
    home = str(Path.home()) + "/"
    for private in (home, "/secret", str(runs[0].parent), "/tmp/", "traceback", '"seconds"'):
        assert private not in everything
    manifest = json.loads(theirs[find(theirs, "manifest.json")])
    assert set(manifest) & {"host", "environment", "user", "scores"} == set()


@pytest.mark.parametrize(
    ("asked", "published"),
    [
        ("dense:model=/home/Ann Other/models/wide", "dense:model=wide"),
        ("./my code/x.py:Mine:path=C:\\Users\\ann\\m,n=org/model", "x.py:Mine:path=m,n=org/model"),
        ("openai:base_url=http://10.0.0.1:8000/v1,k=1", "openai:base_url=***,k=1"),
        ("x:key=~/x/y,note=abcdefghijkl", "x:key=y,note=***"),
        ("bm25:tokens=[^\\W_]+(?:[.,]\\d+)*", "bm25:tokens=[^\\W_]+(?:[.,]\\d+)*"),
    ],
)
def test_labels(monkeypatch: pytest.MonkeyPatch, asked: str, published: str) -> None:
    monkeypatch.setenv("SOME_API_KEY", "abcdefghijkl")
    assert publish_label(asked, None) == published


# Kinds of runs


def _answered(out: Path, task: str) -> Result:
    """Gold answers as a predictions file; of most none, as all would be an upper bound."""
    queries = [query for query in QUERIES if query.metadata.get("task", task) == task]
    texts = [q.answer if isinstance(q.answer, str) else q.answer[0] for q in queries]
    lines = [
        {"query_id": query.id, "text": "1" if i % 20 else text}
        for i, (query, text) in enumerate(zip(queries, texts, strict=True))
    ]
    path = out / f"{task}.jsonl"
    path.write_text(json_lines(lines), encoding="utf-8")
    return _target(out, task).score(predictions=path)[0]


def _trec(out: Path) -> Result:
    words = to_words(load("mini").corpus.ids)
    lines = [f"{to_word(q.id)} Q0 {words[q.gold[-1]]} 1 1.0 x\n" for q in QUERIES[::2]]
    (out / "run.trec").write_text("".join(lines))
    return _target(out).score(out / "run.trec")[0]


def _deep_trec(out: Path) -> Result:
    """Deeper than the last cutoff, and with equal scores on both sides of it."""
    words = list(to_words(load("mini").corpus.ids).values())[:12]
    lines = [f"{to_word(q.id)} Q0 {name} 1 1.0 x\n" for q in QUERIES for name in words]
    (out / "deep.trec").write_text("".join(lines))
    result = _target(out).score(out / "deep.trec")[0]
    assert result.stored.counts.divided_ties == len(QUERIES)
    return result


class DependsOnK(Retriever):
    """Reranks the first k, so that a smaller cutoff is no prefix."""

    def embed_corpus(self, corpus: Corpus) -> None:
        self.ids = corpus.ids

    def retrieve(self, query: str, top_k: int) -> list[TableId]:
        return list(self.ids[:top_k][::-1])


def _answers(retriever: Any, task: str = "question_answering", **options: Any) -> Any:
    return lambda out: _target(out, task).run(retriever, **options)[0]


KINDS: dict[str, Callable[[Path], Result]] = {
    "no-context": _answers("no-context", "retrieval"),
    "a TREC run": _trec,
    "a deep TREC run": _deep_trec,
    "a ranking that depends on k": _answers(DependsOnK(), "retrieval", top_k=[1, 5, 10]),
    "a named system": _answers("mine=bm25:k1=1", "retrieval"),
    "no table": _answers("no-context"),
    "empty": _answers("bm25", "fact_verification", generator="empty"),
    **{
        f"a file of {task}": (lambda out, task=task: _answered(out, task))  # type: ignore[misc]
        for task in ("question_answering", "fact_verification", "text_to_sql")
    },
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_submitted_is_accepted(tmp_path: Path, kind: str) -> None:
    result = KINDS[kind](tmp_path)
    verified = verify(pack(publish_all([result.folder]), card(), tmp_path / "a.tbs.zip"))
    scores = verified.scores[result.folder.name]
    assert scores.items() >= result.scores.items()
    if kind == "no table":
        assert isnan(scores["recall@10"].value), "answers without tables have no such score"
        assert np.isnan(scores.per_query["recall@10"]).all()
    if kind == "a named system":
        assert verified.runs[result.folder.name].retriever == "mine=bm25:k1=1"


def test_a_submission_has_one_setting_of_a_system(tmp_path: Path) -> None:
    """Eight settings chosen on the test split were eight rows."""
    folders = [_target(tmp_path).run(f"bm25:k1={k1}")[0].folder for k1 in (1, 2)]
    with pytest.raises(ConfigError, match=r"the task and data of.*one setting.*\(chosen_on\)"):
        pack(publish_all(folders), card(), tmp_path / "a.tbs.zip")


class Unrepeatable(Retriever):
    """Other tables at each call, as of a model that samples."""

    def embed_corpus(self, corpus: Corpus) -> None:
        self.ids = corpus.ids

    def retrieve(self, query: str, top_k: int) -> list[TableId]:
        return random.SystemRandom().sample(list(self.ids), top_k)


def test_runs_of_the_same_name(retrieval_run: Path, tmp_path: Path) -> None:
    """Of two ``--out`` folders: one silently took the place of the other."""
    same = Path(shutil.copytree(retrieval_run, tmp_path / "same" / retrieval_run.name))
    assert publish_all([retrieval_run, same]) == publish_all([retrieval_run])
    folders = [_target(tmp_path / name).run(Unrepeatable())[0].folder for name in ("a", "b")]
    assert folders[0].name == folders[1].name
    with pytest.raises(ConfigError, match=r"a/runs/.* and .*b/runs/.* the same name and other"):
        publish_all(folders)


class FirstGold(Retriever):
    """A bound of somebody's own."""

    reads_gold = True

    def embed_corpus(self, corpus: Corpus) -> None:
        pass

    def retrieve(self, query: Any, top_k: int) -> list[TableId]:
        return [*dict.fromkeys(query.gold)][: min(top_k, 1)]


@pytest.mark.parametrize(
    ("retriever", "generator"),
    [("oracle", None), ("best=oracle", None), (FirstGold(), None), ("bm25", "gold")],
)
def test_what_reads_the_gold_is_refused(tmp_path: Path, retriever: Any, generator: Any) -> None:
    task = "question_answering" if generator else "retrieval"
    result = _target(tmp_path, task).run(retriever, generator=generator)[0]
    with pytest.raises(ConfigError, match="upper bound"):
        pack(publish_all([result.folder]), card(), tmp_path / "a.tbs.zip")


def test_runs_that_are_refused(tmp_path: Path, retrieval_run: Path) -> None:
    def run(data: Any = "mini", task: str = "retrieval", limit: int | None = None) -> Path:
        return _target(tmp_path, task, data).run("tfidf", limit=limit)[0].folder

    def refuse(folder: Path, message: str, its_card: Any = None, name: str = "a.tbs.zip") -> None:
        with pytest.raises((ConfigError, StoreError), match=message):
            pack(publish_all([folder]), its_card or card(), tmp_path / name)

    mini = load("mini")
    refuse(
        run(replace(mini, queries=mini.queries[:3])),
        r"corpus '\(made in Python\)' is not registered",
    )
    refuse(run(limit=20), "with --limit, on a part of the queries")
    refuse(run(task="text_to_sql:rule=spider"), "was run with rule of text_to_sql")
    refuse(retrieval_run, "trained_on", card(corpus="other"))
    refuse(retrieval_run, r"\.tbs\.zip", name="a.zip")
    unfinished = run()
    lines = (unfinished / "retrieval.jsonl").read_text().splitlines(keepends=True)
    (unfinished / "retrieval.jsonl").write_text("".join(lines[1:]))
    refuse(unfinished, r"is damaged \(.*retrieval\.jsonl: damaged")
    other = _target(tmp_path / "other").run("tfidf")[0].folder
    (other / "scores.json").unlink()
    refuse(other, "is unfinished")


def test_answers_that_a_model_judges(
    runs: list[Path], packed_bm25: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No model is asked for a submission."""
    monkeypatch.setattr(AnswerJudge, "is_repeatable", False)
    with pytest.raises(ConfigError, match="a model judges answers to text_to_sql"):
        pack(publish_all(runs), card(), tmp_path / "a.tbs.zip")
    with pytest.raises(RefusedError, match="a model judges"):
        verify(packed_bm25)


# Commands


def test_from_run_to_site(inside: Inside, retrieval_run: Path) -> None:
    """What verify accepts is what build shows; the card to fill in is one."""
    message = inside.bad(2, "leaderboard", "submit", retrieval_run, "-o", "team.tbs.zip")
    template = message.partition("such as\n\n")[2]
    assert "trained_on: {mini: no}" in template
    Path("card.yaml").write_text(template)
    words = ("leaderboard", "submit", retrieval_run, "-o", "team.tbs.zip", "--card", "card.yaml")
    assert "team.tbs.zip: 1 run" in inside.good(*words)
    verified = inside("leaderboard", "verify", "team.tbs.zip")
    assert verified.code == 0
    assert verified.out.endswith("team.tbs.zip: accepted\n")
    first = verified.err.splitlines()[0]
    assert first.endswith("team.tbs.zip: verifying it takes at most 60 minutes (--minutes)")
    scores = json.loads((retrieval_run / "scores.json").read_bytes())["scores"]
    printed = json.loads(inside("leaderboard", "verify", "team.tbs.zip", "--json").out)
    (run,) = printed["runs"]
    assert run["scores"] == scores
    assert "1 entry\n" in inside.good("leaderboard", "build", ".", "-o", "site")
    page = Path("site/index.html").read_text("utf-8")
    assert "My retriever" in page
    assert "chosen on validation" in page


def test_a_run_is_refused_before_a_card_is_asked_for(
    inside: Inside, runs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody fills in a card for nothing, nor mends one."""
    limited = _target(tmp_path).run("tfidf", limit=20)[0].folder
    (tmp_path / "card.yaml").write_text("kind: magic")
    for more in ([], ["--card", tmp_path / "card.yaml"]):
        submit = ("leaderboard", "submit", *runs, limited, "-o", "a.tbs.zip", *more)
        assert "was run with --limit" in inside.bad(2, *submit)
    monkeypatch.setattr(AnswerJudge, "is_repeatable", False)
    submit = ("leaderboard", "submit", *runs, "-o", "a.tbs.zip")
    assert "a model judges answers to text_to_sql" in inside.bad(2, *submit)


def test_exit_codes(inside: Inside, packed_retrieval: Path, tmp_path: Path) -> None:
    """A board shows what is accepted, and says what is not."""
    files = files_of(packed_retrieval)
    board = tmp_path / "board"
    board.mkdir()
    twice = with_lines(files, find(files, "retrieval.jsonl"), lambda lines: [*lines, lines[0]])
    packed(board / "bad.tbs.zip", twice)
    done = inside("leaderboard", "verify", board / "bad.tbs.zip", "--json")
    printed = json.loads(done.out)
    assert (done.code, printed["verdict"]) == (5, "rejected")
    assert "is there twice; pack the runs again" in printed["reason"]
    (board / "trash.tbs.zip").write_bytes(b"PK trash")
    assert inside("leaderboard", "verify", board / "trash.tbs.zip").code == 5
    assert "no such" in inside.bad(2, "leaderboard", "verify", "none.tbs.zip").lower()
    built = inside.good("leaderboard", "build", board, "-o", "site")
    assert "bad.tbs.zip: rejected: " in built
    assert built.endswith("site/index.html: 0 entries, 2 rejected and not shown\n")
    assert "2 rejected entries are not shown" not in Path("site/index.html").read_text("utf-8")
