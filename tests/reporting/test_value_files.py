"""Per-query values of other harnesses: paired by id, gated, and refused where broken."""

import json
from pathlib import Path
from typing import Any

import pytest

from target_bench import ConfigError, DataError, compare, gate
from target_bench.reporting.rows import Comparison
from tests.cli.inside import Inside

COLUMNS: dict[str, Any] = {"id_column": "id", "value_column": "s"}
RULE = "s<-0.01"
HALF: dict[str, Any] = {f"q{i}": float(i < 10) for i in range(20)}


def _write(path: Path, values: dict[Any, Any], **more: Any) -> Path:
    rows = [{"id": name, "s": value, **more} for name, value in values.items()]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def _counts(comparison: Comparison) -> tuple[int | None, ...]:
    (row,) = (row for row in comparison.rows if row.difference)
    assert row.difference is not None
    return row.score.n, row.difference.wins, row.difference.ties, row.difference.losses


# Shuffled; with a byte order mark, U+2028 in a text, and ids that pandas made floats.
FORMS = {
    "csv": '\ufeff,id,text,s\n7,4,"a\nb",True\n7,2,,False\n7,3,,0\n7,1,,1.0\n',
    "tsv": "id\ts\n4\t1\n2\t0\n3\t0\n1\t1\n",
    "jsonl": '{"id": 4, "s": 1, "text": "\u2028"}\n\n'
    '{"id": 2, "s": 0}\n{"id": "3", "s": 0}\n{"id": 1, "s": true}\n',
    "json": '[\n{"id": 4, "s": 1}, {"id": 2, "s": 0}, {"id": 3, "s": 0},\n{"id": 1, "s": "1"}]',
    "parquet": "",
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_hold_the_same_values(tmp_path: Path, form: str) -> None:
    first = _write(tmp_path / "first.jsonl", {"1": 1, "2": 0, "3": 1, "4": 1})
    other = tmp_path / f"other.{form}"
    other.write_text(FORMS[form], encoding="utf-8")
    if form == "parquet":
        pandas = pytest.importorskip("pandas")
        values = {"id": [4.0, 2.0, 3.0, 1.0], "s": [True, False, False, True]}
        pandas.DataFrame(values).to_parquet(other)
    assert _counts(compare([first, other], **COLUMNS)) == (4, 0, 3, 1)


def test_files_of_one_name_are_called_by_their_paths(tmp_path: Path) -> None:
    paths = []
    for run in ("one", "two"):
        (tmp_path / run).mkdir()
        paths.append(_write(tmp_path / run / "samples.jsonl", HALF))
    comparison = compare(paths, baseline=paths[1], **COLUMNS)
    assert list(comparison.runs) == list(map(str, paths))
    assert comparison.baseline == str(paths[1])


PROMPTS = [[{"vars": {"city": c}, "prompt": p, "s": 1} for c in "ab"] for p in ("short", "long")]
SHIFTED = [
    [{"id": i, "question": f"question {n}", "s": n % 3} for i, n in enumerate(range(start, 40))]
    for start in (1, 0)
]


@pytest.mark.parametrize(
    ("rows", "id_column", "counts"),
    [
        (SHIFTED, "id", None),
        (SHIFTED, "question", (39, 0, 39, 0)),
        # promptfoo compares prompts, which differ where the query is the same
        (PROMPTS, "vars", (2, 0, 2, 0)),
    ],
)
def test_equal_ids_have_equal_texts(
    tmp_path: Path, rows: list[Any], id_column: str, counts: tuple[int, ...] | None
) -> None:
    """Sample numbers shift when a sample is added: pairs of other queries are no comparison."""
    files = [tmp_path / "before.json", tmp_path / "after.json"]
    for path, written in zip(files, rows, strict=True):
        path.write_text(json.dumps(written))
    columns: dict[str, Any] = {"id_column": id_column, "value_column": "s"}
    if counts:
        assert _counts(compare(files, **columns)) == counts
        return
    for run in (compare, lambda files, **columns: gate(*files, **columns)):
        with pytest.raises(DataError, match=r"id '0' names different .* Pair .* --id question"):
            run(files, **columns)


@pytest.mark.parametrize("how", ["", "null", "nan", "no row"])
def test_a_gate_is_not_passed_by_crashing(tmp_path: Path, how: str) -> None:
    """On the queries that the baseline has wrong, a miss costs nothing; being gone does."""
    baseline = _write(tmp_path / "good.jsonl", HALF)
    path = tmp_path / "crashed.csv"
    lines = [f"{name},{value or how}" for name, value in HALF.items() if value or how != "no row"]
    path.write_text("\n".join(["id,s", *lines]))
    outcome = gate(baseline, path, RULE, **COLUMNS)
    assert outcome.failed
    value, has_value = outcome.checks
    assert (value.base.score.value, value.row.score.value, value.verdict) == (0.5, 0.5, "passed")
    assert (has_value.row.score.value, has_value.verdict) == (0.5, "failed")
    assert "10 of 20 queries that good has a value of have none in crashed" in outcome.sentence
    comparison = compare([baseline, path], **COLUMNS)
    assert comparison.corpora == ("n = 10 of 20",)
    for text in (outcome.sentence, str(comparison)):
        assert "good .500 (n = 20), crashed 1.000 (n = 10)" in text


@pytest.mark.parametrize(
    ("value", "rule", "expected"),
    [(0.75, RULE, 0.0), (0.75, "s>0.01", 1.0), (7.5, "s>0.01", 7.5), (-2.0, RULE, -2.0)],
)
def test_a_miss_is_the_worst_value(
    tmp_path: Path, value: float, rule: str, expected: float
) -> None:
    """One query that failed is noise."""
    good = _write(tmp_path / "good.jsonl", dict.fromkeys(HALF, value))
    one = _write(tmp_path / "one.jsonl", dict.fromkeys([*HALF][1:], value))
    outcome = gate(good, one, rule, **COLUMNS)
    assert not outcome.failed
    assert outcome.checks[0].row.score.value == pytest.approx((value * 19 + expected) / 20)


def test_what_the_baseline_lacks_is_left_out(tmp_path: Path) -> None:
    good = _write(tmp_path / "good.jsonl", {name: HALF[name] for name in [*HALF][1:]})
    more = _write(tmp_path / "more.jsonl", {**HALF, "new": 0.0})
    (check,) = gate(good, more, **COLUMNS).checks
    assert (check.row.score.n, check.verdict, str(check.rule)) == (19, "passed", "s<-0.01")


def test_the_sign_of_a_rule_says_what_is_worse(tmp_path: Path) -> None:
    good = _write(tmp_path / "good.jsonl", dict.fromkeys(HALF, -0.5))
    bad = _write(tmp_path / "bad.jsonl", dict.fromkeys(HALF, -1.5))
    same = _write(tmp_path / "same.jsonl", dict.fromkeys(HALF, -0.5))
    outcomes = [
        gate(*pair, rule, **COLUMNS).failed
        for pair in ((good, bad), (bad, good), (good, same))
        for rule in (RULE, "s>0.01", ())
    ]
    assert outcomes == [True, False, True, False, True, False, False, False, False]


REFUSED: dict[str, tuple[str, str]] = {
    "lines.jsonl": ('{"id": 1, "s": 1}\n{"id"', r"lines.jsonl: .* line 2"),
    "words.csv": ("id,s\n1,0.5\n2,C\n", "words.csv: row 2: s is not a finite number: 'C'"),
    "endless.csv": ("id,s\nq1,1\nq2,inf\n", "row 2: s is not a finite number: 'inf'"),
    "twice.csv": ("id,s\nq1,1\nq1,0\n", "row 2: has the id 'q1' a second time"),
    "unnamed.csv": ("id,s\nq1,1\n,0\n", "row 2: has no id"),
    "wide.csv": ("id,s\nq1,1,2\n", "row 1: has more cells than the header"),
    "columns.csv": ("id,s,s\nq1,1,2\n", "two columns have one name: id, s, s"),
    "empty.csv": ("id,s\n", "holds no values"),
    "apart.csv": ("id,s\nx,1\n", "no query in common"),
    "document.json": ("[1, 2]", "expected an object for each query"),
    "other.parquet": ("text", "other.parquet"),
    "log.eval": ("text", "log.eval"),
    "fields.jsonl": ('{"eval": 1}', "has no column 'id' .--id.; its columns: eval"),
    "run.trec": ("q1 Q0 d1 1 2.0 x\n", "are for files of values"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_broken_files(name: str, tmp_path: Path) -> None:
    content, message = REFUSED[name]
    (tmp_path / name).write_text(content)
    first = _write(tmp_path / "first.jsonl", {"q1": 1, "q2": 0})
    with pytest.raises((ConfigError, DataError), match=message):
        compare([first, tmp_path / name], **COLUMNS)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "name the columns with --id and --value"),
        ({"id_column": "id"}, "name the columns with --id and --value"),
        ({**COLUMNS, "by": ["difficulty"]}, "no properties of queries"),
        ({**COLUMNS, "baseline": "none.csv"}, "none.csv: No such file"),
        ({**COLUMNS, "baseline": "."}, "for files of values, not for runs"),
        (COLUMNS, "two files at least"),
    ],
)
def test_what_is_not_for_files(tmp_path: Path, arguments: dict[str, Any], message: str) -> None:
    file = _write(tmp_path / "a.jsonl", HALF)
    with pytest.raises((ConfigError, DataError), match=message):
        compare([file, file], **arguments)
    with pytest.raises(ConfigError, match="'other' is not the metric of these files, 's'"):
        gate(file, file, "other<-0.01", **COLUMNS)


def test_commands(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    inside = Inside(capsys, monkeypatch)
    files = [_write(tmp_path / f"{name}.jsonl", HALF) for name in "ab"]
    named = ("--id", "id", "--value", "s")
    assert "not significantly different: b (" in inside.good("compare", *files, *named)
    assert "The gate passed." in inside.good("gate", files[0], "--run", files[1], *named)
    assert "--value" in inside.bad(2, "gate", files[0], "--run", files[1])


# Logs of Inspect


def _write_log(path: Path, samples: list[dict[str, Any]]) -> Path:
    log = pytest.importorskip("inspect_ai.log")
    from inspect_ai.scorer import Score

    data, config = log.EvalDataset(), log.EvalConfig()
    created = "2026-01-01T00:00:00+00:00"
    spec = log.EvalSpec(created=created, task="t", model="m", dataset=data, config=config)
    failure = log.EvalError(message="timeout", traceback="", traceback_ansi="")
    defaults = {"id": 1, "epoch": 1, "input": "Who?", "target": "x"}
    made = []
    for sample in samples:
        scores = {name: Score(value=value) for name, value in sample["scores"].items()}
        error = failure if "error" in sample else None
        made.append(log.EvalSample(**{**defaults, **sample, "scores": scores, "error": error}))
    log.write_eval_log(log.EvalLog(status="success", eval=spec, samples=made), str(path))
    return path


def test_epochs_of_inspect(tmp_path: Path) -> None:
    """C, I and numbers as Inspect reads them; a sample that failed once has no value."""
    values: list[list[Any]] = [["C", "I"], ["C"], ["true"], [0.25]]
    samples: list[dict[str, Any]] = [
        {"id": i, "epoch": n, "input": f"question {i}", "scores": {"match": value}}
        for i, of_sample in enumerate(values)
        for n, value in enumerate(of_sample, start=1)
    ]
    good = _write_log(tmp_path / "good.eval", samples)
    samples[1]["error"] = "timeout"
    samples[3]["scores"] = {"match": "I"}
    crashed = _write_log(tmp_path / "crashed.eval", samples)
    columns: dict[str, Any] = {"id_column": "id", "value_column": "match"}
    assert "good .688 (n = 4), crashed .417 (n = 3)" in str(compare([good, crashed], **columns))
    checks = gate(good, crashed, "match<-0.01", **columns, alpha=0.9).checks
    assert checks[0].row.score.value == pytest.approx(1.25 / 4)


def test_messages_of_inspect_are_their_role_and_content(tmp_path: Path) -> None:
    """Each evaluation gives the messages of one data set other ids."""
    model = pytest.importorskip("inspect_ai.model")

    def write(name: str, question: str, system: str = "Be brief.") -> Path:
        messages = [
            model.ChatMessageSystem(id=f"{name}-1", content=system),
            model.ChatMessageUser(id=f"{name}-2", content=[model.ContentText(text=question)]),
        ]
        return _write_log(tmp_path / f"{name}.eval", [{"input": messages, "scores": {"m": "C"}}])

    first, again = write("first", "Who won?"), write("again", "Who won?")
    columns: dict[str, Any] = {"id_column": "id", "value_column": "m"}
    assert _counts(compare([first, again], **columns)) == (1, 0, 1, 0)
    for other in (write("asked", "Who lost?"), write("told", "Who won?", "Be exact.")):
        with pytest.raises(DataError, match="names different queries"):
            compare([first, other], **columns)


@pytest.mark.parametrize(
    ("scorer", "message"),
    [
        ("match", None),
        ("parts/good", None),
        ("choice", "sample 1: choice is not a finite number: 'B'"),
        ("parts/none", "no column 'parts/none'"),
        ("none", "its columns: id, input, choice, parts/good, .*match"),
    ],
)
def test_only_the_scorer_asked_for_is_read(
    tmp_path: Path, scorer: str, message: str | None
) -> None:
    scores = {"choice": "B", "parts": {"good": 1, "none": None}, "match": "C"}
    logs = [_write_log(tmp_path / f"{name}.eval", [{"scores": scores}]) for name in "ab"]
    columns: dict[str, Any] = {"id_column": "id", "value_column": scorer}
    if message is None:
        assert _counts(compare(logs, **columns)) == (1, 0, 1, 0)
    else:
        with pytest.raises((ConfigError, DataError), match=message):
            compare(logs, **columns)
