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

import numpy as np
import pytest

from target_bench import ConfigError, DataError, compare, gate
from target_bench.reporting.comparison import Comparison, told_apart
from target_bench.reporting.sample_files import read_sample_files
from tests.cli.inside import Inside

HERE = Path(__file__).parent / "sample_files"
RECORDED = HERE / "recorded"
CAREFUL, CARELESS = (RECORDED / "ragas" / f"{kind}.csv" for kind in ("careful", "careless"))
PROMPTFOO = RECORDED / "promptfoo" / "results.json"


def _check_printed(folder: Path, printed: Mapping[str, Mapping[str, float]]) -> None:
    assert printed
    qrels = folder / "qrels.tsv"
    for name, scores in printed.items():
        more = (qrels, list(scores)) if qrels.exists() else ()
        (run,) = read_sample_files([folder / name], *more)
        assert len(set(run.ids)) == len(run.ids) > 3
        means = {metric: np.nanmean(values) for metric, values in run.values.items()}
        assert means == pytest.approx(dict(scores), abs=6e-6), name  # MTEB rounds to five places


@pytest.mark.parametrize("harness", ["inspect", "lm_eval", "deepeval", "ragas", "mteb"])
def test_scores_are_those_that_the_harness_printed(harness: str) -> None:
    folder = RECORDED / harness
    _check_printed(folder, json.loads((folder / "printed.json").read_text()))


def test_a_file_of_promptfoo_holds_a_run_a_provider() -> None:
    printed = json.loads((PROMPTFOO.parent / "printed.json").read_text())
    runs = read_sample_files([PROMPTFOO])
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
    _check_printed(tmp_path, json.loads(written.stdout.splitlines()[-1]))


def test_differences_are_paired_by_sample(tmp_path: Path) -> None:
    header, *lines = CARELESS.read_text().splitlines()
    (tmp_path / "shuffled.csv").write_text("\n".join([header, *lines[::-1]]))
    rows = compare([CAREFUL, tmp_path / "shuffled.csv"]).rows
    differences = {row.metric: row.difference for row in rows if row.difference}
    exact, included = differences["exact_match"], differences["string_present"]
    assert (exact.wins, exact.ties, exact.losses) == (0, 10, 2)
    assert (included.wins, included.ties, included.losses) == (0, 8, 4)
    # Two of twelve samples changed, in one direction: of 4 choices of signs 2 are as extreme.
    assert exact.p == pytest.approx(0.5)
    assert included.p == pytest.approx(2 / 16)
    assert included.p_corrected == pytest.approx(2 * 2 / 16)


def _compared(folder: Path, *texts: str) -> Comparison:
    files = [folder / f"{name}.csv" for name in "ab"]
    for file, text in zip(files, texts, strict=True):
        file.write_text(text)
    return compare(files)


@pytest.mark.parametrize(
    ("texts", "scores", "note"),
    [
        # samples that not all runs have are left out
        (("id,s\n1,1\n2,0\n3,1\n", "id,s\n1,1\n2,1\n"), [(2, 0.5), (2, 1)], "a has 1 samples that"),
        # a metric is over the samples on which all runs have a value; pandas' index is no metric
        (
            (",id,s\n0,x,1\n1,y,\n2,z,1\n", ",id,s\n0,x,0\n1,y,1\n2,z,1\n"),
            [(2, 1), (2, 0.5)],
            "2 sam",
        ),
    ],
)
def test_samples_are_paired_or_left_out_and_that_is_said(
    tmp_path: Path, texts: tuple[str, str], scores: list[tuple[int, float]], note: str
) -> None:
    comparison = _compared(tmp_path, *texts)
    assert [(row.n, row.score) for row in comparison.rows] == scores
    assert {row.metric for row in comparison.rows} == {"s"}
    assert note in " ".join(comparison.notes)


def test_metrics_without_a_number_a_sample_are_said() -> None:
    words = sorted((RECORDED / "lm_eval").glob("*/samples_words_*"))
    comparison = compare(words)
    assert comparison.task == "words"
    assert any("bleu,letters, bleu,plain" in note for note in comparison.notes)
    assert {row.metric for row in comparison.rows} == {"exact_match,letters", "exact_match,plain"}


def test_ids_are_no_metric_and_equal_scores_are_undecided(tmp_path: Path) -> None:
    equal = "question_id,exact_match\n" + "".join(f"{i},{i % 2}\n" for i in range(20))
    comparison = _compared(tmp_path, equal, equal)
    assert list(comparison.family) == ["exact_match"]
    (sentence,) = told_apart(comparison)
    assert sentence == "Beside a, by exact_match: b cannot be told from it (p ≥ .05)."


def test_gate(tmp_path: Path) -> None:
    many = "".join(f"What is {i} less {i}?,x,y,{{0}},{{0}}\n" for i in range(40))
    good, bad, again = tmp_path / "good.csv", tmp_path / "bad.csv", tmp_path / "again.json"
    good.write_text(CAREFUL.read_text() + many.format("1.0"))
    bad.write_text(CARELESS.read_text() + many.format("0.0"))
    assert gate(good, bad, "exact_match<-0.01").failed
    assert gate(good, bad).failed
    assert not gate(good, bad, "exact_match>0.01").failed
    assert gate(bad, good, "exact_match>0.01").failed
    assert not gate(CAREFUL, CARELESS, "exact_match<-0.01").failed  # within noise
    again.write_bytes(PROMPTFOO.read_bytes())
    with pytest.raises(ConfigError, match=r"one run against another, and .* hold 4: "):
        gate(PROMPTFOO, again)
    with pytest.raises(ConfigError, match="have no properties of queries"):
        gate(CAREFUL, CARELESS, slices=["difficulty=hard"])


def test_commands(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    inside = Inside(capsys, monkeypatch)
    logs = [RECORDED / "inspect" / f"{kind}.eval" for kind in ("careful", "careless")]
    printed = inside.good("compare", *logs, "--metric", "includes")
    assert "careless cannot be told from it" in printed
    refused = inside.bad(2, "gate", logs[0], "--run", logs[1], "--fail-on", "no_such<-0.1")
    assert "no_such" in refused
    assert "sizes/words" in refused


def test_trec_runs(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("q1 0 a 2\nq1 0 b 1\nq1 0 c 0\nq2 0 a 1\nq3 0 b 1\n")
    (tmp_path / "one.trec").write_text("q1 Q0 b 1 2.0 x\nq1 Q0 a 2 1.0 x\nq2 Q0 a 1 1.0 x\n")
    (tmp_path / "two.trec").write_text("q1 Q0 a 1 2.0 x\nq1 Q0 c 2 1.0 x\nq2 Q0 c 1 1.0 x\n")
    files = [tmp_path / "one.trec", tmp_path / "two.trec"]
    run, _ = read_sample_files(files, tmp_path / "qrels", ["ndcg@10", "recall@1", "mrr@10"])
    assert run.ids == ("q1", "q2", "q3")  # a query without an answer counts as 0
    best = 2 + 1 / np.log2(3)
    assert run.values["ndcg@10"] == pytest.approx([(1 + 2 / np.log2(3)) / best, 1, 0])
    assert run.values["recall@1"] == pytest.approx([0.5, 1, 0])
    assert run.values["mrr@10"] == pytest.approx([1, 1, 0])
    with pytest.raises(ConfigError, match="--qrels"):
        compare(files)


LOG = (RECORDED / "inspect" / "careful.eval").read_bytes()
BROKEN: dict[str, tuple[str | bytes, str]] = {
    "lines.jsonl": ('{"id": 1, "score": 1}\n{"id"', "line 2: no JSON"),
    "words.csv": ("id,said\n1,yes\n2,no\n", "no metric has a number"),
    "unnamed.csv": ("score\n1\n2\n", "no column names the samples"),
    "apart.csv": ("id,exact_match\nx,1\ny,0\n", "no sample in common"),
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
    "again.csv": ("id,s\nx,1\nx,1\n", "the sample 'x' has s twice"),
    "endless.csv": ("id,s\na,1\nb,inf\n", "s of the sample 'b' is not finite: inf"),
    "large.jsonl": (f'{{"id": 1, "s": 1{"0" * 400}}}\n{{"id": 2, "s": 1}}', "too large"),
    # the magic of Zstandard is another
    "damaged.eval": (LOG.replace(b"\x28\xb5\x2f\xfd", b"\x28\xb5\x2f\xfe"), "cannot be read"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files(name: str, tmp_path: Path) -> None:
    content, message = BROKEN[name]
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(DataError, match=message) as raised:
        compare([CAREFUL, tmp_path / name])
    assert name.partition(".")[0] in str(raised.value)


def test_an_archive_without_a_header_and_a_folder(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.eval", "w") as archive:
        archive.writestr("samples/1.json", "{}")
    with pytest.raises(DataError, match=r"a\.eval: a ZIP without header\.json"):
        compare([CAREFUL, tmp_path / "a.eval"])
    with pytest.raises(ConfigError, match="with files alone, not with runs"):
        compare([CAREFUL, tmp_path])


def test_separators_of_lines_inside_texts(tmp_path: Path) -> None:
    """A byte order mark, as Excel writes it, and U+2028 in a text, as lm-eval writes it."""
    (tmp_path / "a.csv").write_text('\ufeffquestion,s\n"x\ny",1\nz,0\n', encoding="utf-8")
    lines = '{"question": "x\\ny", "t": "\u2028", "s": 0}\n{"question": "z", "s": 0}\n'
    (tmp_path / "b.jsonl").write_text(lines, encoding="utf-8")
    csv_file, json_lines = read_sample_files([tmp_path / "a.csv", tmp_path / "b.jsonl"])
    assert csv_file.ids == json_lines.ids == ("x\ny", "z")
