"""What a forger would try, each caught by the check that is named for it."""

import json
import random
import shutil
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from target_bench import corpora
from target_bench.core.metric import Score
from target_bench.reporting.leaderboard.entry import read
from target_bench.reporting.leaderboard.pack import pack
from target_bench.reporting.leaderboard.verify import Verification, verify
from tests.builders import Recorder
from tests.reporting.leaderboard.conftest import card, run_all
from tests.reporting.leaderboard.forging import (
    Files,
    Record,
    packed,
    run_of,
    with_document,
    with_lines,
)

pytestmark = pytest.mark.slow

RANKINGS = "runs/0/retrieval.jsonl"
QUERIES = {query.id: query for query in corpora.load("mini").queries}


def found(verification: Verification) -> dict[str, str]:
    """Check -> the worst it found, notes left out."""
    levels = {f.check: f.level for f in verification.findings if f.level != "note"}
    rejected = {f.check: f.level for f in verification.findings if f.level == "rejected"}
    return {**levels, **rejected}


def verified(path: Path, files: Files, against: Path | None = None) -> Verification:
    return verify(packed(path, files), against, observer=Recorder())


def gold_first(record: Record) -> Record:
    gold = [list(table) for table in QUERIES[record["query_id"]].gold]
    rest = [table for table in record["tables"] if table not in gold]
    return {**record, "tables": (gold + rest)[:10]}


def test_an_honest_submission_is_accepted(packed_bm25: Path) -> None:
    verification = verify(packed_bm25, observer=Recorder())
    assert verification.findings == ()
    assert verification.verdict == "accepted"


def test_scores_of_sql_edited(tmp_path: Path, everything: Files) -> None:
    def better(document: Record) -> None:
        document["scores"]["ex[bird]"]["value"] += 0.006

    forged = with_document(everything, f"{run_of(everything, 'text_to_sql')}/run.json", better)
    assert found(verified(tmp_path / "a.tbs.zip", forged)) == {"scores": "rejected"}


@pytest.mark.parametrize(
    ("metric", "value", "signature", "level"),
    [
        ("recall@1", 1.0, "{}", "rejected"),
        ("recall@10", None, "{}", "rejected"),  # as if over no query
        ("recall@10", 1.0, "recall@10|another", "suspicious"),
        ("recall@10", 1.0, "{}|interval:percentile|seed:0", "rejected"),  # changes no value
        ("full_recall@10", 1.0, "{}|other-package==1.0", "suspicious"),  # may be the reason
    ],
)
def test_scores_edited(
    tmp_path: Path, rankings: Files, metric: str, value: float | None, signature: str, level: str
) -> None:
    """Behind a limit that limits nothing; the scores that are shown are those computed here."""

    def better(document: Record) -> None:
        document["limit"] = 1000
        score = document["scores"][metric]
        definition = score["signature"].partition("|interval:")[0]
        score |= {"value": value, "signature": signature.format(definition)}

    verification = verified(
        tmp_path / "a.tbs.zip", with_document(rankings, "runs/0/run.json", better)
    )
    assert found(verification) == {"scores": level}
    honest = json.loads(rankings["runs/0/run.json"])["scores"][metric]["value"]
    assert verification.entry is not None
    assert verification.entry.runs[0].scores[metric].value == pytest.approx(honest)


def test_of_many_edited_scores_a_few_are_named(tmp_path: Path, rankings: Files) -> None:
    def better(document: Record) -> None:
        for score in document["scores"].values():
            score["value"] = 0.5

    findings = verified(
        tmp_path / "a.tbs.zip", with_document(rankings, "runs/0/run.json", better)
    ).findings
    assert {finding.level for finding in findings} == {"rejected"}
    assert len(findings) == 6
    assert "more declared scores" in findings[-1].message


def test_a_score_over_no_query_is_stored_as_none(tmp_path: Path, rankings: Files) -> None:
    """As for SQL on databases that nobody has."""
    honest = verified(tmp_path / "a.tbs.zip", rankings).entry
    assert honest is not None
    [run, *_] = honest.runs
    unknown = Score(nan, nan, nan, 0, "s")
    values = {**run.per_query, "recall@10": np.full(len(run.query_ids), nan)}
    empty = {"scores": {**run.scores, "recall@10": unknown}, "per_query": values}
    entry = honest.model_copy(update={"runs": [run.model_copy(update=empty)]})
    entry.write(tmp_path / "a.entry.json")
    assert read(tmp_path / "a.entry.json").runs[0].scores["recall@10"] == unknown


@pytest.mark.parametrize(
    "noise", ["swapped", "replaced", "a third replaced", "shifted", "half of the queries"]
)
def test_copied_with_noise(
    tmp_path: Path, packed_retrieval: Path, rankings: Files, noise: str
) -> None:
    chance = random.Random(3)
    ids = [list(table) for table in corpora.load("mini").corpus.ids]

    def changed(record: Record) -> Record:
        tables = list(record["tables"])
        if noise == "swapped" and len(tables) > 2:
            i = chance.randrange(1, len(tables) - 1)
            tables[i], tables[i + 1] = tables[i + 1], tables[i]
        other = chance.choice([table for table in ids if table not in tables])
        if noise == "replaced" and tables:
            tables[chance.randrange(len(tables))] = other
        if noise == "a third replaced":
            fresh = iter(chance.sample([t for t in ids if t not in tables], 10))
            tables = [
                next(fresh) if i and chance.random() < 0.33 else t for i, t in enumerate(tables)
            ]
        if noise == "shifted":
            tables = [*tables[:1], other, *tables[1:]][:10]
        if noise == "half of the queries" and chance.random() < 0.5:
            tables = chance.sample(ids, 10)
        return {**record, "tables": tables}

    forged = with_lines(rankings, RANKINGS, lambda lines: [changed(line) for line in lines])
    forged = _by(forged, "Eve Copier")
    verification = verified(tmp_path / "eve.tbs.zip", forged, packed_retrieval.parent)
    assert found(verification)["original"] == "suspicious"
    assert "of the wrong tables of Our BM25" in str(verification.findings)


def test_duplicate(tmp_path: Path, packed_retrieval: Path, rankings: Files) -> None:
    again = verified(tmp_path / "a.tbs.zip", rankings, packed_retrieval.parent)
    assert found(again) == {"original": "rejected"}
    assert "all of it is Our BM25" in again.findings[0].message
    renamed = with_document(rankings, "card.json", lambda card: card.update(name="Newer"))
    own = verified(tmp_path / "c.tbs.zip", renamed, packed_retrieval.parent)
    assert own.verdict == "accepted"  # its authors' own, which is noted
    assert [f.check for f in own.findings] == ["original"]
    stolen = _by(rankings, "Eve Copier")
    verification = verified(tmp_path / "b.tbs.zip", stolen, packed_retrieval.parent)
    assert found(verification) == {"original": "rejected"}
    assert "Our BM25" in verification.findings[0].message


def test_a_submission_is_not_compared_with_itself(packed_retrieval: Path) -> None:
    verification = verify(packed_retrieval, packed_retrieval.parent, observer=Recorder())
    assert verification.findings == ()


def test_answers_copied(tmp_path: Path, packed_bm25: Path, everything: Files) -> None:
    verification = verified(
        tmp_path / "a.tbs.zip", _by(everything, "Eve Copier"), packed_bm25.parent
    )
    runs = verification.entry.runs if verification.entry else ()
    rejected = [f.run for f in verification.findings if f.level == "rejected"]
    assert {runs[i].task for i in rejected if i is not None} == {
        "retrieval",
        "question_answering",
        "fact_verification",
        "text_to_sql",
    }
    notes = [f.run for f in verification.findings if f.level == "note"]
    assert notes
    assert all(i is not None and runs[i].basis for i in notes)


@pytest.mark.parametrize("retriever", ["tfidf", "lsa", "random"])
def test_other_systems_are_not_copies(tmp_path: Path, packed_bm25: Path, retriever: str) -> None:
    folders = run_all(tmp_path / "runs", retriever)
    path = pack(folders, card("Another", "Cem Honest"), tmp_path / "other.tbs.zip")
    verification = verify(path, packed_bm25.parent, observer=Recorder())
    assert found(verification) == {}


def test_gold_leaked_into_rankings(tmp_path: Path, rankings: Files) -> None:
    forged = with_lines(rankings, RANKINGS, lambda lines: [gold_first(line) for line in lines])
    forged = with_document(forged, "runs/0/run.json", lambda run: run["scores"].clear())
    verification = verified(tmp_path / "a.tbs.zip", forged)
    assert found(verification) == {"original": "rejected"}


def test_gold_leaked_into_the_hard_rankings_alone(tmp_path: Path, rankings: Files) -> None:
    """A part of the queries is enough to be seen, if it is the part that matters."""

    def leaked(lines: list[Record]) -> list[Record]:
        return [
            gold_first(line) if len(QUERIES[line["query_id"]].gold) > 1 else line for line in lines
        ]

    forged = with_lines(rankings, RANKINGS, leaked)
    forged = with_document(forged, "runs/0/run.json", lambda run: run["scores"].clear())
    assert found(verified(tmp_path / "a.tbs.zip", forged)).keys() == {"original"}


@pytest.mark.parametrize(
    ("task", "disguised"),
    [
        ("question_answering", False),
        ("question_answering", True),
        ("text_to_sql", False),
        ("text_to_sql", True),
        ("fact_verification", False),
    ],
)
def test_gold_leaked_into_answers(
    tmp_path: Path, everything: Files, task: str, disguised: bool
) -> None:
    run = run_of(everything, task)
    basis = run_of(everything, "retrieval", task)

    def answered(record: Record) -> Record:
        reference: Any = QUERIES[record["query_id"]].answer
        text = reference if isinstance(reference, str) else reference[0]
        return {**record, "text": f" {text.replace(' ', '  ').lower()}" if disguised else text}

    def elsewhere(record: Record) -> Record:
        return {**record, "tables": []}

    forged = with_lines(
        everything, f"{run}/generations.jsonl", lambda lines: [answered(line) for line in lines]
    )
    forged = with_lines(
        forged, f"{basis}/retrieval.jsonl", lambda lines: [elsewhere(line) for line in lines]
    )
    for name in (run, basis):
        forged = with_document(forged, f"{name}/run.json", lambda run: run["scores"].clear())
    verification = verified(tmp_path / "a.tbs.zip", forged)
    assert found(verification).keys() == {"original"}


def test_missing_hard_queries(tmp_path: Path, rankings: Files) -> None:
    def missed(record: Record) -> bool:
        gold = {table.table_id for table in QUERIES[record["query_id"]].gold}
        return not record["tables"] or record["tables"][0][1] not in gold

    forged = with_lines(
        rankings, RANKINGS, lambda lines: [line for line in lines if not missed(line)]
    )
    forged = with_document(forged, "runs/0/run.json", lambda run: run["scores"].clear())
    verification = verified(tmp_path / "a.tbs.zip", forged)
    assert found(verification) == {"complete": "suspicious"}
    assert [f.check for f in verification.findings] == ["complete", "complete"]
    entry = verification.entry
    assert entry is not None
    assert entry.runs[0].counts.asked == 280
    assert entry.runs[0].scores["success@1"].n == 280
    assert entry.runs[0].scores["success@1"].value < 1


def test_missing_queries_at_random_count_as_wrong(tmp_path: Path, rankings: Files) -> None:
    forged = with_lines(rankings, RANKINGS, lambda lines: lines[::2])
    forged = with_document(forged, "runs/0/run.json", lambda run: run["scores"].clear())
    verification = verified(tmp_path / "a.tbs.zip", forged)
    assert [(f.check, f.level) for f in verification.findings] == [("complete", "note")]
    assert verification.entry is not None
    assert verification.entry.runs[0].scores["recall@10"].value < 0.51


def test_a_copy_does_not_pass_by_crediting_the_author_too(
    tmp_path: Path, packed_retrieval: Path, rankings: Files
) -> None:
    both = _by(rankings, "Ann Other", "Eve Copier")
    verification = verified(tmp_path / "a.tbs.zip", both, packed_retrieval.parent)
    assert found(verification) == {"original": "rejected"}


def test_a_copy_does_not_pass_under_answers(
    tmp_path: Path, packed_retrieval: Path, everything: Files
) -> None:
    """With answers of one's own on top, and the settings of the system that was copied."""
    basis = run_of(everything, "retrieval", "text_to_sql")
    forged = with_document(
        _by(everything, "Eve Copier"),
        f"{basis}/run.json",
        lambda run: run.update(retriever="my own dense one"),
    )
    verification = verified(tmp_path / "a.tbs.zip", forged, _alone(tmp_path, everything))
    place = int(basis.partition("/")[2])
    levels = {f.run: f.level for f in verification.findings if f.check == "original"}
    assert levels[place] == "rejected"


def _alone(tmp_path: Path, files: Files) -> Path:
    folder = tmp_path / "there"
    folder.mkdir()
    packed(folder / "there.tbs.zip", files)
    return folder


def test_gold_put_in_at_a_lower_rank(tmp_path: Path, rankings: Files) -> None:
    """Where it is not on top, but in all rankings."""

    def fifth(record: Record) -> Record:
        gold = [list(table) for table in QUERIES[record["query_id"]].gold]
        rest = [table for table in record["tables"] if table not in gold]
        on_top = record["tables"][:1] == gold[:1] and len(record["query_id"]) % 2
        kept = record["tables"] if on_top else [*rest[:4], *gold, *rest[4:]]
        return {**record, "tables": kept[:10]}

    forged = with_lines(rankings, RANKINGS, lambda lines: [fifth(line) for line in lines])
    forged = with_document(forged, "runs/0/run.json", lambda run: run["scores"].clear())
    verification = verified(tmp_path / "a.tbs.zip", forged)
    assert found(verification) == {"original": "suspicious"}
    assert "at rank 5" in str(verification.findings)


def test_impossible_times(tmp_path: Path, everything: Files) -> None:
    """Whatever else is declared of the retriever; the other times are in ``test_thresholds``."""
    times = {"seconds": {"retrieve": 1e-9}, "identity": {"retriever": {"mode": "x"}}}
    name = f"{run_of(everything, 'retrieval')}/run.json"
    forged = with_document(everything, name, lambda run: run.update(times))
    assert found(verified(tmp_path / "a.tbs.zip", forged)) == {"times": "rejected"}


@pytest.mark.parametrize("name", ["a\u202eb.tbs.zip", ".tbs.zip", "a\nb.tbs.zip"])
def test_names_that_no_entry_can_have(tmp_path: Path, packed_retrieval: Path, name: str) -> None:
    path = Path(shutil.copy(packed_retrieval, tmp_path / name))
    verification = verify(path, observer=Recorder())
    assert [(f.check, f.level) for f in verification.findings] == [("readable", "rejected")]
    assert verification.findings[0].message.isprintable()


def _by(files: Files, *authors: str) -> Files:
    return with_document(files, "card.json", lambda card: card.update(authors=list(authors)))
