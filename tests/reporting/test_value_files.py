"""Per-query values of other harnesses: paired by id and text, gated, and refused where broken."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from target_bench import ConfigError, DataError, compare, gate
from target_bench.reporting.rows import Comparison
from tests.cli.inside import Inside

COLUMNS: dict[str, Any] = {"id_column": "id", "value_column": "s"}
RULE = "s<-0.01"


def _write(folder: Path, name: str, rows: list[dict[str, Any]]) -> Path:
    path = folder / f"{name}.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def _rows(values: dict[str, float | None], **more: str) -> list[dict[str, Any]]:
    return [{"id": name, "s": value, **more} for name, value in values.items()]


def _counts(comparison: Comparison) -> tuple[int | None, ...]:
    (row,) = (row for row in comparison.rows if row.difference)
    assert row.difference is not None
    return row.score.n, row.difference.wins, row.difference.ties, row.difference.losses


@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl", "json", "parquet"])
def test_forms_hold_the_same_values(tmp_path: Path, form: str) -> None:
    """Shuffled; with a byte order mark, U+2028 in a text, and ids that pandas made floats."""
    first = _write(tmp_path, "first", _rows({"1": 1, "2": 0, "3": 1, "4": 1}))
    other = tmp_path / f"other.{form}"
    values = [(4, True), (2, False), (3, False), (1, True)]
    if form in ("csv", "tsv"):
        cut = "," if form == "csv" else "\t"
        lines = [
            cut.join(("", "id", "text", "s")),
            *(f'7{cut}{n}{cut}"a\nb"{cut}{s}' for n, s in values),
        ]
        other.write_text("\ufeff" + "\n".join(lines), encoding="utf-8")
    elif form == "parquet":
        pandas = pytest.importorskip("pandas")
        pandas.DataFrame([(float(n), s) for n, s in values], columns=["id", "s"]).to_parquet(other)
    else:
        records = [{"id": n, "s": s, "text": "\u2028"} for n, s in values]
        text = json.dumps(records, indent=1)
        if form == "jsonl":
            text = "\n".join(json.dumps(record, ensure_ascii=False) for record in records)
        other.write_text(text, encoding="utf-8")
    assert _counts(compare([first, other], **COLUMNS)) == (4, 0, 3, 1)


def test_fields_inside_others_and_files_of_one_name(tmp_path: Path) -> None:
    paths = []
    for run, value in (("one", 1), ("two", 0)):
        (tmp_path / run).mkdir()
        rows = [{"doc": {"question": f"q{i}"}, "scores": {"em": value}} for i in range(3)]
        paths.append(_write(tmp_path / run, "samples", rows))
    comparison = compare(paths, id_column="doc.question", value_column="scores.em")
    assert list(comparison.runs) == ["one", "two"]
    assert _counts(comparison) == (3, 0, 0, 3)


def _added_in_front(folder: Path) -> tuple[Path, Path]:
    """Both answer every question alike, but the second has one more, and numbers them anew."""
    right = {f"question {i}": float(i % 3 > 0) for i in range(40)}
    more = {"a new question": 1.0, **right}
    return tuple(
        _write(
            folder,
            name,
            [{"id": i, "question": q, "s": s} for i, (q, s) in enumerate(of_run.items())],
        )
        for name, of_run in (("before", right), ("after", more))
    )  # type: ignore[return-value]


def test_ids_of_other_texts_are_refused(tmp_path: Path) -> None:
    files = _added_in_front(tmp_path)
    for run in (compare, lambda files, **columns: gate(*files, **columns)):
        with pytest.raises(
            DataError, match=r"40 of 40 ids .* Pair them by their texts: --id question"
        ):
            run(files, **COLUMNS)
        with pytest.raises(ConfigError, match=r"no column 'words' .--text.; its columns: id"):
            run(files, **COLUMNS, text_column="words")
    assert _counts(compare(files, id_column="question", value_column="s")) == (40, 0, 40, 0)


def test_decomposed_letters_are_the_same_text(tmp_path: Path) -> None:
    first = _write(tmp_path, "a", [{"id": "Zürich", "s": 1, "question": "wo ist Zürich"}])
    other = _write(
        tmp_path, "b", [{"id": "Zu\u0308rich", "s": 1, "question": "wo ist Zu\u0308rich "}]
    )
    assert _counts(compare([first, other], **COLUMNS)) == (1, 0, 1, 0)


HALF: dict[str, float | None] = {f"q{i}": float(i < 10) for i in range(20)}
CRASHED: dict[str, dict[str, float | None]] = {
    "no value": {name: value or None for name, value in HALF.items()},
    "not a number": {name: value or float("nan") for name, value in HALF.items()},
    "no row": {name: value for name, value in HALF.items() if value},
}


@pytest.mark.parametrize("how", CRASHED)
def test_a_gate_is_not_passed_by_crashing(tmp_path: Path, how: str) -> None:
    """On the queries that the baseline has wrong, a miss costs nothing; being gone does."""
    baseline = _write(tmp_path, "good", _rows(HALF))
    path = tmp_path / "crashed.csv"
    path.write_text(
        "id,s\n" + "".join(f"{n},{'' if v is None else v}\n" for n, v in CRASHED[how].items())
    )
    outcome = gate(baseline, path, RULE, **COLUMNS)
    assert outcome.failed
    value, has_value = outcome.checks
    assert (value.base.score.value, value.row.score.value, value.verdict) == (0.5, 0.5, "passed")
    assert (has_value.row.score.value, has_value.verdict) == (0.5, "failed")
    assert "10 of 20 queries that good has a value of have none in crashed" in outcome.sentence
    assert "good .500 (n = 20), crashed 1.000 (n = 10)" in outcome.sentence
    comparison = compare([baseline, path], **COLUMNS)
    assert comparison.corpora == ("n = 10 of 20",)
    assert "good .500 (n = 20), crashed 1.000 (n = 10)" in str(comparison)
    assert comparison.to_records()[1]["own_n"] == 10
    assert comparison.to_json()["own_means"]["good"] == {"mean": 0.5, "n": 20}


def test_a_miss_is_the_worst_value(tmp_path: Path) -> None:
    """One query that failed is noise; where lower is better a miss is the most, if known."""
    names = [f"q{i}" for i in range(20)]
    good = _write(tmp_path, "good", _rows(dict.fromkeys(names, 0.75)))
    one = _write(tmp_path, "one", _rows({**dict.fromkeys(names, 0.75), "q0": None}))
    outcome = gate(good, one, RULE, **COLUMNS)
    assert not outcome.failed
    assert outcome.checks[0].row.score.value == pytest.approx(0.75 * 19 / 20)
    assert gate(good, one, "s>0.01", **COLUMNS).checks[0].row.score.value == pytest.approx(
        (0.75 * 19 + 1) / 20
    )
    seconds = _write(tmp_path, "seconds", _rows(dict.fromkeys(names, 7.5)))
    slow = _write(tmp_path, "slow", _rows({**dict.fromkeys(names, 7.5), "q0": None}))
    with pytest.raises(ConfigError, match="how bad a missing s is cannot be known"):
        gate(seconds, slow, "s>0.01", **COLUMNS)


def test_what_the_baseline_lacks_is_left_out(tmp_path: Path) -> None:
    good = _write(tmp_path, "good", _rows({**HALF, "q0": None}))
    more = _write(tmp_path, "more", _rows({**HALF, "new": 0.0}))
    (check,) = gate(good, more, **COLUMNS).checks
    assert (check.row.score.n, check.verdict, str(check.rule)) == (19, "passed", "s<-0.01")


def test_the_sign_of_a_rule_says_what_is_worse(tmp_path: Path) -> None:
    good = _write(tmp_path, "good", _rows(dict.fromkeys(HALF, 1.0)))
    bad = _write(tmp_path, "bad", _rows(dict.fromkeys(HALF, 0.0)))
    outcomes = [
        gate(*pair, rule, **COLUMNS).failed
        for pair in ((good, bad), (bad, good))
        for rule in (RULE, "s>0.01")
    ]
    assert outcomes == [True, False, False, True]


REFUSED: dict[str, tuple[str, str]] = {
    "lines.jsonl": ('{"id": 1, "s": 1}\n{"id"', "line 2: no JSON"),
    "words.csv": ("id,s\n1,0.5\n2,C\n", "row 2: s is not a number: 'c'"),
    "twice.csv": ("id,s\nq1,1\nq1,0\n", "row 2: has the id 'q1' a second time"),
    "endless.csv": ("id,s\nq1,1\nq2,inf\n", "row 2: s is infinite"),
    "unnamed.csv": ("id,s\nq1,1\n,0\n", "row 2: has no id"),
    "wide.csv": ("id,s\nq1,1,2\n", "line 2 has more cells than the header"),
    "columns.csv": ("id,s,s\nq1,1,2\n", "two columns are called 's'"),
    "empty.csv": ("id,s\n", "holds no rows"),
    "apart.csv": ("id,s\nx,1\n", "no query with a value in common"),
    "document.json": ("[1, 2]", "expected an object for each query"),
    "other.parquet": ("text", "cannot be read"),
    "log.eval": ("text", "cannot be read|pip install inspect-ai"),
    "fields.jsonl": ('{"eval": 1}', "has no column 'id' .--id.; its columns: eval"),
    "run.trec": ("q1 Q0 d1 1 2.0 x\n", "rankings, .* target-bench score CORPUS --run run.trec"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_broken_files(name: str, tmp_path: Path) -> None:
    content, message = REFUSED[name]
    (tmp_path / name).write_text(content)
    first = _write(tmp_path, "first", _rows({"q1": 1, "q2": 0}))
    with pytest.raises((DataError, ConfigError), match=message):
        compare([first, tmp_path / name], **COLUMNS)


def test_what_is_not_for_files(tmp_path: Path) -> None:
    file = _write(tmp_path, "a", _rows(HALF))
    for arguments, message in (
        ({}, "name its columns with --id and --value"),
        ({**COLUMNS, "by": ["difficulty"]}, "no properties of queries"),
        ({**COLUMNS, "baseline": tmp_path / "none.csv"}, "cannot be read"),
    ):
        with pytest.raises((ConfigError, DataError), match=message):
            compare([file, file], **arguments)
    with pytest.raises(ConfigError, match="with files alone, not with runs"):
        compare([file, tmp_path], **COLUMNS)
    with pytest.raises(ConfigError, match="'other' is not the metric of these files, 's'"):
        gate(file, file, "other<-0.01", **COLUMNS)


def test_commands(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    inside = Inside(capsys, monkeypatch)
    files = [_write(tmp_path, name, _rows(HALF)) for name in "ab"]
    named = ("--id", "id", "--value", "s")
    assert "not significantly different: b (" in inside.good("compare", *files, *named)
    assert "The gate passed." in inside.good("gate", files[0], "--run", files[1], *named)
    assert "--value" in inside.bad(2, "gate", files[0], "--run", files[1])


def _write_inspect(path: Path, samples: Sequence[Mapping[str, Any]]) -> Path:
    log = pytest.importorskip("inspect_ai.log")
    spec = log.EvalSpec(
        created="2026-01-01T00:00:00+00:00",
        task="t",
        model="m",
        dataset=log.EvalDataset(),
        config=log.EvalConfig(),
    )
    made = [log.EvalSample(**{"epoch": 1, "target": "x", **sample}) for sample in samples]
    log.write_eval_log(log.EvalLog(status="success", eval=spec, samples=made), str(path))
    return path


def test_logs_of_inspect(tmp_path: Path) -> None:
    """C, I and numbers as Inspect reads them; epochs as their mean; a failed sample is a miss."""
    log = pytest.importorskip("inspect_ai.log")
    from inspect_ai.scorer import Score

    def write(name: str, values: list[list[Any]]) -> Path:
        error = log.EvalError(message="timeout", traceback="", traceback_ansi="")
        samples = [
            {
                "id": i,
                "epoch": epoch + 1,
                "input": f"question {i}",
                "scores": {} if value is None else {"match": Score(value=value)},
                "error": error if value is None else None,
            }
            for i, of_sample in enumerate(values)
            for epoch, value in enumerate(of_sample)
        ]
        return _write_inspect(tmp_path / f"{name}.eval", samples)

    good = write("good", [["C", "I"], ["C"], ["true"], [0.25]])
    crashed = write("crashed", [["C", None], ["C"], ["I"], [0.25]])
    columns: dict[str, Any] = {"id_column": "id", "value_column": "match"}
    comparison = compare([good, crashed], **columns)
    assert comparison.own_means["good"] == pytest.approx((2.75 / 4, 4))
    assert comparison.own_means["crashed"] == pytest.approx((1.25 / 3, 3))
    checks = gate(good, crashed, "match<-0.01", **columns, alpha=0.9).checks
    assert checks[0].row.score.value == pytest.approx(1.25 / 4)


def test_messages_of_inspect_are_their_role_and_content(tmp_path: Path) -> None:
    """Each evaluation gives the messages of one data set other ids."""
    model = pytest.importorskip("inspect_ai.model")
    from inspect_ai.scorer import Score

    def write(name: str, question: str, system: str = "Be brief.") -> Path:
        messages = [
            model.ChatMessageSystem(id=f"{name}-1", content=system),
            model.ChatMessageUser(id=f"{name}-2", content=[model.ContentText(text=question)]),
        ]
        sample = {"id": 1, "input": messages, "scores": {"match": Score(value="C")}}
        return _write_inspect(tmp_path / f"{name}.eval", [sample])

    first, again = write("first", "Who won?"), write("again", "Who won?")
    columns: dict[str, Any] = {"id_column": "id", "value_column": "match"}
    assert _counts(compare([first, again], **columns)) == (1, 0, 1, 0)
    for other in (write("asked", "Who lost?"), write("told", "Who won?", "Be exact.")):
        with pytest.raises(DataError, match="name different queries"):
            compare([first, other], **columns)


def test_scores_of_inspect_that_are_no_numbers(tmp_path: Path) -> None:
    """They matter only where they are asked for."""
    pytest.importorskip("inspect_ai")
    from inspect_ai.scorer import Score

    scores = {
        "choice": Score(value="B"),
        "parts": Score(value={"good": 1, "none": None}),
        "match": Score(value="C"),
    }
    log = _write_inspect(tmp_path / "a.eval", [{"id": 1, "input": "Who?", "scores": scores}])
    other = _write_inspect(tmp_path / "b.eval", [{"id": 1, "input": "Who?", "scores": scores}])
    for column in ("match", "parts/good"):
        assert _counts(compare([log, other], id_column="id", value_column=column)) == (1, 0, 1, 0)
    for column, value in (("choice", "b"), ("parts/none", "None")):
        with pytest.raises(DataError, match=f"sample 1: {column} is not a number: '{value}'"):
            compare([log, other], id_column="id", value_column=column)
    with pytest.raises(ConfigError, match=r"its columns: id, input, choice, parts/good, .*match"):
        compare([log, other], id_column="id", value_column="none")
