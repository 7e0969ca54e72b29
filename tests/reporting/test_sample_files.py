"""Files of other harnesses: read as they wrote them, compared, gated, and refused where broken.

``sample_files/recorded`` holds what the harnesses wrote by the scripts beside it: Inspect 0.3.285,
lm-eval 0.4.13, promptfoo 0.121.20, deepeval 4.3.1, ragas 0.4.3, MTEB 2.26.24. ``printed.json`` is
what each of them printed as the scores of these files.
"""

import json
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from target_bench import ConfigError, DataError, compare, gate
from target_bench.reporting.comparison import told_apart
from target_bench.reporting.sample_files import SampleScores, read_sample_files
from tests.cli.inside import Inside

HERE = Path(__file__).parent / "sample_files"
RECORDED = HERE / "recorded"
CAREFUL, CARELESS = (RECORDED / "ragas" / f"{kind}.csv" for kind in ("careful", "careless"))


def _read(file: Path, printed: Mapping[str, Any], folder: Path) -> list[SampleScores]:
    qrels = folder / "qrels.tsv"
    if qrels.exists():
        return read_sample_files([file], qrels, list(printed))
    return read_sample_files([file])


def _check(folder: Path, printed: Mapping[str, Mapping[str, float]]) -> None:
    assert printed
    for name, scores in printed.items():
        (run,) = _read(folder / name, scores, folder)
        assert len(set(run.ids)) == len(run.ids) > 3
        means = {metric: np.nanmean(values) for metric, values in run.values.items()}
        assert means == pytest.approx(dict(scores), abs=6e-6), name  # MTEB rounds to five places


@pytest.mark.parametrize("harness", ["inspect", "lm_eval", "deepeval", "ragas", "mteb"])
def test_scores_are_those_that_the_harness_printed(harness: str) -> None:
    folder = RECORDED / harness
    _check(folder, json.loads((folder / "printed.json").read_text()))


def test_a_file_of_promptfoo_holds_a_run_a_provider() -> None:
    runs = read_sample_files([RECORDED / "promptfoo" / "results.json"])
    printed = json.loads((RECORDED / "promptfoo" / "printed.json").read_text())
    means = {run.name: {m: v.mean() for m, v in run.values.items()} for run in runs}
    assert means == {name: pytest.approx(scores) for name, scores in printed.items()}


@pytest.mark.parametrize(("harness", "package"), [("inspect", "inspect_ai"), ("mteb", "mteb")])
def test_the_installed_harness_writes_such_files(
    harness: str, package: str, tmp_path: Path
) -> None:
    pytest.importorskip(package)
    words = [sys.executable, str(HERE / f"write_{harness}.py"), str(tmp_path)]
    written = subprocess.run(words, capture_output=True, text=True, check=False)
    assert written.returncode == 0, written.stderr[-2000:]
    _check(tmp_path, json.loads(written.stdout.splitlines()[-1]))


def test_differences_are_paired_by_sample(tmp_path: Path) -> None:
    lines = CARELESS.read_text().splitlines()
    shuffled = tmp_path / "shuffled.csv"
    shuffled.write_text("\n".join([lines[0], *lines[:0:-1]]))
    rows = compare([CAREFUL, shuffled]).rows
    differences = {row.metric: row.difference for row in rows if row.difference}
    exact, included = differences["exact_match"], differences["string_present"]
    assert (exact.wins, exact.ties, exact.losses) == (0, 10, 2)
    assert (included.wins, included.ties, included.losses) == (0, 8, 4)
    # Two of twelve samples changed, in one direction: of 4 choices of signs 2 are as extreme.
    assert exact.p == pytest.approx(0.5)
    assert included.p == pytest.approx(2 / 16)
    assert included.p_corrected == pytest.approx(2 * 2 / 16)


def test_samples_that_not_all_runs_have_are_left_out_and_said(tmp_path: Path) -> None:
    fewer = tmp_path / "fewer.csv"
    fewer.write_text("\n".join(CARELESS.read_text().splitlines()[:-2]))
    comparison = compare([CAREFUL, fewer])
    assert {row.n for row in comparison.rows} == {10}
    assert "careful has 2 samples that not all have" in comparison.notes[0]


def test_metrics_without_a_number_a_sample_are_said() -> None:
    words = sorted((RECORDED / "lm_eval").glob("*/samples_words_*"))
    comparison = compare(words)
    assert comparison.task == "words"
    assert any("bleu,letters, bleu,plain" in note for note in comparison.notes)
    assert {row.metric for row in comparison.rows} == {"exact_match,letters", "exact_match,plain"}


def test_ids_are_no_metric_and_equal_scores_are_undecided(tmp_path: Path) -> None:
    files = [tmp_path / "one.csv", tmp_path / "two.csv"]
    for file in files:
        file.write_text("question_id,exact_match\n" + "".join(f"{i},{i % 2}\n" for i in range(20)))
    comparison = compare(files)
    assert list(comparison.family) == ["exact_match"]
    (told,) = told_apart(comparison)
    assert told == "Beside one, by exact_match: two cannot be told from it (p ≥ .05)."


def test_gate(tmp_path: Path) -> None:
    many = "".join(f"What is {i} less {i}?,x,y,{{0}},{{0}}\n" for i in range(40))
    good, bad = tmp_path / "good.csv", tmp_path / "bad.csv"
    good.write_text(CAREFUL.read_text() + many.format("1.0"))
    bad.write_text(CARELESS.read_text() + many.format("0.0"))
    assert gate(good, bad, "exact_match<-0.01").failed
    assert gate(good, bad).failed
    assert not gate(good, bad, "exact_match>0.01").failed
    assert gate(bad, good, "exact_match>0.01").failed
    assert not gate(CAREFUL, CARELESS, "exact_match<-0.01").failed  # within noise


def test_commands(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    cli = Inside(capsys, monkeypatch)
    logs = [RECORDED / "inspect" / f"{kind}.eval" for kind in ("careful", "careless")]
    printed = cli.good("compare", *logs, "--metric", "includes")
    assert "careless cannot be told from it" in printed
    refused = cli.bad(2, "gate", logs[0], "--run", logs[1], "--fail-on", "no_such<-0.1")
    assert "no_such" in refused
    assert "sizes/words" in refused


def test_rankings_need_judgements() -> None:
    files = sorted((RECORDED / "mteb").glob("words-*/*.json"))
    with pytest.raises(ConfigError, match="--qrels"):
        compare(files)


def test_trec_runs(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("q1 0 a 2\nq1 0 b 1\nq1 0 c 0\nq2 0 a 1\nq3 0 b 1\n")
    (tmp_path / "one.trec").write_text("q1 Q0 b 1 2.0 x\nq1 Q0 a 2 1.0 x\nq2 Q0 a 1 1.0 x\n")
    (tmp_path / "two.trec").write_text("q1 Q0 a 1 2.0 x\nq1 Q0 c 2 1.0 x\nq2 Q0 c 1 1.0 x\n")
    files = [tmp_path / "one.trec", tmp_path / "two.trec"]
    one, _ = read_sample_files(files, tmp_path / "qrels", ["ndcg@10", "recall@1", "mrr@10"])
    assert one.ids == ("q1", "q2", "q3")  # a query without an answer counts as 0
    best = 2 + 1 / np.log2(3)
    assert one.values["ndcg@10"] == pytest.approx([(1 + 2 / np.log2(3)) / best, 1, 0])
    assert one.values["recall@1"] == pytest.approx([0.5, 1, 0])
    assert one.values["mrr@10"] == pytest.approx([1, 1, 0])


BROKEN = {
    "lines.jsonl": ('{"id": 1, "score": 1}\n{"id"', "line 2: no JSON"),
    "words.csv": ("id,said\n1,yes\n2,no\n", "no metric has a number"),
    "unnamed.csv": ("score\n1\n2\n", "no column names the samples"),
    "text.txt": ("How are you?\n", "line 1: this file is in none of the forms"),
    "other.json": ('{"a": 1}', "has the fields a"),
    "started.json": (
        '{"eval": {"model": "m", "task": "t"}, "status": "started", "samples": []}',
        "ended with the status 'started'",
    ),
    "cases.json": ('{"testCases": [{"success": true}]}', "not as its harness writes it .*name"),
    "lacking.jsonl": ('{"doc_id": 1, "metrics": ["acc"]}\n{"doc_id": 2}\n', "not as its .*acc"),
    "twice.jsonl": (
        '{"doc_id": 1, "metrics": ["acc"], "acc": 1}\n' * 2,
        "the sample 1 has acc twice",
    ),
    "endless.csv": ("id,s\na,1\nb,inf\n", "s of the sample 'b' is not finite: inf"),
    "large.jsonl": (f'{{"id": 1, "s": 1{"0" * 400}}}\n{{"id": 2, "s": 1}}', "too large"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files(name: str, tmp_path: Path) -> None:
    text, message = BROKEN[name]
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=message) as raised:
        compare([CAREFUL, tmp_path / name])
    assert name in str(raised.value)


def test_archives_that_are_no_log(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.eval", "w") as archive:
        archive.writestr("samples/1.json", "{}")
    with pytest.raises(DataError, match=r"a\.eval: a ZIP without header\.json"):
        compare([CAREFUL, tmp_path / "a.eval"])
    whole = (RECORDED / "inspect" / "careful.eval").read_bytes()
    damaged = whole.replace(b"\x28\xb5\x2f\xfd", b"\x28\xb5\x2f\xfe")  # the magic of Zstandard
    (tmp_path / "b.eval").write_bytes(damaged)
    with pytest.raises(DataError, match=r"b\.eval: .*cannot be read"):
        compare([CAREFUL, tmp_path / "b.eval"])


def test_no_common_sample_and_mixed_arguments(tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_text("id,exact_match\nx,1\ny,0\n")
    with pytest.raises(DataError, match="no sample in common"):
        compare([CAREFUL, tmp_path / "other.csv"])
    with pytest.raises(ConfigError, match="not with run folders"):
        compare([CAREFUL, tmp_path])


def test_a_gate_of_files_is_of_two_runs_without_slices(tmp_path: Path) -> None:
    two = RECORDED / "promptfoo" / "results.json"
    again = tmp_path / "again.json"
    again.write_bytes(two.read_bytes())
    with pytest.raises(ConfigError, match=r"one run against another, and .* hold 4: "):
        gate(two, again)
    with pytest.raises(ConfigError, match="have no properties of queries"):
        gate(CAREFUL, CARELESS, slices=["difficulty=hard"])


def test_a_metric_is_over_the_samples_on_which_all_runs_have_a_value(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(",id,s\n0,x,1\n1,y,\n2,z,1\n")
    (tmp_path / "b.csv").write_text(",id,s\n0,x,0\n1,y,1\n2,z,1\n")
    comparison = compare([tmp_path / "a.csv", tmp_path / "b.csv"])
    assert [(row.metric, row.n, row.score) for row in comparison.rows] == [
        ("s", 2, 1),
        ("s", 2, 0.5),
    ]
    assert any("over the 2 samples" in note for note in comparison.notes)


def test_samples_of_one_id_are_paired_in_their_order_and_said(tmp_path: Path) -> None:
    for name, scores in {"a": (1, 0, 1), "b": (1, 1, 1)}.items():
        lines = [f"{i},{score}\n" for i, score in zip("xyx", scores, strict=True)]
        (tmp_path / f"{name}.csv").write_text("".join(["id,s\n", *lines]))
    comparison = compare([tmp_path / "a.csv", tmp_path / "b.csv"])
    assert comparison.rows[1].n == 3
    assert "1 sample of a with the id of an earlier one: samples of one id" in comparison.notes[0]


def test_separators_of_lines_inside_texts(tmp_path: Path) -> None:
    """A byte order mark, as Excel writes it, and U+2028 in a text, as lm-eval writes it."""
    (tmp_path / "a.csv").write_text('\ufeffquestion,s\n"x\ny",1\nz,0\n', encoding="utf-8")
    lines = '{"question": "x\\ny", "t": "\u2028", "s": 0}\n{"question": "z", "s": 0}\n'
    (tmp_path / "b.jsonl").write_text(lines, encoding="utf-8")
    csv_file, json_lines = read_sample_files([tmp_path / "a.csv", tmp_path / "b.jsonl"])
    assert csv_file.ids == json_lines.ids == ("x\ny", "z")
