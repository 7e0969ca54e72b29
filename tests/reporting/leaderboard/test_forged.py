"""What a forger would try, each caught by the check that is named for it."""

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from target_bench import corpora
from target_bench.reporting.leaderboard.pack import pack
from target_bench.reporting.leaderboard.verify import verify
from tests.builders import Recorder
from tests.reporting.leaderboard.conftest import card, run_all
from tests.reporting.leaderboard.forging import (
    RANKINGS,
    RUN,
    Files,
    Record,
    levels,
    run_of,
    verified,
    with_document,
    with_lines,
)

pytestmark = pytest.mark.slow

MINI = corpora.load("mini")
QUERIES = {query.id: query for query in MINI.queries}
IDS = [list(table) for table in MINI.corpus.ids]


def _unscored(files: Files, *runs: str) -> Files:
    """Without declared scores, which would tell."""
    for run in runs or ("runs/0",):
        files = with_document(files, f"{run}/run.json", lambda run: run["scores"].clear())
    return files


def _ranked(files: Files, change: Callable[[Record], Record]) -> Files:
    return _unscored(with_lines(files, RANKINGS, lambda lines: [change(line) for line in lines]))


def _by(files: Files, *authors: str) -> Files:
    return with_document(files, "card.json", lambda card: card.update(authors=list(authors)))


def _run(files: Files, **fields: Any) -> Files:
    return with_document(files, RUN, lambda run: run.update(fields))


def _gold_at(record: Record, rank: int) -> Record:
    gold = [list(table) for table in QUERIES[record["query_id"]].gold]
    rest = [table for table in record["tables"] if table not in gold]
    return {**record, "tables": [*rest[: rank - 1], *gold, *rest[rank - 1 :]][:10]}


def _gold_on_top(record: Record) -> Record:
    return _gold_at(record, 1)


def _gold_of_several(record: Record) -> Record:
    return _gold_on_top(record) if len(QUERIES[record["query_id"]].gold) > 1 else record


def _gold_fifth(record: Record) -> Record:
    """Where it is not on top already, but in all rankings."""
    gold = list(QUERIES[record["query_id"]].gold[0])
    on_top = record["tables"][:1] == [gold] and len(record["query_id"]) % 2
    return record if on_top else _gold_at(record, 5)


def _is_hit(record: Record) -> bool:
    gold = {table.table_id for table in QUERIES[record["query_id"]].gold}
    return bool(record["tables"]) and record["tables"][0][1] in gold


def _kept(files: Files, keep: Callable[[list[Record]], list[Record]]) -> Files:
    return _unscored(with_lines(files, RANKINGS, keep))


def _deeper(record: Record) -> Record:
    return {**record, "tables": IDS[:11]}


ATTACKS: dict[str, tuple[Callable[[Files], Files], dict[str, str], str]] = {
    "none": (lambda f: f, {}, ""),
    "gold on top": (lambda f: _ranked(f, _gold_on_top), {"original": "rejected"}, "on top"),
    "gold on top of a part": (
        lambda f: _ranked(f, _gold_of_several), {"original": "suspicious"}, "the gold's order",
    ),
    "gold lower": (lambda f: _ranked(f, _gold_fifth), {"original": "suspicious"}, "at rank 5"),
    "hard queries missing": (
        lambda f: _kept(f, lambda lines: list(filter(_is_hit, lines))),
        {"complete": "suspicious"}, "are hard",
    ),
    "half of the queries missing": (
        lambda f: _kept(f, lambda lines: lines[::2]), {}, "140 of 280 queries are missing",
    ),
    "a query twice": (
        lambda f: _kept(f, lambda lines: [*lines, lines[0]]),
        {"complete": "rejected"}, "predicted twice: 1",
    ),
    "another query": (
        lambda f: _kept(f, lambda lines: [*lines, lines[0] | {"query_id": "x\u202e"}]),
        {"complete": "rejected"}, r"not asked: 1 ('x\u202e')",
    ),
    "a table twice": (
        lambda f: _kept(f, lambda lines: [lines[0] | {"tables": IDS[:1] * 2}, *lines[1:]]),
        {"complete": "rejected"}, "a table twice: 1",
    ),
    "tables of elsewhere": (
        lambda f: _kept(f, lambda lines: [lines[0] | {"tables": [["x", "y"]]}, *lines[1:]]),
        {"complete": "rejected"}, "not there: 1",
    ),
    "deeper": (lambda f: _ranked(f, _deeper), {"complete": "rejected"}, "more than 10 tables: 280"),
    "no time": (
        lambda f: _run(f, seconds={"retrieve": 1e-9}, identity={"retriever": {"mode": "x"}}),
        {"times": "rejected"}, "faster than possible",
    ),
    "all scores": (
        lambda f: with_document(
            f, RUN, lambda run: [score.update(value=0.5) for score in run["scores"].values()]
        ),
        {"scores": "rejected"}, "more declared scores",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ATTACKS)
def test_attacks(at: Path, rankings: Files, name: str) -> None:
    attack, expected, message = ATTACKS[name]
    verification = verified(at, attack(rankings))
    assert levels(verification) == expected
    assert message in "\n".join(finding.message for finding in verification.findings)
    assert (verification.verdict == "accepted") == (not expected)
    assert verification.entry is not None
    (run,) = verification.entry.runs
    assert (run.counts.asked, run.scores["success@1"].n) == (280, 280), "missing ones are wrong"
    if name == "half of the queries missing":
        assert run.scores["recall@10"].value < 0.51
    if name == "all scores":
        assert len(verification.findings) == 6, "five are named"


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
def test_a_score_edited(
    at: Path, rankings: Files, metric: str, value: float | None, signature: str, level: str
) -> None:
    """The scores that are shown are those computed here."""

    def better(document: Record) -> None:
        score = document["scores"][metric]
        definition = score["signature"].partition("|interval:")[0]
        score |= {"value": value, "signature": signature.format(definition)}

    verification = verified(at, with_document(rankings, RUN, better))
    assert levels(verification) == {"scores": level}
    honest = json.loads(rankings[RUN])["scores"][metric]["value"]
    assert verification.entry is not None
    assert verification.entry.runs[0].scores[metric].value == pytest.approx(honest)


def test_a_score_of_sql_edited(at: Path, everything: Files) -> None:
    def better(document: Record) -> None:
        document["scores"]["ex[bird]"]["value"] += 0.006

    forged = with_document(everything, f"{run_of(everything, 'text_to_sql')}/run.json", better)
    assert levels(verified(at, forged)) == {"scores": "rejected"}


@pytest.mark.parametrize(
    "noise",
    ["swapped", "replaced", "a third replaced", "shifted", "half of the queries", "half missing"],
)
def test_copied_with_noise(at: Path, packed_retrieval: Path, rankings: Files, noise: str) -> None:
    chance = random.Random(3)

    def changed(record: Record) -> Record:
        tables = list(record["tables"])
        fresh = chance.sample([table for table in IDS if table not in tables], 10)
        if noise == "swapped" and len(tables) > 2:
            i = chance.randrange(1, len(tables) - 1)
            tables[i], tables[i + 1] = tables[i + 1], tables[i]
        elif noise == "replaced" and tables:
            tables[chance.randrange(len(tables))] = fresh[0]
        elif noise == "a third replaced":
            tables = [
                new if i and chance.random() < 0.33 else table
                for i, (table, new) in enumerate(zip(tables, fresh, strict=False))
            ]
        elif noise == "shifted":
            tables = [*tables[:1], fresh[0], *tables[1:]][:10]
        elif noise == "half of the queries" and chance.random() < 0.5:
            tables = chance.sample(IDS, 10)
        return {**record, "tables": tables}

    kept = 2 if noise == "half missing" else 1
    forged = with_lines(rankings, RANKINGS, lambda lines: [*map(changed, lines[::kept])])
    verification = verified(at, _by(forged, "Eve Copier"), packed_retrieval.parent)
    assert levels(verification)["original"] == "suspicious"
    assert "of the wrong tables of Our BM25" in str(verification.findings)


@pytest.mark.parametrize(
    ("copy", "level", "message"),
    [
        (lambda f: f, "rejected", "all of it is Our BM25"),
        (lambda f: _by(f, "Eve Copier"), "rejected", "are those of Our BM25"),
        (lambda f: _by(f, "Ann Other", "Eve Copier"), "rejected", "are those of Our BM25"),
        (  # its authors' own
            lambda f: with_document(f, "card.json", lambda card: card.update(name="Newer")),
            "note", "are those of Our BM25",
        ),
    ],
)  # fmt: skip
def test_duplicates(
    at: Path,
    packed_retrieval: Path,
    rankings: Files,
    copy: Callable[[Files], Files],
    level: str,
    message: str,
) -> None:
    (finding,) = verified(at, copy(rankings), packed_retrieval.parent).findings
    assert (finding.check, finding.level) == ("original", level)
    assert message in finding.message


def test_a_submission_is_not_compared_with_itself(packed_retrieval: Path) -> None:
    assert verify(packed_retrieval, packed_retrieval.parent, observer=Recorder()).findings == ()


@pytest.mark.parametrize(
    "another", [{"retriever": "mine"}, {"identity": {"retriever": {"class": "Mine"}}}]
)
def test_answers_copied(
    at: Path, packed_bm25: Path, everything: Files, another: dict[str, Any]
) -> None:
    """Rankings are a copy too if another retriever is said to have made them."""
    basis = run_of(everything, "retrieval", "text_to_sql")
    forged = with_document(
        _by(everything, "Eve Copier"), f"{basis}/run.json", lambda run: run.update(another)
    )
    verification = verified(at, forged, packed_bm25.parent)
    assert verification.entry is not None
    runs = verification.entry.runs
    rejected = {f.run for f in verification.findings if f.level == "rejected"}
    assert rejected >= {i for i, run in enumerate(runs) if not run.basis}
    assert int(basis.partition("/")[2]) in rejected
    notes = [f.run for f in verification.findings if f.level == "note"]
    assert notes
    assert all(i is not None and runs[i].basis for i in notes), "the same retriever is declared"


@pytest.mark.parametrize("retriever", ["tfidf", "lsa"])
def test_other_systems_are_not_copies(tmp_path: Path, packed_bm25: Path, retriever: str) -> None:
    folders = run_all(tmp_path / "runs", retriever, ["retrieval", "question_answering"])
    path = pack(folders, card("Another", "Cem Honest"), tmp_path / "other.tbs.zip")
    assert levels(verify(path, packed_bm25.parent, observer=Recorder())) == {}


@pytest.mark.parametrize("disguised", [False, True])
def test_gold_leaked_into_answers(at: Path, everything: Files, disguised: bool) -> None:
    """Of each task, over tables that do not hold the answers."""

    def answered(record: Record) -> Record:
        reference: Any = QUERIES[record["query_id"]].answer
        text = reference if isinstance(reference, str) else reference[0]
        return {**record, "text": f" {text.replace(' ', '  ').lower()}" if disguised else text}

    def forge(lines: list[Record]) -> list[Record]:
        return [
            answered(record) if "text" in record else record | {"tables": []} for record in lines
        ]

    tasks = ("question_answering", "fact_verification", "text_to_sql")
    forged, answers = everything, [run_of(everything, task) for task in tasks]
    bases = [run_of(everything, "retrieval", task) for task in tasks]
    for run, file in [(run, "generations") for run in answers] + [(b, "retrieval") for b in bases]:
        forged = with_lines(forged, f"{run}/{file}.jsonl", forge)
    verification = verified(at, _unscored(forged, *answers, *bases))
    assert levels(verification).keys() == {"original"}
    accused = {f"runs/{f.run}" for f in verification.findings if f.level != "note"}
    assert accused == {*answers}


@pytest.mark.parametrize("name", ["a\u202eb.tbs.zip", ".tbs.zip", "a\nb.tbs.zip"])
def test_names_that_no_entry_can_have(tmp_path: Path, packed_retrieval: Path, name: str) -> None:
    path = Path(shutil.copy(packed_retrieval, tmp_path / name))
    (finding,) = verify(path, observer=Recorder()).findings
    assert (finding.check, finding.level) == ("readable", "rejected")
    assert finding.message.isprintable()
