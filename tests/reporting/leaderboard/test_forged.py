"""What a forger would try: scores are those of the predictions, whatever they are."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from target_bench import corpora
from target_bench.reporting.leaderboard.verify import verify
from tests.builders import Recorder
from tests.reporting.leaderboard.forging import (
    RANKINGS,
    RUN,
    Files,
    Record,
    levels,
    verified,
    with_document,
    with_lines,
)

pytestmark = pytest.mark.slow

MINI = corpora.load("mini")
QUERIES = {query.id: query for query in MINI.queries}
IDS = [list(table) for table in MINI.corpus.ids]


def _ranked(files: Files, change: Callable[[Record], Record]) -> Files:
    return with_lines(files, RANKINGS, lambda lines: [change(line) for line in lines])


def _gold_on_top(record: Record) -> Record:
    gold = [list(table) for table in QUERIES[record["query_id"]].gold]
    rest = [table for table in record["tables"] if table not in gold]
    return {**record, "tables": [*gold, *rest][:10]}


def _kept(files: Files, keep: Callable[[list[Record]], list[Record]]) -> Files:
    return with_lines(files, RANKINGS, keep)


def _deeper(record: Record) -> Record:
    return {**record, "tables": IDS[:11]}


ATTACKS: dict[str, tuple[Callable[[Files], Files], dict[str, str], str]] = {
    "none": (lambda f: f, {}, ""),
    "gold on top": (lambda f: _ranked(f, _gold_on_top), {}, "280 of 280 queries have all"),
    "a part that reads the gold": (
        lambda f: with_document(f, RUN, lambda r: r["identity"]["retriever"].update(mode="gold")),
        {"original": "rejected"}, "which reads the gold",
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


@pytest.mark.parametrize("name", ["a\u202eb.tbs.zip", ".tbs.zip", "a\nb.tbs.zip"])
def test_names_that_no_entry_can_have(tmp_path: Path, packed_retrieval: Path, name: str) -> None:
    path = Path(shutil.copy(packed_retrieval, tmp_path / name))
    (finding,) = verify(path, observer=Recorder()).findings
    assert (finding.check, finding.level) == ("readable", "rejected")
    assert finding.message.isprintable()
