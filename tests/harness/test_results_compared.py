"""Results side by side: figures of the same data in one table, of different data never."""

from pathlib import Path

import pytest

from target_bench.core.errors import DataError
from target_bench.harness.target import TARGET
from target_bench.runs.result import Result, Results
from tests.builders import Recorder, json_lines, only, ottqa_question, ottqa_table, write_ottqa

TABLES = [ottqa_table(f"Cup_{i}") for i in range(5)]
QUESTIONS = [ottqa_question(f"q{i}", f"Cup_{i}") for i in range(3)]


def _run(out: Path, data: Path, retriever: str = "oracle", **options: object) -> Result:
    target = TARGET(("retrieval", "ottqa"), data_dir=data, out=out, observer=Recorder())
    return only(target.run(retriever, **options))  # type: ignore[arg-type]  # options of run


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_ottqa(tmp_path / "data", TABLES, QUESTIONS)


def test_other_tables_are_refused(tmp_path: Path, data: Path) -> None:
    """The message names the file whose hash differs, and both run folders."""
    changed = [*TABLES[:-1], ottqa_table("Cup_4", title="Another page")]
    other = write_ottqa(tmp_path / "other", changed, QUESTIONS)
    first, second = _run(tmp_path, data), _run(tmp_path, other, "bm25")
    with pytest.raises(DataError) as caught:
        Results([first, second])
    message = str(caught.value)
    for part in (
        "are of different tables",
        str(first.folder),
        str(second.folder),
        "dev_tables.jsonl has SHA-256 "
        f"{first.data['files']['dev_tables.jsonl'][:12]} and "
        f"{second.data['files']['dev_tables.jsonl'][:12]}",
        "cannot be compared",
    ):
        assert part in message
    assert "dev.json has" not in message
    assert caught.value.exit_code == 2


def test_other_questions_are_refused(tmp_path: Path, data: Path) -> None:
    """As many as before, of the same tables: another text, or another gold table."""
    first = _run(tmp_path, data)
    for i, change in enumerate(({"question": "Who else ?"}, {"table_id": "Cup_4"})):
        questions = [*QUESTIONS[:-1], QUESTIONS[-1] | change]
        other = _run(tmp_path, write_ottqa(tmp_path / f"other{i}", TABLES, questions), "bm25")
        with pytest.raises(DataError, match=r"of different queries.*dev\.json has SHA-256"):
            Results([first, other])


def test_distractors_make_tables_of_their_own(tmp_path: Path, data: Path) -> None:
    more = tmp_path / "more"
    (more / "tables").mkdir(parents=True)
    for i in range(3):
        (more / "tables" / f"m{i}.csv").write_text(f"a,b\nx,{i}\n", encoding="utf-8")
    (more / "queries.jsonl").write_text(
        json_lines([{"query_id": "m", "query": "x", "table_id": "m0"}]), encoding="utf-8"
    )
    specs: list[list[str]] = [[], [f"{more}:n=1"], [f"{more}:n=2"]]
    results = [_run(tmp_path, data, distractors=spec) for spec in specs]
    text = " ".join(str(Results(results)).split())
    assert text.count("retrieval, 3 queries") == 3
    assert "ottqa validation: retrieval" in text
    assert len({result.data["corpus"] for result in results}) == 3
