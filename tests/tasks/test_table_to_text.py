"""Table-to-text from a prompt to a score, with what cannot be used counted and named."""

import json
from dataclasses import replace
from pathlib import Path
from time import process_time
from typing import Any

import pytest

from target_bench.core.errors import DataError
from target_bench.core.run_config import RunConfig
from target_bench.core.schema import GenerationRequest
from target_bench.corpora import load
from target_bench.data.highlights import grid_rows, mark_highlighted
from target_bench.data.selection import select_queries
from target_bench.generators.extractive import Extractive
from target_bench.harness.score import score_answers
from target_bench.reporting.report import write_report
from target_bench.runs.result import Result, read_run
from target_bench.runs.score_tables import summarize_answers
from target_bench.tasks.table_to_text import TableToText
from tests.builders import Recorder, only
from tests.corpora.test_totto import RECORD
from tests.reporting.report.written import read_data
from tests.target import TARGET

MINI = select_queries(load("mini"), "table_to_text")


def _writer(task: TableToText, options: RunConfig, *more: Any) -> Any:
    assert task.prompt.writer is not None
    return task.prompt.writer(options, *more)


def _run(
    folder: Path, corpus: str = "mini", generator: str = "extractive", **options: Any
) -> Result:
    target = TARGET(("t2t", corpus), data_dir=folder, out=folder / "runs", observer=Recorder())
    return only(target.run(generator=generator, **options))


def _written(folder: Path, *changes: dict[str, Any], split: str = "totto_dev_data") -> Path:
    records = [{**RECORD, "example_id": i, **change} for i, change in enumerate(changes)]
    text = "".join(json.dumps(record) + "\n" for record in records)
    (folder / f"{split}.jsonl").write_text(text, encoding="utf-8")
    return folder


def test_no_retriever_is_asked() -> None:
    ranked = select_queries(load("mini"), "retrieval").queries
    assert not {query.id for query in MINI.queries} & {query.id for query in ranked}


def test_gold_is_the_upper_bound_and_empty_answers_the_lower(tmp_path: Path) -> None:
    gold, empty = (_run(tmp_path, generator=name).scores for name in ("gold", "empty"))
    assert gold["bleu[totto]"].value == pytest.approx(100)
    assert gold["parent"].value > 90
    assert empty["parent"].value < 0.01
    assert next(iter(gold)) == "parent"


def test_one_reference_of_every_query_is_not_padded() -> None:
    """PARENT of cells without a sentence: against the reference, or against <null> beside it."""
    single = tuple(replace(query, answer=query.references[:1]) for query in MINI.queries)
    mixed = (*single[1:], replace(single[0], answer=MINI.queries[0].references))
    cells = {}
    for query in MINI.queries:
        rows = grid_rows(MINI.corpus[query.gold[0]])
        chosen = query.metadata["highlighted_cells"]
        cells[query.id] = ", ".join(rows[row][column].text for row, column in chosen)
    alone, padded = (
        score_answers(replace(MINI, queries=queries), cells, "t2t")["parent"]
        for queries in (single, mixed)
    )
    assert alone.value < padded.value / 1.5
    assert "nrefs:1|null:none" in alone.signature
    assert "nrefs:var|null:to three" in padded.signature


def test_a_prompt_names_the_cells(tmp_path: Path) -> None:
    task, query = TableToText(), MINI.queries[0]
    writer = _writer(task, RunConfig(), {}, False)
    request = writer.write_prompt(query, [MINI.corpus[query.gold[0]]]).request
    assert request.query == "Nation: Unified Team; Gold: 45; Total: 112"
    user = request.messages[1].content
    assert "Cells to describe: Nation: Unified Team; Gold: 45; Total: 112" in user
    assert "| Rank | Nation |" in user
    assert not any(text in user for text in query.references)
    instructed = replace(query, metadata={**query.metadata, "instruction": "Shorten: x y"})
    request = writer.write_prompt(instructed, [MINI.corpus[query.gold[0]]]).request
    assert request.messages[1].content.endswith("Total: 112\nShorten: x y\nSentence:")
    given = RunConfig(table_format="totto_subtable")
    marked = _writer(task, given, {}, False).write_prompt(query, [MINI.corpus[query.gold[0]]])
    assert "<cell> 45 <col_header> Gold </col_header> </cell>" in marked.request.messages[1].content
    assert writer.identity != _writer(task, given, {}, False).identity


def test_extractive_lists_the_highlighted_cells() -> None:
    query = MINI.queries[0]
    table = mark_highlighted(query, MINI.corpus[query.gold[0]])
    request = GenerationRequest("q", "table_to_text", (), "cells", (table,))
    assert Extractive().generate(request) == "Nation: Unified Team; Gold: 45; Total: 112"


def test_what_cannot_be_used_is_counted_and_named(tmp_path: Path) -> None:
    bare = {"table_page_title": "", "table_section_title": ""}
    symbol = {**RECORD["table"][1][0], "value": "<skipped>"}
    changes: list[dict[str, Any]] = [
        {},
        {"highlighted_cells": []},
        {"highlighted_cells": [[1, 0], [9, 9]]},
        {"highlighted_cells": [], **bare},
        {"table": [[symbol]], "highlighted_cells": [[0, 0]]},
        {"table": [[{**symbol, "value": "\u00a0"}]], "highlighted_cells": [[0, 0]]},
    ]
    result = _run(_written(tmp_path, *changes), "totto")
    assert result.stored.report is not None
    assert result.stored.report["faults"] == {
        "no highlight": ["1", "3"],
        "out of range": ["2"],
        "nothing that a sentence should hold": ["3"],
        "a value without a token": ["4", "5"],
    }
    shown = [str(block) for block in summarize_answers(result)]
    assert "queries with out of range: the first is 2; queries 1" in shown
    assert result.scores["parent"].n == 6
    page = tmp_path / "report.html"
    write_report([result.folder], page, tmp_path, observer=Recorder())
    remarks = {q["id"]: q["facts"].get("remarks") for q in read_data(page)["queries"]}
    assert remarks == {
        "0": None,
        "1": "no highlight",
        "2": "out of range",
        "3": "no highlight; nothing that a sentence should hold",
        "4": "a value without a token",
        "5": "a value without a token",
    }


def test_an_unlabelled_split_is_scored_without_references(tmp_path: Path) -> None:
    oslo = {**RECORD["table"][1][0], "value": "Oslo"}
    bare = {"sentence_annotations": None, "table": [[oslo]], "highlighted_cells": [[0, 0]]}
    folder = _written(tmp_path, bare, bare, split="unlabeled_totto_test_data")
    result = _run(folder, "totto", split="test")
    assert not result.scores
    assert result.stored.answers is not None
    assert (result.stored.answers.answered, result.stored.answers.unlabelled) == (2, 2)
    stored = read_run(result.folder)
    assert (dict(stored.scores), stored.per_query.ids) == ({}, [])
    assert stored.stored.answers is not None
    assert stored.stored.answers.unlabelled == 2
    with pytest.raises(DataError, match="totto test: no query has a reference answer, so the gen"):
        _run(folder, "totto", "gold", split="test")


@pytest.mark.parametrize("unit", ["the score is 5. ", "| a | 5 |\n", "x"])
def test_answers_of_10_mb_are_unreadable_and_end(unit: str) -> None:
    answers = {query.id: unit * (10_000_000 // len(unit)) for query in MINI.queries[:6]}
    start = process_time()
    scored = score_answers(MINI, answers, "t2t")
    assert process_time() - start < 10
    assert scored.counts.unparsed == 6
    assert scored.per_query["parent"][:6].tolist() == [0] * 6


def test_slices_are_overlap_and_non_overlap(tmp_path: Path) -> None:
    result = _run(_written(tmp_path, {}, {"overlap_subset": False}), "totto")
    assert result.stored.report is not None
    parts = result.stored.report["by"]["overlap_subset"]
    assert set(parts) == {"overlap", "non-overlap"}
    assert parts["overlap"]["queries"] == 1
