"""Every kind of run: what ``submit`` takes passes ``verify``, with its true times."""

from collections.abc import Callable
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from target_bench import Corpus, Retriever, TableId
from target_bench.core.errors import ConfigError
from target_bench.data.load import load, of_task
from target_bench.reporting.leaderboard.pack import pack
from target_bench.reporting.leaderboard.verify import verify
from target_bench.runs.result import Result
from target_bench.runs.trec import word, words_of
from tests.builders import Recorder, json_lines, rewrite
from tests.reporting.leaderboard.conftest import card
from tests.target import TARGET

QUERIES = of_task(load("mini"), "retrieval").queries


def _target(out: Path, task: str = "retrieval") -> TARGET:
    return TARGET((task, "mini"), out=out / "runs", observer=Recorder())


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
    words = words_of(load("mini").corpus.ids)
    lines = [f"{word(q.id)} Q0 {words[q.gold[-1]]} 1 1.0 x\n" for q in QUERIES[::2]]
    (out / "run.trec").write_text("".join(lines))
    return _target(out).score(out / "run.trec")[0]


def _jsonl(out: Path) -> Result:
    pairs = [(query, [list(QUERIES[i - 1].gold[0])]) for i, query in enumerate(QUERIES)]
    lines = ({"query_id": query.id, "tables": tables} for query, tables in pairs)
    (out / "run.jsonl").write_text(json_lines(lines))
    return _target(out).score(out / "run.jsonl")[0]


def _answers(retriever: str, task: str = "question_answering", **options: Any) -> Any:
    return lambda out: _target(out, task).run(retriever, **options)[0]


ANSWERED = {"retrieve", "embed_corpus", "generate"}
KINDS: dict[str, tuple[Callable[[Path], Result], set[str]]] = {
    "bm25": (_answers("bm25", "retrieval", latency=20), {"retrieve", "embed_corpus", "p50"}),
    "no-context": (_answers("no-context", "retrieval"), set()),
    "a file of rankings": (_jsonl, set()),
    "a TREC run": (_trec, set()),
    "extractive": (_answers("bm25"), ANSWERED),
    "no table": (_answers("no-context"), {"generate"}),
    "empty": (_answers("bm25", "fact_verification", generator="empty"), ANSWERED - {"generate"}),
    **{
        f"a file of {task}": (lambda out, task=task: _answered(out, task), set())  # type: ignore[misc]
        for task in ("question_answering", "fact_verification", "text_to_sql")
    },
}
"""What is run -> the stages of which a time is submitted."""


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_submitted_is_accepted(tmp_path: Path, kind: str) -> None:
    make, expected = KINDS[kind]
    result = make(tmp_path)
    verification = verify(pack([result.folder], card(), tmp_path / "a.tbs.zip"))
    assert verification.verdict == "accepted", verification.findings
    assert verification.entry is not None
    own = verification.entry.runs
    times = {name for run in own for name in run.seconds} - {"load", "score"}
    assert times | ({"p50"} if any(run.latency_ms for run in own) else set()) == expected
    assert all((run.retrieve_ms is None) == ("retrieve" not in run.seconds) for run in own)
    if kind == "no table":
        (unread,) = (run for run in own if run.generator)
        assert isnan(unread.scores["recall@10"].value), "answers without tables have no such score"
        assert np.isnan(unread.per_query["recall@10"]).all()


def test_a_submission_has_one_setting_of_a_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight settings chosen on the test split were eight rows."""
    out = tmp_path / "a.tbs.zip"
    folders = [_target(tmp_path).run(f"bm25:k1={k1}")[0].folder for k1 in (1, 2)]
    with pytest.raises(ConfigError, match=r"same task and data.*one setting.*\(chosen_on\)"):
        pack(folders, card(), out)
    monkeypatch.setattr("target_bench.reporting.leaderboard.pack._check_settings", lambda _: None)
    (finding,) = verify(pack(folders, card(), out)).findings
    assert (finding.check, finding.level) == ("readable", "rejected")
    assert "runs 0 and 1 are of the same task and data" in finding.message


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
def test_what_reads_the_gold_is_refused_and_rejected_past_that(
    tmp_path: Path, retriever: Any, generator: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = "question_answering" if generator else "retrieval"
    result = _target(tmp_path, task).run(retriever, generator=generator)[0]
    path = tmp_path / "a.tbs.zip"
    with pytest.raises(ConfigError, match="upper bound"):
        pack([result.folder], card(), path)
    monkeypatch.setattr("target_bench.reporting.leaderboard.pack.reads_gold", lambda _: False)
    findings = verify(pack([result.folder], card(), path)).findings
    assert any(f.level == "rejected" and "which reads the gold" in f.message for f in findings)


def test_a_time_from_a_cache_is_not_submitted(tmp_path: Path) -> None:
    target = TARGET(("retrieval", "mini"), out=tmp_path, observer=Recorder())
    result = target.run("bm25")[0]
    rewrite(
        result.folder / "manifest.json",
        lambda manifest: manifest["from_caches"].update(embed_corpus=["embeddings"]),
    )
    entry = verify(pack([result.folder], card(), tmp_path / "a.tbs.zip")).entry
    assert entry is not None
    assert set(entry.runs[0].seconds) == {"load", "retrieve", "score"}
